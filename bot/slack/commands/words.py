"""The words after `/racecard` and its like: a region, a day and a course, in any order, each as it was typed.

A day is a published race date. "today" is the date in UTC, because the zone of the service's dates is not shown
(Spec gap G16): every answer names the date that it took.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from bot.book.reference import TYPED_MAX, ReferenceBook, course_words, did_you_mean, find_courses
from bot.domain.days import parse_day
from bot.domain.races import Course
from bot.errors import CommandError
from bot.slack.commands.tokens import split

EDGE_QUOTES = "'‘’‚‛‹›`´"  # noqa: RUF001  as phones and habits type them
"""Single quotes only come off a whole word's ends: within it they are apostrophes."""

ALL = "all"

_LIKE_A_REGION = re.compile("[A-Z]{2,4}")


@dataclass(frozen=True)
class Asked:
    """The day, and the other words as typed. `all_regions`: the word "all" was among them."""

    day: date
    others: tuple[str, ...]
    all_regions: bool = False


@dataclass(frozen=True)
class Place:
    """A region (None: all) and a course (None: all). `unchecked` are words taken as typed, for want of a list."""

    region: str | None = None
    course: Course | None = None
    unchecked: tuple[str, ...] = ()


def read_words(text: str, today: date) -> Asked:
    """The words of a text. CommandError where there are two days, or one that is no day."""
    days: list[date] = []
    others: list[str] = []
    all_regions = False
    for word in filter(None, map(_bare, split(text))):
        day = _day(word, today)
        if day is not None:
            days.append(day)
        elif word.lower() == ALL:
            all_regions = True
        else:
            others.append(word)
    if len(set(days)) > 1:
        raise CommandError(f"One day at a time: you named {' and '.join(day.isoformat() for day in days)}.")
    return Asked(days[0] if days else today, tuple(others), all_regions)


async def find_place(reference: ReferenceBook, asked: Asked, timeout_s: float) -> Place:
    """The region and the course that the words name. CommandError where they name neither, or two regions."""
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
    rest = " ".join(word for word in asked.others if word not in found)
    if not rest:
        return Place(region=region, unchecked=unchecked)
    meant_region = rest.casefold() in {code.casefold() for code in regions or ()}
    if not find_courses(courses or (), rest) and (courses or meant_region):
        raise CommandError(_not_understood(rest, regions or (), course_words(courses or ())))
    return await _at_course(reference, rest, region, unchecked, timeout_s)


async def _at_course(
    reference: ReferenceBook, typed: str, region: str | None, unchecked: tuple[str, ...], timeout_s: float
) -> Place:
    """The place of a course: in the region that was typed, else in its own, whose list is the shorter one."""
    course = await reference.check_course(typed, timeout_s)
    if course.course_id is None:
        return Place(region, course, (*unchecked, typed))
    own = await reference.region_of(course)
    if region is not None and own is not None and region != own:
        raise CommandError(f"{course.name or typed} is in {own}, not in {region}.")
    return Place(region or own, course, unchecked)


def _bare(word: str) -> str:
    """The word without single quotes around it, and without the name of what it is: `course:Ascot` is `Ascot`."""
    name, colon, value = word.partition(":")
    word = value if colon and name.lower() in {"course", "region", "date"} else word
    return word.strip(EDGE_QUOTES + " ")


def _day(word: str, today: date) -> date | None:
    try:
        return parse_day(word, today)
    except ValueError:
        raise CommandError(
            f"{word[:TYPED_MAX]} is not a day. Write today, tomorrow, or a date as {today.isoformat()}."
        ) from None


def _is_region(word: str, regions: Sequence[str] | None) -> bool:
    """Whether it is a region; where there is no list, whether it has the form of one."""
    return word in regions if regions else bool(_LIKE_A_REGION.fullmatch(word))


def _not_understood(typed: str, regions: Sequence[str], courses: Sequence[str]) -> str:
    example = f" such as {regions[0]}" if regions else ""
    return (
        f'I know no region or course "{typed[:TYPED_MAX]}".{did_you_mean(typed, [*regions, *courses])} '
        f"I understand a region{example}, today, tomorrow or a date, and a course, exactly as the data service "
        "writes them."
    )
