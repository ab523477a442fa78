"""`/results`: results, abandonments and open races of a day."""

from functools import partial
from typing import Any

from bot.events.days import utc_today
from bot.outbox.message import Message
from bot.racedata.day_card import STOPPED, at_off
from bot.slack.commands.day_words import Asked, DayPlace, find_place, first_regions, read_words
from bot.slack.commands.invocation import Desk, Invocation, reader_of
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN
from bot.slack.messages.answers.results_answer import ABANDONMENTS_LIST, results_of_day

NAME = "results"

RESULTS_CHECK_S = 3.0
FLAGS = dict.fromkeys((ABANDONMENTS_LIST, "abandonment", "abandoned"), ABANDONMENTS_LIST)


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError for an unknown word, ServiceError without any data."""
    asked, place = await _read(desk, invocation)
    invocation.progress.say = partial(desk.races.progress, place.region)
    card = at_off(await desk.races.card(place.region, asked.day, place.course), asked.off)
    if card.failure is not None and card.is_empty:
        raise card.failure
    question = DayQuestion(
        now=desk.clock(),
        unchecked=place.unchecked,
        page=asked.page,
        only_abandonments=ABANDONMENTS_LIST in asked.flags,
        countries=await desk.reference.known_countries(),
        reader=await reader_of(desk, invocation) if card.coverage in STOPPED else NOBODY_KNOWN,
        first_regions=await first_regions(desk.database, invocation.channel_id),
    )
    return results_of_day(card, question)


async def check(desk: Desk, invocation: Invocation) -> None:
    await _read(desk, invocation)


async def _read(desk: Desk, invocation: Invocation) -> tuple[Asked, DayPlace]:
    asked = read_words(invocation.text, utc_today(desk.clock()), command=NAME, looks_back=True, flags=FLAGS)
    return asked, await find_place(desk.reference, desk.races.meetings, asked, RESULTS_CHECK_S)
