"""`/racing courses`: courses by name, shortcode, id, region or country."""

import asyncio
from typing import Any

from bot.errors import CommandError
from bot.events.typed_text import folded
from bot.outbox.message import Message
from bot.racedata.near_misses import TYPED_MAX, likely_courses
from bot.racedata.reference_store import KnownCourse
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.search_words import LIST_S, read_list_words
from bot.slack.language.grammar import THINGS, PhraseReader
from bot.slack.language.tokens import read_page, words_of
from bot.slack.messages.answers.listings import courses


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError without a match, ServiceError without a list."""
    found, typed, page = await _find(desk, invocation)
    return courses(sorted(found, key=lambda course: (course.region or "", course.name or "")), typed, page)


async def check(desk: Desk, invocation: Invocation) -> None:
    await _find(desk, invocation)


async def _find(desk: Desk, invocation: Invocation) -> tuple[list[KnownCourse], str, int]:
    typed, page = read_list_words(invocation.text)
    known = await desk.reference.courses(LIST_S)
    if not known:
        raise desk.reference.why_none("courses")
    found = [course for course in known if _has(course, typed.casefold().split())]
    if not found:
        english = await _in_english(desk, invocation.text)
        found = [course for course in known if english and _has(course, english.casefold().split())]
        typed = english if found else typed
    if not found:
        # Near misses take as long as many deliveries.
        meant = await asyncio.to_thread(likely_courses, typed, known)
        raise CommandError(
            f'No course has "{typed[:TYPED_MAX]}" in its name, shortcode, id, region or country.',
            typed=typed,
            meant={word: word for word in meant},
            asks=True,
        )
    return found, typed, page


async def _in_english(desk: Desk, text: str) -> str:
    """The line without joining words, countries as region codes: "courses in Ireland"."""
    phrases = PhraseReader(await desk.reference.lexicon(LIST_S)).read(words_of(text))
    return " ".join(one.value for one in phrases if one.kind in THINGS and read_page(one.typed) is None)


def _has(course: KnownCourse, words: list[str]) -> bool:
    whole = {value.casefold() for value in (course.shortcode, course.course_id, course.region, course.country) if value}
    name = folded(course.name or "")
    return all(word in whole or word in name for word in words)
