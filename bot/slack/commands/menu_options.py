"""Options of menus while people type: courses from the database, user groups from Slack."""

import asyncio
from collections.abc import Iterable, Sequence

from bot.channels.filters import HERE
from bot.errors import SlackError
from bot.events.typed_text import folded
from bot.logs import get_logger
from bot.outbox.message import Block
from bot.racedata.client.records import KnownCourse
from bot.racedata.lexicon import COURSES
from bot.racedata.near_misses import TYPED_MAX, has_words, likely_courses
from bot.slack.commands.invocation import Desk
from bot.slack.forms.form_fields import course_value
from bot.slack.messages.kit.blocks import options

log = get_logger(__name__)

ASK_S = 1.5


async def course_options(desk: Desk, typed: str) -> list[Block]:
    courses = await desk.database.read(COURSES.items)
    # To look for what is alike takes as long as many deliveries do.
    found = await asyncio.to_thread(_found, courses, typed[:TYPED_MAX].strip())
    return options(_named(found))


async def group_options(desk: Desk, typed: str) -> list[Block]:
    """@here, and the user groups with the typed letters; only @here where Slack names no groups."""
    sought = typed.strip().removeprefix("@").casefold()
    named = [("@here: whoever is active in the channel", HERE), *await _groups(desk)]
    return options((label, value) for label, value in named if sought in label.casefold())


async def _groups(desk: Desk) -> list[tuple[str, str]]:
    try:
        answer = await desk.slack.call("usergroups.list", desk.slack.web.usergroups_list, timeout_s=ASK_S)
    except SlackError as error:
        log.info("user_groups_not_known", reason=str(error))
        return []
    groups = (one for one in answer.get("usergroups") or () if isinstance(one, dict))
    return [(f"@{one.get('handle')}: {one.get('name')}", str(one.get("id"))) for one in groups]


def _found(courses: Sequence[KnownCourse], typed: str) -> list[KnownCourse]:
    found = [course for course in courses if has_words(course, typed)]
    if not found:
        near = likely_courses(typed, courses)
        found = [course for course in courses if course.name in near]
    sought = folded(typed)
    return sorted(found, key=lambda one: (not (one.name or "").casefold().startswith(sought), one.name or ""))


def _named(courses: Iterable[KnownCourse]) -> Iterable[tuple[str, str]]:
    for course in courses:
        region = f" ({course.region})" if course.region else ""
        yield f"{course.name or course.course_id}{region}", course_value(course)
