"""Races, cards and results of a day, as the answers to `/racecard` and `/results` are made of."""

from datetime import UTC, date, datetime

from bot.events.event import EventKind, RacingEvent
from bot.events.races import Course, OffTime, Race, Runner
from bot.racedata.day_card import Card, Coverage, outcomes_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOW.date()
TOMORROW = date(2026, 11, 21)
ASCOT, BATH = Course(name="Ascot"), Course(name="Bath")


def make_race(off="14:30", course="Ascot", **fields):
    given = {"race_id": f"{course}-{off}", "region": "GB", "race_date": "2026-11-20"}
    return Race(**given | {"course": Course(name=course), "off": OffTime(text=off)} | fields)


def make_card(races=(), told=(), coverage=Coverage.COMPLETE, **fields):
    given = {"day": TODAY, "region": "GB", "course": None, "coverage": coverage} | fields
    return Card(**{"outcomes": outcomes_of(races, told, given["region"], given["course"])} | given)


def lost_meeting(course="Ascot", reason="Flood", region="GB", race_date="2026-11-20", **fields):
    race = Race(course=Course(name=course), region=region, race_date=race_date, off=OffTime(text=None), **fields)
    return RacingEvent(key="m", kind=EventKind.MEETING_ABANDONED, race=race, reason=reason)


def timed(race, hour, minute=0):
    """The race with the moment of its off, for readers' own clocks."""
    return race.model_copy(update={"off": OffTime(text=race.off.text, off_at=NOW.replace(hour=hour, minute=minute))})


RACE_OFF = RacingEvent(key="r", kind=EventKind.RACE_ABANDONED, race=make_race("15:00", race_id=None), reason="Frost")
MEETING_OFF = lost_meeting(meeting_id="m_1")
OF_A_DAY = [make_race("14:30", title="Hurdle"), make_race("15:00", title="Chase"), make_race(course="Naas")]
DISPUTED = make_race("13:00", abandoned=True, reason="Frost", status="result", title="Flat")
DECLARED = (
    Runner(number="4", draw="3", horse="Desert Crown", jockey="R Moore", trainer="A O'Brien", official_rating="121"),
    Runner(horse="Lone Star"),
    Runner(number="9", horse="Stays Home", position="NR"),
)
WINNER = (Runner(horse="Early Bird", position="1"),)
FIELD = (
    Runner(horse="Third", position="3"),
    Runner(horse="Winner", position="1", starting_price="5/2"),
    Runner(horse="Second", position="2="),
    Runner(horse="Also Second", position="2="),
    Runner(horse="Fourth", position="4"),
    Runner(horse="Fell", position="F"),
)
RACES = [
    make_race("14:30", runners=FIELD),
    make_race("15:00", abandoned=True, reason="Frost"),
    make_race("15:30"),
    make_race("13:00", course="Naas", status="result"),
]


def pages_of(show):
    """All pages of an answer, as the buttons turn them."""
    pages = [show(1)]
    while f"page:{len(pages) + 1}" in str(pages[-1].blocks):
        pages.append(show(len(pages) + 1))
    return pages
