"""A drill's message in the channels."""

from bot.events.event import RacingEvent
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.kit.blocks import context as context_block
from bot.slack.messages.kit.blocks import header, section
from bot.slack.messages.kit.layout import message
from bot.slack.messages.kit.marks import DRILLED
from bot.slack.messages.kit.text import code, named
from bot.slack.messages.kit.times import in_readers_zone


def drill(event: RacingEvent, context: MessageContext) -> Message:
    """The text begins with DRILL, in the notification too, and imitates no abandonment."""
    begun_by = event.drill.begun_by if event.drill else None
    who = named(begun_by) if begun_by else "an admin"
    words = f"Begun by {who}. The test says nothing about any race."
    received = f"received {in_readers_zone(context.received_at, seconds=True)}"
    repeat = "may be a repeat" if context.may_be_repeat else None
    return message(
        f"DRILL: only a test of the alerts, begun by {who}. There is nothing to do.",
        [
            header(f"{DRILLED} DRILL: only a test, nothing to do"),
            section(words),
            context_block(code(event.key), received, repeat),
        ],
    )
