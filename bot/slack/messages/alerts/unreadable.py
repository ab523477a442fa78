"""The message for an unreadable payload: no signed delivery is dropped (Spec gap G1)."""

import re
from hashlib import sha256

from bot.events.event import RacingEvent
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import alert_buttons, asides, late_mark, small_print
from bot.slack.messages.kit.blocks import header, section
from bot.slack.messages.kit.layout import message
from bot.slack.messages.kit.marks import UNREAD
from bot.slack.messages.kit.text import code, safe

EVENT_NAME_MAX = 80
HEADLINE = f"{UNREAD} A delivery could not be read: it may be an abandonment"
_REFERENCE_LENGTH = 12
_HASH = re.compile(r"[0-9a-f]{64}\Z")


def unreadable(event: RacingEvent, context: MessageContext) -> Message:
    name, because = code(event.name, EVENT_NAME_MAX), safe(event.unreadable_because)
    known_as = f"Admins were told. Reference {safe(context.reference) or reference(event.key)}"
    known_as += f" (event {name})" if name else ""
    line = f"A delivery could not be read. It may be an abandonment: check your other source. {known_as}"
    text = ". ".join([line, *asides(context, in_text=True)]) + late_mark(context)
    reason = [f"Because: {because}"] if because else []
    said = "\n".join([f"Check your other source. {known_as}", *reason, *asides(context)])
    return message(text, [header(HEADLINE), section(said), small_print(event, context), alert_buttons(event)])


def reference(key: str) -> str:
    """For example "inbox-0123456789ab": the first digits of the key's hash."""
    found = _HASH.search(key)
    digest = found.group() if found else sha256(key.encode("utf-8", "replace")).hexdigest()
    return f"inbox-{digest[:_REFERENCE_LENGTH]}"
