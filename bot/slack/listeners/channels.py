"""A channel's life: the bot is invited or removed, the channel archived or brought back."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.domain.clock import Clock
from bot.logs import get_logger
from bot.slack.identity import Identity
from bot.storage import lanes, subscriptions
from bot.storage.engine import Database
from bot.storage.tables import SubscriptionState

log = get_logger(__name__)

CLOSING_EVENTS = {
    "channel_left": "the bot was removed from the channel",
    "group_left": "the bot was removed from the channel",
    "channel_archive": "is_archived",
    "group_archive": "is_archived",
}
OPENING_EVENTS = ("channel_unarchive", "group_unarchive")
"""After these the bot is in the channel or not; the next post finds out."""


@dataclass(frozen=True)
class ChannelListener:
    """Lets a channel's subscriptions follow what happens to it. Nothing is ever deleted here."""

    database: Database
    identity: Identity
    clock: Clock
    wake: asyncio.Event

    def register(self, bolt: AsyncApp) -> None:
        """Make Bolt call us."""
        bolt.event("member_joined_channel")(self.on_joined)
        bolt.event("member_left_channel")(self.on_left)
        for event in CLOSING_EVENTS:
            bolt.event(event)(self.on_closed)
        for event in OPENING_EVENTS:
            bolt.event(event)(self.on_opened)

    async def on_joined(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        """The bot was invited: what waited for that starts."""
        if event.get("user") in self._ourselves(body):
            await self._open(str(event.get("channel")))

    async def on_left(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        """The bot was removed."""
        if event.get("user") in self._ourselves(body):
            await self._close(str(event.get("channel")), CLOSING_EVENTS["channel_left"])

    async def on_closed(self, event: dict[str, Any]) -> None:
        """The channel is closed to us."""
        await self._close(str(event.get("channel")), CLOSING_EVENTS[str(event.get("type"))])

    async def on_opened(self, event: dict[str, Any]) -> None:
        """The channel is there again."""
        await self._open(str(event.get("channel")))

    async def _open(self, channel_id: str) -> None:
        reopen = partial(lanes.reopen_channel, channel_id=channel_id, now=self.clock())
        started = await self.database.write(reopen)
        log.info("channel_open", channel_id=channel_id, subscriptions_started=started)
        self.wake.set()

    async def _close(self, channel_id: str, reason: str) -> None:
        live = (SubscriptionState.LIVE,)
        await self.database.write(
            lambda session: subscriptions.set_state(
                session, channel_id, SubscriptionState.SUSPENDED, self.clock(), reason=reason, only=live
            )
        )
        log.info("channel_closed", channel_id=channel_id, reason=reason)

    def _ourselves(self, body: dict[str, Any]) -> set[str]:
        """Our user ids: as Slack told us at start, and as the event itself says."""
        authorizations = body.get("authorizations") or []
        ids = {one.get("user_id") for one in authorizations if isinstance(one, dict) and one.get("is_bot")}
        return {str(one) for one in {*ids, self.identity.bot_user_id} if one}
