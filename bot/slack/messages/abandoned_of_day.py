"""What was abandoned on a day, as `/racecard` and `/results` say it: all of it in the blocks, a part in the text."""

from collections.abc import Sequence

from bot.book.card import Outcome, Outcomes
from bot.domain.events import RacingEvent
from bot.domain.meetings import is_part_of
from bot.domain.message import Block
from bot.domain.races import Race
from bot.slack.messages.names import course_name, race_name, reason
from bot.slack.messages.pages import line_units
from bot.slack.messages.text import counted, joined, safe

NAMED = 12
"""Abandonments that the text itself names; all of them are in the blocks, on as many pages as they need."""


def abandoned_lines(outcomes: Outcomes) -> list[str]:
    """The lost meetings, then the races that were called off by themselves."""
    whole = [_lost_meeting(event) for event in outcomes.lost]
    singly = [
        joined([race_name(race), safe(race.reason)], ", ") + ("" if race.region else " (region unknown)")
        for place in range(len(outcomes.meetings))
        for race, outcome in outcomes.of_meeting(place)
        if outcome in {Outcome.ABANDONED, Outcome.BOTH} and not _is_of_lost(race, outcomes)
    ]
    return [*whole, *singly]


def abandoned_in_figures(outcomes: Outcomes) -> str | None:
    """How many are lost, each race counted once: "1 meeting (6 races) and 1 other race abandoned"."""
    races = [
        race
        for place in range(len(outcomes.meetings))
        for race, outcome in outcomes.of_meeting(place)
        if outcome is Outcome.ABANDONED
    ]
    of_lost = sum(_is_of_lost(race, outcomes) for race in races)
    others = len(races) - of_lost
    if not outcomes.lost:
        return f"{counted(others, 'race')} abandoned" if others else None
    meetings = counted(len(outcomes.lost), "meeting") + (f" ({counted(of_lost, 'race')})" if of_lost else "")
    more = f" and {counted(others, 'other race')}" if others else ""
    return f"{meetings}{more} abandoned"


def _is_of_lost(race: Race, outcomes: Outcomes) -> bool:
    return any(is_part_of(RacingEvent(key="", race=race), event) for event in outcomes.lost)


def abandoned_units(lines: Sequence[str]) -> list[Block]:
    """All of them, in sections between which a page can end; none where there are none."""
    return line_units(["*ABANDONED*", *lines]) if lines else []


def abandoned_in_text(lines: Sequence[str]) -> str | None:
    """The first of them by name; None where there are none."""
    more = [f"and {len(lines) - NAMED} more, listed below"] if len(lines) > NAMED else []
    return f"ABANDONED: {'; '.join([*lines[:NAMED], *more])}" if lines else None


def _lost_meeting(event: RacingEvent) -> str:
    region = "" if event.race.region else " (region unknown)"
    return joined([course_name(event.race) or "course not given", f"whole meeting{region}", reason(event)], ", ")
