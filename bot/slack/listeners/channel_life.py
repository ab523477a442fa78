"""A channel's life: invited, removed, archived, brought back, deleted, given another id; and the end of the token.

Slack sends events late, twice and in any order. No event closes a channel by itself: the listener asks Slack. Further,
the check that warnings reach admins: ADMIN_CHANNEL takes posts, and ADMIN_USERS are people. A refused post tells the
same in between (bot.outbox.claim_outcomes).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncApp
from sqlmodel import Session

from bot.channels import pauses, subscriptions
from bot.channels.conditions.event_conditions import is_direct_message, is_person
from bot.clock import Clock
from bot.db.engine import Database
from bot.db.tables import MessageKind
from bot.errors import SlackError, StorageError
from bot.logs import get_logger
from bot.outbox import held_queues, message_store
from bot.outbox.channel_move import move_channel
from bot.outbox.held_channels import Reopening, close_channel, is_used
from bot.outbox.message_store import NewPost, Priority
from bot.outbox.notices import DELETED, Notices, Urgency
from bot.slack.commands.subscription_changes import as_shown
from bot.slack.messages.answers.subscription_answers import welcome
from bot.slack.web_client import SlackClient
from bot.slack.workspace import BotIdentity, problem_of_channel, problem_of_person

log = get_logger(__name__)

LOOK_S = 2.0
"""Slack repeats an event without an ack within three seconds."""

CLOSING_EVENTS = {
    "channel_left": "the bot was removed from the channel",
    "group_left": "the bot was removed from the channel",
    "channel_archive": "is_archived",
    "group_archive": "is_archived",
    "channel_deleted": DELETED,
    "group_deleted": DELETED,
}
OPENING_EVENTS = ("channel_unarchive", "group_unarchive")
"""The next post finds out whether the bot is in the channel."""

MOVING_EVENT = "channel_id_changed"
"""A private channel shared with another company gets another id, docs.slack.dev/reference/events."""

REVOKING_EVENTS = ("app_uninstalled", "tokens_revoked")
"""An uninstall brings both events, docs.slack.dev/reference/events."""


@dataclass
class ChannelListener:
    """Nothing is ever deleted here. `problem_of`: why Slack takes no post in a channel now, None if Slack does."""

    database: Database
    identity: BotIdentity
    problem_of: Callable[[str], Awaitable[str | None]]
    notices: Notices
    reopening: Reopening
    clock: Clock
    wake: asyncio.Event
    _openings: int = 0

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("member_joined_channel")(self.on_joined)
        bolt.event("member_left_channel")(self.on_left)
        for event in CLOSING_EVENTS:
            bolt.event(event)(self.on_closed)
        for event in OPENING_EVENTS:
            bolt.event(event)(self.on_opened)
        bolt.event(MOVING_EVENT)(self.on_id_changed)
        for event in REVOKING_EVENTS:
            bolt.event(event)(self.on_revoked)

    async def on_joined(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        if str(event.get("user")) in self._ourselves(body):
            # Slack sends an event again under the same id.
            invitation = str(body.get("event_id") or event.get("event_ts"))
            await self._open(str(event.get("channel")), invitation)

    async def on_left(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        if str(event.get("user")) in self._ourselves(body):
            await self._close(str(event.get("channel")), CLOSING_EVENTS["channel_left"])

    async def on_closed(self, event: dict[str, Any]) -> None:
        await self._close(str(event.get("channel")), CLOSING_EVENTS[str(event.get("type"))])

    async def on_opened(self, event: dict[str, Any]) -> None:
        await self._open(str(event.get("channel")))

    async def on_id_changed(self, event: dict[str, Any]) -> None:
        old_id, new_id = str(event.get("old_channel_id")), str(event.get("new_channel_id"))
        moved = await self.database.write(partial(move_channel, old_id=old_id, new_id=new_id))
        log.info("channel_moved", channel_id=new_id, old_channel_id=old_id, subscriptions=moved)
        await self._open(new_id)

    async def on_revoked(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        """Admins get the notice after the next installation."""
        tokens = event.get("tokens")
        if isinstance(tokens, dict) and not tokens.get("bot"):
            return
        log.error("slack_token_revoked", slack_event=event.get("type"))
        words = (
            "Slack says that I was uninstalled, or that my token was revoked. Nothing is posted until I am installed "
            "again and SLACK_BOT_TOKEN has the new token. Messages are kept meanwhile."
        )
        # Slack sends an event again under the same id.
        key = f"revoked:{body.get('event_id') or event.get('event_ts')}"
        await self.database.write(lambda session: self.notices.tell(session, key, words, urgency=Urgency.CRITICAL))

    async def _open(self, channel_id: str, invitation: str | None = None) -> None:
        self._openings += 1
        started = await self.database.write(partial(self._reopen, channel_id=channel_id, invitation=invitation))
        log.info("channel_open", channel_id=channel_id, subscriptions_started=started)
        self.wake.set()

    def _reopen(self, session: Session, channel_id: str, invitation: str | None) -> int:
        """Counts the subscriptions that start. Each invitation gets one welcome."""
        now = self.clock()
        started = self.reopening.reopen(session, channel_id, now)
        if invitation is not None:
            rows = subscriptions.of_channel(session, channel_id)
            filters = as_shown(session, map(subscriptions.read_filter, rows))
            is_paused = pauses.until(session, channel_id, now) is not None
            said = welcome(filters, is_paused=is_paused)
            key = f"welcome:{invitation}@{channel_id}"
            message_store.add(
                session, [NewPost(channel_id, key, MessageKind.WELCOME, Priority.ADMIN, now, content=said.as_json())]
            )
        return started

    async def _close(self, channel_id: str, reason: str) -> None:
        """Close a used channel if Slack takes no post there. In doubt the next post decides."""
        # Otherwise no message can be due, and nothing has to be held.
        if channel_id != self.notices.admin_channel and not await self.database.read(
            partial(is_used, channel_id=channel_id)
        ):
            return
        openings = self._openings
        try:
            problem = await self.problem_of(channel_id)
        except SlackError as error:
            log.info("closing_not_checked", channel_id=channel_id, reason=str(error))
            return
        # An answer from before an opening says nothing about the channel now.
        if problem is None or openings != self._openings:
            log.info("closing_passed_over", channel_id=channel_id, because=reason)
            return
        close = partial(close_channel, notices=self.notices, channel_id=channel_id, reason=reason, now=self.clock())
        await self.database.write(close)
        self.wake.set()

    def _ourselves(self, body: dict[str, Any]) -> set[str]:
        authorizations = body.get("authorizations") or []
        ids = {one.get("user_id") for one in authorizations if isinstance(one, dict) and one.get("is_bot")}
        return {str(one) for one in {*ids, self.identity.bot_user_id} if one}


ADMIN_CHECK_EVERY_S = 300.0

ADMIN_RECHECK_S = 10.0
"""The interval while Slack or the database does not answer."""


@dataclass(frozen=True)
class AdminCheck:
    database: Database
    slack: SlackClient
    notices: Notices
    reopening: Reopening
    clock: Clock
    wake: asyncio.Event

    async def run(self) -> None:
        while True:
            is_said = await self.check()
            await asyncio.sleep(ADMIN_CHECK_EVERY_S if is_said else ADMIN_RECHECK_S)

    async def check(self) -> bool:
        """True if Slack answered and the outcome is stored. Without an answer nothing changes."""
        try:
            await self._check_people()
            await self._check_channel()
        except (SlackError, StorageError) as error:
            log.info("admins_not_checked", reason=str(error))
            return False
        return True

    async def _check_people(self) -> None:
        places = (self.notices.admin_channel, *self.notices.admin_users)
        for user_id in (place for place in places if place and is_person(place)):
            try:
                problem = await problem_of_person(self.slack, user_id)
            except SlackError as error:
                log.info("admin_not_looked_up", user_id=user_id, reason=str(error))
                # The last reason stays.
                problem = self.notices.unreached.get(user_id)
            if self.notices.looked_up(user_id, problem):
                log.warning("admin_not_reached", user_id=user_id, reason=problem)

    async def _check_channel(self) -> None:
        channel_id = self.notices.admin_channel
        # conversations.info would need another scope. The first post finds out.
        if channel_id is None or is_person(channel_id) or is_direct_message(channel_id):
            return
        problem = await problem_of_channel(self.slack, channel_id)
        closing = await self.database.read(partial(held_queues.closing_of, channel_id=channel_id))
        if problem is None and closing is None:
            return
        if await self.database.write(partial(self._note, channel_id=channel_id, problem=problem)):
            self.wake.set()

    def _note(self, session: Session, channel_id: str, problem: str | None) -> bool:
        """True if the stored state of the channel changed, or the channel is on trial."""
        closing, now = held_queues.closing_of(session, channel_id), self.clock()
        is_closed = closing is not None and not closing.on_trial
        if problem is not None:
            if not is_closed:
                close_channel(session, self.notices, channel_id, problem, now)
            return not is_closed
        if is_closed:
            self.reopening.try_again(session, channel_id, now)
        if closing is not None:
            self.notices.is_back(session, closing.since)
        return closing is not None
