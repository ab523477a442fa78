"""`/racing next`: the next races to go off."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from bot.errors import CommandError
from bot.events.days import utc_today
from bot.outbox.message import Message
from bot.slack.commands.day_words import Asked, DayPlace, find_place, read_words
from bot.slack.commands.invocation import Desk, Invocation, reader_of
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.next_answer import NEXT_SHOWN, coming, next_off

NAME = "next"
NEXT_CHECK_S = 3.0


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError for an unknown word, ServiceError without any data."""
    asked = _words(desk, invocation)
    place = await find_place(desk.reference, desk.races.meetings, asked, NEXT_CHECK_S)
    return await next_races(desk, invocation, asked, place)


async def next_races(desk: Desk, invocation: Invocation, asked: Asked, place: DayPlace) -> Message:
    """West of UTC, races of yesterday's date are still to come; tomorrow is read where today has too few races."""
    now = desk.clock()
    invocation.progress.say = partial(desk.races.progress, place.region)
    first = await desk.races.card(place.region, asked.day, place.course)
    cards = [first]
    if not asked.is_day_named:
        day = timedelta(days=1)
        cards.append(await desk.races.known(place.region, asked.day - day, place.course))
        if len(coming(cards, now)) < NEXT_SHOWN:
            cards.append(await desk.races.card(place.region, asked.day + day, place.course))
    if first.failure is not None and all(card.is_empty for card in cards):
        raise first.failure
    zone = await desk.people.zone(invocation.user_id)
    reader = replace(await reader_of(desk, invocation), zone=zone)
    return next_off(cards, asked.line(*asked.others), DayQuestion(now, place.unchecked, asked.page, reader))


async def check(desk: Desk, invocation: Invocation) -> None:
    asked = _words(desk, invocation)
    await find_place(desk.reference, desk.races.meetings, asked, NEXT_CHECK_S)


def _words(desk: Desk, invocation: Invocation) -> Asked:
    asked = read_words(invocation.text, utc_today(desk.clock()), command=NAME)
    refuse_off(asked)
    return asked


def refuse_off(asked: Asked) -> None:
    """Raises CommandError for a typed off time."""
    if asked.off:
        lines = {
            "Next off": replace(asked, off=None).line(*asked.others),
            asked.off: replace(asked, command="racecard", flags=frozenset()).line(*asked.others),
        }
        raise CommandError(f"The next races, or the race at {asked.off}?", lines=lines)
