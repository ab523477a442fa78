"""The words of a message without the mark of an edit, and the level at the beginning of a notice."""

import re

MARK = re.compile(r"\A(?:Superseded|Contradicted) [^.]*?(?:see the (?:<[^>]*>|later message))?\. ")


def as_posted(text: str) -> str:
    """The text without the mark of a later message: "Superseded 14:32 UTC: see the later message. "."""
    return MARK.sub("", text)


# The beginning of a notice, as people read the beginning


URGENT = "\N{LARGE RED CIRCLE} URGENT: "
WARNING = "\N{LARGE ORANGE CIRCLE} Warning: "
NOTE = "\N{LARGE YELLOW CIRCLE} Note: "
ALL_CLEAR = "\N{LARGE GREEN CIRCLE} All clear: "

BEGINNINGS = (URGENT, WARNING, NOTE, ALL_CLEAR)


def level_and_words(text: str) -> tuple[str, str]:
    found = [beginning for beginning in BEGINNINGS if text.startswith(beginning)]
    assert found, f"no level: {text}"
    return found[0], text.removeprefix(found[0])


def without_level(text: str) -> str:
    """The words of a notice, or the whole text of another message."""
    return words_of(text) if text.startswith(BEGINNINGS) else text


def level_of(text: str) -> str:
    return level_and_words(text)[0]


def words_of(text: str) -> str:
    return level_and_words(text)[1]
