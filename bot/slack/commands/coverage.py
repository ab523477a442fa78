"""`/racing coverage`: published fields of a country, or of all."""

from typing import Any

from bot.errors import CommandError
from bot.outbox.message import Message
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import TYPED_MAX, likely
from bot.racedata.reference_store import KnownCountry
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.search_words import LIST_S, read_list_words
from bot.slack.language.grammar import THINGS, Kind, PhraseReader
from bot.slack.language.tokens import read_page, words_of
from bot.slack.messages.answers.listings import coverage


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError without a match, ServiceError without a list."""
    found, typed, page = await _find(desk, invocation)
    return coverage(found, typed or None, page, await desk.reference.regions(LIST_S))


async def check(desk: Desk, invocation: Invocation) -> None:
    await _find(desk, invocation)


async def _find(desk: Desk, invocation: Invocation) -> tuple[list[KnownCountry], str, int]:
    typed, page = read_list_words(invocation.text)
    countries = await desk.reference.countries(LIST_S)
    if not countries:
        raise desk.reference.why_none("countries")
    found = [one for one in countries if typed in {"", one.country_code, one.name}]
    codes = [one.country_code for one in countries if one.country_code]
    shown = typed
    if not found:
        # Here a country's code counts, even if the code is no region.
        lexicon = Lexicon(codes, (), countries)
        phrases = PhraseReader(lexicon).read(words_of(invocation.text))
        named = [phrase for phrase in phrases if phrase.kind in THINGS and read_page(phrase.typed) is None]
        wanted = {phrase.value for phrase in named if phrase.kind is Kind.REGION}
        is_understood = named and all(phrase.kind is Kind.REGION for phrase in named)
        found = [one for one in countries if is_understood and one.country_code in wanted]
        shown = " ".join(one.country_code for one in found if one.country_code)
    if not found:
        names = [one.name for one in countries if one.name]
        meant = [*lexicon.parts_of(typed)] or likely(typed, [*codes, *names])
        raise CommandError(
            f'There is no country "{typed[:TYPED_MAX]}".',
            typed=typed,
            meant={value: value for value in meant},
            asks=True,
            after="/racing coverage alone lists all countries.",
        )
    return found, shown, page
