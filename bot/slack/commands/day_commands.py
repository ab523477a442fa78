"""`/racecard`, `/results` and `/racing next`: a day's cards, a day's results, and the next races to go off."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial

from bot.errors import CommandError
from bot.events.event import Topic
from bot.outbox.message import Message
from bot.racedata.day_card import STOPPED, Card, at_off
from bot.slack.commands.invocation import Command, Desk, Invocation, reader_of
from bot.slack.commands.places import BEEN, WAS, DayPlan, day_grammar, day_plan, first_regions, only_abandonments
from bot.slack.language.words import Kind, words_in
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN
from bot.slack.messages.answers.races_of_day import (
    NEXT_SHOWN,
    coming,
    next_off,
    racecard,
    results_of_day,
    shows_readers_clock,
)

_RACECARD, _RESULTS, _NEXT = "racecard", "results", "next"

_read_racecard = day_plan(_RACECARD, day_grammar([_NEXT]), {Topic.RACECARDS})
_NUMBERS = {**dict.fromkeys(map(str, range(1, 31)), (Kind.FILLER, "")), **words_in(_NEXT)}
"""The 5 of "next 5 races" is passed over: the answer has a fixed number."""

_read_next = day_plan(_NEXT, replace(day_grammar(), own={**day_grammar().own, **_NUMBERS}), {Topic.RACECARDS})


async def _card(desk: Desk, invocation: Invocation, asked: DayPlan) -> Card:
    """Raises ServiceError without any data."""
    invocation.progress.say = partial(desk.races.progress, asked.region)
    card = at_off(await desk.races.card(asked.region, asked.day, asked.course), asked.off)
    if card.failure is not None and card.is_empty:
        raise card.failure
    return card


async def _question(desk: Desk, invocation: Invocation, asked: DayPlan, card: Card) -> DayQuestion:
    reader = await reader_of(desk, invocation) if card.coverage in STOPPED else NOBODY_KNOWN
    regions = await first_regions(desk.database, invocation.channel_id)
    return DayQuestion(desk.clock(), asked.unchecked, asked.page, reader, regions)


async def _plan_racecard(desk: Desk, invocation: Invocation) -> DayPlan:
    asked: DayPlan = await _read_racecard(desk, invocation)
    return _without_off(asked) if asked.wanted.of(Kind.FLAG) else asked


async def _answer_racecard(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    if asked.wanted.of(Kind.FLAG):
        return await _answer_next(desk, invocation, asked)
    card = await _card(desk, invocation, asked)
    question = await _question(desk, invocation, asked, card)
    if shows_readers_clock(card):
        zone = await desk.people.zone(invocation.user_id)
        question = replace(question, reader=replace(question.reader, zone=zone))
    # Off the event loop: a course's races with all their runners take a while.
    return await asyncio.to_thread(racecard, card, question)


async def _answer_results(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    card = await _card(desk, invocation, asked)
    question = replace(
        await _question(desk, invocation, asked, card),
        only_abandonments=only_abandonments(asked.wanted),
        countries=await desk.reference.known_countries(),
    )
    return await asyncio.to_thread(results_of_day, card, question)


async def _plan_next(desk: Desk, invocation: Invocation) -> DayPlan:
    return _without_off(await _read_next(desk, invocation))


async def _answer_next(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    """West of UTC, races of yesterday's date are still to come; tomorrow is read where today has too few races.

    Raises ServiceError without any data.
    """
    now = desk.clock()
    invocation.progress.say = partial(desk.races.progress, asked.region)
    first = await desk.races.card(asked.region, asked.day, asked.course)
    cards = [first]
    if not asked.wanted.of(Kind.DAY):
        day = timedelta(days=1)
        cards.append(await desk.races.known(asked.region, asked.day - day, asked.course))
        if len(coming(cards, now)) < NEXT_SHOWN:
            cards.append(await desk.races.card(asked.region, asked.day + day, asked.course))
    if first.failure is not None and all(card.is_empty for card in cards):
        raise first.failure
    zone = await desk.people.zone(invocation.user_id)
    reader = replace(await reader_of(desk, invocation), zone=zone)
    line = asked.wanted.but(flags=()).line(_NEXT)
    return next_off(cards, line, DayQuestion(now, asked.unchecked, asked.page, reader))


def _without_off(asked: DayPlan) -> DayPlan:
    """Raises CommandError for a typed off time."""
    if asked.off:
        race = asked.wanted.but(flags=())
        lines = {"Next off": race.but(times=()).line(_NEXT), asked.off: race.line(_RACECARD)}
        raise CommandError(f"The next races, or the race at {asked.off}?", lines=lines)
    return asked


RACECARD_COMMAND = Command(_RACECARD, _answer_racecard, _plan_racecard)
NEXT_COMMAND = Command(_NEXT, _answer_next, _plan_next)
RESULTS_COMMAND = Command(
    _RESULTS,
    _answer_results,
    day_plan(_RESULTS, day_grammar([WAS, BEEN], looks_back=True), {Topic.RESULTS, Topic.ABANDONMENTS}),
)
