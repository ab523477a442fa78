"""The race classes and the codes of racing of a filter. A race that lacks the field is taken.

A class is matched with the published text: "1" is "Class 1", in any letter case.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.channels.conditions.condition import EVERY_VALUE, NarrowingCondition
from bot.events.event import RacingEvent
from bot.events.races import Race

CLASS = "class"

RACE_CLASS_MAX = 40

_PARTING = frozenset(',;"')

_APART = re.compile(r"[\W_]+|(?<=[^\W\d_])(?=\d)")
"""What parts words; figures stand apart from letters: "Class1"."""

_KNOWN_SHAPE = re.compile(r"[1-9][0-9]*|(?:group|grade) [0-9]+|listed")
_GRADE = re.compile("^(?:group|grade) ")
"""The words on the flat and over jumps. "G1" stands for both."""


class RaceClassCondition(NarrowingCondition):
    """The only race classes that a filter takes; empty: all classes.

    Only a class of a known shape hides an abandonment: "Class 4", "Group 2", "Listed".
    """

    field = file_key = "classes"
    file_noun = "a race class"

    def key(self, value: str) -> str:
        return folded_class(value)

    def takes_race(self, keys: Collection[str], race: Race, event: RacingEvent) -> bool:
        published = folded_class(race.race_class or "")
        is_unsure = event.reports_loss and not _KNOWN_SHAPE.fullmatch(published)
        return not published or is_unsure or not class_keys(published).isdisjoint(keys)

    def stored(self, typed: str) -> str:
        """As "Class 1" for a figure."""
        text = " ".join(typed.split())
        folded = folded_class(text)
        if not folded or len(text) > RACE_CLASS_MAX or not text.isprintable() or _PARTING.intersection(text):
            shown = text[:RACE_CLASS_MAX]
            raise ValueError(f"{shown} is no race class: write 1, or the words of a card such as Group 1")
        return f"Class {folded}" if folded.isdecimal() else text


def folded_class(race_class: str) -> str:
    """A race class for comparing: letters and figures, without the word "class"."""
    words = [str(int(word)) if word.isdecimal() else word for word in _APART.sub(" ", race_class.casefold()).split()]
    return " ".join(words[1:] if len(words) > 1 and words[0] == CLASS else words)


def class_keys(folded: str) -> frozenset[str]:
    """The folded classes by which a filter takes a class: "Group 1" by "G1" too."""
    return frozenset({folded, _GRADE.sub("g ", folded)})


CODE = "code"

FLAT, JUMPS, ALL_WEATHER = "flat", "jumps", "aw"

PARTS_OF_JUMPS = ("over hurdles", "over fences", "hurdle", "hurdles", "chase", "chases", "steeplechases", "bumpers")
"""Read as all of jumps, which is more than they name."""

CALLED: Mapping[str, str] = {
    **{word: word for word in (FLAT, JUMPS, ALL_WEATHER)},
    **dict.fromkeys(("jump", "national hunt", "nh", "over jumps", *PARTS_OF_JUMPS), JUMPS),
    **dict.fromkeys(("all weather", "all-weather"), ALL_WEATHER),
}
"""What people call a code."""

_OVER_JUMPS = re.compile(r"\b(?:hurdles?|(?:steeple)?chases?|jumps?|bumper|n\.?h\.?f?|inh|national hunt)\b")
_ON_THE_FLAT = re.compile(r"\bflat\b")
_SYNTHETIC = re.compile(r"\b(?:a\.?w\.?t?|all[ -]weather|polytrack|tapeta|fibresand|synthetic|psf)\b")
_NATURAL = re.compile(r"\b(?:turf|grass|gazon|dirt)\b")


class RaceCodeCondition(NarrowingCondition):
    """The only codes that a filter takes; empty: all."""

    field = file_key = "codes"
    file_noun = "a code of racing"

    def takes_race(self, keys: Collection[str], race: Race, event: RacingEvent) -> bool:  # noqa: ARG002
        return any(is_of(race, code) is not False for code in keys)

    def stored(self, typed: str) -> str:
        if code := CALLED.get(typed.strip().casefold()):
            return code
        raise ValueError(f"{typed[:40]} is no code of racing: write {FLAT}, {JUMPS} or {ALL_WEATHER}")

    def of_file(self, values: Sequence[Any]) -> tuple[str, ...]:
        return tuple(sorted(dict.fromkeys(values), key=(FLAT, JUMPS, ALL_WEATHER, EVERY_VALUE).index))


def is_of(race: Race, code: str) -> bool | None:
    """None where the race does not say."""
    kind, surface = (race.race_type or "").casefold(), f"{race.surface or ''} {race.course.name or ''}".casefold()
    if code == ALL_WEATHER:
        return True if _SYNTHETIC.search(surface) else False if _NATURAL.search(surface) else None
    is_over_jumps, is_flat = bool(_OVER_JUMPS.search(kind)), bool(_ON_THE_FLAT.search(kind))
    if not (is_over_jumps or is_flat):
        return None
    return is_over_jumps is (code == JUMPS)
