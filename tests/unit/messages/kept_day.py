"""A day's racing as a racing desk would see the day, for the snapshots of answers.

At Kempton two races were run, one of them reported abandoned before; one race was lost, and two are to come. At Ascot
the rest of the meeting was lost after the first race.
"""

from datetime import UTC, date, datetime
from typing import Any

from bot.channels.filters import Meeting
from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.day_card import MeetingCard, Outcomes, outcomes_of
from tests.unit.messages.kept_events import ABANDONED, RACE

TODAY = date(2026, 11, 20)
NOW = datetime(2026, 11, 20, 14, 40, tzinfo=UTC)
LIST_READ_AT = datetime(2026, 11, 20, 7, 44, tzinfo=UTC)

KEMPTON = Course(course_id="cr_1", name="Kempton", country="England")
ASCOT = Course(course_id="cr_2", name="Ascot", country="England")


def _race(race_id: str, course: Course, off: str, title: str, *order: str, **fields: object) -> Race:
    """`order`: the horses that finished, the winner first."""
    hour, minute = map(int, off.split(":"))
    given = {
        "race_id": race_id,
        "meeting_id": "mt_1" if course is KEMPTON else "mt_2",
        "region": "GB",
        "course": course,
        "race_date": TODAY.isoformat(),
        "off": OffTime(text=off, off_at=datetime(2026, 11, 20, hour, minute, tzinfo=UTC)),
        "title": title,
        "going": "Good to Soft" if course is KEMPTON else "Heavy",
        "status": "settled" if order else None,
        "runners": tuple(Runner(horse=horse, position=str(place)) for place, horse in enumerate(order, start=1)),
    }
    return Race(**{**given, **fields})


HURDLE = _race("rc_2", KEMPTON, "13:00", "Maiden Hurdle", "Blue Moon", "Red Sky", distance="2m", race_class="4")
CHASE = _race("rc_3", KEMPTON, "13:30", "Novices' Chase", distance="2m4f", race_class="3", field_size=7)
JUVENILE = _race("rc_4", KEMPTON, "14:00", "Juvenile Hurdle", "Night Owl", "Tall Tale", distance="2m", race_class="4")
NOVICES = RACE.model_copy(
    update={
        "course": KEMPTON,
        "meeting_id": "mt_1",
        "off": OffTime(text="14:30", off_at=datetime(2026, 11, 20, 14, 30, tzinfo=UTC)),
    }
)
HANDICAP = _race("rc_5", KEMPTON, "15:00", "Handicap Chase", distance="3m", race_class="2", field_size=9)
BUMPER = _race("rc_6", KEMPTON, "15:30", "Open Flat Race", distance="2m", race_class="5", field_size=14)
AT_KEMPTON = (HURDLE, CHASE, JUVENILE, NOVICES, HANDICAP, BUMPER)

AT_ASCOT = (
    _race("rc_11", ASCOT, "12:40", "Mares' Hurdle", "Early Light", "Second Wind", distance="2m3f", race_class="4"),
    *(
        _race(f"rc_{number}", ASCOT, off, title, distance="2m", field_size=8)
        for number, off, title in (
            (12, "13:15", "Novices' Chase"),
            (13, "13:50", "Handicap Hurdle"),
            (14, "14:25", "Stakes"),
        )
    ),
)


def _lost(race: Race, reason: str) -> RacingEvent:
    key = f"race.abandoned:{race.race_id}"
    return ABANDONED.model_copy(update={"key": key, "race": race.model_copy(update={"runners": ()}), "reason": reason})


TOLD = (
    _lost(CHASE, "fallen tree on the course"),
    _lost(JUVENILE, "fog"),
    RacingEvent(
        key="meeting.abandoned:mt_2",
        kind=EventKind.MEETING_ABANDONED,
        race=Race(meeting_id="mt_2", region="GB", course=ASCOT, race_date=TODAY.isoformat()),
        reason="waterlogged",
    ),
)
OF_THE_DAY = outcomes_of([*AT_KEMPTON, *AT_ASCOT], TOLD, "GB", None)
ELSEWHERE = [
    _race(
        f"rc_{number}{half}", Course(name=name), off, "Handicap", region=region, meeting_id=f"mt_{number}", going=None
    )
    for number, (name, region, hour) in enumerate(
        (("Wolverhampton", "GB", 16), ("Naas", "IRE", 12), ("Saint-Cloud", "FR", 13), ("Turffontein", "SAF", 11)),
        start=3,
    )
    for half, off in enumerate(f"{hour + at // 2}:{at % 2 * 30:02}" for at in range(7))
]
OF_SIX_MEETINGS = outcomes_of([*AT_KEMPTON, *AT_ASCOT, *ELSEWHERE], TOLD, None, None)
OF_KEMPTON = outcomes_of([*AT_KEMPTON, *AT_ASCOT], TOLD, "GB", KEMPTON)


# Plumpton's meeting, live: two races with an outcome, one told both ways, and three to come or lost


PLUMPTON = Course(course_id="cr_plu", name="Plumpton", country="England")
AT_PLUMPTON = Meeting(course=PLUMPTON, race_date=TODAY.isoformat(), region="GB")


def at_plumpton(number: int, off: str, title: str, distance: str, field: int, **fields: Any) -> Race:
    return Race(
        race_id=f"rc_plu_{number}",
        region="GB",
        course=PLUMPTON,
        race_date=TODAY.isoformat(),
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
    each = tuple(zip(races, outcomes, strict=True))
    return Outcomes((MeetingCard(PLUMPTON, "GB", each),), **lost)


LOST_AT_PLUMPTON = RacingEvent(
    key="meeting.abandoned:mt_plu",
    kind=EventKind.MEETING_ABANDONED,
    race=Race(meeting_id="mt_plu", region="GB", course=PLUMPTON, race_date=TODAY.isoformat()),
    reason="Waterlogged",
)
LIVE_MEETING = outcomes_at_plumpton(PLUMPTON_RACES, RaceOutcome.OPEN)
LIVE_MEETING_ABANDONED = outcomes_at_plumpton(
    tuple(race.model_copy(update={"reason": race.reason or "Waterlogged"}) for race in PLUMPTON_RACES),
    RaceOutcome.ABANDONED,
    lost=(LOST_AT_PLUMPTON,),
)
