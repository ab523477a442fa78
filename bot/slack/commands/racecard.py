"""`/racecard`: the cards of a day."""

from dataclasses import replace
from functools import partial
from typing import Any

from bot.events.days import utc_today
from bot.outbox.message import Message
from bot.racedata.day_card import STOPPED, at_off
from bot.slack.commands.day_words import Asked, DayPlace, find_place, first_regions, read_words
from bot.slack.commands.invocation import Desk, Invocation, reader_of
from bot.slack.commands.next_off import NAME as NEXT
from bot.slack.commands.next_off import next_races, refuse_off
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN
from bot.slack.messages.answers.racecard_answer import racecard, shows_readers_clock

NAME = "racecard"

CARD_CHECK_S = 3.0


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError for an unknown word, ServiceError without any data."""
    asked, place = await _read(desk, invocation)
    if asked.flags:
        return await next_races(desk, invocation, asked, place)
    invocation.progress.say = partial(desk.races.progress, place.region)
    card = at_off(await desk.races.card(place.region, asked.day, place.course), asked.off)
    if card.failure is not None and card.is_empty:
        raise card.failure
    reader = await reader_of(desk, invocation) if card.coverage in STOPPED else NOBODY_KNOWN
    if shows_readers_clock(card):
        reader = replace(reader, zone=await desk.people.zone(invocation.user_id))
    regions = await first_regions(desk.database, invocation.channel_id)
    return racecard(card, DayQuestion(desk.clock(), place.unchecked, asked.page, reader, regions))


async def check(desk: Desk, invocation: Invocation) -> None:
    await _read(desk, invocation)


async def _read(desk: Desk, invocation: Invocation) -> tuple[Asked, DayPlace]:
    asked = read_words(invocation.text, utc_today(desk.clock()), command=NAME, flags={NEXT: NEXT})
    if asked.flags:
        refuse_off(asked)
    return asked, await find_place(desk.reference, desk.races.meetings, asked, CARD_CHECK_S)
