"""Views of several days, by the race book and all stored events.

Published names with their coming races; a week's outcomes that a channel takes; the other races of abandoned meetings.
"""

import json
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select
from sqlmodel import Session

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.channels.watches import WatchedName
from bot.db.engine import table_of
from bot.db.tables import BookRace
from bot.events import event_store
from bot.events.days import racing_day, utc_today
from bot.events.event import EventKind, RacingEvent
from bot.events.event_store import Around, By, names_in
from bot.events.meeting_parts import is_part_of
from bot.events.race_state import HAS_RUN, NOT_HELD, REPORTED_LOST, RaceOutcome
from bot.events.races import Race
from bot.events.watched import NameKey, name_key
from bot.racedata import race_book_store
from bot.racedata.day import known_day
from bot.racedata.day_card import outcomes_of
from bot.racedata.event_completion import guarded
from bot.racedata.near_misses import likely

NAMES_DAYS = 30
"""Days back in the race book, enough for most active names."""

COMING_MAX = 200
"""Races of a name. A jockey has some ten rides a day."""


RECENT_DAYS = 7


@dataclass
class KnownName:
    """`coming`: the races from today on, by day and off time. `near`: published names alike, for an unknown name."""

    is_known: bool = False
    coming: list[tuple[Race, RaceOutcome]] = field(default_factory=list)
    near: tuple[str, ...] = ()


def look_up(session: Session, wanted: Sequence[WatchedName], today: date) -> dict[WatchedName, KnownName]:
    """Reads some thousand races: after the ack only."""
    found = {one: KnownName() for one in wanted}
    keys = {one: name_key(one.name) for one in wanted}
    published: dict[str, dict[str, str]] = {one.kind: {} for one in wanted}
    since = (today - timedelta(days=NAMES_DAYS)).isoformat()
    for race_id, race_date, data in session.connection().execute(_RACES, {"since": since}):
        runners = _runners(data)
        for kind, names in published.items():
            here = {name: name_key(name) for runner in runners if isinstance(name := runner.get(kind), str)}
            names |= {key.bare: name for name, key in here.items()}
            for one in _named(here.values(), keys, kind):
                found[one].is_known = True
                if race_date >= today.isoformat() and len(found[one].coming) < COMING_MAX:
                    race = Race.model_validate_json(data).model_copy(update={"race_id": race_id})
                    found[one].coming.append((race, RaceOutcome.OPEN))
    outcomes = _outcomes(session, [race for known in found.values() for race, _ in known.coming])
    for one, known in found.items():
        coming = [outcomes.get(race.race_id or "", (race, outcome)) for race, outcome in known.coming]
        known.coming = sorted(coming, key=lambda one: (one[0].race_date or "", one[0].soonest))
        if not known.is_known:
            names = published[one.kind]
            known.near = tuple(names[bare] for bare in likely(keys[one].bare, names))
    return found


def _outcomes(session: Session, races: Sequence[Race]) -> dict[str, tuple[Race, RaceOutcome]]:
    """The races with all that is known of their day, by id."""
    ids = {race.race_id for race in races if race.race_id}
    days = {racing_day(race.race_date) for race in races}
    return {race_id: one for day in days if day for race_id, one in known_day(session, day).of_races(ids).items()}


_BOOK = table_of(BookRace).c
_RACES = (
    select(_BOOK.race_id, _BOOK.race_date, _BOOK.data)
    .where(_BOOK.race_date >= bindparam("since"))
    .order_by(_BOOK.race_date, _BOOK.race_id)
)


def _runners(data: str) -> list[Mapping[str, Any]]:
    """The runners' fields, without a model for each of many thousand runners. Empty for an unreadable race."""
    try:
        read = json.loads(data)
    except ValueError:
        return []
    runners = read.get("runners") if isinstance(read, dict) else None
    return [one for one in runners or () if isinstance(one, dict)]


def _named(here: Iterable[NameKey], keys: Mapping[WatchedName, NameKey], kind: str) -> Iterator[WatchedName]:
    here = set(here)
    return (one for one, key in keys.items() if one.kind == kind and any(key.may_be(other) for other in here))


@dataclass(frozen=True)
class Recent:
    """`is_whole`: the bot has stored deliveries for RECENT_DAYS days. `abandoned`: of today, by the published date.

    `partly_run`: keys of abandoned meetings with a race that was run. `disputed`: today's abandonments of races
    with a result, and those in doubt.
    """

    results: int
    abandonments: int
    is_whole: bool
    abandoned: tuple[RacingEvent, ...]
    partly_run: frozenset[str] = frozenset()
    disputed: tuple[RacingEvent, ...] = ()


def recent(session: Session, filters: Sequence[ChannelFilter], now: datetime, first_at: datetime | None) -> Recent:
    """For the answer to a subscription. `first_at`: the receipt of the first stored delivery."""
    results, lost, disputed = set[Hashable](), dict[Hashable, RacingEvent](), dict[Hashable, RacingEvent]()
    partly_run, today = set[str](), utc_today(now)
    regions = {chosen.region for chosen in filters}
    region = None if ALL_REGIONS in regions or len(regions) > 1 else next(iter(regions), None)
    for day in (today - timedelta(days=ago) for ago in range(RECENT_DAYS)):
        outcomes = known_day(session, day, region).outcomes()
        meetings = [event for event in outcomes.lost if _takes(filters, event)]
        for event in meetings:
            (disputed if event.in_doubt else lost)[event.key] = event
        partly_run |= outcomes.partly_run
        for race, outcome in outcomes.in_order():
            name = race.race_id or (day, race.course, race.off, race.number)
            kind, in_doubt = EventKind.RACE_ABANDONED, outcome is RaceOutcome.IN_DOUBT
            abandonment = RacingEvent(key="", kind=kind, race=race, reason=race.reason, in_doubt=in_doubt)
            result = RacingEvent(key="", kind=EventKind.RESULT_RECEIVED, race=race)
            if outcome in HAS_RUN and _takes(filters, result):
                results.add(name)
            # A lost meeting stands for its races.
            of_meeting = any(is_part_of(abandonment, one) for one in meetings if one.in_doubt is in_doubt)
            is_told = of_meeting and outcome is not RaceOutcome.BOTH
            if outcome in REPORTED_LOST and not is_told and _takes(filters, abandonment):
                (lost if outcome is RaceOutcome.ABANDONED else disputed)[name] = abandonment
    return Recent(
        results=len(results),
        abandonments=len(lost),
        is_whole=first_at is not None and first_at <= now - timedelta(days=RECENT_DAYS),
        abandoned=tuple(event for event in lost.values() if event.race.race_date == today.isoformat()),
        partly_run=frozenset(partly_run),
        disputed=tuple(event for event in disputed.values() if event.race.race_date == today.isoformat()),
    )


def _takes(filters: Sequence[ChannelFilter], event: RacingEvent) -> bool:
    return any(chosen.matches(event) for chosen in filters)


class RunRaces(NamedTuple):
    """`partly_run`: keys of meetings with a race that was run. `with_result`: ids of races with a stored result."""

    partly_run: frozenset[str] = frozenset()
    with_result: frozenset[str] = frozenset()


def partly_run(session: Session, events: Sequence[RacingEvent]) -> frozenset[str]:
    """The keys of the abandoned meetings of which a race was run, and of the abandoned races with a result."""
    meetings = [event for event in events if event.kind is EventKind.MEETING_ABANDONED]
    results = {event.contradicting_key: event.key for event in events if event.contradicting_key}
    rows = event_store.latest(session, results) if results else {}
    run = {results[key] for key, row in rows.items() if event_store.known(row)[0].race.outcome() not in NOT_HELD}
    return run_races(session, meetings).partly_run | run


def run_races(
    session: Session, meetings: Sequence[RacingEvent], race_ids: Collection[str] = (), *, careful: bool = True
) -> RunRaces:
    """Two statements, by indexes. `race_ids`: further races to look for. `careful`: see `KnownElsewhere`."""
    if not meetings:
        return RunRaces()
    asked = event_store.around_of(meetings)
    ids = {*names_in(asked, By.RACE), *race_ids}
    book = _in_book(session, meetings, asked, ids, careful=careful)
    of_meetings, places = names_in(asked, By.MEETING), names_in(asked, By.PLACE)
    stored = event_store.outcomes_near(session, ids.union(book), of_meetings, places)
    told = {event.key: event for event in (*stored, *meetings)}
    outcomes = outcomes_of(book.values(), list(told.values()), None, None)
    return RunRaces(
        outcomes.partly_run,
        frozenset(
            event.race.race_id
            for event in stored
            if event.kind is EventKind.RESULT_RECEIVED and event.race.race_id is not None
        ),
    )


def open_races(
    session: Session, abandoned: Sequence[RacingEvent], around: Sequence[RacingEvent], *, careful: bool
) -> Mapping[str, tuple[Race, ...]]:
    """By event key: the meeting's races of the race book that have no result and no abandonment, by off time.

    One statement, by indexes. `around`: the stored abandonments of the same days and courses.
    """
    if not abandoned:
        return {}
    book = _in_book(session, abandoned, event_store.around_of(abandoned), (), careful=careful)
    told = {event.key: event for event in (*around, *abandoned) if event.is_abandonment}
    races = outcomes_of(book.values(), list(told.values()), None, None).in_order()
    still_open = [race for race, outcome in races if outcome is RaceOutcome.OPEN]
    return {event.key: tuple(race for race in still_open if is_part_of(race, event)) for event in abandoned}


def _in_book(
    session: Session, events: Sequence[RacingEvent], asked: Around, race_ids: Collection[str], *, careful: bool
) -> dict[str, Race]:
    """From the race book, by id: the races of `race_ids`, and all races of the events' meetings, which are `asked`."""
    meetings, places = names_in(asked, By.MEETING), names_in(asked, By.PLACE)
    find = partial(race_book_store.find, session, race_ids, meetings, places)
    return guarded(session, find, events, careful=careful) or {}
