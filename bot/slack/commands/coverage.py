"""`/racing coverage`: published fields of a country, or of all."""

from bot.errors import CommandError
from bot.outbox.message import Message
from bot.racedata.lexicon import Lexicon
from bot.racedata.near_misses import likely
from bot.racedata.reference_store import KnownCountry
from bot.slack.commands.invocation import LIST_S, Command, Desk, Invocation
from bot.slack.language.grammar import THINGS, Kind, PhraseReader
from bot.slack.language.refusals import unknown_words
from bot.slack.language.tokens import read_list_words, words_of
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.listings import coverage

NAME = "coverage"


async def _plan(desk: Desk, invocation: Invocation) -> tuple[list[KnownCountry], str, int]:
    """The countries, the typed words, and the page. Raises CommandError without a match."""
    typed, page = read_list_words(invocation.text)
    countries = await desk.reference.countries(LIST_S)
    if not countries:
        raise desk.reference.why_none("countries")
    if found := [one for one in countries if typed in {"", one.country_code, one.name}]:
        return found, typed, page
    # Here a country's code counts, even if the code is no region.
    codes = [one.country_code for one in countries if one.country_code]
    lexicon = Lexicon(codes, (), countries)
    things = [one for one in PhraseReader(lexicon).read(words_of(typed)) if one.kind in THINGS]
    wanted = {one.value for one in things}
    if all(one.kind is Kind.REGION for one in things) and (
        found := [one for one in countries if one.country_code in wanted]
    ):
        return found, " ".join(one.country_code for one in found if one.country_code), page
    names = [one.name for one in countries if one.name]
    raise CommandError(
        unknown_words([typed], "country"),
        typed=typed,
        meant={value: value for value in (*lexicon.parts_of(typed),) or likely(typed, [*codes, *names])},
        asks=True,
        after="/racing coverage alone lists all countries.",
    )


async def _answer(desk: Desk, _invocation: Invocation, planned: tuple[list[KnownCountry], str, int]) -> Message:
    found, typed, page = planned
    return coverage(found, typed or None, page, await desk.reference.regions(LIST_S))


COVERAGE_COMMAND = Command(
    NAME,
    "[region]",
    "What the data service has and publishes of each country",
    _answer,
    _plan,
    examples=("coverage", "coverage Hong Kong"),
    mistakes="A country in the list may have no region to subscribe to.",
    group=HelpGroup.RACING,
)
