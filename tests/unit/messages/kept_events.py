"""The messages of events in snapshots/: each a builder with its arguments."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from bot.channels.filters import Meeting
from bot.events import facts
from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, OffTime, Race, Runner
from bot.events.watched import WatchedRunner
from bot.outbox.message import Message
from bot.outbox.message_view import AskedInView, Superseded
from bot.racedata.client.records import KnownCountry
from bot.racedata.day_card import MeetingCard, Outcomes, outcomes_of
from bot.slack.messages import EVENT_MESSAGES, Corrected, MessageContext, render
from bot.slack.messages.alerts.alert_notes import unreadable
from bot.slack.messages.alerts.event_alerts import race_not_run

OFF_AT = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)
RECEIVED_AT = datetime(2026, 11, 20, 14, 32, 10, tzinfo=UTC)
NINE_LATER = RECEIVED_AT + timedelta(minutes=9)
ON_TIME = MessageContext(received_at=RECEIVED_AT, now=RECEIVED_AT, late_after_s=600)
LATE = ON_TIME.model_copy(update={"now": RECEIVED_AT + timedelta(minutes=42)})
LINK = "https://example.slack.com/archives/C1/p1?thread_ts=1&cid=C1"
Model = TypeVar("Model", bound=BaseModel)


def but(model: Model, **changed: Any) -> Model:
    return model.model_copy(update=changed)


FIELD = (
    Runner(horse="Horse B", position="2", jockey="R Moore", trainer="A O'Brien", starting_price="7/1"),
    Runner(horse="Horse A", position="1", jockey="L Dettori", trainer="J Gosden", starting_price="5/2"),
    Runner(horse="Horse D", position="PU"),
    Runner(horse="Horse C", position="3", trainer="J Gosden"),
    Runner(horse="Horse E", position="PU"),
    Runner(number="9", position="F"),
)
WATCHED_FIELD = (
    but(FIELD[1], horse="Desert Crown"),
    FIELD[0],
    FIELD[3],
    Runner(horse="Blue Moon", position="PU", trainer="A Smith"),
)
RACE = Race(
    race_id="rc_1",
    region="GB",
    course=Course(name="Kempton", country="England"),
    race_date="2026-11-20",
    off=OffTime(text="14:30"),
    title="Novices' Hurdle",
    race_class="4",
    distance="2m",
    going="Good to Soft",
    status="settled",
    runners=FIELD,
)
CARD = Race(meeting_id="mt_1", region="GB", course=Course(name="Ascot"), race_date="2026-11-21")
RACES = tuple(
    Race(race_id=f"rc_{n}", off=OffTime(text=f"{11 + n}:30"), title=f"Race {n}", distance="1m", field_size=n + 1)
    for n in range(1, 7)
)
PARTLY = KnownCountry(country_code="GB", name="Great Britain", full_result_order=False, position_pct=0.612)
RESULT = RacingEvent(key="result.received:rc_1", kind=EventKind.RESULT_RECEIVED, race=RACE)
VOID = but(RESULT, race=but(RACE, status="Void"))
LOST = but(
    RESULT,
    race=but(RACE, status="Abandoned", abandoned=True, runners=(), reason="unsafe ground"),
    reason="unsafe ground",
)
ABANDONED = RacingEvent(
    key="race.abandoned:rc_1",
    kind=EventKind.RACE_ABANDONED,
    race=but(RACE, runners=(), status="abandoned", off=OffTime(text="14:30", off_at=OFF_AT)),
    reason="frozen track",
)
MEETING = RacingEvent(
    key="meeting.abandoned:mt_1", kind=EventKind.MEETING_ABANDONED, race=CARD, races=RACES, reason="waterlogged"
)
RACECARD = RacingEvent(key="racecard.published:mt_1", kind=EventKind.RACECARD_PUBLISHED, race=CARD, races=RACES)
UNREADABLE = RacingEvent(key=f"unreadable:{'0123456789abcdef' * 4}", name="race.reopened", unreadable_because="no JSON")
NOTHING_CAME = {kind: RacingEvent(key=f"{kind}:sha256:{'0' * 64}", kind=kind) for kind in EventKind}

SWAPPED = (
    facts.Change(field=facts.POSITION_FACT, of="Horse A", before="2", now="1", rings=True),
    facts.Change(field=facts.POSITION_FACT, of="Horse B", before="1", now="2", rings=True),
)
MADE_VOID = (facts.Change(field="race.status", before="settled", now="Void", rings=True),)
GOING = (facts.Change(field="race.going", before="Good", now="Soft"),)
REASON = (facts.Change(field="event.reason", before="frost", now="frozen track"),)
MORE_RACES = tuple(facts.Change(field="card", of=f"1{number}:30", now="named") for number in (1, 2))

STILL_OPEN = tuple(Race(off=OffTime(text=text)) for text in ("15:00", "15:30", "16:00"))

ASKED = AskedInView("race.abandoned:rc_1#1@C1")
TAKEN = AskedInView("race.abandoned:rc_1#1@C1", "U1", NINE_LATER)


def replaced_by(**later: Any) -> MessageContext:
    superseded = Superseded(NINE_LATER, None, **later)
    return on_time(superseded=superseded, later_link=LINK)


def on_time(**told: Any) -> MessageContext:
    return but(ON_TIME, **told)


def result(**race: Any) -> RacingEvent:
    return but(RESULT, race=but(RACE, **race))


def abandoned(**race: Any) -> RacingEvent:
    return but(ABANDONED, race=but(ABANDONED.race, **race))


EVENTS_IN_CONTEXT: dict[str, tuple[RacingEvent, MessageContext]] = {
    "race_abandoned_to_be_acknowledged": (ABANDONED, on_time(asked=ASKED)),
    "race_abandoned_acknowledged": (ABANDONED, on_time(asked=TAKEN)),
    "meeting_abandoned_to_be_acknowledged": (MEETING, on_time(asked=ASKED)),
    "result": (but(RESULT, data_as_of="2026-11-20T14:31:00+00:00"), ON_TIME),
    "result_without_runners": (result(runners=()), ON_TIME),
    "result_corrected": (RESULT, on_time(changes=SWAPPED, previous_link=LINK)),
    "result_in_two_versions": (RESULT, on_time(changes=SWAPPED, previous_link=LINK, order_unknown=True)),
    "result_superseded": (RESULT, replaced_by()),
    "result_superseded_by_one_that_disagrees": (RESULT, replaced_by(disagrees=True)),
    "result_delivered_again": (RESULT, on_time(repeated=Corrected(at=NINE_LATER, changes=SWAPPED, order_unknown=True))),
    "race_abandoned_contradicted": (ABANDONED, replaced_by(by=EventKind.RESULT_RECEIVED)),
    "result_of_a_partial_order": (RESULT, on_time(country=PARTLY)),
    "result_after_abandonment": (RESULT, on_time(contradicts="race.abandoned")),
    "result_edited": (RESULT, on_time(corrected=Corrected(at=NINE_LATER, changes=GOING))),
    "result_watched": (
        result(runners=WATCHED_FIELD),
        on_time(
            watched=(
                WatchedRunner(horse="Desert Crown", position="1"),
                WatchedRunner(horse="Blue Moon", by=("trainer A Smith",), position="PU"),
            )
        ),
    ),
    "meeting_abandoned_watched": (MEETING, on_time(watched=(WatchedRunner(horse="Desert Crown", off="14:30"),))),
    "result_with_places_marked_abandoned": (result(abandoned=True), on_time(asked=ASKED, mentions=("U7",))),
    "result_of_another_day": (result(race_date="2026-11-19"), ON_TIME),
    "race_abandoned_of_another_day": (abandoned(race_date="2026-11-28"), ON_TIME),
    "racecard_marked_abandoned": (but(RACECARD, race=but(CARD, abandoned=True), reason="frost"), ON_TIME),
    "racecard_with_an_abandoned_race": (
        but(RACECARD, races=(but(RACES[0], abandoned=True, reason="fog"), *RACES[1:])),
        ON_TIME,
    ),
    "race_abandoned": (ABANDONED, on_time(others=STILL_OPEN)),
    "race_abandoned_of_a_meeting": (ABANDONED, on_time(in_meeting=True, meeting_link=LINK)),
    "race_abandoned_from_the_book": (abandoned(from_book=("course.name", "off", "race_class")), ON_TIME),
    "race_abandoned_late_and_maybe_repeated": (ABANDONED, but(LATE, may_be_repeat=True)),
    "race_abandoned_bare": (NOTHING_CAME[EventKind.RACE_ABANDONED], ON_TIME),
    "meeting_abandoned": (MEETING, ON_TIME),
    "meeting_abandoned_with_races_of_its_own": (
        MEETING,
        on_time(
            corrected=Corrected(at=NINE_LATER, changes=MORE_RACES),
            settled=frozenset({"rc_2"}),
            partly_run=True,
            lost=(but(ABANDONED, race=RACES[3]), ABANDONED),
        ),
    ),
    "meeting_abandoned_with_races_from_the_book": (
        but(MEETING, races_from_book=True, race=but(CARD, from_book=("course.name", "race_date"))),
        ON_TIME,
    ),
    "meeting_abandoned_bare": (NOTHING_CAME[EventKind.MEETING_ABANDONED], ON_TIME),
    "racecard_published": (RACECARD, ON_TIME),
    "racecard_of_an_abandoned_meeting": (RACECARD, on_time(in_meeting=True, meeting_link=LINK)),
    "racecard_of_one_race": (but(RACECARD, race=RACE, races=()), ON_TIME),
    "result_late": (RESULT, but(LATE, may_be_repeat=True)),
    "result_of_unusual_status": (result(status="Postponed", runners=FIELD[:1]), ON_TIME),
    "result_of_a_walkover": (result(status="Walkover", runners=FIELD[1:2]), ON_TIME),
    "result_void_from_the_start": (VOID, ON_TIME),
    "race_abandoned_with_mentions": (ABANDONED, on_time(mentions=("U7", "S7", "here"))),
    "race_abandoned_after_result": (ABANDONED, on_time(contradicts="result.received", previous_link=LINK)),
    "race_abandoned_corrected": (ABANDONED, on_time(changes=REASON, previous_link=LINK)),
    "meeting_abandoned_with_mentions_late": (MEETING, but(LATE, mentions=("here",))),
    "racecard_corrected": (RACECARD, on_time(changes=GOING, previous_link=LINK)),
    "unreadable": (UNREADABLE, ON_TIME),
}


def _builder(event, context):
    """`render` where the mark of a later message stands above the builder's message."""
    return render if context.superseded else EVENT_MESSAGES[event.kind] if event.kind else unreadable


EVENTS: dict[str, partial[Message]] = {
    "result_marked_abandoned": partial(race_not_run, LOST, ON_TIME),
    "result_declared_void": partial(race_not_run, VOID, on_time(changes=MADE_VOID, previous_link=LINK)),
    "result_void_in_one_version": partial(
        race_not_run, VOID, on_time(changes=(*MADE_VOID, *GOING), previous_link=LINK, order_unknown=True)
    ),
} | {name: partial(_builder(event, context), event, context) for name, (event, context) in EVENTS_IN_CONTEXT.items()}


# A day's racing, for the snapshots of answers. At Kempton two races were run, one of
# them reported abandoned before; one race was lost, and two are to come. At Ascot the rest of the meeting was lost
# after the first race.


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
LIVE_MEETING_VOID = outcomes_at_plumpton(PLUMPTON_RACES, RaceOutcome.VOID)
LIVE_MEETING_ABANDONED = outcomes_at_plumpton(
    tuple(race.model_copy(update={"reason": race.reason or "Waterlogged"}) for race in PLUMPTON_RACES),
    RaceOutcome.ABANDONED,
    lost=(LOST_AT_PLUMPTON,),
    partly_run=frozenset({LOST_AT_PLUMPTON.key}),
)
