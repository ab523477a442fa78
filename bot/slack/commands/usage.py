"""`/usage`: the month's quota, by day or endpoint."""

import asyncio

from bot.errors import CommandError, ServiceError
from bot.outbox.message import Message
from bot.racedata.quota_book import BY_DAY, BY_ENDPOINT
from bot.slack.commands.invocation import Command, Desk, Invocation, reader_of
from bot.slack.language.grammar import Grammar, Kind, PhraseReader
from bot.slack.language.refusals import one_at_a_time, unknown_words
from bot.slack.language.tokens import words_of
from bot.slack.messages.answers.failure_words import failure_words, shown_to
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.usage_answer import usage

NAME = "usage"

READ_S = 20.0

_GROUPINGS = {"day": BY_DAY, "days": BY_DAY, "endpoint": BY_ENDPOINT, "endpoints": BY_ENDPOINT}
_GRAMMAR = Grammar(
    {word: (Kind.FLAG, by) for word, by in _GROUPINGS.items()} | dict.fromkeys(("by", "per", "each"), (Kind.FILLER, ""))
)


async def _answer(desk: Desk, invocation: Invocation, by: str) -> Message:
    """The present reading, else the month's last. Raises ServiceError or TimeoutError without a reading."""
    failure = None
    try:
        async with asyncio.timeout(READ_S):
            reading = await desk.quota.read(by)
    except (ServiceError, TimeoutError) as error:
        kept = await desk.quota.latest()
        if kept is None:
            raise
        reader = await reader_of(desk, invocation)
        reading, failure = kept, shown_to(failure_words(error, reader), reader)
    return usage(reading, await desk.quota.forecast(reading), failure)


async def _plan(_desk: Desk, invocation: Invocation) -> str:
    phrases = PhraseReader(grammar=_GRAMMAR).read(words_of(invocation.text))
    lines = {f"by {by}": f"{NAME} {by}" for by in (BY_DAY, BY_ENDPOINT)}
    if unknown := [one.typed for one in phrases if one.kind is Kind.UNKNOWN]:
        raise CommandError(unknown_words(unknown, "grouping"), lines=lines)
    groupings = list(dict.fromkeys(one.value for one in phrases if one.kind is Kind.FLAG))
    if len(groupings) > 1:
        raise CommandError(one_at_a_time("grouping", groupings), lines=lines)
    return groupings[0] if groupings else BY_DAY


USAGE_COMMAND = Command(
    NAME,
    "[day|endpoint]",
    "The data service's quota: used, left, and how long it will last",
    _answer,
    _plan,
    examples=("usage", "usage endpoint"),
    mistakes="The figures are of this month (UTC). Asking costs nothing.",
    group=HelpGroup.BOT,
)
