"""Messages that tell of no race: notices about the bot itself, a drill, and a delivery that could not be read."""

import re
from collections.abc import Iterable

from bot.events.event import RacingEvent
from bot.outbox.message import Message
from bot.outbox.notices import Urgency
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import alert_buttons, framed, small_print
from bot.slack.messages.kit.blocks import context_block, header, section
from bot.slack.messages.kit.layout import message
from bot.slack.messages.kit.marks import DRILLED, LEVELS, UNREAD
from bot.slack.messages.kit.text import as_words, code, given, joined, named, safe
from bot.slack.messages.kit.times import in_readers_zone

EVENT_NAME_MAX = 80
HEADLINE = f"{UNREAD} A delivery could not be read: it may be an abandonment"


def admin_notice(urgency: Urgency, words: str, named_ids: Iterable[str] = ()) -> Message:
    """Plain words behind the level. An urgent notice has a header. `named_ids` in the words are shown as names."""
    level = LEVELS[urgency]
    shown = as_words(words, named_ids)
    if urgency is Urgency.CRITICAL:
        return message(f"{level}: {shown}", [header(level), section(shown)])
    return message(f"{level}: {shown}", [section(f"*{level}:* {shown}")])


def drill(event: RacingEvent, context: MessageContext) -> Message:
    """The text begins with DRILL, in the notification too, and imitates no abandonment."""
    begun_by = event.drill.begun_by if event.drill else None
    who = named(begun_by) if begun_by else "an admin"
    words = f"Started by {who}. No race is affected."
    received = f"received {in_readers_zone(context.received_at, seconds=True)}"
    repeat = "may be a repeat" if context.may_be_repeat else None
    return message(
        f"DRILL: only a test of the alerts, started by {who}. There is nothing to do.",
        [
            header(f"{DRILLED} DRILL: only a test, nothing to do"),
            section(words),
            context_block(code(event.key), received, repeat),
        ],
    )


def unreadable(event: RacingEvent, context: MessageContext) -> Message:
    name = re.sub("[._]+", " ", event.name or "").strip()
    named_as = given('The data service calls it "{}".', safe(name, EVENT_NAME_MAX))
    check = joined(["Check your other source. Admins were told.", named_as], " ")
    text = f"A delivery could not be read: it may be an abandonment. {check}"
    parts = [small_print(event, context), alert_buttons(event, context)]
    return framed(event, context, HEADLINE, [text], [], notes=[check], parts=parts)
