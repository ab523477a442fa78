"""Answers in plain sentences."""

from collections.abc import Iterable, Sequence

from bot.outbox.message import Message
from bot.slack.messages.kit import blocks
from bot.slack.messages.kit.mentions import with_names
from bot.slack.messages.kit.text import TEXT_MAX, safe


def sentence(words: str, named_ids: Iterable[str] = ()) -> Message:
    """Plain words without formatting, links or mentions. `named_ids` in the words are shown as names."""
    shown = with_names(safe(words, TEXT_MAX) or "…", named_ids)
    return blocks.message(shown, [blocks.section(shown)])


def listing(title: str, lines: Sequence[str], small_print: str | None = None) -> Message:
    foot = blocks.context([blocks.mrkdwn(small_print)]) if small_print else None
    text = "\n".join([title, *lines]) if lines else title
    return blocks.message(text, [blocks.section(title)], lines, len(lines), [foot])
