"""The words after `/racecard` and `/results`: a region, a day, a course and an off time, in any order.

A day is a published race date. "today" is the date in UTC, because the zone of the service's dates is not shown (Spec
gap G16): every answer names its date.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from bot.channels import subscriptions
from bot.channels.filters import ALL_REGIONS
from bot.db.engine import Database
from bot.errors import CommandError
from bot.events.days import is_day_phrase, likely_day, parse_day
from bot.events.races import Course
from bot.events.typed_off import read_off
from bot.events.typed_text import tidy
from bot.racedata.day_card import MeetingCard
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import (
    COURSE_PREFIX,
    LOOKED_UP_MAX,
    Vocabulary,
    course_words,
    find_courses,
    named,
    quoted,
    refusal,
    wrong_words,
)
from bot.racedata.reference_book import ReferenceBook
from bot.racedata.reference_store import KnownCourse
from bot.slack.commands.filter_choice import no_region
from bot.slack.language.grammar import JOINING, THINGS, Kind, Phrase, PhraseReader
from bot.slack.language.tokens import SINGLE_QUOTE, Word, join, parted, read_page, words_of

ALL_REGIONS_WORD = "all"

USUAL_REGIONS = ("GB", "IRE")
"""Named first where a channel's subscriptions name no region."""

_LIKE_A_REGION = re.compile("[A-Z]{2,4}")

MeetingsOf = Callable[[date], Awaitable[Sequence[MeetingCard]]]


@dataclass(frozen=True)
class Asked:
    """The day, and the other words as typed.

    `own` are the command's own words, each with its meaning; `flags` are the typed own words. `page` comes from a
    button. `is_day_named`: the day was typed. `off`: the typed off time.
    """

    day: date
    words: tuple[Word, ...]
    command: str = ""
    flags: frozenset[str] = frozenset()
    page: int = 1
    own: Vocabulary = field(default_factory=dict)
    is_day_named: bool = False
    off: str | None = None

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)

    def line(self, *words: str) -> str:
        day = [self.day.isoformat()] if self.is_day_named else []
        return join([self.command, *words, *([self.off] if self.off else []), *day, *sorted(self.flags)])


@dataclass(frozen=True)
class DayPlace:
    """A region (None: all) and a course (None: all). `unchecked` words could not be looked up."""

    region: str | None = None
    course: Course | None = None
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Read:
    asked: Asked
    lexicon: Lexicon
    phrases: Sequence[Phrase]

    @property
    def regions(self) -> list[str]:
        return list(dict.fromkeys(phrase.value for phrase in self.phrases if self._is_region(phrase)))

    @property
    def left(self) -> list[Phrase]:
        return [phrase for phrase in self.phrases if phrase.kind in THINGS and not self._is_region(phrase)]

    @property
    def but_regions(self) -> list[str]:
        return [phrase.typed for phrase in self.phrases if not self._is_region(phrase)]

    def courses_of(self, typed: str) -> list[KnownCourse]:
        return find_courses(self.lexicon.courses, typed)

    def check(self) -> None:
        places = [*self.regions, *(one.value for one in self.left if one.kind is Kind.COURSE)]
        each = {place: self.asked.line(place) for place in places}
        # The command's own words may be what was to be left out.
        plain = replace(self.asked, flags=frozenset())
        if any(phrase.kind is Kind.NOT for phrase in self.phrases):
            told = f"I can leave nothing out here. /{self.asked.command} shows a region, a course, or all there is."
            raise CommandError(told, lines={place: plain.line(place) for place in places})
        if len(self.regions) > 1:
            raise CommandError(f"One region at a time: you named {' and '.join(self.regions)}.", lines=each)

    def not_understood(self, days: Collection[str]) -> CommandError:
        if error := no_region(self.lexicon, [one.value for one in self.left if one.kind is Kind.UNKNOWN]):
            return error
        words = [one.value for one in self.left]
        wrong = wrong_words(words, self._vocabulary(words, days, self.regions))
        if wrong and self.regions and not any(one.meant for one in wrong):
            # No course there is alike. The course may be in another region.
            wrong = wrong_words(words, self._vocabulary(words, days, ()))
        if not wrong:
            lines = {word: self.asked.line(*self.regions, word) for word in dict.fromkeys(words)}
            return CommandError(f"One course at a time: you named {named(words, 'and')}.", lines=lines)
        no_days = [one.typed for one in wrong if one.meant and one.meant[0] in days]
        no_places = [one.typed for one in wrong if one.typed not in no_days]
        told = [f"I know no day {named(no_days)}."] if no_days else []
        if no_places:
            known = "Nor do I know a" if told else "I know no"
            told.append(f"{known} region or course {named(no_places)}.")
        if not any(one.meant for one in wrong):
            told.append(self._understood())
        return refusal(" ".join(told), wrong)

    def _vocabulary(self, words: Sequence[str], days: Collection[str], regions: Sequence[str]) -> Vocabulary:
        lists = self.lexicon
        there = [one for one in lists.courses if not regions or one.region in {None, *regions}]
        called = {name for one in lists.courses for name in (one.course_id, one.name, one.shortcode) if name}
        as_typed = [*lists.regions, *days, *called.intersection(words)]
        countries = {name: code for name, code in lists.names.items() if name not in lists.regions}
        return countries | course_words(there) | dict(self.asked.own) | {word: word for word in as_typed}

    def _is_region(self, phrase: Phrase) -> bool:
        return phrase.kind is Kind.REGION or (
            not self.lexicon.regions and phrase.kind in THINGS and bool(_LIKE_A_REGION.fullmatch(phrase.value))
        )

    def _understood(self) -> str:
        example = f" such as {self.lexicon.regions[0]}" if self.lexicon.regions else ""
        return (
            f"I understand a region{example}, today, tomorrow, a weekday or a date, and a course, exactly as the data "
            "service writes them."
        )


def read_words(
    text: str, today: date, *, command: str = "", looks_back: bool = False, flags: Mapping[str, str] | None = None
) -> Asked:
    """The words of a text. Raises CommandError for two days, for two off times, or for a word that is no day.

    A weekday is the coming day, or the last day where the command `looks_back`. `flags` are the command's own words,
    each with its meaning.
    """
    flags = flags or {}
    days: list[date] = []
    offs: list[str] = []
    others: list[Word] = []
    found: set[str] = set()
    page = 1
    for word in _joined([word for word in map(_bare, words_of(text)) if word.text]):
        if off := read_off(word.text):
            offs.append(off)
            continue
        day = _day(word.text, today, looks_back=looks_back)
        folded = word.text.lower()
        if day is not None:
            days.append(day)
        elif folded in flags:
            found.add(flags[folded])
        elif turned := read_page(word.text):
            page = turned
        elif folded != ALL_REGIONS_WORD:
            others.append(word)
    asked = Asked(days[0] if days else today, tuple(others), command, frozenset(found), page, flags, bool(days))
    if len(set(offs)) > 1:
        each = {off: replace(asked, off=off).line(*but_joining(asked.others)) for off in offs}
        raise CommandError(f"One off time at a time: you named {' and '.join(each)}.", lines=each)
    asked = replace(asked, off=offs[0] if offs else None)
    if len(set(days)) > 1:
        lines = {day.isoformat(): replace(asked, day=day) for day in days}
        raise CommandError(
            f"One day at a time: you named {' and '.join(day.isoformat() for day in days)}.",
            lines={label: one.line(*but_joining(one.others)) for label, one in lines.items()},
        )
    return asked


async def find_place(reference: ReferenceBook, meetings: MeetingsOf, asked: Asked, timeout_s: float) -> DayPlace:
    """The typed region and course. Raises CommandError for unknown words and for two regions.

    A course without a list is known where the day has a meeting there.
    """
    if not asked.words:
        return DayPlace()
    lexicon = await reference.lexicon(timeout_s)
    whole = " ".join(asked.others)
    if not lexicon.is_region(whole) and find_courses(lexicon.courses, whole):
        return await _at_course(reference, whole, None, (), timeout_s)
    read = _Read(asked, lexicon, PhraseReader(lexicon).read(asked.words))
    read.check()
    region = next(iter(read.regions), None)
    unchecked = () if lexicon.regions or region is None else (region,)
    rest = " ".join(phrase.value for phrase in read.left)
    if not rest:
        return DayPlace(region=region, unchecked=unchecked)
    if not read.courses_of(rest):
        whole = " ".join(read.but_regions)
        there = await meetings(asked.day)
        if seen := _seen(there, rest, region) or _seen(there, whole, region):
            return DayPlace(region or seen.region, seen.course, unchecked)
        days = {day for one in read.left[:LOOKED_UP_MAX] if (day := likely_day(one.value))}
        folded = {code.casefold() for code in lexicon.regions}
        if lexicon.courses or days or any(one.value.casefold() in folded for one in read.left):
            # To look for what is alike takes as long as many deliveries do.
            raise await asyncio.to_thread(read.not_understood, days)
    try:
        return await _at_course(reference, rest, region, unchecked, timeout_s)
    except CommandError as error:
        typed = {phrase.value: phrase.typed for phrase in read.phrases}
        raise error.of_words(
            typed | {f"{COURSE_PREFIX}{value}": f"{COURSE_PREFIX}{word}" for value, word in typed.items()}
        ) from None


async def first_regions(database: Database, channel_id: str) -> Sequence[str]:
    """The regions whose meetings are listed first: what the channel subscribed to, else the usual regions."""
    rows = await database.read(lambda session: subscriptions.of_channel(session, channel_id))
    return [row.region for row in rows if row.region != ALL_REGIONS] or USUAL_REGIONS


def but_joining(words: Sequence[str]) -> Sequence[str]:
    places = [place for place, word in enumerate(words) if word.casefold() not in JOINING]
    return words[places[0] : places[-1] + 1] if places else ()


def _seen(meetings: Sequence[MeetingCard], typed: str, region: str | None) -> MeetingCard | None:
    here = [one for one in meetings if region is None or one.region in {region, None}]
    return next(
        (one for one in here if typed == one.course.course_id or _as_typed(typed) == _as_typed(one.course.name)), None
    )


def _as_typed(name: str | None) -> str:
    return " ".join(tidy(name or "").replace('"', "").split()).strip(SINGLE_QUOTE + " ")


async def _at_course(
    reference: ReferenceBook, typed: str, region: str | None, unchecked: tuple[str, ...], timeout_s: float
) -> DayPlace:
    course = await reference.check_course(typed, timeout_s, regions=[region] if region else ())
    if course.course_id is None:
        return DayPlace(region, course, (*unchecked, typed))
    own = await reference.region_of(course)
    if region is not None and own is not None and region != own:
        raise CommandError(f"{course.name or typed} is in {own}, not in {region}.", typed=region, meant={own: own})
    return DayPlace(region or own, course, unchecked)


def _joined(words: Sequence[Word]) -> Iterator[Word]:
    """The words, with words of one day joined: "last friday", "21 nov 2026"."""
    start = 0
    while start < len(words):
        sizes = [size for size in (4, 3, 2) if start + size <= len(words)]
        phrases = [" ".join(word.text for word in words[start : start + size]) for size in sizes]
        size, phrase = next(((n, one) for n, one in zip(sizes, phrases, strict=True) if is_day_phrase(one)), (1, ""))
        yield words[start + size - 1]._replace(text=phrase) if phrase else words[start]
        start += size


def _bare(word: Word) -> Word:
    """The word without single quotes and without its name: `course:Ascot` is `Ascot`."""
    name, rest = parted(word.text)
    return Word(rest.strip(SINGLE_QUOTE + " "), word.is_quoted or bool(name), word.has_comma)


def _day(word: str, today: date, *, looks_back: bool) -> date | None:
    try:
        return parse_day(word, today, looks_back=looks_back)
    except (ValueError, OverflowError) as error:
        meant = [day.isoformat() for day in getattr(error, "meant", ())]
        raise CommandError(
            f"{quoted(word)} is not a day. Write today, tomorrow, yesterday, a weekday, or a date as "
            f"{today.isoformat()}.",
            typed=word,
            meant={day: day for day in meant},
            asks=True,
        ) from None
