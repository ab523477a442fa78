"""Plumpton's meeting, live: two races with an outcome, one told both ways, and three to come or lost."""

from datetime import datetime
from typing import Any

from bot.channels.filters import Meeting
from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.day_card import MeetingCard, Outcomes

TODAY = "2026-11-20"
PLUMPTON = Course(course_id="cr_plu", name="Plumpton", country="England")
AT_PLUMPTON = Meeting(course=PLUMPTON, race_date=TODAY, region="GB")


def at_plumpton(number: int, off: str, title: str, distance: str, field: int, **fields: Any) -> Race:
    return Race(
        race_id=f"rc_plu_{number}",
        region="GB",
        course=PLUMPTON,
        race_date=TODAY,
        off=OffTime(text=off, off_at=datetime.fromisoformat(f"{TODAY}T{off}:00+00:00")),
        title=title,
        number=str(number),
        race_class="4",
        distance=distance,
        field_size=field,
        **fields,
    )


WON = (Runner(horse="Harbour Lights", position="1"), Runner(horse="Miller's Lane", position="2"))
WON_OR_LOST = (Runner(horse="Copper Beech", position="1"), Runner(horse="Sea Fret", position="2"))
PLUMPTON_RACES = (
    at_plumpton(1, "12:30", "Juvenile Hurdle", "2m", 9, runners=WON),
    at_plumpton(2, "13:05", "Mares' Novices' Hurdle", "2m 4f", 7, reason="Unsafe ground on the bend", abandoned=True),
    at_plumpton(3, "13:40", "Novices' Handicap Chase", "2m 1f", 6, reason="Low sun", runners=WON_OR_LOST),
    at_plumpton(4, "14:15", "Southdown Handicap Hurdle", "3m 1f", 12),
    at_plumpton(5, "14:50", "Sussex Handicap Chase", "3m 2f", 8),
    at_plumpton(6, "15:30", "Maiden Open National Hunt Flat Race", "2m 1f", 14),
)
FIRST_OUTCOMES = (RaceOutcome.SETTLED, RaceOutcome.ABANDONED, RaceOutcome.BOTH)


def outcomes_at_plumpton(races: tuple[Race, ...], rest: RaceOutcome, **lost: Any) -> Outcomes:
    outcomes = (*FIRST_OUTCOMES, rest, rest, rest)
    return Outcomes((MeetingCard(PLUMPTON, "GB", races, outcomes),), **lost)


LOST_AT_PLUMPTON = RacingEvent(
    key="meeting.abandoned:mt_plu",
    kind=EventKind.MEETING_ABANDONED,
    race=Race(meeting_id="mt_plu", region="GB", course=PLUMPTON, race_date=TODAY),
    reason="Waterlogged",
)
LIVE_MEETING = outcomes_at_plumpton(PLUMPTON_RACES, RaceOutcome.OPEN)
LIVE_MEETING_ABANDONED = outcomes_at_plumpton(
    tuple(race.model_copy(update={"reason": race.reason or "Waterlogged"}) for race in PLUMPTON_RACES),
    RaceOutcome.ABANDONED,
    lost=(LOST_AT_PLUMPTON,),
)
