"""The race classes and the codes of racing of a filter. A race that lacks the field is taken.

A class is matched with the published text: "1" is "Class 1", in any letter case.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from string import digits
from typing import Any

from bot.channels.conditions.condition import EVERY_VALUE, FilterFields, NarrowingCondition
from bot.events.event import RacingEvent
from bot.events.races import Race
from bot.events.typed_times import in_figures
from bot.events.word_rows import word_rows

CLASS = "class"

RACE_CLASS_MAX = 40

_PARTING = frozenset(',;"')

_APART = re.compile(r"[\W_]+|(?<=[^\W\d_])(?=\d)")
"""The gaps between words, and between letters and figures: "Class1"."""

_KNOWN_SHAPE = re.compile(r"[1-9][0-9]*|(?:group|grade) [0-9]+|listed")
_GRADE = re.compile("^(group|grade) ")
"""The words on the flat and over jumps. "G1" stands for both."""
_GRADED = {"group": "group", "grade": "graded"}
"""All group races, and all graded races, as folded classes."""

_IN_A_LINE = re.compile(
    r"(?P<sort>class |group |grade |g)?(?P<first>[0-9]{1,2})"
    r"(?:(?: ?- ?| to | through )(?:(?P=sort))?(?P<last>[0-9]{1,2}))?s?|listed|group|graded?",
    re.IGNORECASE | re.ASCII,
)
_OR_BETTER = re.compile(r"(.+?)(?: ?\+| (?:or|and) (?:better|above|higher|up(?:wards)?))", re.IGNORECASE)
_BEST = ("Listed", "group", "graded")
"""Better than each class with a figure."""

_SHORT = (
    (re.compile(r"\bgr?p?\.? ?(?=[0-9])", re.IGNORECASE), "G"),
    (re.compile(r"\bc(?:l|lass)?\.? ?(?=[0-9])", re.IGNORECASE), "class "),
)
"""Short forms, such as "Gr 1" and "c4"."""

_BLACK_TYPE = frozenset({"black type", "pattern"})
"""Other words for listed and better races."""


class RaceClassCondition(NarrowingCondition):
    """The only race classes that a filter takes; empty: all classes.

    Only a class of a known shape hides an abandonment: "Class 4", "Group 2", "Listed".
    """

    field = file_key = "classes"
    file_noun = "a race class"
    race_fields = ("race_class",)
    typed_as = f"{CLASS}:"
    plural = "race classes"
    before: tuple[str, ...] = ("classes",)
    begins = frozenset({CLASS, "cl", "c", "group", "grade", "graded", "listed", "g", "gr", "grp", *_BLACK_TYPE})
    label = "Only these race classes"
    hint = "With commas between, for example: 1, 2, Group 1. Races without a published class come too."
    text_max = 3_000
    """https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element"""

    def key(self, value: str) -> str:
        folded = folded_class(value)
        return _GRADED.get(folded, folded)

    def keys_of(self, published: str) -> frozenset[str]:
        """For example "group 1", "g 1" and "group" of "Group 1"; "graded" of "Grade 1"."""
        folded = self.key(published)
        graded = _GRADE.match(folded)
        return frozenset({folded, _GRADE.sub("g ", folded), _GRADED[graded[1]] if graded else folded})

    def unlisted(self, values: Sequence[str], published: Sequence[str]) -> Sequence[str]:
        """The values that match no published class. Empty where no class was published.

        Beside a listed class the best classes are taken too: a list may lack a class of "class 3 or better".
        """
        known = {key for one in published for key in self.keys_of(one)}
        wrong = [one for one in values if known and self.key(one) not in known]
        return wrong if len(wrong) == len(values) or not set(_BEST).issuperset(wrong) else []

    def takes_race(self, keys: Collection[str], race: Race, event: RacingEvent) -> bool:
        published = folded_class(race.race_class or "")
        is_unsure = event.reports_loss and not _KNOWN_SHAPE.fullmatch(published)
        return not published or is_unsure or not self.keys_of(published).isdisjoint(keys)

    def stored(self, typed: str) -> str:
        """As "Class 1" for a figure."""
        text = " ".join(typed.split())
        text = _GRADED.get(text.casefold(), text)
        folded = folded_class(text)
        if not folded or len(text) > RACE_CLASS_MAX or not text.isprintable() or _PARTING.intersection(text):
            shown = text[:RACE_CLASS_MAX]
            raise ValueError(f"{shown} is no race class: write 1, or the words of a card such as Group 1")
        return f"Class {folded}" if folded.isdecimal() else text

    def values_of(self, typed: str, before: str = "") -> Sequence[str]:
        """In "group 1 and 2" the 2 is "group 2". Of "class 1-3" three classes, of "1/2" two."""
        if better := _OR_BETTER.fullmatch(typed):
            return self._or_better(self.values_of(better[1], before))
        if typed.casefold() in _BLACK_TYPE:
            return _BEST
        found: list[str] = []
        words = in_figures(typed)
        for short, sort in _SHORT:
            words = short.sub(sort, words)
        for part in words.split("/"):
            sort = (found[-1] if found else before).rstrip(digits) if part[:1].isdecimal() else ""
            said = _IN_A_LINE.fullmatch(f"{sort}{part}")
            if said is None:
                return []
            ends = sorted(map(int, filter(None, said.group("first", "last"))))
            each = [f"{said['sort'] or ''}{one}" for one in range(ends[0], ends[-1] + 1)] if ends else [part]
            found += map(self.stored, each)
        return found

    def _or_better(self, lowest: Sequence[str]) -> Sequence[str]:
        """The class and all better classes: of "Class 2" also Class 1, listed, group and graded races."""
        sort, _, number = (lowest[0] if len(lowest) == 1 else "").casefold().rpartition(" ")
        if number == "listed":
            return _BEST
        ranks = self.values_of(f"{sort} 1-{number}") if number.isdecimal() else []
        return [*ranks, *(_BEST if ranks and sort == CLASS else ())]

    def meant_by(self, typed: str) -> Sequence[str]:
        """A figure alone is no class."""
        return [] if in_figures(typed)[:1].isdecimal() else self.values_of(typed)

    def typed(self, chosen: FilterFields) -> list[str]:
        return [f"{self.typed_as}{_short(one)}".rstrip(":") for one in self.of(chosen)]

    def in_words(self, value: str) -> str:
        return f"{CLASS} {_short(value)}" if _short(value) != value else value


def folded_class(race_class: str) -> str:
    """A race class for comparing: letters and figures, without the word "class"."""
    words = [str(int(word)) if word.isdecimal() else word for word in _APART.sub(" ", race_class.casefold()).split()]
    return " ".join(words[1:] if len(words) > 1 and words[0] == CLASS else words)


def _short(race_class: str) -> str:
    folded = folded_class(race_class)
    return folded if folded.isdecimal() else race_class


FLAT, JUMPS, ALL_WEATHER = "flat", "jumps", "aw"

_ROWS = word_rows("bot.channels.conditions", "words.ini")


def _with_plurals(section: str) -> frozenset[str]:
    rows = _ROWS[section]
    return frozenset({f"{word}{s}" for word in rows["plural"] for s in ("", "s", "'s")}.union(rows["own"]))


SORTS_OF_RACES, _PARTS_OF_JUMPS = map(_with_plurals, ("sorts of races", "parts of jumps"))

_OVER_JUMPS = re.compile(r"\b(?:hurdles?|(?:steeple)?chases?|jumps?|bumper|n\.?h\.?f?|inh|national hunt)\b")
_ON_THE_FLAT = re.compile(r"\bflat\b")
_SYNTHETIC = re.compile(r"\b(?:a\.?w\.?t?|all[ -]weather|polytrack|tapeta|fibresand|synthetic|psf)\b")
_NATURAL = re.compile(r"\b(?:turf|grass|gazon|dirt)\b")


class RaceCodeCondition(NarrowingCondition):
    """The only codes that a filter takes; empty: all."""

    field = file_key = "codes"
    file_noun = "a code of racing"
    race_fields = ("race_type", "surface")
    typed_as = "code:"
    example = JUMPS
    called: Mapping[str, str] = {
        **dict.fromkeys(_PARTS_OF_JUMPS, JUMPS),
        **{word: code for code, words in _ROWS["codes"].items() for word in words},
    }
    begins = SORTS_OF_RACES
    plural = "codes of racing"
    label = "Only this racing"
    hint = "Races without this information come too. Flat is on turf and all-weather alike."
    labels: Mapping[str, str] = {FLAT: "Flat", JUMPS: "Jumps", ALL_WEATHER: "All-weather"}
    opposites: Mapping[str, str] = {FLAT: JUMPS, JUMPS: FLAT, ALL_WEATHER: JUMPS}

    def takes_race(self, keys: Collection[str], race: Race, event: RacingEvent) -> bool:  # noqa: ARG002
        return any(_is_of(race, code) is not False for code in keys)

    def meant_by(self, typed: str) -> Sequence[str]:
        return [JUMPS] if self.is_part(typed) else super().meant_by(typed)

    def is_part(self, typed: str) -> bool:
        """As "mares' novice hurdles"."""
        words = typed.casefold().split()
        sorts = takewhile(lambda word: word.strip("'") in SORTS_OF_RACES, words)
        return " ".join(words[len(list(sorts)) :]) in _PARTS_OF_JUMPS

    def stored(self, typed: str) -> str:
        if code := self.meant_by(typed.strip()):
            return code[0]
        raise ValueError(f"{typed[:40]} is no code of racing: write {FLAT}, {JUMPS} or {ALL_WEATHER}")

    def of_file(self, values: Sequence[Any]) -> tuple[str, ...]:
        return tuple(sorted(dict.fromkeys(values), key=(FLAT, JUMPS, ALL_WEATHER, EVERY_VALUE).index))


def _is_of(race: Race, code: str) -> bool | None:
    """None where the race does not say."""
    kind, surface = (race.race_type or "").casefold(), f"{race.surface or ''} {race.course.name or ''}".casefold()
    if code == ALL_WEATHER:
        return True if _SYNTHETIC.search(surface) else False if _NATURAL.search(surface) else None
    is_over_jumps, is_flat = bool(_OVER_JUMPS.search(kind)), bool(_ON_THE_FLAT.search(kind))
    if not (is_over_jumps or is_flat):
        return None
    return is_over_jumps is (code == JUMPS)
