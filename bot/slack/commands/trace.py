"""`/racing trace`. Admins see all channels, other people the present channel."""

import asyncio
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, islice

from sqlalchemy import and_, or_, select
from sqlmodel import Session, col

from bot.db.engine import database_now
from bot.db.tables import EventVersion
from bot.errors import CommandError, ServiceError
from bot.events import event_store
from bot.events.days import racing_day, utc_today
from bot.events.event import EventKind, RacingEvent
from bot.events.meeting_parts import is_part_of, is_there
from bot.events.race_state import RaceOutcome
from bot.events.races import Race, is_same_course
from bot.events.same_races import is_same_race
from bot.events.sentences import listed
from bot.events.typed_text import folded, typed_line
from bot.events.typed_times import as_meant, is_off_at, minutes_apart, none_known, readings
from bot.outbox import ledger
from bot.outbox.message import Message
from bot.racedata import race_book_store
from bot.racedata.day import is_whole, known_day
from bot.racedata.day_card import order_of, race_numbered
from bot.racedata.lexicon import Lexicon, kept
from bot.racedata.near_misses import find_courses, likely_courses, quoted
from bot.slack.commands.day_commands import day_grammar
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.language.refusals import unknown_words
from bot.slack.language.request import request_of
from bot.slack.language.words import Kind
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
    """`key`: an id for the ledger. `race`: the named race, if any. `also`: keys of events about the race."""

    key: str
    race: Race | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """The words of a course (`typed`), and the off, region and day typed beside. `days`: what the day may mean.

    `events`: the delivered events there, the newest first. `races`: the known races, each as an event of its own,
    whose key is the race's id where the race has an id; "" for a race of the race book without an id.
    """

    typed: str
    off: str | None
    region: str | None
    day: str | None = None
    days: Sequence[str] = ()
    events: Sequence[RacingEvent] = ()
    races: Sequence[RacingEvent] = ()

    @property
    def course(self) -> str:
        return folded(self.typed)

    def has(self, race: Race) -> bool:
        is_there = self.region is None or race.region in {None, self.region}
        return is_there and (not self.days or race.race_date in self.days)


async def _answer(desk: Desk, invocation: Invocation, wanted: str) -> Message:
    """Raises CommandError for a course and a time of no known race."""
    only_channel = None if await desk.people.is_admin(invocation) else invocation.channel_id

    def read(session: Session) -> tuple[Place | None, Named, Collection[str], ledger.Trace, RaceOutcome | None]:
        now = desk.clock()
        place = place_of(session, wanted, now)
        named = (place and named_race(place, now)) or Named(wanted)
        race_id = (named.race and named.race.race_id) or named.key
        named = replace(named, race=race_book_store.by_id(session, race_id) or named.race)
        cards = _lost_by_cards(session, named.race, now) if named.race else ()
        at = database_now(session, desk.clock)
        here, also = invocation.channel_id, (*named.also, *cards)
        found = ledger.trace(session, named.key, at, channel_id=only_channel, here=here, also=also)
        race = named.race or next((one.race for one in found.versions), None)
        return place, named, cards, found, _outcome(session, race) if race else None

    place, named, cards, found, outcome = await desk.database.read(read)
    if place and not (found.versions or found.deliveries or named.race):
        if error := no_such_race(place, desk.clock()):
            raise error
        await _check_course(desk, place)
    view = TraceView(desk.identity.permalink, not invocation.from_message, only_channel)
    here, by_card = invocation.channel_id, bool(cards)
    return trace_answer(found, named.key, view, race=named.race, outcome=outcome, by_card=by_card, here=here)


async def _plan(_desk: Desk, invocation: Invocation) -> str:
    wanted = invocation.text.strip(AROUND_AN_ID)
    if '"' in wanted:
        # Around a course: "Wolverhampton (AW)" 13:25.
        wanted = invocation.text.strip()
    named = {one.kind for one in _GRAMMAR.read(wanted)}
    # "who has the abandonments" names no race.
    if not named <= {Kind.TOPIC, Kind.ALL, Kind.FILLER}:
        return wanted
    raise CommandError(
        "Say which race: /racing trace and its id, as the data service publishes the id; or course and time, "
        "as York 14:30. The course alone will do for an abandoned meeting. A meeting's id, an event's key or a "
        "delivery's reference (inbox-1) will do too.",
        lines={"Abandonments of today": "results abandonments"} if wanted else {},
    )


def place_of(session: Session, wanted: str, now: datetime) -> Place | None:
    """None for an id."""
    place = _read(wanted, now, kept(session))
    if place is None:
        return None
    events = _events_at(session, place, now)
    races = _races_there(session, place, events, now)
    of_day = [one.race for one in races if one.race.race_date == races[0].race.race_date]
    day = racing_day(of_day[0].race_date) if of_day else None
    if place.off and day:
        all_known = is_whole(session, of_day[0].region, day)
        numbered = race_numbered(place.off, sorted(of_day, key=order_of(of_day)), is_whole=all_known)
        place = replace(place, off=(numbered and numbered.off.text) or place.off)
    return replace(place, events=events, races=races)


def named_race(place: Place, now: datetime) -> Named | None:
    """The race of the typed day or of today, else the newest delivered race, of the course and time; None if unknown.

    Without a typed time, or while the times of the day's races are not all known: the course's abandoned meeting of
    yesterday, of today or to come.
    """
    off = place.off
    for time in readings(off) if off else ():
        for one in place.races:
            if is_off_at(one.race.off, time):
                also = tuple(event.key for event in place.events if _is_about(event, one, time))
                return Named(one.key or next(iter(also), place.typed), one.race, also)
    latest = _lost_lately(place, now)
    if latest is None or (off and _knows_all_times(place, latest)):
        return None
    return Named(latest.key)


def no_such_race(place: Place, now: datetime) -> CommandError | None:
    """Names the course's known races, the nearest off times first, with a button each. None without a known race."""
    course, off = place.course, place.off
    timed = [one for one in place.races if one.race.off.text]
    if off:
        timed.sort(key=lambda one: minutes_apart(one.race.off, off))
    lines: dict[str, str] = {}
    for one in timed:
        typed = [one.key] if one.key else [one.race.course.name or course, one.race.off.text or ""]
        named = joined([race_name(one.race), race_day(one.race)], ", ")
        lines.setdefault(named, typed_line([NAME, *typed]))
    for event in place.events:
        if not _is_of_race(event):
            lines.setdefault(f"{card_name(event.race)}, the meeting", typed_line([NAME, event.key]))
    if not lines:
        return None
    lines = dict(islice(lines.items(), RACES_OFFERED_MAX))
    if not (off and timed):
        return CommandError(f"Which race is {quoted(place.typed)}? I know these there:", lines=lines)
    lost = _lost_lately(place, now)
    meeting = f" {card_name(lost.race)}: the meeting was abandoned." if lost else ""
    nearest = timed[0].race
    times = dict.fromkeys(off_text(one.race.off) for one in timed if one.race.race_date == nearest.race_date)
    known = sorted(filter(None, islice(times, RACES_OFFERED_MAX)))
    where = course_name(nearest) or quoted(course)
    meant = as_meant(off, [one.race.off for one in timed])
    told = f"{none_known(meant)} at {where}. Known: {listed(known)}, {race_day(nearest)}.{meeting}"
    return CommandError(told, lines=lines)


async def _check_course(desk: Desk, place: Place) -> None:
    """Raises CommandError for a mistyped course, and for a course without a known race."""
    try:
        courses = await desk.reference.courses(COURSE_CHECK_S) or ()
    except (ServiceError, TimeoutError):
        return
    course = place.course
    if found := find_courses(courses, course):
        name, days = found[0].name or course, listed([published_day(one) or one for one in place.days], "or")
        when = f"on {days}" if days else f"in the last {NAMED_WITHIN.days} days or to come"
        raise CommandError(
            f"No race is known at {name} {when}, and no abandonment. Today's card tells whether there is racing.",
            lines={f"Card of {name}": typed_line(["racecard", name])},
        )
    if meant := await asyncio.to_thread(likely_courses, place.typed, courses):
        lines = {name: typed_line([NAME, name, place.off, place.region, place.day]) for name in meant}
        raise CommandError(unknown_words([place.typed], "course"), lines=lines, asks=True)


def _read(wanted: str, now: datetime, lexicon: Lexicon) -> Place | None:
    """The words in any order: "14:30 York yesterday", "Ascot AUS". None for an id.

    Raises CommandError for an unclear day.
    """
    phrases, coming = (one.read(wanted, lexicon, utc_today(now)) for one in (_GRAMMAR, day_grammar()))
    asked = request_of(phrases)
    named, times, regions, days = map(asked.of, (Kind.COURSE, Kind.TIME, Kind.REGION, Kind.DAY))
    # The unknown words may begin a course's name.
    begins = " ".join(one.typed for one in phrases if one.kind is Kind.UNKNOWN)
    typed = " ".join(filter(None, (*named, begins)))
    is_one_of_each = all(len(some) <= 1 for some in (named, times, regions, days))
    if not is_one_of_each or not _COURSE.fullmatch(typed):
        return None
    if asked.refused:
        raise asked.refused.error(NAME)
    off, region = (next(iter(some), None) for some in (times, regions))
    day = next((one.typed for one in phrases if one.kind is Kind.DAY), None)
    # "Saturday" was the last day of racing, or is a coming day that may be lost.
    return Place(typed, off, region, day, [*dict.fromkeys([*days, *request_of(coming).of(Kind.DAY)])])


def _races_there(session: Session, place: Place, events: Sequence[RacingEvent], now: datetime) -> Sequence[RacingEvent]:
    """Each race once: of the typed day or of today first, then of deliveries, the newest first, then of the book."""
    book = race_book_store.at_courses(session, place.course, _since(now, NAMED_WITHIN))
    listed = (RacingEvent(key=race.race_id or "", race=race) for race in book if place.has(race))
    each: dict[tuple[str | None, ...], RacingEvent] = {}
    for one in chain(chain.from_iterable(map(_races_of, events)), listed):
        each.setdefault((one.race.race_date, one.race.region, one.race.off.text or one.key), one)
    first = next(iter(place.days), utc_today(now).isoformat())
    return sorted(each.values(), key=lambda one: one.race.race_date != first)


def _races_of(event: RacingEvent) -> Iterator[RacingEvent]:
    """The race of an event, or the races of a meeting or card."""
    card = {"course": event.race.course, "race_date": event.race.race_date, "region": event.race.region}
    for race in [event.race] if _is_of_race(event) else event.races:
        missing = {name: value for name, value in card.items() if name == "course" or getattr(race, name) is None}
        yield RacingEvent(key=race.race_id or event.key, race=race.model_copy(update=missing))


def _lost_by_cards(session: Session, race: Race, now: datetime) -> Collection[str]:
    """The keys of racecards that report the race as lost or void."""
    if not (race.course.name and (race.abandoned or race.is_void)):
        return ()
    place = Place(race.course.name, race.off.text, race.region, days=[race.race_date] if race.race_date else ())
    # Of each card the newest version counts.
    cards = {
        one.key: one for one in reversed(_events_at(session, place, now)) if one.kind is EventKind.RACECARD_PUBLISHED
    }
    told = [(key, one.race) for key, card in cards.items() for one in _races_of(card)]
    lost = [(key, one) for key, one in told if (one.abandoned or one.is_void) and is_same_race(one, race)]
    return list(dict.fromkeys(key for key, one in lost if is_same_course(one.course, race.course)))


def _outcome(session: Session, race: Race) -> RaceOutcome | None:
    """By all that is known of the day; None for a meeting, and for a race without an id or a day."""
    day = racing_day(race.race_date)
    if day is None or race.race_id is None:
        return None
    found = known_day(session, day, race.region).of_races({race.race_id})
    return next((outcome for _, outcome in found.values()), None)


def _is_of_race(event: RacingEvent) -> bool:
    return not _is_lost(event) and bool(event.race.off.text or event.race.race_id)


def _is_about(event: RacingEvent, race: RacingEvent, off: str) -> bool:
    """Whether the event is of the race at that time, or of the abandoned meeting of the race."""
    if _is_lost(event):
        return is_part_of(race, event)
    return is_there(event.race, race.race) and is_off_at(event.race.off, off)


def _is_lost(event: RacingEvent) -> bool:
    return event.kind is EventKind.MEETING_ABANDONED


def _lost_lately(place: Place, now: datetime) -> RacingEvent | None:
    lately = _since(now, LOST_WITHIN)
    return next((one for one in place.events if _is_lost(one) and (one.race.race_date or "") >= lately), None)


def _knows_all_times(place: Place, lost: RacingEvent) -> bool:
    """Whether races of the meeting's day are known, each with an off time."""
    of_day = [one.race for one in place.races if one.race.race_date == lost.race.race_date]
    return bool(of_day) and all(race.off.text for race in of_day)


def _events_at(session: Session, place: Place, now: datetime) -> list[RacingEvent]:
    """The newest first."""
    newest = (col(EventVersion.race_date).desc(), col(EventVersion.id).desc())
    is_undated = and_(col(EventVersion.race_date).is_(None), col(EventVersion.received_at) >= now - NAMED_WITHIN)
    is_recent = or_(col(EventVersion.race_date) >= _since(now, NAMED_WITHIN), is_undated)
    recent = select(EventVersion).where(is_recent, col(EventVersion.kind).is_not(None)).order_by(*newest)
    each = (_dated(row) for row in session.execute(recent).scalars())
    at_course = (one for one in each if folded(one.race.course.name or "").startswith(place.course))
    return [one for one in at_course if place.has(one.race)]


def _dated(row: EventVersion) -> RacingEvent:
    """An event without a date is of the day of its receipt."""
    event, _ = event_store.known(row)
    day = event.race.race_date or row.received_at.date().isoformat()
    return event.model_copy(update={"race": event.race.model_copy(update={"race_date": day})})


def _since(now: datetime, within: timedelta) -> str:
    return (now - within).date().isoformat()


TRACE_COMMAND = Command(NAME, _answer, _plan)
