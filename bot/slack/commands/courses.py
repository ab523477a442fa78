"""`/racing courses`: the courses by name, shortcode, id, region or country, in any letter case."""

import asyncio
from typing import Any

from bot.book.meant import TYPED_MAX, likely_courses, question
from bot.domain.message import Message
from bot.errors import CommandError
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.lists import LIST_S, read_list_words
from bot.slack.messages.courses import courses
from bot.storage.reference import KnownCourse


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """The courses. Raises CommandError where none has what was typed, ServiceError where they were not read."""
    typed, page = read_list_words(invocation.text)
    known = await desk.reference.courses(LIST_S)
    if not known:
        raise desk.reference.why_none("courses")
    found = [course for course in known if _has(course, typed.casefold().split())]
    if not found:
        # To look for what is alike takes as long as many deliveries do.
        meant = await asyncio.to_thread(likely_courses, typed, known)
        raise CommandError(
            f'No course has "{typed[:TYPED_MAX]}" in its name, shortcode, id, region or country.{question(meant)}',
            typed=typed,
            meant={word: word for word in meant},
        )
    return courses(sorted(found, key=lambda course: (course.region or "", course.name or "")), typed, page)


def _has(course: KnownCourse, words: list[str]) -> bool:
    """Whether the course has every word: of names a part, of what is exact the whole."""
    whole = {value.casefold() for value in (course.shortcode, course.course_id, course.region, course.country) if value}
    name = (course.name or "").casefold()
    return all(word in whole or word in name for word in words)
