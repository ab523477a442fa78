"""The words after `/racecard` and `/results`: a region, a day and a course, in any order, each as it was typed.

A day is a published race date. "today" is the date in UTC, because the zone of the service's dates is not shown
(Spec gap G16): every answer names the date that it took.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bot.book.reference import TYPED_MAX, ReferenceBook, course_words, did_you_mean, find_courses, likely
from bot.domain.days import WEEKDAYS, parse_day
from bot.domain.races import Course
from bot.errors import CommandError
from bot.slack.commands.tokens import read_page, split

EDGE_QUOTES = "'‘’‚‛‹›`´"  # noqa: RUF001  as phones and habits type them
"""Single quotes only come off a whole word's ends: within it they are apostrophes."""

ALL = "all"

_LIKE_A_REGION = re.compile("[A-Z]{2,4}")


@dataclass(frozen=True)
class Asked:
    """The day, and the other words as typed. `all_regions`: the word "all" was among them.

    `flags` are those of the command's own words that came; `page` is what a button to turn the page says.
    """

    day: date
    others: tuple[str, ...]
    all_regions: bool = False
    flags: frozenset[str] = frozenset()
    page: int = 1


@dataclass(frozen=True)
class Place:
    """A region (None: all) and a course (None: all). `unchecked` are words taken as typed, for want of a list."""

    region: str | None = None
    course: Course | None = None
    unchecked: tuple[str, ...] = ()


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
    for word in _joined(filter(None, map(_bare, split(text)))):
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
    return Asked(days[0] if days else today, tuple(others), ALL in found, frozenset(found - {ALL}), page)


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
        raise _not_understood(rest, regions or (), course_words(courses or ()))
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
        raise CommandError(f"{course.name or typed} is in {own}, not in {region}.", typed=region, meant={own: own})
    return Place(region or own, course, unchecked)


def _joined(words: Iterator[str]) -> Iterator[str]:
    """The words, with "last" or "next" and the weekday after it as one."""
    pending: str | None = None
    for word in words:
        if pending is not None and word.lower() in WEEKDAYS:
            yield f"{pending} {word}"
            pending = None
            continue
        if pending is not None:
            yield pending
        pending = word if word.lower() in {"last", "next"} else None
        if pending is None:
            yield word
    if pending is not None:
        yield pending


def _bare(word: str) -> str:
    """The word without single quotes around it, and without the name of what it is: `course:Ascot` is `Ascot`."""
    name, colon, value = word.partition(":")
    word = value if colon and name.lower() in {"course", "region", "date"} else word
    return word.strip(EDGE_QUOTES + " ")


def _day(word: str, today: date, *, looks_back: bool) -> date | None:
    try:
        return parse_day(word, today, looks_back=looks_back)
    except (ValueError, OverflowError):
        raise CommandError(
            f"{word[:TYPED_MAX]} is not a day. Write today, tomorrow, yesterday, a weekday, or a date as "
            f"{today.isoformat()}."
        ) from None


def _is_region(word: str, regions: Collection[str] | None) -> bool:
    """Whether it is a region; where there is no list, whether it has the form of one."""
    return word in regions if regions else bool(_LIKE_A_REGION.fullmatch(word))


def _not_understood(typed: str, regions: Sequence[str], courses: Sequence[str]) -> CommandError:
    example = f" such as {regions[0]}" if regions else ""
    values = [*regions, *courses]
    return CommandError(
        f'I know no region or course "{typed[:TYPED_MAX]}".{did_you_mean(typed, values)} '
        f"I understand a region{example}, today, tomorrow, a weekday or a date, and a course, exactly as the data "
        "service writes them.",
        typed=typed,
        meant={value: value for value in likely(typed, values)},
    )
