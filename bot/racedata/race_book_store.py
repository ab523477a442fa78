"""The race book's rows: races by day and region, merged field by field from all sources."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    ColumnElement,
    Integer,
    Row,
    Select,
    bindparam,
    literal_column,
    select,
    union_all,
)
from sqlmodel import Session, col

from bot.db.engine import Database, dialect_of, in_parts, table_of, upsert
from bot.db.named_values import parsed
from bot.db.tables import BookRace
from bot.events import event_store, touched
from bot.events.event import RacingEvent
from bot.events.kinds import WHOLE_LISTS
from bot.events.merge import completed_runners, declared_size, of_declarations
from bot.events.pairs import is_whole_field
from bot.events.race_state import is_reinstated, state_in
from bot.events.races import Race, Value
from bot.events.touched import What
from bot.logs import get_logger
from bot.racedata import lexicon

log = get_logger(__name__)

V = TypeVar("V", bound=Value)

REGION_UNKNOWN = ""

PLACE_RACES_MAX = 100
"""Races of a day and course, or of a meeting, that are looked up together: four times two meetings of twelve races."""

PUT_AT_ONCE = 50
"""Races per transaction of a list: few, because intake waits for the transaction."""

NEWS_MAX_AGE = timedelta(days=2)
"""Races older than this are no news: lists bring old races by the thousand."""


async def keep(database: Database, races: Sequence[Race], now: datetime, *, region: str | None) -> None:
    """Store the races by `put`, in transactions of PUT_AT_ONCE."""
    for some in in_parts(races, PUT_AT_ONCE):
        await database.write(partial(put, races=some, now=now, region=region))


def put(session: Session, races: Iterable[Race], now: datetime, *, region: str | None = None) -> None:
    """Store races with a date and with an id or a listed `region`.

    `region` is the filter of the list, "" for the list of all, or None for a single race. A list names all runners.
    Courses are spelled as the data service lists them.
    News are noted for fan-out (`touched`).
    """
    lists = lexicon.kept(session)
    spelled = (race.model_copy(update={"course": lists.spelled(race.course, region or race.region)}) for race in races)
    named = ((race, region is not None) for race in spelled)
    since = (now - NEWS_MAX_AGE).date().isoformat()
    done = _put(session, named, now, region)
    touched.note(
        session, What.RACE, [one.race_id for one in done if one.is_news and (one.race.race_date or "") >= since]
    )


def learn(session: Session, told: Iterable[RacingEvent], now: datetime) -> dict[str, Race]:
    """Store the races of deliveries; the races by id, each with everything known.

    A racecard names all runners; other deliveries may name only some. A race without a known date is not stored.
    """
    named = (
        (_delivered(race, event), event.kind in WHOLE_LISTS)
        for event in told
        for race in (event.race, *event.races, *event.spared)
    )
    return {one.race_id: one.race for one in _put(session, named, now, None) if one.race.race_date}


def _delivered(race: Race, event: RacingEvent) -> Race:
    tells_state = race.status is not None or race.abandoned is not None
    is_back = (race.abandoned and event.is_taken_back) or race in event.spared
    abandoned = False if is_back else race.abandoned
    return race.model_copy(update={"said_region": None, "state_told": tells_state or None, "abandoned": abandoned})


class _Put(NamedTuple):
    race_id: str
    race: Race
    is_news: bool


class _Named(NamedTuple):
    """`names_all`: the source names all runners."""

    race: Race
    names_all: bool


def _put(session: Session, races: Iterable[tuple[Race, bool]], now: datetime, region: str | None) -> list[_Put]:
    by_id: dict[str, _Named] = {}
    for race, names_all in races:
        if region is not None and not race.race_date:
            continue
        if race_id := race.race_id or (_own_id(race) if region is not None else None):
            news = _Named(race, names_all)
            by_id[race_id] = _both(by_id[race_id], news, region) if race_id in by_id else news
    # A fixed order keeps two replicas from a deadlock over the same races.
    parts = in_parts(sorted(by_id.items()))
    return [one for some in parts for one in _put_batch(session, dict(some), now, region)]


def _both(known: _Named, news: _Named, region: str | None) -> _Named:
    whole = _takes_off(known.race, news, region)
    return _Named(merged(known.race, news.race, whole=whole), known.names_all or news.names_all)


def _takes_off(known: Race, news: _Named, region: str | None) -> bool:
    """Whether runners without a mention are out. A card removes nobody from a race with placed runners."""
    if region is not None:
        return True
    return news.names_all and is_whole_field(known, news.race) and not known.placed()


def find(
    session: Session,
    race_ids: Collection[str],
    meeting_ids: Collection[str],
    places: Collection[event_store.DayAndCourse] = (),
) -> dict[str, Race]:
    """The races by id. A meeting or a place with more than PLACE_RACES_MAX races gives no race."""
    meetings, at_places, named = event_store.near(meeting_ids, places)
    if not (race_ids or meetings or at_places):
        return {}
    statement = _finding(dialect_of(session), meetings, at_places, by_id=bool(race_ids))
    rows = session.execute(statement, {"races": sorted(race_ids), **named}).all()
    counts = Counter(way for _, way in rows if way != _BY_ID)
    crowded = {way for way, count in counts.items() if count > PLACE_RACES_MAX}
    if crowded:
        log.warning("places_crowded", places=len(crowded))
    read = {one.race_id: read_row(one.race_id, one.region, one.data) for one, way in rows if way not in crowded}
    return {race_id: race for race_id, race in read.items() if race}


_BY_ID = -1


@lru_cache(maxsize=256)
def _finding(dialect: str, meetings: int, places: int, *, by_id: bool) -> Select[Any]:
    row = BookRace
    of_races = [_found_by(col(row.race_id).in_(bindparam("races", expanding=True)))] if by_id else []
    bounded = event_store.ways_near(dialect, row, meetings, places)[: event_store.WAYS_MAX]
    found = union_all(*of_races, *(_found_by(way, number) for number, way in enumerate(bounded))).subquery()
    return select(row, found.c.way).join(found, found.c.race_id == col(row.race_id))


def _found_by(condition: ColumnElement[bool], way: int = _BY_ID) -> Select[str, int]:
    found = select(col(BookRace.race_id), literal_column(str(way), Integer()).label("way")).where(condition)
    # As a subquery: SQLite takes no LIMIT in a part of a UNION.
    return select(found.subquery() if way == _BY_ID else found.limit(PLACE_RACES_MAX + 1).subquery())


def read_row(race_id: str, region: str, data: str) -> Race | None:
    race = parsed(Race, data, race_id=race_id)
    return _with_region(race, region) if race else None


def at_courses(session: Session, begins: str, since: str) -> list[Race]:
    """The races from a day on at courses whose names begin with `begins`, in any letter case; by day and off time."""
    row = BookRace
    statement = select(col(row.race_id), col(row.region), col(row.data)).where(col(row.race_date) >= since)
    if begins.isascii():
        # SQLite folds no other letters.
        statement = statement.where(col(row.data).icontains(begins, autoescape=True))
    rows = session.execute(statement.order_by(col(row.race_id)))
    read = (read_row(*one) for one in rows if begins in one.data.casefold())
    there = [race for race in read if race and (race.course.name or "").casefold().startswith(begins)]
    return sorted(there, key=lambda race: (race.race_date or "", race.off.minute_of_day or 0))


_BOOK = BookRace
_OF_DAY = (
    select(col(_BOOK.race_id), col(_BOOK.region), col(_BOOK.data), col(_BOOK.updated_at))
    .where(col(_BOOK.race_date) == bindparam("day"))
    .order_by(col(_BOOK.race_id))
)
_OF_REGION = _OF_DAY.where(col(_BOOK.region) == bindparam("region"))


def rows_of(session: Session, day: date, region: str | None) -> Sequence[Row[str, str, str, datetime]]:
    """Id, region, data and last change of the day's races, in a region (None: all)."""
    which = _OF_DAY if region is None else _OF_REGION
    return session.execute(which, {"day": day.isoformat(), "region": region}).all()


def by_id(session: Session, race_id: str) -> Race | None:
    row = session.get(BookRace, race_id)
    return read_row(row.race_id, row.region, row.data) if row else None


def merged(known: Race, news: Race, *, whole: bool) -> Race:
    """The known race with the news; fields without news stay. `whole`: the news name all runners, or none."""
    news = _beside_told_state(known, news)
    runners = completed_runners(news.runners, known.runners, are_all=whole)
    # Only news of the race's status take an abandonment back.
    is_kept = news.abandoned is None and news.status is None
    if known.has_places and not news.has_places:
        news = news.model_copy(update={"field_size": declared_size(news)})
    # The earlier figure would hide a missing runner.
    size = None if len(runners) < len(known.runners) else declared_size(known) if news.has_places else known.field_size
    both = _filled(known, news).model_copy(
        update={
            "course": _filled(known.course, news.course),
            "off": _filled(known.off, news.off),
            "runners": runners,
            "abandoned": known.abandoned if is_kept else news.abandoned,
            "field_size": size if news.field_size is None else news.field_size,
        }
    )
    return both.model_copy(update={"from_book": tuple(sorted(of_declarations(both, news, known)))})


def _beside_told_state(known: Race, news: Race) -> Race:
    """The news; from a list that says nothing newer, with the state that a delivery told."""
    if not known.state_told or news.state_told or is_reinstated(news.status or "", known.course.name):
        return news
    states = [one for one in (news.status, known.status) if state_in(one)]
    return news.model_copy(
        update={"status": next(iter(states), news.status), "abandoned": news.abandoned or known.abandoned}
    )


def _filled(known: V, news: V) -> V:
    said = {name for name in type(news).model_fields if getattr(news, name) is not None}
    return known.model_copy(update={name: getattr(news, name) for name in said})


def _put_batch(session: Session, races: Mapping[str, _Named], now: datetime, region: str | None) -> list[_Put]:
    rows = session.connection().execute(_SELECT_BATCH, {"races": list(races)})
    known = {race_id: (kept_region, parsed(Race, data, race_id=race_id)) for race_id, kept_region, data in rows}
    values, done = [], []
    for race_id, news in races.items():
        kept_region, before = known.get(race_id, (REGION_UNKNOWN, None))
        after = merged(before, news.race, whole=_takes_off(before, news, region)) if before else news.race
        of_region = _region(region, kept_region, after)
        done.append(_Put(race_id, _with_region(after, of_region), (before, kept_region) != (after, of_region)))
        if after.race_date is None:
            continue
        values.append(
            {
                "race_id": race_id,
                "region": of_region,
                "race_date": after.race_date,
                "meeting_id": after.meeting_id,
                "data": after.model_dump_json(exclude_defaults=True),
                "updated_at": now,
            }
        )
    if values:
        # The bare connection hands all rows to the driver at once.
        session.connection().execute(upsert(session, BookRace), values)
    return done


_RACE = table_of(BookRace).c
_SELECT_BATCH = select(_RACE.race_id, _RACE.region, _RACE.data).where(
    _RACE.race_id.in_(bindparam("races", expanding=True))
)


def _region(listed_under: str | None, kept: str, race: Race) -> str:
    """A filter's code is never replaced by the race's own word, which may be a name."""
    return listed_under or kept or race.region or REGION_UNKNOWN


def _with_region(race: Race, region: str) -> Race:
    return race.model_copy(update={"region": region}) if region else race


def _own_id(race: Race) -> str:
    """A race without a readable id must not be missing from its card."""
    course = race.course.course_id or race.course.name
    off = race.off.off_at.isoformat() if race.off.off_at else race.off.text
    facts = "\n".join(str(fact) for fact in (course, race.race_date, off, race.number, race.title))
    return f"unnamed:{hashlib.sha256(facts.encode()).hexdigest()[:32]}"
