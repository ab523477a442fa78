"""The answer of `/racing courses`: names, shortcodes and ids as commands take them."""

from collections.abc import Sequence

from bot.outbox.message import Message
from bot.racedata.reference_store import KnownCourse
from bot.slack.messages.kit.blocks import context
from bot.slack.messages.kit.names import COURSE_MAX, SHORT_MAX
from bot.slack.messages.kit.pages import LISTED_TOGETHER, Answer, line_units, paged
from bot.slack.messages.kit.text import code, counted, given, joined, safe


def courses(found: Sequence[KnownCourse], typed: str, page: int) -> Message:
    title = joined([counted(len(found), "course"), safe(typed, SHORT_MAX)], ": ")
    lines = [_course(course) for course in found]
    first = "; ".join(safe(course.name, SHORT_MAX) or "?" for course in found[:10])
    foot = context("exactly as the data service writes them, read once a day")
    command = joined(["courses", typed], " ")
    units = line_units(lines)
    return paged(
        Answer(title, lambda shown: f"{shown}. {first}", units, command, foot=foot, most=LISTED_TOGETHER), page
    )


def _course(course: KnownCourse) -> str:
    name, shortcode = safe(course.name, COURSE_MAX), safe(course.shortcode, SHORT_MAX)
    region, country = safe(course.region, SHORT_MAX), safe(course.country, SHORT_MAX)
    place = region if country in {None, region} else joined([region, country], ", ")
    held = [
        counted(course.races, "race") if course.races else None,
        counted(course.meetings, "meeting") if course.meetings else None,
        joined([safe(course.first_meeting, SHORT_MAX), safe(course.last_meeting, SHORT_MAX)], " to ") or None,
    ]
    named = joined([given("*{}*", name), given("({})", shortcode)], " ")
    return "• " + joined([named or "course not named", place, *held, code(course.course_id, COURSE_MAX)])
