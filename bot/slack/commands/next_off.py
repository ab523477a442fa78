"""`/racing next`: the next races to go off."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from bot.errors import CommandError
from bot.events.event import Topic
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command, Desk, Invocation, reader_of
from bot.slack.commands.places import DayPlan, day_grammar, day_plan
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.next_answer import NEXT_SHOWN, coming, next_off

NAME = "next"

_read = day_plan(NAME, day_grammar(), {Topic.RACECARDS})


async def _plan(desk: Desk, invocation: Invocation) -> DayPlan:
    asked: DayPlan = await _read(desk, invocation)
    refuse_off(asked)
    return asked


async def next_races(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    """West of UTC, races of yesterday's date are still to come; tomorrow is read where today has too few races.

    Raises ServiceError without any data.
    """
    now = desk.clock()
    invocation.progress.say = partial(desk.races.progress, asked.region)
    first = await desk.races.card(asked.region, asked.day, asked.course)
    cards = [first]
    if not asked.is_day_named:
        day = timedelta(days=1)
        cards.append(await desk.races.known(asked.region, asked.day - day, asked.course))
        if len(coming(cards, now)) < NEXT_SHOWN:
            cards.append(await desk.races.card(asked.region, asked.day + day, asked.course))
    if first.failure is not None and all(card.is_empty for card in cards):
        raise first.failure
    zone = await desk.people.zone(invocation.user_id)
    reader = replace(await reader_of(desk, invocation), zone=zone)
    line = asked.wanted.but(flags=()).line(NAME)
    return next_off(cards, line, DayQuestion(now, asked.unchecked, asked.page, reader))


def refuse_off(asked: DayPlan) -> None:
    """Raises CommandError for a typed off time."""
    if asked.off:
        race = asked.wanted.but(flags=())
        lines = {"Next off": race.but(times=()).line(NAME), asked.off: race.line("racecard")}
        raise CommandError(f"The next races, or the race at {asked.off}?", lines=lines)


NEXT_COMMAND = Command(
    NAME,
    "[region|course]",
    "The next races to go off, and how soon",
    next_races,
    _plan,
    examples=("next", "next Ireland"),
    mistakes="Type no time: `racecard York 14:30` shows one race. Abandonments of today stand above.",
    group=HelpGroup.RACING,
)
