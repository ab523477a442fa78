"""The stored versions of events."""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    collate,
    func,
    insert,
    literal_column,
    or_,
    select,
    union,
)
from sqlalchemy.orm import aliased, make_transient_to_detached
from sqlmodel import Session, col

from bot.db.engine import as_read, dialect_of, is_one_of, table_of
from bot.db.named_values import parsed
from bot.db.tables import BookRace, EventVersion, NamedRace, OutboxMessage, SaidRow
from bot.events import drill_mark, event_bounds
from bot.events.event import CONTRADICTIONS, EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.kinds import OUTCOMES, Subject, kinds_about
from bot.events.races import Course, Race
from bot.events.watched import WatchedIn, WatchedRunner

T = TypeVar("T")

_EVENT = table_of(EventVersion)

VERSIONS_PER_PAGE = 500

VERSIONS_MAX = 40
"""A new version is compared with the newest versions of the event."""

PLACE_EVENTS_MAX = 100
"""The newest events of a day and course, looked at for an event. Two meetings have 24 races."""

RACES_EVENTS_MAX = 500
"""Events looked at for the races and meetings of a transaction."""

OUTCOMES_RACES_MAX = 500
"""The newest outcomes of meetings, with the races named by the meetings."""

WAYS_MAX = 400
"""SQLite takes 500 parts of a UNION."""

PADDED_MAX = 64
"""The usual sizes are below, and the parts of larger sizes may be too many."""

_NO_REMARKS = VersionRemarks()

STORED_UNREADABLE = "its stored form can't be read"

FAR_AHEAD = datetime(9999, 1, 1, tzinfo=UTC)

DayAndCourse = tuple[str, Course]
"""A day and a course: one or several meetings, maybe of courses with the same name."""

OF_MEETINGS = kinds_about(Subject.MEETING, Subject.CARD)

_LINKED = (EventKind.RACE_ABANDONED, EventKind.RACECARD_PUBLISHED)
"""Events whose messages link the message of an abandoned meeting."""


def latest(session: Session, event_keys: Iterable[str]) -> dict[str, EventVersion]:
    return {key: rows[-1] for key, rows in versions(session, event_keys).items()}


def versions(session: Session, event_keys: Iterable[str]) -> dict[str, list[EventVersion]]:
    return _by_key(session.execute(_OF_KEYS, {"keys": sorted(event_keys)}).scalars())


_OF_KEYS = (
    select(EventVersion)
    .where(col(EventVersion.event_key).in_(bindparam("keys", expanding=True)))
    .order_by(col(EventVersion.version))
)


def meetings_told(
    session: Session, meeting_ids: Collection[str | None]
) -> dict[tuple[str | None, str | None], datetime]:
    """By the meeting's id and the kind: the last receipt of an event about a whole meeting, under any key."""
    row = _EVENT.c
    of_meetings = row.meeting_id.in_(meeting_ids), row.kind.in_(OF_MEETINGS), row.race_id.is_(None)
    told = select(row.meeting_id, row.kind, row.received_at).where(*of_meetings).order_by(row.received_at)
    return {(name, kind): received_at for name, kind, received_at in session.execute(told)}


def outcomes_near(
    session: Session, race_ids: Collection[str], meeting_ids: Collection[str], places: Collection[DayAndCourse]
) -> list[RacingEvent]:
    """Results and abandonments, in their latest versions. The caller compares the courses of places."""
    meetings, at_places, named = near(meeting_ids, places)
    if not (race_ids or meetings or at_places):
        return []
    statement = _outcomes_near(dialect_of(session), meetings, at_places, by_race=bool(race_ids))
    rows = session.execute(statement, {"races": sorted(race_ids), **named}).scalars()
    found = newest_first(versions[-1] for versions in _by_key(rows).values())
    return list(event_bounds.first_of((known(row)[0] for row in found), OUTCOMES_RACES_MAX))


@lru_cache(maxsize=256)
def _outcomes_near(dialect: str, meetings: int, places: int, *, by_race: bool) -> Select[EventVersion]:
    row = EventVersion
    of_races = [col(row.race_id).in_(_many("races"))] if by_race else []
    ways = [*of_races, *ways_near(dialect, row, meetings, places)]
    outcomes = select(col(row.event_key)).where(col(row.kind).in_(OUTCOMES))
    return _versions_in([_newest(outcomes.where(way)) for way in ways[:WAYS_MAX]])


def near(meeting_ids: Iterable[str], places: Iterable[DayAndCourse]) -> tuple[int, int, dict[str, object]]:
    """The numbers of meetings and of places for `ways_near`, and the values."""
    meetings, words = padded(sorted(meeting_ids)), _words_of(places)
    named = {f"meeting_{number}": meeting_id for number, meeting_id in enumerate(meetings)}
    return len(meetings), len(words), {**named, **_named("place", words)}


def ways_near(
    dialect: str, row: type[EventVersion] | type[BookRace], meetings: int, places: int
) -> list[ColumnElement[bool]]:
    """For rows of each meeting and each place. The caller compares the courses of places."""
    return [
        *(col(row.meeting_id) == bindparam(f"meeting_{number}", type_=Text()) for number in range(meetings)),
        *(_is_at(dialect, row, place) for place in _parameters("place", places)),
    ]


class By(StrEnum):
    """How events are found: by an event's key, by the id of a race or meeting, or by a day and course.

    A place finds events without a race's id, and racecards and abandoned races received lately. A whole place, of a
    meeting, a card or an abandoned race, finds all racecards and abandoned races. The races of a place, of a race
    without an id and of a meeting that was partly run, are all results and abandoned races.
    """

    KEY = "key"
    RACE = "race"
    MEETING = "meeting"
    PLACE = "place"
    WHOLE_PLACE = "whole place"
    RACES_OF_PLACE = "races of a place"


Around = frozenset[tuple[By, Any]]


def keys_of(about: Iterable[RacingEvent]) -> set[str]:
    return {key for event in about for key in (event.key, event.contradicting_key) if key}


def around_of(about: Iterable[RacingEvent]) -> Around:
    about = list(about)
    told = [event for event in about if event.kind is not None]
    whole = places_of(event.race for event in told if event.kind in {*OF_MEETINGS, EventKind.RACE_ABANDONED})
    of_races = (event.race for event in told if _asks_for_races(event))
    races = around_races(event.race for event in told) | _by(
        By.RACE, (race.race_id for event in told for race in event.races)
    )
    at_places = _by(By.WHOLE_PLACE, whole) | _by(By.RACES_OF_PLACE, places_of(of_races))
    return races | _by(By.KEY, keys_of(about)) | at_places


def _asks_for_races(event: RacingEvent) -> bool:
    is_partly_run = event.kind is EventKind.MEETING_ABANDONED and event.says_partly_run
    return is_partly_run or (event.kind in CONTRADICTIONS and event.race.race_id is None)


def around_races(races: Iterable[Race]) -> Around:
    races = list(races)
    ids = _by(By.RACE, (race.race_id for race in races)) | _by(By.MEETING, (race.meeting_id for race in races))
    return ids | _by(By.PLACE, places_of(races))


def _by(by: By, names: Iterable[Any]) -> Around:
    return frozenset((by, name) for name in names if name)


def names_in(about: Around, by: By) -> list[Any]:
    return [name for way, name in about if way is by]


def places_of(races: Iterable[Race]) -> frozenset[DayAndCourse]:
    return frozenset((race.race_date, race.course) for race in races if race.race_date and race.course != Course())


def padded(values: list[T]) -> list[T]:
    """The last value repeated, up to a power of two: each number is a statement of its own, kept in memory compiled."""
    wanted = 1 << (len(values) - 1).bit_length() if len(values) <= PADDED_MAX else 0
    return values + values[-1:] * (wanted - len(values))


def _words_of(places: Iterable[DayAndCourse]) -> list[tuple[str, str, str]]:
    """The day, and two words of the course; of a course with a single word, that word twice."""
    named = ((on_day, sorted({word for word in (course.course_id, course.name) if word})) for on_day, course in places)
    return padded(sorted((on_day, _in_json(words[0]), _in_json(words[-1])) for on_day, words in named if words))


def _in_json(word: str) -> str:
    """A pattern for the word between quotes, in any letter case, and with any sign for a sign."""
    # SQLite knows the case of ASCII letters alone.
    letters = (one if one.isalnum() and (one.isascii() or one.lower() == one.upper()) else "_" for one in word)
    return f'%"{"".join(letters)}"%'


def _named(prefix: str, places: Sequence[Sequence[str]]) -> dict[str, str]:
    return {f"{prefix}_{number}_{word}": value for number, one in enumerate(places) for word, value in enumerate(one)}


def _parameters(prefix: str, count: int) -> list[list[BindParameter[str]]]:
    return [[bindparam(f"{prefix}_{number}_{word}", type_=Text()) for word in range(3)] for number in range(count)]


def _is_at(
    dialect: str, row: type[EventVersion] | type[BookRace], place: Sequence[ColumnElement[str]]
) -> ColumnElement[bool]:
    """For rows of a day that name a course of the day."""
    on_day, *words = place
    # PostgreSQL ignores letter case much faster by the collation "C". Only ASCII letters of a pattern have a case.
    data, like = (col(row.data), "LIKE") if dialect == "sqlite" else (collate(col(row.data), "C"), "ILIKE")
    contains = data.op(like, is_comparison=True)
    return and_(col(row.race_date) == on_day, or_(*map(contains, words)))


def around(session: Session, about: Around, recent: datetime = FAR_AHEAD) -> dict[str, list[EventVersion]]:
    """The versions of each related event, the earliest first. `recent`: places find events received since then."""
    places = {by: words for by in _AT_A_PLACE if (words := _words_of(names_in(about, by)))}
    ids = {str(by): sorted(names_in(about, by)) for by in (By.KEY, By.RACE, By.MEETING)}
    asked = tuple(by for by, ids_by in ids.items() if ids_by)
    if not (asked or places):
        return {}
    statement = _around(dialect_of(session), asked, tuple((by, len(words)) for by, words in places.items()))
    named: dict[str, object] = {**ids, "recent": recent}
    for by, words in places.items():
        named |= _named(by.name, words)
    return _by_key(session.execute(statement, named).scalars())


@lru_cache(maxsize=256)
def _around(dialect: str, asked: tuple[str, ...], places: tuple[tuple[By, int], ...]) -> Select[EventVersion]:
    """Cached: building takes longer than running."""
    row, named = EventVersion, NamedRace
    ways: list[Select[str]] = []
    key = col(row.event_key)
    if By.KEY in asked:
        ways.append(select(key).where(key.in_(_many(By.KEY))))
    if By.RACE in asked:
        ways.append(_newest(select(key).where(col(row.race_id).in_(_many(By.RACE))), RACES_EVENTS_MAX))
        naming = select(col(named.event_key)).where(col(named.race_id).in_(_many(By.RACE)))
        ways.append(_limited(naming.limit(RACES_EVENTS_MAX)))
    if By.MEETING in asked:
        of_meeting = col(row.meeting_id).in_(_many(By.MEETING)), ~_is_of([EventKind.RESULT_RECEIVED])
        ways.append(_newest(select(key).where(*of_meeting), RACES_EVENTS_MAX))
    ways += [
        _newest(select(key).where(_is_at(dialect, row, place), *which))
        for by, count in places
        for place in _parameters(by.name, count)
        for which in _AT_A_PLACE[by]
    ]
    return _versions_in(ways[:WAYS_MAX])


_is_of = partial(is_one_of, EventVersion.kind)
_LONG_AGO: ColumnElement[datetime] = literal_column("'1970-01-01'")
_AT_A_PLACE = {
    By.PLACE: (
        (_is_of([EventKind.MEETING_ABANDONED]),),
        (_is_of(_LINKED), col(EventVersion.received_at) > bindparam("recent")),
        # Without a condition on `received_at`, SQLite would read all events of the day, not the index of these events.
        (col(EventVersion.race_id).is_(None), col(EventVersion.received_at) > _LONG_AGO),
    ),
    By.WHOLE_PLACE: ((_is_of(_LINKED),),),
    By.RACES_OF_PLACE: ((_is_of(CONTRADICTIONS),),),
}
"""The conditions for events of a place. Each group of conditions is a search by an index.

Words and limits are literals: a transaction has many places, and SQLAlchemy looks at each parameter in each call.
"""


def _newest(keys: Select[str], most: int = PLACE_EVENTS_MAX) -> Select[str]:
    """The keys of the `most` events with the newest versions."""
    last = func.max(col(EventVersion.id))
    return _limited(keys.group_by(col(EventVersion.event_key)).order_by(last.desc()).limit(literal_column(f"{most}")))


def newest_first(rows: Iterable[EventVersion]) -> list[EventVersion]:
    return sorted(rows, key=lambda row: row.id or 0, reverse=True)


def _limited(keys: Select[str]) -> Select[str]:
    """The keys for a part of a UNION, where SQLite takes no LIMIT."""
    return select(keys.subquery().c.event_key)


def _versions_in(ways: Sequence[Select[str]]) -> Select[EventVersion]:
    """The newest versions of each event, the earliest first."""
    row, newer = EventVersion, aliased(EventVersion)
    last = select(func.max(col(newer.version))).where(col(newer.event_key) == col(row.event_key)).scalar_subquery()
    return (
        select(row)
        .where(col(row.event_key).in_(union(*ways)), col(row.version) > last - VERSIONS_MAX)
        .order_by(col(row.version))
    )


def _many(name: str) -> BindParameter[Sequence[str]]:
    return bindparam(name, expanding=True)


def _by_key(rows: Iterable[EventVersion]) -> dict[str, list[EventVersion]]:
    found: dict[str, list[EventVersion]] = {}
    for row in rows:
        found.setdefault(row.event_key, []).append(row)
    return found


def received_since(session: Session, since: datetime) -> list[EventVersion]:
    """Oldest first. Pages go from the newest number down, to the first page without such a version."""
    found: list[EventVersion] = []
    before: int | None = None
    while True:
        statement = select(EventVersion).order_by(col(EventVersion.id).desc()).limit(VERSIONS_PER_PAGE)
        if before is not None:
            statement = statement.where(col(EventVersion.id) < before)
        page = session.execute(statement).scalars().all()
        young = [row for row in page if row.received_at >= since]
        found += young
        if not young:
            return sorted(found, key=lambda row: row.id or 0)
        before = page[-1].id


def courses_told(session: Session, since: datetime, after: int) -> dict[tuple[str, str | None], int]:
    """The courses of events of days since a moment, by name and region, each with the number of the newest row.

    `after`: rows up to this number are left out.
    """
    row = EventVersion
    is_undated = and_(col(row.race_date).is_(None), col(row.received_at) >= since)
    # With a number SQLite reads by number, otherwise by days.
    later = [col(row.id) > after] if after else []
    # One event of each meeting: a week has thousands of events. With "or", SQLite would read the index of all days.
    meetings = union(
        *(
            select(func.max(col(row.id)))
            .where(col(row.kind).in_(list(EventKind)), way, *later)
            .group_by(func.coalesce(col(row.meeting_id), col(row.event_key)))
            for way in (col(row.race_date) >= since.date().isoformat(), is_undated)
        )
    )
    told = select(col(row.data), col(row.region), col(row.id)).where(col(row.id).in_(meetings)).order_by(col(row.id))
    named = ((_course_named(data), region, number) for data, region, number in session.execute(told))
    return {(name, region): number for name, region, number in named if name}


def _course_named(data: str) -> str | None:
    """None for an unreadable event. No model is made of the event: a command may look at thousands of events."""
    try:
        name: str | None = json.loads(data)["race"]["course"]["name"]
    except (ValueError, KeyError, TypeError):
        return None
    return name


def make(
    event: RacingEvent,
    version: int,
    *,
    remarks: VersionRemarks,
    inbox_id: int,
    received_at: datetime,
) -> EventVersion:
    return as_read(
        EventVersion,
        event_key=event.key,
        version=version,
        kind=event.kind or (drill_mark.KIND if event.drill else None),
        region=event.race.region,
        race_id=event.race.race_id,
        meeting_id=event.race.meeting_id,
        race_date=event.race.race_date,
        data=event.model_dump_json(exclude_defaults=True),
        remarks=_stored_remarks(remarks),
        inbox_id=inbox_id,
        received_at=received_at,
    )


def add(session: Session, rows: Sequence[EventVersion]) -> None:
    """One statement. The session writes later changes of the rows."""
    if not rows:
        return
    values = [row.model_dump(exclude={"id"}) for row in rows]
    numbers = {(key, version): number for number, key, version in session.connection().execute(_INSERT, values)}
    for row in rows:
        row.id = numbers[row.event_key, row.version]
        make_transient_to_detached(row)
        session.add(row)


_INSERT = insert(_EVENT).returning(_EVENT.c.id, _EVENT.c.event_key, _EVENT.c.version)


def amend(row: EventVersion, event: RacingEvent) -> None:
    row.region = event.race.region
    row.race_id = event.race.race_id
    row.meeting_id = event.race.meeting_id
    row.race_date = event.race.race_date
    row.data = event.model_dump_json(exclude_defaults=True)


def _stored_remarks(remarks: VersionRemarks) -> str | None:
    return remarks.model_dump_json(exclude_defaults=True) if remarks != _NO_REMARKS else None


def note_watched(row: EventVersion, watched: WatchedIn) -> None:
    note(row, watched={**remarks_of(row).watched, **watched})


def note(row: EventVersion, **remarks: Any) -> VersionRemarks:
    noted = remarks_of(row).model_copy(update=remarks)
    row.remarks = _stored_remarks(noted)
    return noted


def rename_watching(session: Session, old_id: str, new_id: str) -> None:
    """The channel's watched runners stand under the new id from now on."""
    of_channel = col(OutboxMessage.channel_id) == old_id
    own = select(col(OutboxMessage.event_id)).where(of_channel)
    beside = select(col(SaidRow.event_id)).join(OutboxMessage, col(OutboxMessage.id) == col(SaidRow.message_id))
    statement = select(EventVersion).where(
        or_(col(EventVersion.id).in_(own), col(EventVersion.id).in_(beside.where(of_channel))),
        col(EventVersion.remarks).contains(f'"{old_id}"', autoescape=True),
    )
    for row in session.execute(statement).scalars():
        remarks = remarks_of(row)
        watched = dict(remarks.watched)
        if old_id in watched:
            watched[new_id] = watched.pop(old_id)
            row.remarks = _stored_remarks(remarks.model_copy(update={"watched": watched}))
    session.flush()


def watched_in(channel_id: str, versions: Sequence[EventVersion]) -> tuple[WatchedRunner, ...]:
    """The channel's watched runners, by the latest version with the channel's watches."""
    return noted_in(versions).get(channel_id, ())


def noted_in(versions: Sequence[EventVersion]) -> WatchedIn:
    """The watched runners by channel, each channel's by the latest version with such runners."""
    # Few versions have watched runners: other versions are not parsed.
    having = [row for row in versions if row.remarks and '"watched"' in row.remarks]
    return {channel_id: runners for row in having for channel_id, runners in known(row)[1].watched.items()}


def remarks_of(row: EventVersion) -> VersionRemarks:
    """Empty for remarks that can't be read."""
    found = parsed(VersionRemarks, row.remarks, event_key=row.event_key, version=row.version) if row.remarks else None
    return found or _NO_REMARKS


def contradicted_by(row: EventVersion) -> EventKind | None:
    return remarks_of(row).contradicts


def known(row: EventVersion) -> tuple[RacingEvent, VersionRemarks]:
    """The event, or the columns of an event that can't be read: the event and later versions are told all the same."""
    event = parsed(RacingEvent, row.data, event_key=row.event_key, version=row.version)
    if event is None:
        race = Race(race_id=row.race_id, meeting_id=row.meeting_id, region=row.region, race_date=row.race_date)
        kind = next((kind for kind in EventKind if kind == row.kind), None)
        event = RacingEvent(key=row.event_key, kind=kind, race=race, unreadable_because=STORED_UNREADABLE)
    return event, remarks_of(row)
