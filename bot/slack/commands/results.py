"""`/results`: results, abandonments and open races of a day."""

from functools import partial

from bot.events.event import Topic
from bot.outbox.message import Message
from bot.racedata.day_card import STOPPED, at_off
from bot.slack.commands.invocation import Command, Desk, Invocation, reader_of
from bot.slack.commands.places import DayPlan, day_grammar, day_plan, first_regions
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.results_answer import results_of_day
from bot.slack.messages.conditions.event_views import TOPICS_FIELD

NAME = "results"


async def _answer(desk: Desk, invocation: Invocation, asked: DayPlan) -> Message:
    """Raises ServiceError without any data."""
    invocation.progress.say = partial(desk.races.progress, asked.region)
    card = at_off(await desk.races.card(asked.region, asked.day, asked.course), asked.off)
    if card.failure is not None and card.is_empty:
        raise card.failure
    question = DayQuestion(
        now=desk.clock(),
        unchecked=asked.unchecked,
        page=asked.page,
        only_abandonments=asked.wanted.of(TOPICS_FIELD) == (Topic.ABANDONMENTS,),
        countries=await desk.reference.known_countries(),
        reader=await reader_of(desk, invocation) if card.coverage in STOPPED else NOBODY_KNOWN,
        first_regions=await first_regions(desk.database, invocation.channel_id),
    )
    return results_of_day(card, question)


RESULTS_COMMAND = Command(
    NAME,
    "[region] [date] [course] [abandonments]",
    "The results of a day, and what was abandoned; or the abandonments alone",
    _answer,
    day_plan(NAME, day_grammar(looks_back=True), {Topic.RESULTS, Topic.ABANDONMENTS}),
    examples=("results Ireland yesterday", "results GB abandonments"),
    mistakes="A weekday is the last one: `results Saturday` never looks ahead. Without a day it is today, in UTC.",
    group=HelpGroup.RACING,
)
