"""Refusals of typed lines in words."""

from collections.abc import Iterable, Sequence
from datetime import date

from bot.channels.conditions.condition import Condition
from bot.events.sentences import listed
from bot.racedata.near_misses import named, quoted
from bot.slack.language.words import NON_RUNNERS, NOT_GIVEN


def unknown_words(words: Iterable[str], *kinds: str) -> str:
    return f"No {listed(kinds, 'or')} is called {named(words)}."


def one_at_a_time(kind: str, several: Sequence[str]) -> str:
    return f"One {kind} at a time, please: {listed(several, 'or')}?"


def no_day(typed: str, today: date) -> str:
    return (
        f"{quoted(typed)} is not a day. Write today, tomorrow, yesterday, a weekday, or a date as {today.isoformat()}."
    )


def date_or_time(typed: str, off: str, day: date) -> str:
    return f"{quoted(typed)} may mean a date or the time {off}. Write a day as {day.isoformat()}, or the time as {off}."


def nothing_follows(typed: str, kind: Condition | None) -> str:
    """`typed`: the name of a value with a colon, such as "course:"."""
    example = f"{kind.example if kind else 1}, for example"
    if typed.casefold().endswith("course:"):
        example = '"Name", as /racing courses shows the name'
    return f'Nothing follows "{typed}". Write {typed}{example}.'


def not_chosen(word: str) -> str:
    if word in NOT_GIVEN:
        return f"I have no {word}. A racecard has the runners, and a result the starting prices."
    told = (
        "A racecard shows each non-runner, also later. /racing watch tells at once of a horse that does not run."
        if word in NON_RUNNERS
        else "A subscription can be to regions, courses, race classes, flat, jumps or aw."
    )
    return f"A subscription can't be to {quoted(word)} alone. {told}"


def value_wanted(kind: Condition) -> str:
    return f"Write {kind.name} with a value: {kind.typed_as}{kind.example}, for example."
