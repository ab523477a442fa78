"""The race classes of a filter, matched with the published text: "1" is "Class 1", in any letter case."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from bot.channels.conditions.condition import Condition, FileData, FilterFields, word_of
from bot.events.event import EventKind, RacingEvent

CLASS = "class"

RACE_CLASS_MAX = 40

_PARTING = frozenset(',;"')

_APART = re.compile(r"[\W_]+|(?<=[^\W\d_])(?=\d)")
"""What parts words; figures stand apart from letters: "Class1"."""

_KNOWN_SHAPE = re.compile(r"[1-9][0-9]*|(?:group|grade) [0-9]+|listed")


class RaceClassCondition(Condition):
    """The only race classes that a filter takes; empty: all classes.

    A race without a published class is taken, and so is the abandonment of a whole meeting. Only a class of a known
    shape hides an abandonment: "Class 4", "Group 2", "Listed". A card is taken for any of its races.
    """

    field = file_key = "classes"
    file_noun = "a race class"
    is_narrowing = True

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        if not chosen.classes or event.kind is EventKind.MEETING_ABANDONED:
            return True
        wanted = set(map(folded_class, chosen.classes))
        published = [folded_class(race.race_class or "") for race in event.races or (event.race,)]
        return any(
            not one or one in wanted or (event.reports_loss and not _KNOWN_SHAPE.fullmatch(one)) for one in published
        )

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not wide.classes or (bool(narrow.classes) and not _but(narrow.classes, wide.classes))

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return (*one.classes, *_but(other.classes, one.classes)) if one.classes and other.classes else ()

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> tuple[str, ...]:
        return (*before.classes, *_but(chosen.classes, before.classes)) if before.classes and not whole else ()

    def without(self, before: FilterFields, words: Collection[str]) -> tuple[str, ...]:
        return _but(before.classes, words)

    def to_file(self, chosen: FilterFields) -> list[str]:
        return list(chosen.classes)

    def from_file(self, data: FileData) -> str:
        return race_class_of(word_of(data))

    def of_file(self, values: Sequence[Any]) -> tuple[str, ...]:
        each: dict[str, str] = {}
        for value in values:
            each.setdefault(folded_class(value), value)
        return tuple(each.values())


def race_class_of(typed: str) -> str:
    """The stored form of a typed race class: "Class 1" for a figure. Raises ValueError where no class can be meant."""
    text = " ".join(typed.split())
    folded = folded_class(text)
    if not folded or len(text) > RACE_CLASS_MAX or not text.isprintable() or _PARTING.intersection(text):
        raise ValueError(f"{text[:RACE_CLASS_MAX]} is no race class: write 1, or the words of a card such as Group 1")
    return f"Class {folded}" if folded.isdecimal() else text


def folded_class(race_class: str) -> str:
    """A race class for comparing: letters and figures, without the word "class"."""
    words = [str(int(word)) if word.isdecimal() else word for word in _APART.sub(" ", race_class.casefold()).split()]
    return " ".join(words[1:] if len(words) > 1 and words[0] == CLASS else words)


def _but(classes: Iterable[str], left_out: Iterable[str]) -> tuple[str, ...]:
    folded = set(map(folded_class, left_out))
    return tuple(one for one in classes if folded_class(one) not in folded)
