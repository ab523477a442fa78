"""The abandonments of a day, for `/racecard` and `/results`."""

from collections.abc import Sequence

from bot.events.event import RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.events.races import Race
from bot.outbox.message import Block
from bot.racedata.day_card import Outcome, Outcomes
from bot.slack.messages.kit.names import SHORT_MAX, course_name, race_name, reason
from bot.slack.messages.kit.pages import line_units
from bot.slack.messages.kit.text import counted, joined, safe
from bot.slack.messages.kit.times import off_text

NAMED = 12
"""Abandonments named in the notification text. The blocks name all."""


def abandoned_lines(outcomes: Outcomes, region: str | None = None) -> list[str]:
    whole = [_lost_meeting(event, region) for event in outcomes.lost]
    singly = [
        joined([_lost_race(race, region), safe(race.reason)], ", ") + ("" if race.region else " (region unknown)")
        for place in range(len(outcomes.meetings))
        for race, outcome in outcomes.of_meeting(place)
        if outcome in {Outcome.ABANDONED, Outcome.BOTH} and not _is_of_lost(race, outcomes)
    ]
    return [*whole, *singly]


def abandoned_in_figures(outcomes: Outcomes) -> str | None:
    """For example "1 meeting (6 races) and 1 other race abandoned". Each race counts once."""
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
    return line_units(["*ABANDONED*", *lines]) if lines else []


def abandoned_in_text(lines: Sequence[str]) -> str | None:
    more = [f"and {len(lines) - NAMED} more, listed below"] if len(lines) > NAMED else []
    return f"ABANDONED: {'; '.join([*lines[:NAMED], *more])}" if lines else None


def _lost_race(race: Race, region: str | None) -> str:
    course = course_name(race)
    return joined([_in_region(course, race, region), off_text(race.off)], " ") if course else race_name(race)


def _lost_meeting(event: RacingEvent, region: str | None) -> str:
    unknown = "" if event.race.region else " (region unknown)"
    course = _in_region(course_name(event.race) or "course not given", event.race, region)
    return joined([course, f"whole meeting{unknown}", reason(event)], ", ")


def _in_region(course: str, race: Race, region: str | None) -> str:
    shown = safe(race.region, SHORT_MAX) if region is None else None
    return f"{course} ({shown})" if shown else course
