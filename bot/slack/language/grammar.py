"""A line's words as phrases, each with its kind: region, course, topic, value of a choice, joining word.

Exactly published names count before English: "NO" is a published region, and "no" the joining word. English counts
before names in another letter case. In quotes, and after `course:`, nothing is a joining word.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NamedTuple

from bot.channels.conditions.choices import ZONE, ChoiceCondition, DigestCondition, HourCondition
from bot.channels.conditions.condition import EVERY_VALUE, Condition
from bot.channels.conditions.table import TYPED_AS, VALUED
from bot.channels.conditions.zones import zone_called
from bot.events.days import BEGINNINGS, DayUnclearError, is_day, may_be_year, parse_day
from bot.events.event import Topic
from bot.events.number_words import ORDINALS
from bot.events.typed_text import SINGLE_QUOTE
from bot.events.typed_times import NOON_H, read_off, read_race_number, with_clocks
from bot.racedata.lexicon import Lexicon, grouped
from bot.slack.language.refusals import date_or_time, no_day, not_chosen, nothing_follows
from bot.slack.language.tokens import Word, parted, words_of
from bot.slack.language.words import JOINING, JOINTS, NON_RUNNERS, NOT_CHOSEN, TOPIC_WORDS, Kind, Words, words_in

WORDS_OF_A_NAME = 6
"""The most words of a name, and of a value such as "10 pm to 7 am"."""

WORDS_OF_A_DAY = 4
"""The words of "22nd of november 2026"."""


_CHOSEN: Mapping[str, Condition] = {said: one for one in VALUED for said in (one.name, *one.before)}
"""The words before a value: the name of the choice, or the words of the bot's own answers."""

_EACH_DAY = words_in("each day")
_SAID = {**words_in("said"), **_EACH_DAY}
"""Words of the bot's own answers."""

_END_OF_WORD = re.compile("[ /'0-9-]")


def _begins(said: str) -> str:
    return _END_OF_WORD.split(said, maxsplit=1)[0]


_ALL_SAID = (*_CHOSEN, *_SAID, *NOT_CHOSEN, *(said for one in VALUED for said in (*one.called, *one.begins)), "at")
_SAYINGS = {first: tuple(some) for first, some in grouped((_begins(said), said) for said in _ALL_SAID).items()}
_MEANT_FROM = grouped((_begins(said), one) for one in VALUED for said in (*one.called, *one.begins))
HOUR_OF_TOPIC: Mapping[Topic | None, Condition] = {one.topic: one for one in VALUED if isinstance(one, DigestCondition)}
"""The choice of an hour, by its topic."""

_BEFORE_A_VALUE = frozenset([*_EACH_DAY, "of", "for", "at", "from", "after", "before", "within", "between", "to", "in"])
_AFTER_A_COURSE = frozenset(["park", "pk", "racecourse", "downs"])
_MARKS = re.compile(r"[/\\;:.=!?*_~|()\[\]<>{}&+]+")
_EMOJI = re.compile(r":[\w+-]+:|[^\w]+")
_BEGINS_MOMENT = BEGINNINGS | {word[:3] for word in (*ORDINALS, "race", "r", "lucky", "final")}
"""The first three letters of days and numbers of races that may have several words."""

_SOME_DAY = date(2000, 1, 1)
_SWAPPED_WITHIN = timedelta(days=31)
"""Only a day as near as this may be typed with the month first, as "11 22". In November "2 15" is no February day."""

_APART = re.compile("[- ]")
_OWNERS_S = re.compile(r"(?<=\w)'?s$|(?<=s)'$", re.IGNORECASE)
"""The possessive ending in "York's results" and "todays card"."""

_IN_BRACKETS = re.compile(r"\((.+)\)")

NO_LISTS = Lexicon()


class Phrase(NamedTuple):
    """Words with one meaning: `value` is a code, a course's word, a word in full, or a value of the field `of_field`.

    `is_named`: `course:` or `region:` stood before. `has_comma`: a comma follows. `is_out`: a minus stood before.
    `wrong`: why a value is refused, in words, and the values that may be `meant`.
    """

    kind: Kind
    typed: str
    value: Any
    of_field: str = ""
    is_named: bool = False
    has_comma: bool = False
    is_out: bool = False
    wrong: str = ""
    meant: tuple[str, ...] = ()


PhrasesFound = tuple[list[Phrase], int]
"""Phrases, and the place after their words."""


@dataclass(frozen=True)
class Grammar:
    """The possible words of a command, beside places.

    `own` are the command's own words. `has_days`: days and off times;
    a weekday is the coming day, or the last where the command `looks_back`. `has_choices`: the values of choices too,
    as in "digest at 6pm", and "-York".
    """

    own: Words = field(default_factory=dict)
    has_days: bool = False
    looks_back: bool = False
    has_choices: bool = False

    def read(self, text: str, lexicon: Lexicon = NO_LISTS, today: date | None = None) -> list[Phrase]:
        """The phrases of a text. Without `today` a day's value is the typed day."""
        return _Reader(lexicon, self, today).read(words_of(with_clocks(text)))


@dataclass(frozen=True)
class _Reader:
    lexicon: Lexicon
    grammar: Grammar
    today: date | None

    def read(self, words: Sequence[Word]) -> list[Phrase]:
        phrases: list[Phrase] = []
        start = 0
        while start < len(words):
            found, start = self._at(words, start, phrases)
            phrases += found
        return phrases

    def _at(self, words: Sequence[Word], start: int, before: Sequence[Phrase]) -> PhrasesFound:
        word = words[start]
        name, rest = parted(word.text)
        if name:
            return self._called(name.lower(), rest.strip(SINGLE_QUOTE + " ") or rest, words, start, before)
        if self.grammar.has_choices and word.text.startswith("-") and word.text != "-":
            bare = word._replace(text=word.text.lstrip("-") or "-")
            found, end = self._at([bare, *words[start + 1 :]], 0, before)
            return [_left_out(one) for one in found], start + end
        run = _plain_run(words, start)
        return self._said(words, start, run, before) or self._as_name(words, start, run, before)

    def _as_name(self, words: Sequence[Word], start: int, run: int, before: Sequence[Phrase]) -> PhrasesFound:
        """The longest name or day, else a single word."""
        word = words[start]
        names = run if self.lexicon.has_name_from(word.text) else 0
        is_moment = word.text[:1].isdecimal() or word.text[:3].casefold() in _BEGINS_MOMENT
        moments = min(run, WORDS_OF_A_DAY) if is_moment and self.grammar.has_days else 0
        for look, longest in (
            (self._exactly, names),
            (self._moment, moments),
            (self._nearly, names),
        ):
            for size in range(longest, 1, -1):
                text = _text(words[start : start + size])
                forms = (text, _OWNERS_S.sub("", text)) if text[-1:] in "'sS" else (text,)
                known = next(filter(None, map(look, forms)), None)
                if known and not (look == self._moment and _begins_day(words, start + size - 1)):
                    return [self._phrase(known, words[start : start + size])], start + size
        known = self._owner_or_single(word)
        if known[0] is Kind.UNKNOWN and not word.is_quoted:
            if before and before[-1].kind is Kind.COURSE and word.text.casefold() in _AFTER_A_COURSE:
                known = Kind.FILLER, word.text
            elif before and before[-1].typed.casefold() == "at" and (hour := self._moment(f"{word.text}:00")):
                known = hour
            elif parts := self._parts(word):
                return parts, start + 1
        return [self._phrase(known, [word])], start + 1

    def _parts(self, word: Word) -> list[Phrase]:
        """The phrases of known words with marks between or around: "GB/IRE", "results:GB", "*York*"."""
        texts = list(filter(None, _MARKS.split(word.text)))
        # "<!here>" mentions people, and is no "here".
        if texts in ([], [word.text]) or word.text.startswith("<!"):
            return []
        found = self.read([Word(one, has_comma=True) for one in texts[:-1]] + [word._replace(text=texts[-1])])
        return [] if any(one.kind is Kind.UNKNOWN for one in found) else found

    def _called(
        self, name: str, rest: str, words: Sequence[Word], start: int, before: Sequence[Phrase]
    ) -> PhrasesFound:
        """The value after a name with a colon, also after a space: `course: Ascot`."""
        typed, value = words[start].text, words[start]._replace(text=rest)
        after = [*([value] if rest else []), *words[start + 1 :]]
        kind = TYPED_AS.get(name)
        if not rest and (not after or parted(after[0].text)[0] or not after[0].text):
            field, meant = (kind.field, kind.guesses("")) if kind else ("", ())
            return [Phrase(Kind.VALUE, typed, None, field, wrong=nothing_follows(typed, kind), meant=meant)], start + 1
        if kind in VALUED and self.grammar.has_choices:
            found, end = self._values(kind, after, 0, before, is_named=True)
            return found, end + start + (0 if rest else 1)
        runs = [_text(after[:size]) for size in range(1, _plain_run(after, 0) + 1)] if name.endswith("course:") else []
        size = max((size for size, text in enumerate(runs, 1) if self._course(text)), default=1)
        known = self._of_name(name, _text(after[:size]))
        phrase = self._phrase(known, after[:size])._replace(is_named=True, is_out=name.startswith("-"))
        return [phrase], start + size + (0 if rest else 1)

    def _course(self, text: str) -> str | None:
        return text if self.lexicon.has_course_word(text) else self.lexicon.course_in_any_case(text)

    def _of_name(self, name: str, text: str) -> tuple[Kind, str]:
        known = self.lexicon
        if name.endswith("course:"):
            return Kind.COURSE, self._course(text) or text
        if name != "region:":
            return Kind.UNKNOWN, f"{name}{text}"
        code = known.region_called(text)
        return Kind.REGION if code else Kind.UNKNOWN, code or text

    def _said(self, words: Sequence[Word], start: int, run: int, before: Sequence[Phrase]) -> PhrasesFound | None:
        """A choice with its values, or words of the bot's own answers."""
        if words[start].is_quoted or not self.grammar.has_choices:
            return None
        first = words[start].text.casefold()
        begins = _begins(first)
        sayings = _SAYINGS.get(begins, ())
        is_begun = sayings and _text(words[start : start + run]).casefold().startswith(sayings)
        if not is_begun or self.lexicon.is_region(words[start].text):
            return None
        meant_from = _MEANT_FROM.get(begins, ())
        topics = [one.value for one in before if one.kind is Kind.TOPIC] if first == "at" else []
        # By the nearest topic: "results at 6pm".
        if hour := next((HOUR_OF_TOPIC[one] for one in reversed(topics) if one in HOUR_OF_TOPIC), None):
            found, end = self._values(hour, words, start, before)
            if found[0].value or found[0].wrong:
                return found, end
        for end in range(start + run, start, -1):
            said = _text(words[start:end]).casefold()
            if said in _SAID:
                return [_phrase(_SAID[said], words[start:end])], end
            if said in NOT_CHOSEN:
                phrase = _phrase((Kind.NOT_CHOSEN, said), words[start:end])
                meant = (Topic.RACECARDS.value,) if said in NON_RUNNERS else ()
                return [phrase._replace(wrong=not_chosen(said), meant=meant)], end
            if kind := next((one for one in meant_from if one.meant_by(said)), None):
                return self._values(kind, words, start, before)
            if kind := _CHOSEN.get(said):
                found, after = self._values(kind, words, end, before)
                # "cards" alone are racecards, and "no results" leaves results out.
                is_own = said.rpartition(" ")[2] in self.grammar.own
                return (found, after) if found[0].value or found[0].wrong or not is_own else None
        return None

    def _values(
        self, kind: Condition, words: Sequence[Word], start: int, before: Sequence[Phrase], *, is_named: bool = False
    ) -> PhrasesFound:
        """The values of a choice from `start`, then for hours their zone.

        Without a value the phrase stands for all values; with a word that can only be meant as the value, it is wrong.
        """
        found: list[Phrase] = []
        of_kind = {word for word, topic in TOPIC_WORDS.items() if topic is kind.topic}
        at, end = _past(words, start, {*_BEFORE_A_VALUE, *of_kind}), start
        while at < len(words) and (value := _longest(kind, words, at, found[-1].value if found else "")):
            values, end = value
            found += [_phrase((Kind.VALUE, right, kind.field), words[at:end]) for right in values]
            joint = _past(words, end, {"and", "or", "&"})
            if joint == end and not words[end - 1].has_comma:
                break
            at = joint
        if found:
            zone, end = self._zone(words, end, before) if isinstance(kind, HourCondition) else ([], end)
            return [*(one._replace(is_named=is_named) for one in found), *zone], end
        if at < len(words) and (is_named or self._is_meant(kind, words[at])):
            end = at + 1
            # "quiet 11 to 7" is one value, and "quiet 11 7" too.
            last = _past(words, end, {"to", "until", "till"})
            is_span = end < last or (isinstance(kind, HourCondition) and not words[end - 1].has_comma)
            if is_span and last < len(words) and words[last].text[0].isdecimal():
                end = last + 1
            phrase, typed = _phrase((Kind.VALUE, None, kind.field), words[at:end]), _text(words[at:end])
            try:
                return [phrase._replace(value=kind.stored(typed), is_named=True)], end
            except ValueError as error:
                return [phrase._replace(wrong=f"{error}.", meant=kind.guesses(typed))], end
        every = Kind.VALUE, EVERY_VALUE, kind.field
        # "digest: at": after the colon stand joining words alone.
        return ([_phrase(every, words)], len(words)) if is_named else ([_phrase(every, [words[start - 1]])], start)

    def _zone(self, words: Sequence[Word], end: int, before: Sequence[Phrase]) -> PhrasesFound:
        """The zone after an hour, by its city: "6pm London time". A region is a zone only beside a place."""
        start = _past(words, end, {"at", "in"})
        is_placed = any(one.kind in {Kind.REGION, Kind.COURSE, Kind.ALL} for one in before)
        for after in range(min(start + 2, len(words)), start, -1):
            typed = _text(words[start:after])
            zone = zone_called(typed)
            if zone and ("/" in zone or zone == "UTC") and (is_placed or not self.lexicon.region_called(typed)):
                return [_phrase((Kind.VALUE, zone, ZONE), words[start:after])], _past(words, after, {"time"})
        return [], end

    def _is_meant(self, kind: Condition, word: Word) -> bool:
        """Whether a word can only be meant as the value of a choice."""
        if not isinstance(kind, ChoiceCondition) or parted(word.text)[0]:
            return False
        if not (kind.is_of_names or any(map(str.isdecimal, word.text))):
            return False
        is_no_name = self._single(word)[0] in {Kind.UNKNOWN, Kind.TIME, Kind.DAY} and not self.lexicon.is_country(
            word.text
        )
        return word.text[0] in "@#<" or (bool(self.lexicon.regions) and is_no_name)

    def _exactly(self, text: str) -> tuple[Kind, str] | None:
        code = self.lexicon.region_named(text)
        return self._published(text) or ((Kind.REGION, code) if code else None)

    def _moment(self, text: str) -> tuple[Kind, str] | None:
        if not self.grammar.has_days:
            return None
        if off := read_off(text) or read_race_number(text):
            return Kind.TIME, off if self.today else text
        return (Kind.DAY, text) if is_day(text, self.today or _SOME_DAY) else None

    def _nearly(self, text: str) -> tuple[Kind, str] | None:
        if found := self._published(self.lexicon.in_any_case(text)):
            return found
        is_known = self.lexicon.is_nearly_course(text) or self.lexicon.parts_of(text) or self.lexicon.is_country(text)
        return (Kind.UNKNOWN, text) if is_known else None

    def _phrase(self, known: tuple[Any, ...], words: Sequence[Word]) -> Phrase:
        """As `_phrase`, with the date of a day."""
        phrase = _phrase(known, words)
        if phrase.kind is Kind.TIME and self.today:
            days = _swapped(phrase.typed, self.today)
            if days or may_be_year(phrase.typed, self.today):
                wrong = date_or_time(phrase.typed, phrase.value, days[0] if days else self.today)
                return phrase._replace(wrong=wrong, meant=(*map(date.isoformat, days), phrase.value))
        if phrase.kind is not Kind.DAY or self.today is None:
            return phrase
        off = read_off(_APART.sub(":", phrase.value, count=1))
        try:
            day = parse_day(phrase.value, self.today, looks_back=self.grammar.looks_back)
        except (ValueError, OverflowError) as error:
            meant = tuple(one.isoformat() for one in getattr(error, "meant", ()))
            if off and not meant:
                return phrase._replace(kind=Kind.TIME, value=off)
            # "The 2nd" may be a race.
            meant = tuple(filter(None, (*meant, read_race_number(f"{phrase.value} race"))))
            return phrase._replace(wrong=no_day(phrase.value, self.today), meant=meant)
        if day and off and (" " in phrase.value or int(off.partition(":")[0]) <= NOON_H):
            return phrase._replace(wrong=date_or_time(phrase.value, off, day), meant=(day.isoformat(), off))
        return phrase._replace(value=day.isoformat() if day else phrase.value)

    def _owner_or_single(self, word: Word) -> tuple[Kind, Any]:
        """What the word means, else what the word means without a possessive ending."""
        known = self._single(word)
        if known[0] is not Kind.UNKNOWN or not (end := _OWNERS_S.search(word.text)):
            return known
        of_owner = self._single(word._replace(text=word.text[: end.start()]))
        # "yorks results" and "todays card"; "FRS" is no region, and "WINS" no course with the code "WIN".
        is_owner = "'" in end[0] or of_owner[0] is Kind.DAY or self.lexicon.has_course(of_owner[1])
        return of_owner if is_owner and of_owner[0] is not Kind.UNKNOWN else known

    def _single(self, word: Word) -> tuple[Kind, Any]:
        text = word.text.strip(SINGLE_QUOTE + " ") or word.text
        folded = text.casefold()
        if self.lexicon.is_region(text):
            return Kind.REGION, text
        if word.is_quoted and self.lexicon.has_course_word(text):
            return Kind.COURSE, text
        if folded in self.grammar.own:
            return self.grammar.own[folded]
        if folded in JOINING and not word.is_quoted:
            return JOINING[folded]
        if (inner := _IN_BRACKETS.fullmatch(text)) and self.lexicon.is_region(inner[1]):
            # As answers name a course: "Ascot (GB)".
            return Kind.REGION, inner[1]
        if self.lexicon.has_course_word(text):
            return Kind.COURSE, text
        if code := self.lexicon.region_named(text):
            return Kind.REGION, code
        is_said = word.is_quoted or not _EMOJI.fullmatch(text)
        return (
            self._moment(text)
            or self._published(self.lexicon.in_any_case(text))
            or (Kind.UNKNOWN if is_said else Kind.FILLER, text)
        )

    def _published(self, name: str | None) -> tuple[Kind, str] | None:
        if name and self.lexicon.is_region(name):
            return Kind.REGION, name
        return (Kind.COURSE, name) if name and self.lexicon.has_course(name) else None


def _phrase(known: tuple[Any, ...], words: Sequence[Word]) -> Phrase:
    """A phrase of all these words. `known`: the kind, the value, and the field of a choice."""
    kind, value, field = (*known, "")[:3]
    return Phrase(kind, _text(words), value, field, False, words[-1].has_comma)


def _swapped(typed: str, today: date) -> list[date]:
    """The days near today that "11 22" means with the month first."""
    try:
        if " " in typed:
            parse_day(typed, today)
    except DayUnclearError as error:
        return [one for one in error.meant if abs(one - today) <= _SWAPPED_WITHIN]
    return []


def _begins_day(words: Sequence[Word], at: int) -> bool:
    """Whether a word begins a day with the next word: the "22" of "5 22 nov"."""
    number, *after = [one.text for one in words[at : at + 2]]
    return any(one.isalpha() and is_day(f"{number} {one}", _SOME_DAY) for one in after)


def _left_out(one: Phrase) -> Phrase:
    """The phrase after a minus. In "-course York" the minus excludes York."""
    if one.kind is Kind.FILLER:
        return one._replace(kind=Kind.NOT, typed=f"-{one.typed}")
    kind = Kind.COURSE if one.kind is Kind.UNKNOWN else one.kind
    return one._replace(kind=kind, is_out=kind not in {*JOINTS, Kind.NOT, Kind.ONLY})


def _longest(kind: Condition, words: Sequence[Word], at: int, before: str) -> tuple[Sequence[Any], int] | None:
    """The values of a choice from `at`, after the value `before`, in the longest words, and the place after."""
    for end in range(min(len(words), at + WORDS_OF_A_NAME), at, -1):
        commas = any(word.has_comma for word in words[at : end - 1])
        if not commas and (values := kind.values_of(_text(words[at:end]), before)):
            return values, end
    return None


def _past(words: Sequence[Word], start: int, joining: Collection[str]) -> int:
    """The place after joining words and phrases, such as "once a day"."""
    ends = range(min(len(words), start + WORDS_OF_A_NAME), start, -1)
    end = next((end for end in ends if _text(words[start:end]).casefold() in joining), start)
    return _past(words, end, joining) if end > start and not words[start].is_quoted else start


def _plain_run(words: Sequence[Word], start: int) -> int:
    for at, word in enumerate(words[start : start + WORDS_OF_A_NAME]):
        if word.is_quoted or (":" in word.text and parted(word.text)[0]):
            return max(at, 1)
    return min(len(words) - start, WORDS_OF_A_NAME)


def _text(words: Sequence[Word]) -> str:
    last = words[-1].text
    if len(words) > 1:
        last = " ".join([*(f"{word.text}," if word.has_comma else word.text for word in words[:-1]), last])
    return last.strip(SINGLE_QUOTE + " ")
