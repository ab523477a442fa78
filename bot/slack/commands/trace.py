"""`/racing trace`. Admins see all channels, other people the present channel."""

import asyncio
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import select
from sqlmodel import Session, col

from bot.channels.conditions.course_condition import COURSES_FIELD
from bot.channels.conditions.event_conditions import REGIONS_FIELD
from bot.db.database_clock import database_now
from bot.db.tables import EventVersion
from bot.errors import CommandError, ServiceError
from bot.events import event_store
from bot.events.days import utc_today
from bot.events.event import EventKind, RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.events.races import Race, is_same_course
from bot.events.same_races import is_same_race
from bot.events.sentences import listed
from bot.events.typed_off import as_meant, in_the_afternoon, is_off_at, minutes_apart
from bot.events.typed_text import folded, typed_line
from bot.outbox import ledger
from bot.outbox.message import Message
from bot.racedata import race_book_store
from bot.racedata.lexicon import Lexicon, kept
from bot.racedata.near_misses import find_courses, likely_courses, quoted
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.commands.places import day_grammar
from bot.slack.language.grammar import Kind, PhraseReader
from bot.slack.language.refusals import unknown_words
from bot.slack.language.request import request_of
from bot.slack.language.tokens import words_of
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.trace_answer import TraceView, trace_answer
from bot.slack.messages.kit.names import card_name, course_name, race_day, race_name
from bot.slack.messages.kit.text import joined
from bot.slack.messages.kit.times import off_text, published_day

NAME = "trace"

_GRAMMAR = day_grammar(looks_back=True)
_COURSE = re.compile(r"[^\W\d][^\d:#|]{2,}")

NAMED_WITHIN = timedelta(days=7)
LOST_WITHIN = timedelta(days=1)

RACES_OFFERED_MAX = 10

COURSE_CHECK_S = 1.0

AROUND_AN_ID = "'\" "
"""Characters copied along with an id."""


@dataclass(frozen=True)
class Named:
    """`key`: an id for the ledger. `race`: the named race, if any. `meetings`: keys of its abandoned meetings."""

    key: str
    race: Race | None = None
    meetings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Asked:
    """A typed course, off, region and day."""

    typed: str
    off: str | None
    region: str | None
    day: str | None

    @property
    def course(self) -> str:
        return folded(self.typed)

    def has(self, race: Race) -> bool:
        is_there = self.region is None or race.region in {None, self.region}
        return is_there and (self.day is None or race.race_date == self.day)


@dataclass(frozen=True)
class _Known:
    """A race of a delivery or of the race book. `key` is None for a race of the book without an id."""

    race: Race
    key: str | None


@dataclass(frozen=True)
class Place:
    """The delivered events of a typed course, the newest first, and the course's known races."""

    wanted: str
    asked: _Asked
    events: Sequence[RacingEvent]
    races: Sequence[_Known]


async def _answer(desk: Desk, invocation: Invocation, wanted: str) -> Message:
    """Raises CommandError for a course and a time of no known race."""
    only_channel = None if await desk.people.is_admin(invocation) else invocation.channel_id

    def read(session: Session) -> tuple[Place | None, Named, Collection[str], ledger.Trace]:
        now = desk.clock()
        place = place_of(session, wanted, now)
        named = (place and named_race(place, now)) or Named(wanted)
        race_id = (named.race and named.race.race_id) or named.key
        named = replace(named, race=race_book_store.by_id(session, race_id) or named.race)
        cards = _lost_by_cards(session, named.race, now) if named.race else ()
        at = database_now(session, desk.clock)
        found = ledger.trace(session, named.key, at, channel_id=only_channel, also=(*named.meetings, *cards))
        return place, named, cards, found

    place, named, cards, found = await desk.database.read(read)
    if place and not (found.versions or found.deliveries or named.race):
        if error := no_such_race(place, desk.clock()):
            raise error
        await _check_course(desk, place.asked)
    view = TraceView(desk.identity.permalink, has_ids=not invocation.from_message)
    return trace_answer(
        found, named.key, view, only_channel, race=named.race, by_card=bool(cards), here=invocation.channel_id
    )


async def _plan(_desk: Desk, invocation: Invocation) -> str:
    wanted = invocation.text.strip(AROUND_AN_ID)
    named = {one.kind for one in PhraseReader(grammar=_GRAMMAR).read(words_of(wanted))}
    # "who has the abandonments" names no race.
    if not named <= {Kind.TOPIC, Kind.ALL, Kind.FILLER}:
        return wanted
    raise CommandError(
        "Say which race: /racing trace and its id, as it stands in the small print of a message; or course and time, "
        "as York 14:30. The course alone will do for an abandoned meeting. A meeting's id, an event's key or a "
        "delivery's reference (inbox-1) will do too.",
        lines={"Abandonments of today": "results abandonments"} if wanted else {},
    )


def place_of(session: Session, wanted: str, now: datetime) -> Place | None:
    """None for an id."""
    asked = _read(wanted, now, kept(session))
    if asked is None:
        return None
    events = _events_at(session, asked, now)
    return Place(wanted, asked, events, _known_there(session, events, asked, now))


def named_race(place: Place, now: datetime) -> Named | None:
    """Today's race, else the newest delivered race, of the course and time; None without a race.

    Without a typed time, or while the times of the day's races are not all known: the course's abandoned meeting of
    yesterday, of today or to come.
    """
    off = place.asked.off
    for time in filter(None, (off, off and in_the_afternoon(off))):
        for one in place.races:
            if is_off_at(one.race.off, time):
                asked = RacingEvent(key="", race=one.race)
                lost = filter(_is_lost, place.events)
                meetings = tuple(event.key for event in lost if is_part_of(asked, event))
                return Named(one.key or next(iter(meetings), place.wanted), one.race, meetings)
    latest = _lost_lately(place.events, now)
    if latest is None or (off and _knows_all_times(place.races, latest)):
        return None
    return Named(latest.key)


def no_such_race(place: Place, now: datetime) -> CommandError | None:
    """Names the course's known races, the nearest off times first, with a button each. None without a known race."""
    course, off = place.asked.course, place.asked.off
    timed = [one for one in place.races if one.race.off.text]
    if off:
        timed.sort(key=lambda one: minutes_apart(one.race.off, off))
    lines: dict[str, str] = {}
    for one in timed:
        typed = [one.key] if one.key else [one.race.course.name or course, one.race.off.text or ""]
        named = joined([race_name(one.race), race_day(one.race)], ", ")
        lines.setdefault(named, typed_line(["trace", *typed]))
    for event in place.events:
        if not _is_of_race(event):
            lines.setdefault(f"{card_name(event.race)}, the meeting", typed_line(["trace", event.key]))
    if not lines:
        return None
    lines = dict(islice(lines.items(), RACES_OFFERED_MAX))
    if not (off and timed):
        return CommandError(f"Which race is {quoted(place.wanted)}? I know these there:", lines=lines)
    lost = _lost_lately(place.events, now)
    meeting = f" {card_name(lost.race)}: the meeting was abandoned." if lost else ""
    day = timed[0].race.race_date
    times = dict.fromkeys(off_text(one.race.off) for one in timed if one.race.race_date == day)
    nearest = sorted(filter(None, islice(times, RACES_OFFERED_MAX)))
    where = course_name(timed[0].race) or quoted(course)
    meant = as_meant(off, [one.race.off for one in timed])
    told = f"No race is known at {meant} at {where}. Known: {listed(nearest)}, {race_day(timed[0].race)}.{meeting}"
    return CommandError(told, lines=lines)


async def _check_course(desk: Desk, asked: _Asked) -> None:
    """Raises CommandError for a mistyped course, and for a course without a known race."""
    course, typed = asked.course, asked.typed
    try:
        courses = await desk.reference.courses(COURSE_CHECK_S) or ()
    except (ServiceError, TimeoutError):
        return
    found = find_courses(courses, course) or [one for one in courses if folded(one.name or "") == course]
    if found:
        name = found[0].name or course
        when = f"on {published_day(asked.day)}" if asked.day else f"in the last {NAMED_WITHIN.days} days or to come"
        raise CommandError(
            f"No race is known at {name} {when}, and no abandonment. Today's card tells whether there is racing.",
            lines={f"Card of {name}": typed_line(["racecard", name])},
        )
    if meant := await asyncio.to_thread(likely_courses, typed, courses):
        others = [one for one in (asked.off, asked.region, asked.day) if one]
        lines = {name: typed_line([NAME, name, *others]) for name in meant}
        raise CommandError(unknown_words([typed], "course"), lines=lines, asks=True)


def _read(wanted: str, now: datetime, lexicon: Lexicon) -> _Asked | None:
    """The words in any order: "14:30 York yesterday", "Ascot AUS". None for an id."""
    phrases = PhraseReader(lexicon, _GRAMMAR, utc_today(now)).read(words_of(wanted))
    asked = request_of(phrases)
    named, regions = asked.of(COURSES_FIELD), asked.of(REGIONS_FIELD)
    # The unknown words may begin a course's name.
    begins = " ".join(one.typed for one in phrases if one.kind is Kind.UNKNOWN)
    typed = " ".join(filter(None, (*named, begins)))
    one_of_each = all(len(some) <= 1 for some in (named, regions, asked.of(Kind.TIME), asked.of(Kind.DAY)))
    if asked.refused or not one_of_each or not _COURSE.fullmatch(typed):
        return None
    off, day, region = (next(iter(some), None) for some in (asked.of(Kind.TIME), asked.of(Kind.DAY), regions))
    return _Asked(typed, off, region, day)


def _known_there(session: Session, events: Sequence[RacingEvent], asked: _Asked, now: datetime) -> list[_Known]:
    """Each race once: of today first, then of deliveries, the newest first, then of the race book."""
    since = (now - NAMED_WITHIN).date().isoformat()
    book = race_book_store.at_courses(session, asked.course, since)
    known = [
        *(one for event in events for one in _delivered(event)),
        *(_Known(race, race.race_id) for race in book if asked.has(race)),
    ]
    each: dict[tuple[str | None, ...], _Known] = {}
    for one in known:
        off = one.race.off.text
        each.setdefault((one.race.race_date, one.race.region, off or one.key), one)
    today = utc_today(now).isoformat()
    return sorted(each.values(), key=lambda one: one.race.race_date != today)


def _delivered(event: RacingEvent) -> Iterator[_Known]:
    if _is_of_race(event):
        yield _Known(event.race, event.race.race_id or event.key)
        return
    for race in event.races:
        card = {"course": event.race.course, "race_date": event.race.race_date, "region": event.race.region}
        missing = {name: value for name, value in card.items() if name == "course" or getattr(race, name) is None}
        yield _Known(race.model_copy(update=missing), race.race_id or event.key)


def _lost_by_cards(session: Session, race: Race, now: datetime) -> Collection[str]:
    """The keys of racecards that report the race as lost or void."""
    if not (race.course.name and (race.abandoned or race.is_void)):
        return ()
    asked = _Asked(race.course.name, race.off.text, race.region, race.race_date)
    newest: dict[str, list[Race]] = {}
    for event in _events_at(session, asked, now):
        if event.kind is EventKind.RACECARD_PUBLISHED:
            newest.setdefault(event.key, [one.race for one in _delivered(event)])
    return [key for key, races in newest.items() if any(_is_lost_race(one, race) for one in races)]


def _is_lost_race(told: Race, race: Race) -> bool:
    return (
        bool(told.abandoned or told.is_void) and is_same_course(told.course, race.course) and is_same_race(told, race)
    )


def _is_of_race(event: RacingEvent) -> bool:
    return not _is_lost(event) and bool(event.race.off.text or event.race.race_id)


def _is_lost(event: RacingEvent) -> bool:
    return event.kind is EventKind.MEETING_ABANDONED


def _lost_lately(events: Sequence[RacingEvent], now: datetime) -> RacingEvent | None:
    lately = (now - LOST_WITHIN).date().isoformat()
    return next((one for one in events if _is_lost(one) and (one.race.race_date or "") >= lately), None)


def _knows_all_times(there: Sequence[_Known], lost: RacingEvent) -> bool:
    """Whether races of the meeting's day are known, each with an off time."""
    of_day = [one.race for one in there if one.race.race_date == lost.race.race_date]
    return bool(of_day) and all(race.off.text for race in of_day)


def _events_at(session: Session, asked: _Asked, now: datetime) -> list[RacingEvent]:
    """The newest first."""
    since = (now - NAMED_WITHIN).date().isoformat()
    newest = (col(EventVersion.race_date).desc(), col(EventVersion.id).desc())
    recent = select(EventVersion).where(col(EventVersion.race_date) >= since, col(EventVersion.kind).is_not(None))
    rows: Sequence[EventVersion] = session.execute(recent.order_by(*newest)).scalars().all()
    each = (event_store.known(row)[0] for row in rows)
    at_course = (one for one in each if folded(one.race.course.name or "").startswith(asked.course))
    return [one for one in at_course if asked.has(one.race)]


TRACE_COMMAND = Command(
    NAME,
    "RACE_ID|course time",
    "Who was told of a race and when, or why not; admins see every channel",
    _answer,
    _plan,
    examples=("trace York 14:30", "trace rc_7094aa36a0ff"),
    mistakes=(
        "An id is typed exactly as the small print of a message shows the id. The course alone will do for an "
        "abandoned meeting."
    ),
    group=HelpGroup.BOT,
)
