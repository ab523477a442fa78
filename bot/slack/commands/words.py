"""The words after `/racecard` and `/results`: a region, a day and a course, in any order, each as it was typed.

A day is a published race date. "today" is the date in UTC, because the zone of the service's dates is not shown
(Spec gap G16): every answer names the date that it took.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from bot.book.card import Meeting
from bot.book.guess import GUESSED_MAX, Vocabulary, guess
from bot.book.meant import course_words, find_courses, named, quoted
from bot.book.reference import ReferenceBook
from bot.domain.days import is_day_phrase, likely_day, parse_day
from bot.domain.races import Course
from bot.errors import CommandError
from bot.slack.commands.tokens import SINGLE_QUOTES, parted, read_page, split
from bot.storage.reference import KnownCourse

ALL = "all"

_LIKE_A_REGION = re.compile("[A-Z]{2,4}")

MeetingsOf = Callable[[date], Awaitable[Sequence[Meeting]]]
"""A day → the meetings that are known of it by now."""


@dataclass(frozen=True)
class Asked:
    """The day, and the other words as typed. `all_regions`: the word "all" was among them.

    `own` are the command's own words, each with what it stands for, and `flags` those that came; `page` is what a
    button to turn the page says.
    """

    day: date
    others: tuple[str, ...]
    all_regions: bool = False
    flags: frozenset[str] = frozenset()
    page: int = 1
    own: Vocabulary = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A region (None: all) and a course (None: all). `unchecked` are words taken as typed, for want of a list."""

    region: str | None = None
    course: Course | None = None
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Known:
    """The lists that words are looked up in."""

    regions: Sequence[str]
    courses: Sequence[KnownCourse]
    own: Vocabulary

    def courses_of(self, typed: str) -> list[KnownCourse]:
        """The courses that are called so."""
        return find_courses(self.courses, typed)

    def is_region(self, typed: str) -> bool:
        """Whether it is a region but for its letter case."""
        return typed.casefold() in {region.casefold() for region in self.regions}

    def not_understood(self, words: Sequence[str], days: Collection[str]) -> CommandError:
        """That the words are no region and course together, with what they may have meant, the days among it."""
        called = {name for one in self.courses for name in (one.course_id, one.name, one.shortcode) if name}
        as_typed = [*self.regions, *days, *called.intersection(words)]
        found = guess(words, course_words(self.courses) | dict(self.own) | {word: word for word in as_typed})
        if not found.wrong:
            return CommandError(f"One course at a time: you named {named(words, 'and')}.")
        no_days = [one.typed for one in found.wrong if one.meant and one.meant[0] in days]
        no_places = [one.typed for one in found.wrong if one.typed not in no_days]
        told = [f"I know no day {named(no_days)}."] if no_days else []
        if no_places:
            known = "Nor do I know a" if told else "I know no"
            told.append(f"{known} region or course {named(no_places)}.")
        if not found.offers:
            told.append(self._understood())
        return CommandError(" ".join(told) + found.question, offers=found.offers)

    def _understood(self) -> str:
        example = f" such as {self.regions[0]}" if self.regions else ""
        return (
            f"I understand a region{example}, today, tomorrow, a weekday or a date, and a course, exactly as the data "
            "service writes them."
        )


def read_words(text: str, today: date, *, looks_back: bool = False, flags: Mapping[str, str] | None = None) -> Asked:
    """The words of a text. CommandError where there are two days, or one that is no day.

    A weekday is the coming one, or where the command `looks_back` the last one. `flags` are words of the command's
    own, each with what it stands for.
    """
    flags = flags or {}
    days: list[date] = []
    others: list[str] = []
    found: set[str] = set()
    page = 1
    for word in _joined([word for word in map(_bare, split(text)) if word]):
        day = _day(word, today, looks_back=looks_back)
        if day is not None:
            days.append(day)
        elif word.lower() in flags or word.lower() == ALL:
            found.add(flags.get(word.lower(), ALL))
        elif turned := read_page(word):
            page = turned
        else:
            others.append(word)
    if len(set(days)) > 1:
        raise CommandError(f"One day at a time: you named {' and '.join(day.isoformat() for day in days)}.")
    return Asked(days[0] if days else today, tuple(others), ALL in found, frozenset(found - {ALL}), page, flags)


async def find_place(reference: ReferenceBook, meetings: MeetingsOf, asked: Asked, timeout_s: float) -> Place:
    """The region and the course that the words name. CommandError where they name neither, or two regions.

    A course that no list has is one all the same where the day has a meeting there.
    """
    if not asked.others:
        return Place()
    regions = await reference.regions(timeout_s)
    courses = await reference.courses(timeout_s)
    whole = " ".join(asked.others)
    if whole not in (regions or ()) and find_courses(courses or (), whole):
        return await _at_course(reference, whole, None, (), timeout_s)
    found = [word for word in asked.others if _is_region(word, regions)]
    if len(set(found)) > 1:
        raise CommandError(f"One region at a time: you named {' and '.join(dict.fromkeys(found))}.")
    region = found[0] if found else None
    unchecked = () if regions or region is None else (region,)
    left = [word for word in asked.others if word not in found]
    rest = " ".join(left)
    if not rest:
        return Place(region=region, unchecked=unchecked)
    known = _Known(regions or (), courses or (), asked.own)
    if not known.courses_of(rest):
        if seen := _seen(await meetings(asked.day), rest, region):
            return Place(region or seen.region, seen.course, unchecked)
        days = {day for word in left[:GUESSED_MAX] if (day := likely_day(word))}
        if courses or days or any(map(known.is_region, left)):
            # To look for what is alike takes as long as many deliveries do.
            raise await asyncio.to_thread(known.not_understood, left, days)
    return await _at_course(reference, rest, region, unchecked, timeout_s)


def _seen(meetings: Sequence[Meeting], typed: str, region: str | None) -> Meeting | None:
    """The meeting at a course of that id or name, in the region if one was typed; None where there is none."""
    here = [one for one in meetings if region is None or one.region in {region, None}]
    return next((one for one in here if typed in {one.course.course_id, _as_typed(one.course.name)}), None)


def _as_typed(name: str | None) -> str:
    """A course's name as it comes back from a button."""
    return " ".join((name or "").replace('"', "").split()).strip(SINGLE_QUOTES + " ")


async def _at_course(
    reference: ReferenceBook, typed: str, region: str | None, unchecked: tuple[str, ...], timeout_s: float
) -> Place:
    """The place of a course: in the region that was typed, else in its own, whose list is the shorter one."""
    course = await reference.check_course(typed, timeout_s, regions=[region] if region else ())
    if course.course_id is None:
        return Place(region, course, (*unchecked, typed))
    own = await reference.region_of(course)
    if region is not None and own is not None and region != own:
        raise CommandError(f"{course.name or typed} is in {own}, not in {region}.", typed=region, meant={own: own})
    return Place(region or own, course, unchecked)


def _joined(words: Sequence[str]) -> Iterator[str]:
    """The words, those that are one day together as one: "last friday", "21 nov 2026"."""
    start = 0
    while start < len(words):
        phrases = [" ".join(words[start:end]) for end in (start + 3, start + 2) if end <= len(words)]
        phrase = next(filter(is_day_phrase, phrases), words[start])
        yield phrase
        start += len(phrase.split(" ")) if phrase in phrases else 1


def _bare(word: str) -> str:
    """The word without single quotes around it, and without the name of what it is: `course:Ascot` is `Ascot`."""
    return parted(word)[1].strip(SINGLE_QUOTES + " ")


def _day(word: str, today: date, *, looks_back: bool) -> date | None:
    try:
        return parse_day(word, today, looks_back=looks_back)
    except (ValueError, OverflowError):
        raise CommandError(
            f"{quoted(word)} is not a day. Write today, tomorrow, yesterday, a weekday, or a date as "
            f"{today.isoformat()}."
        ) from None


def _is_region(word: str, regions: Collection[str] | None) -> bool:
    """Whether it is a region; where there is no list, whether it has the form of one."""
    return word in regions if regions else bool(_LIKE_A_REGION.fullmatch(word))
