"""Answers in plain sentences: what is told to one person, or to admins."""

from collections.abc import Iterable, Sequence

from bot.outbox.message import Message
from bot.slack.messages.alerts.mentions import with_names
from bot.slack.messages.kit import blocks
from bot.slack.messages.kit.text import TEXT_MAX, safe


def sentence(words: str, named_ids: Iterable[str] = ()) -> Message:
    """A message of plain words, data and all: nothing in it formats, links or mentions.

    But for `named_ids`, ids of channels and people that stand in it: these are shown by their names.
    """
    shown = with_names(safe(words, TEXT_MAX) or "…", named_ids)
    return blocks.message(shown, [blocks.section(shown)])


def listing(title: str, lines: Sequence[str], small_print: str | None = None) -> Message:
    """A message of a title and lines that are mrkdwn already, with as many of the lines as there is room for."""
    foot = blocks.context([blocks.mrkdwn(small_print)]) if small_print else None
    text = "\n".join([title, *lines]) if lines else title
    return blocks.message(text, [blocks.section(title)], lines, len(lines), [foot])
