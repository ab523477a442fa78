"""Texts in direct messages with the bot are answered with the help."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.clock import Clock
from bot.db.engine import Database
from bot.db.tables import MessageKind
from bot.outbox import message_store
from bot.outbox.message_store import NewPost, Priority
from bot.slack.commands.table import help_message

EVENT = "message"
"""The manifest's name is `message.im`, with the scope im:history."""


@dataclass(frozen=True)
class DirectMessageListener:
    """The answer is a post in the outbox: a crash loses no answer."""

    database: Database
    clock: Clock
    wake: asyncio.Event

    def register(self, bolt: AsyncApp) -> None:
        bolt.event(EVENT)(self.on_message)

    async def on_message(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        is_text = "subtype" not in event and not event.get("bot_id")
        if event.get("channel_type") != "im" or not is_text:
            return
        channel_id = str(event.get("channel"))
        answer = NewPost(
            channel_id,
            # Slack sends an event again under the same id.
            f"help:{body.get('event_id') or event.get('ts')}@{channel_id}",
            MessageKind.ANSWER,
            Priority.ADMIN,
            self.clock(),
            content=help_message(),
        )
        await self.database.write(partial(message_store.add, posts=[answer]))
        self.wake.set()
