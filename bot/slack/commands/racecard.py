"""`/racecard`: the cards of a day."""

from dataclasses import replace
from functools import partial

from bot.events.event import Topic
from bot.outbox.message import Message
from bot.racedata.day_card import STOPPED, at_off
from bot.slack.commands.invocation import Command, Desk, Invocation, reader_of
from bot.slack.commands.next_off import NAME as NEXT
from bot.slack.commands.next_off import next_races, refuse_off
from bot.slack.commands.places import DayPlan, day_grammar, day_plan, first_regions
from bot.slack.language.request import FLAGS_FIELD
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.racecard_answer import racecard, shows_readers_clock

NAME = "racecard"

_read = day_plan(NAME, day_grammar([NEXT]), {Topic.RACECARDS})


async def _plan(desk: Desk, invocation: Invocation) -> DayPlan:
    asked: DayPlan = await _read(desk, invocation)
    if asked.wanted.of(FLAGS_FIELD):
        refuse_off(asked)
    return asked


async def _answer(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    """Raises ServiceError without any data."""
    if asked.wanted.of(FLAGS_FIELD):
        return await next_races(desk, invocation, asked)
    invocation.progress.say = partial(desk.races.progress, asked.region)
    card = at_off(await desk.races.card(asked.region, asked.day, asked.course), asked.off)
    if card.failure is not None and card.is_empty:
        raise card.failure
    reader = await reader_of(desk, invocation) if card.coverage in STOPPED else NOBODY_KNOWN
    if shows_readers_clock(card):
        reader = replace(reader, zone=await desk.people.zone(invocation.user_id))
    regions = await first_regions(desk.database, invocation.channel_id)
    return racecard(card, DayQuestion(desk.clock(), asked.unchecked, asked.page, reader, regions))


RACECARD_COMMAND = Command(
    NAME,
    "[region] [today|tomorrow|YYYY-MM-DD] [course] [next]",
    "The racecards of a day; or the next races to go off",
    _answer,
    _plan,
    examples=("racecard GB tomorrow", "racecard Ascot 22 Nov"),
    mistakes="One region, one course and one day at a time. The day comes before the month: 5/11 is 5 November.",
    group=HelpGroup.RACING,
)
