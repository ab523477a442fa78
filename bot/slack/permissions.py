"""Who may change what a channel receives, and who is an admin: by the settings, and by Slack where it tells."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.errors import CommandError, SlackError, SlackScopeMissing
from bot.logs import get_logger
from bot.settings import SubscribeBy
from bot.slack.client import SlackClient
from bot.slack.membership import DIRECT_MESSAGE, creator

log = get_logger(__name__)

KEPT_S = 300.0
"""What Slack says of a person is asked again after this long; a scope that is missing, too."""

ASK_AGAIN_S = 20.0
"""After a call that failed."""

ASK_S = 1.0
"""Asked before the ack, which Slack wants within three seconds."""


@dataclass(frozen=True)
class Person:
    """What users.info says of somebody."""

    is_admin: bool = False
    is_deactivated: bool = False


@dataclass
class People:
    """Who is who in the workspace: `admin_users` of the settings, and what Slack says where users:read was granted."""

    slack: SlackClient
    admin_users: frozenset[str]
    subscribe_by: SubscribeBy
    monotonic: Callable[[], float]
    _kept: dict[str, tuple[float, Person | None]] = field(default_factory=dict)

    async def is_admin(self, user_id: str) -> bool:
        """Whether they are in ADMIN_USERS, or an admin or owner of the workspace."""
        if user_id in self.admin_users:
            return True
        person = await self.person(user_id)
        return person is not None and person.is_admin

    async def person(self, user_id: str) -> Person | None:
        """What Slack says of somebody; None where it does not."""
        kept = self._kept.get(user_id)
        if kept and self.monotonic() < kept[0]:
            return kept[1]
        for_s, found = KEPT_S, None
        try:
            found = await self._ask(user_id)
        except SlackScopeMissing:
            log.info("users_read_not_granted")
        except SlackError as error:
            log.info("person_not_known", reason=str(error))
            for_s, found = ASK_AGAIN_S, kept[1] if kept else None
        self._kept[user_id] = (self.monotonic() + for_s, found)
        return found

    async def check_may_change(self, user_id: str, channel_id: str) -> None:
        """Raise CommandError where SUBSCRIBE_BY does not let this person change what the channel receives."""
        if self.subscribe_by is SubscribeBy.MEMBERS or await self.is_admin(user_id):
            return
        if self.subscribe_by is SubscribeBy.CREATORS and await self._made(user_id, channel_id):
            return
        who = "the channel's creator and admins" if self.subscribe_by is SubscribeBy.CREATORS else "admins"
        raise CommandError(f"Only {who} may change what a channel receives here. Ask one of them.")

    async def _made(self, user_id: str, channel_id: str) -> bool:
        """Whether the channel is theirs, as a direct message always is."""
        return channel_id.startswith(DIRECT_MESSAGE) or await creator(self.slack, channel_id, ASK_S) == user_id

    async def _ask(self, user_id: str) -> Person:
        answer = await self.slack.call("users.info", lambda: self.slack.web.users_info(user=user_id), timeout_s=ASK_S)
        user = answer.get("user") or {}
        return Person(
            is_admin=any(user.get(flag) is True for flag in ("is_admin", "is_owner", "is_primary_owner")),
            is_deactivated=user.get("deleted") is True,
        )
