"""A line's words as phrases, each with its kind: a region, a course, a word of the command's own, a joining word.

Published names count before English, exactly as published: "NO" is the region where a region NO is published, and "no"
is the joining word. English counts before published names in another letter case. In quotes, and after `course:`,
nothing is a joining word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.channels.conditions.race_class_condition import CLASS
from bot.racedata.lexicon import Lexicon
from bot.slack.commands.tokens import SINGLE_QUOTES, Word, parted

_RACE_CLASS = re.compile("(class|group|grade) [0-9]", re.IGNORECASE | re.ASCII)
"""A race class in plain words."""

WORDS_MAX = 6
"""Names of more words are not looked up."""

DAY_MAX = 4
"""The words of "22nd of november 2026"."""


class Kind(StrEnum):
    """The kind of a phrase."""

    REGION = "region"
    COURSE = "course"
    NO_COURSE = "no course"
    """A course after `-course:`."""
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
"""Words that join others, in any letter case, by kind."""

THINGS = frozenset({Kind.REGION, Kind.COURSE, Kind.NO_COURSE, Kind.OWN, Kind.DAY, Kind.UNKNOWN})


@dataclass(frozen=True)
class Phrase:
    """Words with one meaning together. `value` is the meaning: a code, a course's word, a word in full.

    `is_named`: `course:` or `region:` stood before. `has_comma`: a comma follows.
    """

    kind: Kind
    typed: str
    value: str
    is_named: bool = False
    has_comma: bool = False

    @property
    def is_renamed(self) -> bool:
        """Whether a region was typed in another way than its code is published."""
        return self.kind is Kind.REGION and self.typed != self.value

    @property
    def is_respelled(self) -> bool:
        """Whether a course was typed in another letter case than its name is published."""
        return self.kind in {Kind.COURSE, Kind.NO_COURSE} and self.typed != self.value


def _no_day(_typed: str) -> bool:
    return False


@dataclass(frozen=True)
class Reader:
    """Reads words by a lexicon. `own` are the command's own words, in small letters, each with the word in full."""

    lexicon: Lexicon
    own: Mapping[str, str]
    is_day: Callable[[str], bool] = _no_day
    reads_values: bool = False

    def read(self, words: Sequence[Word]) -> list[Phrase]:
        """The phrases, longest first, from left to right."""
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
        """The kind, the value and the number of words of the phrase that begins at a word."""
        name, rest = parted(words[start].text)
        if name:
            return self._called(name.lower(), rest.strip(SINGLE_QUOTES + " ") or rest)
        run = _plain_run(words, start)
        if self.reads_values and run > 1 and _RACE_CLASS.fullmatch(_text(words[start : start + 2])):
            return Kind.VALUE, f"{CLASS}:{_text(words[start : start + 2])}", 2
        looks = [(self._exactly, run), (self._nearly, run)] if self.lexicon.has_name_from(words[start].text) else []
        for look, longest in [*looks[:1], (self._day, min(run, DAY_MAX)), *looks[1:]]:
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
        """The kind and value of several words together."""
        if self.lexicon.is_region(text):
            return Kind.REGION, text
        if self.lexicon.has_course(text):
            return Kind.COURSE, text
        code = self.lexicon.region_named(text)
        return (Kind.REGION, code) if code else None

    def _day(self, text: str) -> tuple[Kind, str] | None:
        """Several words that name a day together."""
        return (Kind.DAY, text) if self.is_day(text) else None

    def _nearly(self, text: str) -> tuple[Kind, str] | None:
        """Several words that are a name in another letter case, or nearly a name, together."""
        if found := self._in_any_case(text):
            return found
        is_known = self.lexicon.is_nearly_course(text) or self.lexicon.parts_of(text) or self.lexicon.is_country(text)
        return (Kind.UNKNOWN, text) if is_known else None

    def _single(self, word: Word) -> tuple[Kind, str]:
        text = word.text.strip(SINGLE_QUOTES + " ") or word.text
        folded = text.casefold()
        if self.lexicon.is_region(text):
            return Kind.REGION, text
        if word.is_quoted and self.lexicon.has_course_word(text):
            return Kind.COURSE, text
        if folded in self.own:
            return Kind.OWN, self.own[folded]
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
        """The region or course that is published in another letter case, where there is exactly one."""
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
    """How many words from `start` on are neither quoted nor named, up to WORDS_MAX."""
    run = 0
    while start + run < len(words) and run < WORDS_MAX:
        word = words[start + run]
        if word.is_quoted or parted(word.text)[0]:
            break
        run += 1
    return max(run, 1)


def _text(words: Sequence[Word]) -> str:
    """The words as they were typed, but for a comma after the last."""
    commas = [f"{word.text}," if word.has_comma else word.text for word in words[:-1]]
    return " ".join([*commas, words[-1].text]).strip(SINGLE_QUOTES + " ")
