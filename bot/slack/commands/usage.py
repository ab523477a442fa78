"""`/usage`: the month's quota, by day or by endpoint."""

from typing import Any

from bot.book.quota import BY_DAY, BY_ENDPOINT
from bot.domain.message import Message
from bot.domain.quota import forecast
from bot.errors import CommandError
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.tokens import split
from bot.slack.messages.usage import usage

GROUPINGS = {"day": BY_DAY, "days": BY_DAY, "endpoint": BY_ENDPOINT, "endpoints": BY_ENDPOINT}


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """What is used and left, and the rows. Raises CommandError for another word, ServiceError where nothing came."""
    reading = await desk.quota.read(read_grouping(invocation.text))
    return usage(reading, forecast(reading.used, reading.limit, reading.taken_at))


def read_grouping(text: str) -> str:
    """What the rows are to be; days, unless told."""
    words = split(text)
    unknown = [word for word in words if word.lower() not in GROUPINGS]
    if unknown:
        raise CommandError(f'I don\'t know "{unknown[0][:80]}" here. It is /usage, /usage day or /usage endpoint.')
    groupings = {GROUPINGS[word.lower()] for word in words}
    if len(groupings) > 1:
        raise CommandError("One of them at a time: /usage day or /usage endpoint.")
    return groupings.pop() if groupings else BY_DAY
