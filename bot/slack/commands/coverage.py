"""`/racing coverage`: what the archive publishes, of a region's country or of all."""

from typing import Any

from bot.book.meant import TYPED_MAX, likely, question
from bot.domain.message import Message
from bot.errors import CommandError
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.lists import LIST_S, read_list_words
from bot.slack.messages.coverage import coverage


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """The countries. Raises CommandError for a code or name that none has, ServiceError where they were not read."""
    typed, page = read_list_words(invocation.text)
    countries = await desk.reference.countries(LIST_S)
    if not countries:
        raise desk.reference.why_none("countries")
    found = [one for one in countries if typed in {"", one.country_code, one.name}]
    if not found:
        codes = [one.country_code for one in countries if one.country_code]
        names = [one.name for one in countries if one.name]
        meant = likely(typed, [*codes, *names])
        raise CommandError(
            f'There is no country "{typed[:TYPED_MAX]}".{question(meant)} /racing coverage alone lists all of them.',
            typed=typed,
            meant={value: value for value in meant},
        )
    return coverage(found, typed or None, page)
