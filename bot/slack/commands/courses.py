"""`/racing courses`: courses by name, shortcode, id, region or country."""

import asyncio

from bot.errors import CommandError
from bot.events.typed_text import folded
from bot.outbox.message import Message
from bot.racedata.near_misses import TYPED_MAX, likely_courses
from bot.racedata.reference_store import KnownCourse
from bot.slack.commands.invocation import LIST_S, Command, Desk, Invocation
from bot.slack.language.grammar import THINGS, PhraseReader
from bot.slack.language.tokens import read_list_words, words_of
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.listings import courses

NAME = "courses"


async def _plan(desk: Desk, invocation: Invocation) -> tuple[list[KnownCourse], str, int]:
    """The courses, the words that they have, and the page. Raises CommandError without a match."""
    typed, page = read_list_words(invocation.text)
    known = await desk.reference.courses(LIST_S)
    if not known:
        raise desk.reference.why_none(NAME)
    # "courses in Ireland": without joining words, countries as region codes.
    phrases = PhraseReader(await desk.reference.lexicon(LIST_S)).read(words_of(typed))
    english = " ".join(one.value for one in phrases if one.kind in THINGS)
    for words in (typed, english):
        if (words or not typed) and (found := [one for one in known if _has(one, words.casefold().split())]):
            return found, words, page
    # Near misses take as long as many deliveries.
    meant = await asyncio.to_thread(likely_courses, typed, known)
    raise CommandError(
        f'No course has "{typed[:TYPED_MAX]}" in its name, shortcode, id, region or country.',
        typed=typed,
        meant={word: word for word in meant},
        asks=True,
    )


async def _answer(_desk: Desk, _invocation: Invocation, planned: tuple[list[KnownCourse], str, int]) -> Message:
    found, typed, page = planned
    return courses(sorted(found, key=lambda course: (course.region or "", course.name or "")), typed, page)


def _has(course: KnownCourse, words: list[str]) -> bool:
    whole = {value.casefold() for value in (course.shortcode, course.course_id, course.region, course.country) if value}
    name = folded(course.name or "")
    return all(word in whole or word in name for word in words)


COURSES_COMMAND = Command(
    NAME,
    "[text]",
    "The courses, as commands take them",
    _answer,
    _plan,
    examples=("courses kempton", "courses in Ireland"),
    mistakes="Part of a name finds a course here; all other commands want the whole name, as it is shown here.",
    group=HelpGroup.RACING,
)
