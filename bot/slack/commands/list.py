"""`/racing list`: what this channel receives."""

from typing import Any

from bot.domain.message import Message
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.subscriptions import subscription_list
from bot.storage import subscriptions


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """The channel's subscriptions, each with its state and its creator."""
    rows = await desk.database.read(lambda session: subscriptions.of_channel(session, invocation.channel_id))
    return subscription_list([(row, subscriptions.read_filter(row)) for row in rows])
