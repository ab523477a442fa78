"""Refusals of typed lines, as values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from bot.channels.conditions.condition import Condition
from bot.errors import CommandError
from bot.events.sentences import listed
from bot.racedata.near_misses import named, quoted


class Offered(Protocol):
    """A request that a button would make."""

    @property
    def label(self) -> str: ...

    def line(self, command: str = "") -> str: ...


@dataclass(frozen=True)
class Refusal:
    """`told`: the words for the person. `offers`: the requests that buttons make, by the buttons' labels.

    `is_of_meaning`: the line has several meanings, and each button takes one meaning. `command`: the command of the
    buttons, where the buttons have another command than the line.
    """

    told: str
    offers: Mapping[str, Offered] = field(default_factory=dict)
    is_of_meaning: bool = False
    command: str = ""

    def error(self, command: str) -> CommandError:
        lines = {label: offered.line(self.command or command) for label, offered in self.offers.items()}
        return CommandError(self.told, lines=lines, asks_meaning=self.is_of_meaning)


def unknown_words(words: Iterable[str], *kinds: str) -> str:
    return f"No {listed(kinds, 'or')} is called {named(words)}."


def one_at_a_time(kind: str, several: Sequence[str]) -> str:
    return f"One {kind} at a time, please: {listed(several, 'or')}?"


def no_day(typed: str, today: date) -> str:
    return (
        f"{quoted(typed)} is not a day. Write today, tomorrow, yesterday, a weekday, or a date as {today.isoformat()}."
    )


def unclear(readings: Sequence[Offered]) -> Refusal:
    told = "Your line has several meanings, so nothing was changed. Press the meaning you want."
    return Refusal(told, {one.label: one for one in readings}, is_of_meaning=True)


def nothing_follows(typed: str, kind: Condition | None) -> Refusal:
    """`typed`: the name of a value with a colon, such as "course:"."""
    example = f"{kind.example if kind else 1}, for example"
    if typed.casefold().endswith("course:"):
        example = '"Name", as /racing courses shows the name'
    return Refusal(f'Nothing follows "{typed}". Write {typed}{example}.')


def not_chosen(word: str, *, is_told: bool) -> Refusal:
    """`is_told`: racecards and watches tell the news of the word."""
    told = (
        "A racecard shows each non-runner, also later. /racing watch tells at once of a horse that does not run."
        if is_told
        else "A subscription can be to regions, courses, race classes, flat, jumps or aw."
    )
    return Refusal(f"A subscription can't be to {quoted(word)} alone. {told}")


def value_wanted(kind: Condition) -> Refusal:
    return Refusal(f"Write {kind.name} with a value: {kind.typed_as}{kind.example}, for example.")


def no_exclusion(words: str) -> Refusal:
    return Refusal(f'"{words.capitalize()}" leaves nothing out: name all that is wanted, without these words.')


def nothing_after(negation: str) -> Refusal:
    return Refusal(f'Nothing follows "{negation}". Write what is to be left out: {negation} York, for example.')
