"""`/usage`: the month's quota, by day or endpoint."""

import asyncio
from typing import Any

from bot.errors import CommandError, ServiceError
from bot.outbox.message import Message
from bot.racedata.quota_book import BY_DAY, BY_ENDPOINT
from bot.slack.commands.invocation import Desk, Invocation, reader_of
from bot.slack.language.grammar import JOINING
from bot.slack.language.tokens import words_of
from bot.slack.messages.answers.failure_words import failure_words, shown_to
from bot.slack.messages.answers.usage_answer import usage

READ_S = 20.0

JOINING_WORDS = frozenset(("by", "per", "each", *JOINING))

GROUPINGS = {"day": BY_DAY, "days": BY_DAY, "endpoint": BY_ENDPOINT, "endpoints": BY_ENDPOINT}


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """The present reading, else the last reading of the month.

    Raises CommandError for an unknown word, ServiceError or TimeoutError without a reading.
    """
    by, failure = read_grouping(invocation.text), None
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


async def check(_desk: Desk, invocation: Invocation) -> None:
    read_grouping(invocation.text)


def read_grouping(text: str) -> str:
    words = [word.text for word in words_of(text) if word.text.lower() not in JOINING_WORDS]
    unknown = [word for word in words if word.lower() not in GROUPINGS]
    if unknown:
        raise CommandError(f'I don\'t know "{unknown[0][:80]}" here. It is /usage, /usage day or /usage endpoint.')
    groupings = {GROUPINGS[word.lower()] for word in words}
    if len(groupings) > 1:
        raise CommandError("One of them at a time: /usage day or /usage endpoint.")
    return groupings.pop() if groupings else BY_DAY
