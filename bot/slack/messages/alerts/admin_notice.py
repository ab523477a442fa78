"""A notice about the bot itself, to admins. Subscribers and channels get the notices about their own channel."""

from collections.abc import Iterable

from bot.outbox.message import Message
from bot.outbox.notices import Urgency
from bot.slack.messages.kit.blocks import header, section
from bot.slack.messages.kit.layout import message
from bot.slack.messages.kit.marks import LEVELS
from bot.slack.messages.kit.text import TEXT_MAX, safe, with_names


def admin_notice(urgency: Urgency, words: str, named_ids: Iterable[str] = ()) -> Message:
    """Plain words behind the level. An urgent notice has a header. `named_ids` in the words are shown as names."""
    level = LEVELS[urgency]
    shown = with_names(safe(words, TEXT_MAX) or "…", named_ids)
    if urgency is Urgency.CRITICAL:
        return message(f"{level}: {shown}", [header(level), section(shown)])
    return message(f"{level}: {shown}", [section(f"*{level}:* {shown}")])
