"""All known races of a day: the race book's races and the told events. A card, a meeting and races by id are views.

Rows are parsed once a view asks for them: a claim reads live messages while the database's writer waits.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, partial
from itertools import takewhile
from typing import Generic, TypeVar

from sqlalchemy import bindparam, or_, select, union
from sqlmodel import Session, col

from bot.db import named_values
from bot.db.named_values import Mark, parsed
from bot.db.tables import EventVersion
from bot.events import event_store, touched
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import Change, VersionRemarks, changes_winner
from bot.events.kinds import OUTCOMES
from bot.events.race_state import RaceOutcome
from bot.events.races import Course, Race
from bot.events.touched import What
from bot.racedata import race_book_store
from bot.racedata.day_card import Outcomes, none_hidden, outcomes_of

_Stored = TypeVar("_Stored", Race, RacingEvent)


class DayRow(Generic[_Stored]):
    """A stored race or event, which is parsed once it is asked for. `read` gives None for an unreadable row."""

    def __init__(self, race_id: str | None, data: str, read: Callable[[], _Stored | None]) -> None:
        self.race_id = race_id
        self._data = data
        self._read: Callable[[], _Stored | None] = read

    @cached_property
    def folded(self) -> str:
        return self._data.casefold()

    @cached_property
    def value(self) -> _Stored | None:
        return self._read()


@dataclass(frozen=True)
class KnownDay:
    """The race book's races of a region (None: all), and all told outcomes of the day, of all regions.

    `doubts`: of results, by event key; see `_doubts`. `latest_at`: the latest news of a race.
    """

    races: Sequence[DayRow[Race]] = ()
    told: Sequence[DayRow[RacingEvent]] = ()
    doubts: Mapping[str, RaceOutcome] = field(default_factory=dict)
    region: str | None = None
    latest_at: datetime | None = None

    @property
    def in_book(self) -> Iterator[Race]:
        return _values(self.races)

    def outcomes(self, course: Course | None = None) -> Outcomes:
        return outcomes_of(self.in_book, list(_values(self.told)), self.region, course, self.doubts)

    def of_races(self, race_ids: Collection[str]) -> dict[str, tuple[Race, RaceOutcome]]:
        """These races with their outcomes, by id."""
        races = _values(row for row in self.races if row.race_id in race_ids)
        found = outcomes_of(races, list(_values(self.told)), self.region, None, self.doubts).in_order()
        return {race.race_id: (race, outcome) for race, outcome in found if race.race_id in race_ids and race.race_id}

    def meeting(self, course: Course, region: str | None) -> Outcomes:
        """The meeting at a course, of a day of all regions. A region of None becomes the only region with the course.

        A race of unknown region counts unless the course's name is known in another region on the day. An abandonment
        of unknown region or course always counts.
        """
        place = _Place(course)
        near = _near(self, place, region)
        regions = {race.region for race in _races_of(near) if race.region and place.has(race.course)}
        if region is None and len(regions) == 1:
            (region,) = regions
        # Under the meeting's own course and region, however a race is published.
        here = {"course": place.course, "region": region}
        regions_here = {region, None} if regions <= {region} else {region}

        def is_here(race: Race) -> bool:
            return race.region in regions_here and place.has(race.course)

        races = [race.model_copy(update=here) for race in near.in_book if is_here(race)]
        ids = {race.race_id for race in races if race.race_id}
        ids_elsewhere = {row.race_id for row in self.races if row.race_id} - ids

        def put_here(race: Race) -> Race:
            return race.model_copy(update=here) if race.race_id in ids or place.has(race.course) else race

        def is_of_meeting(event: RacingEvent) -> bool:
            race = event.race
            if any(one.race_id in ids for one in (race, *event.races)) or is_here(race):
                return True
            may_be_here = race.race_id not in ids_elsewhere and race.region in {None, region}
            return event.is_abandonment and may_be_here and place.may_have(race.course)

        near_keys = set(map(id, near.told))
        by_id = [row for row in self.told if id(row) not in near_keys and row.race_id in ids]
        told = [
            event.model_copy(update={"race": put_here(event.race), "races": tuple(map(put_here, event.races))})
            for event in _values([*near.told, *by_id])
            if is_of_meeting(event)
        ]
        return outcomes_of(races, told, region, place.course, self.doubts)


def folded_name(name: str | None) -> str:
    """For comparing names of courses: "ASCOT" and "Ascot" are one course."""
    return " ".join((name or "").split()).casefold()


_EVENT = EventVersion
_KEYS = select(col(_EVENT.event_key)).where(col(_EVENT.kind).in_(OUTCOMES))
_TOLD_KEYS = union(
    _KEYS.where(col(_EVENT.race_date) == bindparam("day")),
    _KEYS.where(
        col(_EVENT.race_date).is_(None),
        col(_EVENT.received_at) >= bindparam("since"),
        col(_EVENT.received_at) <= bindparam("until"),
    ),
)
_TOLD = (
    select(col(_EVENT.event_key), col(_EVENT.race_id), col(_EVENT.data))
    .where(col(_EVENT.event_key).in_(_TOLD_KEYS))
    .order_by(col(_EVENT.version))
)
_DOUBTFUL = (
    select(_EVENT)
    .where(col(_EVENT.event_key).in_(_TOLD_KEYS), col(_EVENT.kind) == EventKind.RESULT_RECEIVED)
    .where(or_(col(_EVENT.version) > 1, col(_EVENT.remarks).contains('"contradicts":"', autoescape=True)))
    .order_by(col(_EVENT.version))
)


def _of_day(day: date) -> dict[str, object]:
    since, until = (datetime.combine(day, clock, UTC) for clock in (time.min, time.max))
    return {"day": day.isoformat(), "since": since, "until": until}


def known_day(session: Session, day: date, region: str | None = None) -> KnownDay:
    """The races of the day, with the outcomes of its date, or received on the day (UTC) without a date."""
    rows = race_book_store.rows_of(session, day, region)
    latest = {key: (race_id, data) for key, race_id, data in session.execute(_TOLD, _of_day(day))}
    return KnownDay(
        [DayRow(race_id, data, partial(race_book_store.read_row, race_id, of, data)) for race_id, of, data, _ in rows],
        [
            DayRow(race_id, data, partial(parsed, RacingEvent, data, event_key=key))
            for key, (race_id, data) in latest.items()
        ],
        _doubts(session, day),
        region,
        max((updated_at for *_, updated_at in rows), default=None),
    )


def _doubts(session: Session, day: date) -> dict[str, RaceOutcome]:
    """The results that are not certain, by event key.

    BOTH: contradicts an abandonment. UNCERTAIN: as RaceOutcome says.
    """
    versions: dict[str, list[tuple[RacingEvent, VersionRemarks]]] = {}
    for one in session.execute(_DOUBTFUL, _of_day(day)).scalars():
        versions.setdefault(one.event_key, []).append(event_store.known(one))
    found = {key: _doubt(said) for key, said in versions.items()}
    return {key: doubt for key, doubt in found.items() if doubt}


def _doubt(versions: Sequence[tuple[RacingEvent, VersionRemarks]]) -> RaceOutcome | None:
    if any(remarks.contradicts for _, remarks in versions):
        return RaceOutcome.BOTH
    changed = [(event, remarks, _but_additions(remarks)) for event, remarks in reversed(versions)]
    # A version that only adds values says nothing of the order either.
    unordered = takewhile(lambda one: one[1].order_unknown or not one[2], changed)
    disagree = any(changes_winner(event.race, changes) for event, _, changes in unordered)
    return RaceOutcome.UNCERTAIN if disagree else None


def _but_additions(remarks: VersionRemarks) -> list[Change]:
    return [change for change in remarks.changes if not change.is_addition]


def _near(day: KnownDay, place: "_Place", region: str | None) -> KnownDay:
    """The rows that name the course, or whose course may be the course. The place learns the course's other names."""
    while True:
        near = KnownDay(
            [row for row in day.races if place.is_named_in(row)],
            [row for row in day.told if place.is_named_in(row) or place.may_be_in(row)],
        )
        if not place.learn(race.course for race in _races_of(near) if region is None or race.region in {region, None}):
            return near


def _values(rows: Iterable[DayRow[_Stored]]) -> Iterator[_Stored]:
    return (row.value for row in rows if row.value is not None)


def _races_of(day: KnownDay) -> Iterator[Race]:
    yield from _values(day.races)
    for event in _values(day.told):
        yield event.race
        yield from event.races


class _Place:
    """A course with all ids and names that races give to the course."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self._words = _words_of(course)

    def learn(self, courses: Iterable[Course]) -> bool:
        """Whether a course with an id and a name adds another id or name."""
        before = len(self._words)
        for one in {(one.course_id, one.name): one for one in courses}.values():
            if self.has(one):
                self._words |= _words_of(one)
                missing = {part: getattr(one, part) for part in _PARTS if not getattr(self.course, part)}
                self.course = self.course.model_copy(update=missing)
        return len(self._words) > before

    def has(self, course: Course) -> bool:
        return not self._words.isdisjoint(_words_of(course))

    def may_have(self, course: Course) -> bool:
        return self.has(course) or self._parts.isdisjoint(part for part, _ in _words_of(course))

    def is_named_in(self, row: DayRow[Race] | DayRow[RacingEvent]) -> bool:
        return any(json.dumps(word, ensure_ascii=False)[1:-1].casefold() in row.folded for _, word in self._words)

    def may_be_in(self, row: DayRow[RacingEvent]) -> bool:
        """Nothing but a course has fields of these names, beside the event's own name."""
        return not any(f'"{part}":' in row.folded.replace('"name":', "", 1) for part in self._parts)

    @property
    def _parts(self) -> set[str]:
        return {part for part, _ in self._words}


_PARTS = ("course_id", "name")


def _words_of(course: Course) -> set[tuple[str, str]]:
    words = zip(_PARTS, (course.course_id, folded_name(course.name)), strict=True)
    return {(part, word) for part, word in words if word}


def note_whole(session: Session, region: str | None, day: date, now: datetime) -> None:
    """The first time, a race of each meeting is news for fan-out: live messages say whether the card is whole."""
    if day < (now - race_book_store.NEWS_MAX_AGE).date() or named_values.text(session, _whole_name(region, day)):
        return
    rows = known_day(session, day, region).races
    found = {(row.value.region, row.value.course): row.race_id for row in rows if row.value and row.race_id}
    touched.note(session, What.RACE, [name for (of, _), name in found.items() if not is_whole(session, of, day)])
    named_values.put(session, _whole_name(region, day), True, now)
    named_values.drop(session, _whole_name(region, day - race_book_store.NEWS_MAX_AGE - timedelta(days=1)))


def is_whole(session: Session, region: str | None, day: date) -> bool:
    """Whether all races of the day were read, after the day had begun in the last time zone east of UTC."""
    return any(named_values.text(session, _whole_name(of, day)) for of in dict.fromkeys([region, None]))


def lacks_meeting(session: Session, region: str | None, day: date, course: Course) -> bool:
    """True if all races of the day were read, and neither a race nor an abandonment may be at the course."""
    if not is_whole(session, region, day):
        return False
    known = known_day(session, day, region)
    there = known.outcomes(course)
    return none_hidden(known.in_book, course) and not (there.meetings or there.lost or there.unplaced)


def _whole_name(region: str | None, day: date) -> str:
    return f"{Mark.WHOLE_DAY}{'*' if region is None else region}.{day}"
