"""The mark of each urgent kind of message, always the same. A mark stands before the words, never in their place."""

import re
from collections.abc import Mapping

from bot.outbox.notices import Urgency
from bot.slack.messages.kit.text import HEADER_MAX, clip, size

ABANDONED = "\N{OCTAGONAL SIGN}"
CONFLICTING = "\N{WARNING SIGN}\N{VARIATION SELECTOR-16}"
CORRECTED = "\N{PENCIL}\N{VARIATION SELECTOR-16}"
UNREAD = CONFLICTING
VOIDED = "\N{NO ENTRY SIGN}"
DRILLED = "\N{TEST TUBE}"
WATCHED = "\N{WHITE MEDIUM STAR}"
TAKEN_OVER = "\N{RAISED HAND}"

LEVELS: Mapping[Urgency, str] = {
    Urgency.CRITICAL: "\N{LARGE RED CIRCLE} URGENT",
    Urgency.WARNING: "\N{LARGE ORANGE CIRCLE} Warning",
    Urgency.NOTE: "\N{LARGE YELLOW CIRCLE} Note",
    Urgency.ALL_CLEAR: "\N{LARGE GREEN CIRCLE} All clear",
}
"""The beginning of each notice. Not everybody tells red from green, so each circle has a word."""

MARKED_LOST = f"{ABANDONED} *ABANDONED*"
MARKED_MEETING = f"{ABANDONED} *{{}} ABANDONED*"
MARKED_PERHAPS = f"{CONFLICTING} *PERHAPS ABANDONED*"
MARKED_CONFLICT = f"{CONFLICTING} *CONFLICT*"
"""The loud words of lists. Lists take the words from here, so that no list leaves a mark out."""

RUN_TOO = "CONFLICT: reported as run too"

_MARKED = re.compile(rf"(?:{ABANDONED}|{CONFLICTING}|{VOIDED}) \*([^*]+)\*|^{CONFLICTING} ", re.MULTILINE)

REASON_MIN = 12
"""Less of a reason says nothing."""


def without_marks(words: str) -> str:
    """For `text`: loud words, and lines that begin with a warning. No data has an asterisk, so marks in data stay."""
    return words if words.isascii() else _MARKED.sub(r"\1", words)


def headline(mark: str, words: str, reason: str | None, conflict: str | None = None) -> tuple[str, bool]:
    """A header with as much of the reason as fits, and whether the reason is whole."""
    after = f". {CONFLICTING} {conflict}" if conflict else ""
    first = f"{mark} {words}"
    if not reason:
        return f"{first}{after}", True
    room = HEADER_MAX - size(first) - size(after) - 2
    if room < min(REASON_MIN, size(reason)):
        return f"{first}{after}", False
    return f"{first}, {clip(reason, room)}{after}", size(reason) <= room
