"""The answer of `/racing courses`: names, shortcodes and ids as commands take them."""

from collections.abc import Sequence

from bot.outbox.message import Message
from bot.racedata.reference_store import KnownCourse
from bot.slack.messages.kit.blocks import context
from bot.slack.messages.kit.names import COURSE_MAX, SHORT_MAX
from bot.slack.messages.kit.pages import LISTED_TOGETHER, Paper, Turning, line_units, paged
from bot.slack.messages.kit.text import code, counted, joined, safe


def courses(found: Sequence[KnownCourse], typed: str, page: int) -> Message:
    title = f"{counted(len(found), 'course')}" + (f": {safe(typed, SHORT_MAX)}" if typed else "")
    lines = [_course(course) for course in found]
    first = "; ".join(safe(course.name, SHORT_MAX) or "?" for course in found[:10])
    foot = context("exactly as the data service writes them, read once a day")
    command = " ".join(filter(None, ["courses", typed]))
    paper = Paper(title, lambda shown: f"{shown}. {first}", line_units(lines), foot=foot)
    return paged(paper, Turning(command, page), most=LISTED_TOGETHER)


def _number(number: int | None, noun: str) -> str | None:
    return counted(number, noun).replace(str(number), f"{number:,}") if number else None


def _course(course: KnownCourse) -> str:
    name, shortcode = safe(course.name, COURSE_MAX), safe(course.shortcode, SHORT_MAX)
    region, country = safe(course.region, SHORT_MAX), safe(course.country, SHORT_MAX)
    place = region if country in {None, region} else joined([region, country], ", ")
    held = [
        _number(course.races, "race"),
        _number(course.meetings, "meeting"),
        joined([safe(course.first_meeting, SHORT_MAX), safe(course.last_meeting, SHORT_MAX)], " to ") or None,
    ]
    named = joined([f"*{name}*" if name else None, f"({shortcode})" if shortcode else None], " ")
    return "• " + joined([named or "course not named", place, *held, code(course.course_id, COURSE_MAX)])
