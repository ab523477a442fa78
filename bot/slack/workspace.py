"""What Slack says of the workspace: the bot itself, channels, people, and who may change a channel's subscriptions.

Guests, and people of other workspaces in a shared channel, are outsiders: no admins, and they change nothing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from typing import Any, Protocol

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.channels.conditions.event_conditions import is_direct_message
from bot.errors import CommandError, SlackChannelClosed, SlackDoubtful, SlackError, SlackScopeMissing
from bot.events.days import known_zone
from bot.logs import get_logger
from bot.settings import SubscribeBy
from bot.slack.web_client import WEB_API_TIMEOUT_S, SlackClient

log = get_logger(__name__)


@dataclass
class BotIdentity:
    """The answer of auth.test. Commands and posts work without an answer."""

    token: str
    bot_id: str | None = None
    bot_user_id: str | None = None
    team_id: str | None = None
    enterprise_id: str | None = None
    """Of Enterprise Grid: an organisation of several workspaces."""
    name: str = "racing-bot"
    workspace_url: str | None = None
    problem: str | None = "Slack has not answered yet"

    def __repr__(self) -> str:
        return f"BotIdentity({self.name!r}, bot_user_id={self.bot_user_id!r})"

    async def ask(self, slack: SlackClient) -> bool:
        try:
            answer = await slack.call("auth.test", slack.web.auth_test)
        except SlackError as error:
            self.problem = str(error)
            return False
        self.bot_id = answer.get("bot_id")
        self.bot_user_id = answer.get("user_id")
        self.team_id = answer.get("team_id")
        self.enterprise_id = answer.get("enterprise_id")
        self.name = answer.get("user") or self.name
        self.workspace_url = answer.get("url")
        self.problem = None
        log.info("slack_knows_us", bot_user_id=self.bot_user_id, team=answer.get("team"))
        return True

    def permalink(self, channel_id: str, message_ts: str) -> str | None:
        """The https address of a message, once the workspace's address is known."""
        if self.workspace_url is None:
            return None
        return f"{self.workspace_url.rstrip('/')}/archives/{channel_id}/p{message_ts.replace('.', '')}"


MEMBERS_LOOKUP_S = 5.0

MEMBER_PAGES_MAX = 5
"""Pages of a thousand members each."""

POST_ANYWHERE_SCOPE = "chat:write.public"

SCOPES_HEADER = "x-oauth-scopes"


async def is_member(slack: SlackClient, channel_id: str, timeout_s: float = MEMBERS_LOOKUP_S) -> bool | None:
    """As `ask_membership`. None without an answer."""
    try:
        return await ask_membership(slack, channel_id, timeout_s)
    except SlackError:
        return None


async def ask_membership(slack: SlackClient, channel_id: str, timeout_s: float = MEMBERS_LOOKUP_S) -> bool:
    """True in a direct message with the bot too. False in a direct message between other people.

    Raises SlackError without an answer.
    """
    try:
        if is_direct_message(channel_id):
            # conversations.info would need a scope of its own; im:history has another use too (bot.slack.listeners).
            first = partial(slack.web.conversations_history, channel=channel_id, limit=1)
            await slack.call("conversations.history", first, timeout_s=timeout_s)
            return True
        channel, _ = await _channel(slack, channel_id, timeout_s)
    except SlackChannelClosed:
        return False
    return bool(channel.get("is_member")) and not channel.get("is_archived")


async def problem_of_channel(
    slack: SlackClient, channel_id: str, *, timeout_s: float = WEB_API_TIMEOUT_S
) -> str | None:
    """None if Slack would take a post. Raises SlackError without an answer."""
    try:
        channel, answer = await _channel(slack, channel_id, timeout_s)
    except SlackChannelClosed as error:
        return error.code
    except SlackScopeMissing:
        # The next post finds out.
        return None
    if channel.get("is_archived"):
        return "is_archived"
    anywhere = not channel.get("is_private") and POST_ANYWHERE_SCOPE in (answer.headers or {}).get(SCOPES_HEADER, "")
    return None if channel.get("is_member") or anywhere else "not_in_channel"


async def problem_of_person(slack: SlackClient, user_id: str, *, timeout_s: float = WEB_API_TIMEOUT_S) -> str | None:
    """None if messages arrive. Raises SlackError without an answer."""
    method = "users.info"
    try:
        answer = await slack.call(method, lambda: slack.web.users_info(user=user_id), timeout_s=timeout_s)
    except SlackChannelClosed as error:
        return error.code
    user = _object_in(answer, "user", method)
    if user.get("deleted"):
        return "deactivated"
    return "a bot" if user.get("is_bot") else None


async def creator(slack: SlackClient, channel_id: str, timeout_s: float) -> str | None:
    """Raises SlackError without an answer."""
    channel, _ = await _channel(slack, channel_id, timeout_s)
    made_by = channel.get("creator")
    return made_by if isinstance(made_by, str) else None


async def members(slack: SlackClient, channel_id: str, timeout_s: float = MEMBERS_LOOKUP_S) -> frozenset[str] | None:
    """None without an answer, or for too many members."""
    found: set[str] = set()
    cursor: str | None = None
    try:
        for _ in range(MEMBER_PAGES_MAX):
            page = partial(slack.web.conversations_members, channel=channel_id, cursor=cursor, limit=1000)
            answer = await slack.call("conversations.members", page, timeout_s=timeout_s)
            found.update(answer.get("members") or ())
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                return frozenset(found)
    except SlackError:
        return None
    return None


async def _channel(slack: SlackClient, channel_id: str, timeout_s: float) -> tuple[dict[str, Any], AsyncSlackResponse]:
    method = "conversations.info"
    answer = await slack.call(method, lambda: slack.web.conversations_info(channel=channel_id), timeout_s=timeout_s)
    return _object_in(answer, "channel", method), answer


def _object_in(answer: AsyncSlackResponse, name: str, method: str) -> dict[str, Any]:
    """Raises SlackDoubtful for an answer without the object."""
    found = answer.get(name)
    if not isinstance(found, dict):
        raise SlackDoubtful(method, f"answer without a {name}")
    return found


LOOKUP_CACHED_S = 300.0
"""A missing scope is an answer too."""

FAILURE_CACHED_S = 3.0
"""Roughly the time before a person tries again."""

LOOKUP_TIMEOUT_S = 0.8
"""Before the ack, which Slack wants within three seconds."""


NOT_FOR_OUTSIDERS = (
    "Guests and people of other workspaces can't do that, so nothing was changed. Ask somebody of this workspace."
)


class Caller(Protocol):
    """`team_id`: the person's own workspace, as Slack's body says."""

    @property
    def user_id(self) -> str: ...
    @property
    def team_id(self) -> str | None: ...


@dataclass(frozen=True)
class Person:
    """`zone` is a name such as Europe/London.

    `is_stranger` is Slack's flag. People of another workspace in a channel shared with the bot lack the flag:
    docs.slack.dev/reference/objects/user-object.
    """

    is_admin: bool = False
    is_deactivated: bool = False
    zone: str | None = None
    is_guest: bool = False
    is_stranger: bool = False
    team_id: str | None = None
    enterprise_id: str | None = None


@dataclass
class People:
    """Asks users.info, if users:read was granted."""

    slack: SlackClient
    identity: BotIdentity
    admin_users: frozenset[str]
    subscribe_by: SubscribeBy
    monotonic: Callable[[], float]
    _kept: dict[str, tuple[float, Person | SlackError]] = field(default_factory=dict)

    async def is_admin(self, caller: Caller) -> bool | None:
        """None if Slack did not answer. Without users:read only ADMIN_USERS are admins."""
        if caller.user_id in self.admin_users:
            return True
        found = await self._look_up(caller.user_id)
        if isinstance(found, Person):
            return found.is_admin and not self._is_outside(caller, found)
        return False if isinstance(found, SlackScopeMissing) else None

    async def check_is_member(self, caller: Caller) -> None:
        """Raise CommandError for an outsider.

        Without Slack's answer, and without users:read, only the workspace in Slack's body shows an outsider.
        """
        if caller.user_id not in self.admin_users:
            person = await self.person(caller.user_id)
            if self._is_outside(caller, person or Person()):
                raise CommandError(NOT_FOR_OUTSIDERS)

    async def person(self, user_id: str) -> Person | None:
        found = await self._look_up(user_id)
        return found if isinstance(found, Person) else None

    async def zone(self, user_id: str) -> tzinfo | None:
        """None without users:read, without Slack's answer, and for an unknown name."""
        person = await self.person(user_id)
        return known_zone(person.zone) if person else None

    async def check_is_admin(self, caller: Caller, otherwise: str) -> None:
        """Raise CommandError: with `otherwise` for other people, and with a try-again while Slack does not answer."""
        is_admin = await self.is_admin(caller)
        if is_admin is None:
            raise CommandError(_not_asked("whether you are an admin"))
        if not is_admin:
            raise CommandError(otherwise)

    async def check_may_change(self, caller: Caller, channel_id: str) -> None:
        """Raise CommandError for an outsider, if SUBSCRIBE_BY forbids the change, or if Slack does not answer."""
        if caller.user_id in self.admin_users:
            return
        if self.subscribe_by is SubscribeBy.ADMINS:
            await self.check_is_admin(caller, _only("admins"))
            return
        if self.subscribe_by is SubscribeBy.MEMBERS:
            await self.check_is_member(caller)
            return
        # Together, because both cost time before the ack.
        may = await asyncio.gather(self.is_admin(caller), self._made(caller.user_id, channel_id))
        await self.check_is_member(caller)
        if True in may:
            return
        if None in may:
            told = _not_asked("whether you made this channel or are an admin")
            raise CommandError(f"{told} I can't see who made a private channel before I am invited to it.")
        raise CommandError(_only("the channel's creator and admins"))

    async def _made(self, user_id: str, channel_id: str) -> bool | None:
        """None if Slack does not answer. A direct message belongs to its person."""
        if is_direct_message(channel_id):
            return True
        try:
            return await creator(self.slack, channel_id, LOOKUP_TIMEOUT_S) == user_id
        except SlackError as error:
            log.info("creator_not_known", channel_id=channel_id, reason=str(error))
            return None

    def _is_outside(self, caller: Caller, person: Person) -> bool:
        if person.is_guest or person.is_stranger:
            return True
        if person.enterprise_id and person.enterprise_id == self.identity.enterprise_id:
            return False
        own = {self.identity.team_id, self.identity.enterprise_id}
        return self.identity.team_id is not None and not {caller.team_id, person.team_id} <= {*own, None}

    async def _look_up(self, user_id: str) -> Person | SlackError:
        """While Slack fails, the last known answer is used for a while."""
        kept = self._kept.get(user_id)
        if kept and self.monotonic() < kept[0]:
            return kept[1]
        for_s, found = LOOKUP_CACHED_S, await self._ask(user_id)
        if isinstance(found, SlackError):
            log.info("person_not_known", reason=str(found))
            if not isinstance(found, SlackScopeMissing):
                for_s, found = FAILURE_CACHED_S, kept[1] if kept else found
        self._kept[user_id] = (self.monotonic() + for_s, found)
        return found

    async def _ask(self, user_id: str) -> Person | SlackError:
        try:
            ask = partial(self.slack.web.users_info, user=user_id)
            answer = await self.slack.call("users.info", ask, timeout_s=LOOKUP_TIMEOUT_S)
        except SlackError as error:
            return error
        user = answer.get("user") or {}
        return Person(
            is_admin=any(user.get(flag) is True for flag in ("is_admin", "is_owner", "is_primary_owner")),
            is_deactivated=user.get("deleted") is True,
            zone=_text(user.get("tz")),
            is_guest=any(user.get(flag) is True for flag in ("is_restricted", "is_ultra_restricted")),
            is_stranger=user.get("is_stranger") is True,
            team_id=_text(user.get("team_id")),
            enterprise_id=_text((user.get("enterprise_user") or {}).get("enterprise_id")),
        )


def _text(value: Any) -> str | None:
    return value if value and isinstance(value, str) else None


def _only(who: str) -> str:
    return f"Only {who} may change what a channel receives here. Ask one of them."


def _not_asked(what: str) -> str:
    return f"Slack did not tell me {what}, so nothing was done. Try again in a few seconds."
