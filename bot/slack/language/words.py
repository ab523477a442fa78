"""Typed words with kind and value, from the rows of words.ini."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from bot.channels.conditions.event_conditions import COURSES_FIELD, REGIONS_FIELD, TOPICS_FIELD
from bot.channels.conditions.race_conditions import SORTS_OF_RACES
from bot.events.event import Topic
from bot.events.word_rows import word_rows


class Kind(StrEnum):
    """The kind of a phrase. The kind of a thing or a flag also names a field of a request."""

    REGION = REGIONS_FIELD
    COURSE = COURSES_FIELD
    TOPIC = TOPICS_FIELD
    ALL = "all"
    DAY = "days"
    TIME = "times"
    """The time of a race."""
    FLAG = "flags"
    """A command's own word, such as "next"."""
    VALUE = "value"
    """A race class, or the value of another choice."""
    AND = "and"
    OR = "or"
    NOT = "not"
    ONLY = "only"
    FILLER = "filler"
    NOT_CHOSEN = "not_chosen"
    """A word of racing. No filter chooses by the word."""
    UNKNOWN = "unknown"


Words = Mapping[str, tuple[Kind, Any]]
"""Words in small letters, with kind and value."""


_ROWS = word_rows("bot.slack.language", "words.ini")


def meanings_in(section: str) -> dict[str, str]:
    """Each word of a section, with the beginning of the word's row."""
    return {word: meaning for meaning, words in _ROWS[section].items() for word in words}


def words_in(section: str) -> Words:
    rows = {word: meaning.partition(" ") for word, meaning in meanings_in(section).items()}
    return {word: (Kind(kind), value or word) for word, (kind, _, value) in rows.items()}


def parts_in(section: str, **parts: str) -> Mapping[str, str]:
    """The patterns of a section by name. A pattern may include the patterns before: "{no}"."""
    for name, patterns in _ROWS[section].items():
        parts[name] = f"(?:{'|'.join(patterns)})".format(**parts)
    return parts


def patterns_in(section: str, parts: Mapping[str, str]) -> list[tuple["re.Pattern[str]", str]]:
    """The patterns of a section, each for the beginning of a text, with the meaning."""
    return [
        (re.compile(f"^(?:{pattern.format(**parts)})", re.IGNORECASE), meaning)
        for meaning, patterns in _ROWS[section].items()
        for pattern in patterns
    ]


ALL, EVERYTHING = "all", "everything"

COURTESY = tuple(words_in("courtesy"))

JOINING: Words = {**words_in("joining"), **words_in("courtesy")}

JOINTS = frozenset({Kind.AND, Kind.OR})

THINGS = frozenset({Kind.REGION, Kind.COURSE, Kind.TOPIC, Kind.ALL, Kind.DAY, Kind.TIME, Kind.UNKNOWN})

TOPIC_WORDS: Mapping[str, Topic] = {word: Topic(value) for word, (_, value) in words_in("topics").items()}

NON_RUNNERS = words_in("non-runners")

OF_ALL = words_in("all")

SUBSCRIBING: Words = {**words_in("topics"), **OF_ALL, **words_in("subscribe")}

NOT_GIVEN = words_in("not given")

NOT_CHOSEN = frozenset({*words_in("not chosen"), *NOT_GIVEN, *NON_RUNNERS, *SORTS_OF_RACES})
"""Words of racing. No filter chooses by these words."""
