"""A line's words as phrases, each with its kind: region, course, word of the command's own, joining word.

Exactly published names count before English: "NO" is a published region, and "no" the joining word. English counts
before names in another letter case. In quotes, and after `course:`, nothing is a joining word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.channels.conditions.race_class_condition import CLASS
from bot.racedata.lexicon import Lexicon
from bot.slack.commands.tokens import SINGLE_QUOTE, Word, parted
from bot.slack.messages.conditions.table import CHOICES

_RACE_CLASS = re.compile("(class|group|grade) [0-9]", re.IGNORECASE | re.ASCII)

_IN_BRACKETS = re.compile(r"\((.+)\)")

_CHOSEN = frozenset(view.typed_as for view in CHOICES)

WORDS_OF_A_NAME = 6
"""The most words of a name."""

WORDS_OF_A_DAY = 4
"""The words of "22nd of november 2026"."""


class Kind(StrEnum):
    REGION = "region"
    COURSE = "course"
    NO_COURSE = "no course"
    OWN = "own"
    DAY = "day"
    VALUE = "value"
    """A race class, or another value after its name: `class:1`."""
    AND = "and"
    OR = "or"
    NOT = "not"
    ONLY = "only"
    FILLER = "filler"
    UNKNOWN = "unknown"


JOINING: Mapping[str, Kind] = (
    {"and": Kind.AND, "&": Kind.AND, "+": Kind.AND, "plus": Kind.AND, "or": Kind.OR, "nor": Kind.OR}
    | dict.fromkeys(("except", "excluding", "without", "no", "not"), Kind.NOT)
    | {"only": Kind.ONLY, "just": Kind.ONLY}
    | dict.fromkeys(("for", "from", "the", "of", "in", "at", "to", "on", "with", "please", "but"), Kind.FILLER)
    | dict.fromkeys(("course", "region", "racing"), Kind.FILLER)
)

THINGS = frozenset({Kind.REGION, Kind.COURSE, Kind.NO_COURSE, Kind.OWN, Kind.DAY, Kind.UNKNOWN})


@dataclass(frozen=True)
class Phrase:
    """Words with one meaning: `value` is a code, a course's word, or a word in full.

    `is_named`: `course:` or `region:` stood before. `has_comma`: a comma follows.
    """

    kind: Kind
    typed: str
    value: str
    is_named: bool = False
    has_comma: bool = False

    @property
    def is_renamed(self) -> bool:
        return self.kind is Kind.REGION and self.typed != self.value

    @property
    def is_respelled(self) -> bool:
        return self.kind in {Kind.COURSE, Kind.NO_COURSE} and self.typed != self.value


def _no_day(_typed: str) -> bool:
    return False


@dataclass(frozen=True)
class PhraseReader:
    """Reads words by a lexicon. `own` are the command's own words in small letters, each with the word in full."""

    lexicon: Lexicon
    own: Mapping[str, str]
    is_day: Callable[[str], bool] = _no_day
    reads_values: bool = False

    def read(self, words: Sequence[Word]) -> list[Phrase]:
        phrases: list[Phrase] = []
        start = 0
        while start < len(words):
            kind, value, size = self._at(words, start)
            last = words[start + size - 1]
            typed = _text(words[start : start + size])
            is_named = bool(parted(words[start].text)[0])
            phrases.append(Phrase(kind, parted(typed)[1] if is_named else typed, value, is_named, last.has_comma))
            start += size
        return [
            replace(phrase, kind=Kind.UNKNOWN) if _is_lonely_but(phrases, place) else phrase
            for place, phrase in enumerate(phrases)
        ]

    def _at(self, words: Sequence[Word], start: int) -> tuple[Kind, str, int]:
        name, rest = parted(words[start].text)
        if name:
            return self._called(name.lower(), rest.strip(SINGLE_QUOTE + " ") or rest)
        run = _plain_run(words, start)
        if self.reads_values and run > 1 and _RACE_CLASS.fullmatch(_text(words[start : start + 2])):
            return Kind.VALUE, f"{CLASS}:{_text(words[start : start + 2])}", 2
        looks = [(self._exactly, run), (self._nearly, run)] if self.lexicon.has_name_from(words[start].text) else []
        for look, longest in [*looks[:1], (self._day, min(run, WORDS_OF_A_DAY)), *looks[1:]]:
            for size in range(longest, 1, -1):
                if found := look(_text(words[start : start + size])):
                    return *found, size
        return *self._single(words[start]), 1

    def _called(self, name: str, rest: str) -> tuple[Kind, str, int]:
        if name.endswith("course:"):
            course = rest if self.lexicon.has_course_word(rest) else self.lexicon.course_in_any_case(rest) or rest
            return Kind.COURSE if name == "course:" else Kind.NO_COURSE, course, 1
        if name == "date:":
            return Kind.DAY if self.is_day(rest) else Kind.UNKNOWN, rest, 1
        if name != "region:":
            return Kind.VALUE if self.reads_values else Kind.UNKNOWN, f"{name}{rest}", 1
        code = rest if self.lexicon.is_region(rest) else self._region(rest)
        return Kind.REGION if code else Kind.UNKNOWN, code or rest, 1

    def _exactly(self, text: str) -> tuple[Kind, str] | None:
        if self.lexicon.is_region(text):
            return Kind.REGION, text
        if self.lexicon.has_course(text):
            return Kind.COURSE, text
        code = self.lexicon.region_named(text)
        return (Kind.REGION, code) if code else None

    def _day(self, text: str) -> tuple[Kind, str] | None:
        return (Kind.DAY, text) if self.is_day(text) else None

    def _nearly(self, text: str) -> tuple[Kind, str] | None:
        if found := self._in_any_case(text):
            return found
        is_known = self.lexicon.is_nearly_course(text) or self.lexicon.parts_of(text) or self.lexicon.is_country(text)
        return (Kind.UNKNOWN, text) if is_known else None

    def _single(self, word: Word) -> tuple[Kind, str]:
        text = word.text.strip(SINGLE_QUOTE + " ") or word.text
        folded = text.casefold()
        if self.lexicon.is_region(text):
            return Kind.REGION, text
        if (inner := _IN_BRACKETS.fullmatch(text)) and self.lexicon.is_region(inner[1]):
            # As answers name a course: "Ascot (GB)".
            return Kind.REGION, inner[1]
        if word.is_quoted and self.lexicon.has_course_word(text):
            return Kind.COURSE, text
        if folded in self.own:
            return Kind.OWN, self.own[folded]
        if self.reads_values and not word.is_quoted and f"{folded}:" in _CHOSEN:
            return Kind.VALUE, f"{folded}:"
        if folded in JOINING and not word.is_quoted:
            return JOINING[folded], folded
        if self.lexicon.has_course_word(text):
            return Kind.COURSE, text
        if code := self.lexicon.region_named(text):
            return Kind.REGION, code
        if self.is_day(text):
            return Kind.DAY, text
        return self._in_any_case(text) or (Kind.UNKNOWN, text)

    def _in_any_case(self, text: str) -> tuple[Kind, str] | None:
        if code := self.lexicon.region_in_any_case(text):
            return Kind.REGION, code
        course = self.lexicon.course_in_any_case(text)
        return (Kind.COURSE, course) if course else None

    def _region(self, text: str) -> str | None:
        return self.lexicon.region_named(text) or self.lexicon.region_in_any_case(text)


def _is_lonely_but(phrases: Sequence[Phrase], place: int) -> bool:
    """Whether a "but" stands without "not": "GB but Ascot" may mean with Ascot or without."""
    follows = phrases[place + 1].kind if place + 1 < len(phrases) else None
    return phrases[place].kind is Kind.FILLER and phrases[place].value == "but" and follows is not Kind.NOT


def _plain_run(words: Sequence[Word], start: int) -> int:
    run = 0
    while start + run < len(words) and run < WORDS_OF_A_NAME:
        word = words[start + run]
        if word.is_quoted or parted(word.text)[0]:
            break
        run += 1
    return max(run, 1)


def _text(words: Sequence[Word]) -> str:
    commas = [f"{word.text}," if word.has_comma else word.text for word in words[:-1]]
    return " ".join([*commas, words[-1].text]).strip(SINGLE_QUOTE + " ")
