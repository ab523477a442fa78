"""The inbox: deliveries as received, each stored once for ever."""

import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Boolean,
    Integer,
    Select,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlmodel import Session, col

from bot.clock import Clock
from bot.db import generation
from bot.db.engine import affected, dialect_of, in_parts, insert_once, is_one_of, table_of
from bot.db.tables import InboxDelivery, InboxKey, InboxState
from bot.errors import LockTaken
from bot.events import drill_mark
from bot.events.event import EventKind
from bot.events.kinds import ABANDONMENTS

FIRST_BACKOFF_S, LONGEST_BACKOFF_S, DOUBLINGS_MAX = 5.0, 600.0, 10
"""The backoff of a delivery with a failed fan-out, doubled after each failure."""

LONGEST_ERROR = 200

FANOUT_LOCK, INTAKE_LOCK = 7_228_464_116, 7_228_464_118  # PostgreSQL's advisory locks

_IS_NEW = col(InboxDelivery.state) == literal_column("'new'")
"""As a literal: a statement with the state as a parameter can't use the index of new deliveries."""

_IS_URGENT = is_one_of(InboxDelivery.event_name, ABANDONMENTS)
"""As literals, and letter by letter as in the index `ix_inbox_urgent`."""

_INBOX = table_of(InboxDelivery)
_FURTHER = table_of(InboxKey)

KEYS = (
    select(_INBOX.c.id.label("inbox_id"), _INBOX.c.event_key)
    .union_all(select(_FURTHER.c.inbox_id, _FURTHER.c.event_key))
    .subquery("keys")
)
"""The keys of deliveries: of each event, and of each race that an abandonment names."""

_OTHER = _INBOX.alias("other")
_OVERTAKES = exists().where(
    bindparam("is_fresh", type_=Boolean()),
    _OTHER.c.state == literal_column("'new'"),
    _OTHER.c.not_before.is_(None),
    # The sum keeps the database from the primary key's index, which also has all finished deliveries.
    _OTHER.c.id + literal_column("0") < bindparam("last"),
    _OTHER.c.id.not_in(bindparam("handed_over", expanding=True)),
)
_TAKE = (
    update(_INBOX)
    .where(_INBOX.c.id.in_(bindparam("numbers", expanding=True)), _IS_NEW)
    .values(state=InboxState.DONE, done_at=bindparam("done_at"), error=None)
)
_TAKE_HERE = _TAKE.returning(_INBOX.c.id, generation.current(), _OVERTAKES)

_INTAKE_TURN = select(func.pg_try_advisory_xact_lock(INTAKE_LOCK))
_TURN = select(func.pg_try_advisory_xact_lock(FANOUT_LOCK).label("is_ours"), func.clock_timestamp().label("now"))
_IS_OURS, _MOMENT = (select(column).scalar_subquery() for column in _TURN.cte("turn").c)
_TAKE_IN_TURN = (
    _TAKE.where(_IS_OURS).values(done_at=_MOMENT).returning(_INBOX.c.id, generation.after_locks(), _OVERTAKES, _MOMENT)
)
"""PostgreSQL's alone."""


_NOW, _FAR = (bindparam(name, type_=_INBOX.c.not_before.type) for name in ("now", "far"))
_IS_DUE, _OTHER_IS_DUE = (
    or_(row.not_before.is_(None), row.not_before <= _NOW, row.not_before > _FAR) for row in (_INBOX.c, _OTHER.c)
)
"""A backoff beyond the longest was written before somebody set the clock back."""

_FIRST = select(func.min(_INBOX.c.region).label("region")).where(_IS_NEW, _IS_DUE).cte("regions", recursive=True)
_NEXT = select(func.min(_OTHER.c.region)).where(
    _OTHER.c.state == literal_column("'new'"), _OTHER_IS_DUE, _OTHER.c.region > _FIRST.c.region
)
_EACH_REGION = _FIRST.union_all(select(_NEXT.scalar_subquery()).where(_FIRST.c.region.is_not(None)))
_OLDEST = select(func.min(_INBOX.c.received_at)).where(_IS_NEW, _IS_DUE, _INBOX.c.region == _EACH_REGION.c.region)
_REGIONS = select(_EACH_REGION.c.region, _OLDEST.scalar_subquery()).where(_EACH_REGION.c.region.is_not(None))
"""The regions of due deliveries, each with its first receipt: by the index, a seek for each region."""

_DUE = (
    select(_INBOX.c.id)
    .where(_IS_NEW, _IS_DUE)
    .order_by(_INBOX.c.received_at, _INBOX.c.id)
    .limit(bindparam("most", type_=Integer()))
)

_READ = select(
    *(_INBOX.c[name] for name in ("id", "event_key", "event_name", "body", "received_at", "attempts"))
).where(_IS_NEW, _INBOX.c.id.in_(bindparam("numbers", expanding=True)))

_URGENT_DUE = _DUE.where(_IS_URGENT)
_DUE_OF_REGION = _DUE.where(_INBOX.c.region == bindparam("region"))

_PLACE = func.row_number().over(partition_by=KEYS.c.event_key, order_by=_INBOX.c.id).label("place")
_OF_KEYS = (
    select(_INBOX.c.id, KEYS.c.event_key, _PLACE)
    .join(KEYS, KEYS.c.inbox_id == _INBOX.c.id)
    .where(_IS_NEW, _IS_DUE, KEYS.c.event_key.in_(bindparam("keys", expanding=True)))
    .subquery()
)
_FIRST_OF_KEYS = select(_OF_KEYS.c.id, _OF_KEYS.c.event_key).where(
    _OF_KEYS.c.place <= bindparam("most", type_=Integer())
)
"""The first deliveries of each key."""

_KEYS_OF = select(KEYS.c.inbox_id, KEYS.c.event_key).where(KEYS.c.inbox_id.in_(bindparam("numbers", expanding=True)))


@dataclass(frozen=True, eq=False)
class Arrival:
    event_key: str
    event_name: str | None
    body_sha256: str
    body: bytes
    received_at: datetime
    region: str = ""
    request: str | None = None
    """The reference of the request that brought the delivery."""
    further_keys: Sequence[str] = ()
    """Those of `KEYS` beside `event_key`."""


@dataclass(frozen=True)
class StoredDelivery:
    inbox_id: int
    event_key: str
    event_name: str | None
    body: bytes
    received_at: datetime
    attempts: int = 0
    request: str | None = None


@dataclass(frozen=True)
class Depth:
    count: int = 0
    oldest_at: datetime | None = None

    def age_s(self, now: datetime) -> float:
        """0 also after the clock was set back."""
        return max(0.0, (now - self.oldest_at).total_seconds()) if self.oldest_at else 0.0


@dataclass(frozen=True)
class FirstWaiting:
    inbox_id: int
    error: str | None


def reference(inbox_id: int) -> str:
    return f"inbox-{inbox_id}"


def take_intake(session: Session) -> None:
    """Raise LockTaken while another replica stores letters: inserts of the same letters would wait for the commit."""
    if dialect_of(session) != "sqlite" and not session.connection().execute(_INTAKE_TURN).scalar_one():
        raise LockTaken("another replica stores deliveries")


def store(session: Session, arrivals: Sequence[Arrival]) -> list[StoredDelivery]:
    """The new deliveries, numbered in the order of `arrivals`. A body already in the inbox is left out."""
    unique = dict[str, Arrival]()
    for arrival in arrivals:
        unique.setdefault(arrival.body_sha256, arrival)
    rows = [_as_row(arrival) for arrival in unique.values()]
    # On the connection: the session would make an object of each row.
    stored = session.connection().execute(insert_once(session, InboxDelivery, "body_sha256", "id"), rows)
    new = [(number, unique[sha256]) for sha256, number in sorted(stored, key=itemgetter(1))]
    further = [{"inbox_id": number, "event_key": key} for number, one in new for key in one.further_keys]
    if further:
        session.connection().execute(_FURTHER.insert(), further)
    return [
        StoredDelivery(number, one.event_key, one.event_name, one.body, one.received_at, request=one.request)
        for number, one in new
    ]


def _as_row(arrival: Arrival) -> dict[str, Any]:
    return {
        "event_key": arrival.event_key,
        "event_name": arrival.event_name,
        "body_sha256": arrival.body_sha256,
        "body": zlib.compress(arrival.body, level=1),
        "received_at": arrival.received_at,
        "state": InboxState.NEW,
        "attempts": 0,
        "region": arrival.region,
    }


def waiting(session: Session, now: datetime, limit: int) -> list[StoredDelivery]:
    """Up to `limit` deliveries: abandonments first, then each region in turn.

    A race's earlier deliveries come before its later deliveries.
    """
    chosen = _with_earlier(session, now, limit, _due(session, now, limit, _URGENT_DUE))
    if len(chosen) < limit:
        others = sorted(_due(session, now, limit))
        if len(others) == limit:
            others = _with_earlier(session, now, limit, _in_turn(session, now, limit))
        chosen = list(dict.fromkeys([*chosen, *others]))
    return _read(session, chosen[:limit])


def _with_earlier(session: Session, now: datetime, limit: int, chosen: list[int]) -> list[int]:
    """Up to `limit` deliveries, each behind the waiting earlier deliveries of the same races and meetings.

    Numbers give the order: a clock may be set back, and each replica has a clock of its own.
    """
    found = list[int]()
    while chosen != found:
        # An earlier delivery may be of other races too, and so has earlier deliveries of its own.
        found, names, of_name = chosen, defaultdict[int, set[str]](set), defaultdict[str, set[int]](set)
        own = session.connection().execute(_KEYS_OF, {"numbers": found})
        keys = set[str]()
        for number, key in own:
            names[number].add(subject(key))
            keys |= {key, *(f"{kind}:{subject(key)}" for kind in EventKind)}
        for some in in_parts(sorted(keys)):
            values = {**_moments(now), "most": limit, "keys": some}
            for number, key in session.connection().execute(_FIRST_OF_KEYS, values):
                of_name[subject(key)].add(number)
        earlier = ({one, *(each for name in names[one] for each in of_name[name] if each < one)} for one in found)
        chosen = list(dict.fromkeys(each for some in earlier for each in sorted(some)))[:limit]
    return chosen


def _in_turn(session: Session, now: datetime, limit: int) -> list[int]:
    """Each region in turn, so that a flooded region delays no other; a region's deliveries by receipt."""
    first = session.connection().execute(_REGIONS, _moments(now)).all()
    regions = [region for region, _ in sorted(first, key=lambda one: one[1])[:limit]]
    queues = [_due(session, now, limit, _DUE_OF_REGION, region=region) for region in regions]
    return [one for turn in zip_longest(*queues) for one in turn if one is not None][:limit]


def subject(event_key: str) -> str:
    """The key without the event's name: equal for all events of a race."""
    return event_key.partition(":")[2]


def take_turn(session: Session, clock: Clock) -> datetime | None:
    """The database's moment, if this replica alone fans out until the transaction ends.

    No wait for the turn: a wait would delay the other units of the transaction. SQLite has one writer.
    """
    if dialect_of(session) == "sqlite":
        return clock()
    is_ours, now = session.connection().execute(_TURN).one()
    return now.astimezone(UTC) if is_ours else None


@dataclass(frozen=True)
class Taken:
    """`mark`: the transaction's generation."""

    inbox_ids: frozenset[int]
    mark: str | None
    now: datetime


def take_in_turn(
    session: Session, deliveries: Sequence[StoredDelivery], clock: Clock, handed_over: Collection[int] = ()
) -> Taken | None:
    """`take_turn` and `take`, on PostgreSQL in one statement. None while another replica has the turn.

    `handed_over`: numbers of all deliveries known without reading the inbox. None too while an earlier delivery waits.
    """
    taking = _taking(deliveries, handed_over)
    is_sqlite = dialect_of(session) == "sqlite"
    rows = [] if is_sqlite else session.connection().execute(_TAKE_IN_TURN, taking).all()
    # Without a row, only the lock tells whether another replica has the turn.
    now = rows[0][3].astimezone(UTC) if rows else take_turn(session, clock)
    if now is None:
        return None
    rows = rows or session.connection().execute(_TAKE_HERE, {**taking, "done_at": now}).all()
    taken = _taken(rows, now)
    if rows and rows[0][2]:
        # Another replica stored an earlier delivery, and may be dead.
        put_back(session, sorted(taken.inbox_ids))
        return None
    return taken


def take(session: Session, deliveries: Sequence[StoredDelivery], now: datetime) -> Taken:
    """Mark deliveries done, unless another replica was first. Call after `take_turn`, for the generation."""
    return _taken(session.connection().execute(_TAKE_HERE, {**_taking(deliveries), "done_at": now}).all(), now)


def _taking(deliveries: Sequence[StoredDelivery], handed_over: Collection[int] = ()) -> dict[str, object]:
    numbers = [delivery.inbox_id for delivery in deliveries]
    known = {"handed_over": list(handed_over), "is_fresh": bool(handed_over)}
    return {"numbers": numbers, "last": max(numbers), **known}


def _taken(rows: Sequence[Sequence[Any]], now: datetime) -> Taken:
    return Taken(frozenset(row[0] for row in rows), rows[0][1] if rows else None, now)


def put_back(session: Session, inbox_ids: Sequence[int]) -> None:
    of_these = col(InboxDelivery.id).in_(inbox_ids)
    session.execute(update(InboxDelivery).where(of_these).values(state=InboxState.NEW, done_at=None))


def add_key(session: Session, inbox_id: int, event_key: str) -> None:
    """For an event that has another key than the body says."""
    row = {"inbox_id": inbox_id, "event_key": event_key}
    session.connection().execute(insert_once(session, InboxKey), row)


def keys_of(session: Session, inbox_ids: Collection[int]) -> set[str]:
    return {key for _, key in session.connection().execute(_KEYS_OF, {"numbers": sorted(inbox_ids)})}


def _due(session: Session, now: datetime, limit: int, which: Select[Any] = _DUE, **named: Any) -> list[int]:
    values = {**_moments(now), "most": limit, **named}
    return list(session.connection().execute(which, values).scalars())


def _read(session: Session, chosen: Sequence[int]) -> list[StoredDelivery]:
    """The chosen deliveries in this order, without the deliveries that another replica has done."""
    if not chosen:
        return []
    found = session.connection().execute(_READ, {"numbers": chosen})
    stored = {
        number: StoredDelivery(number, key, name, zlib.decompress(body or b""), received_at, attempts)
        for number, key, name, body, received_at, attempts in found
    }
    return [stored[number] for number in chosen if number in stored]


def _moments(now: datetime) -> dict[str, datetime]:
    return {"now": now, "far": far_from(now)}


def far_from(now: datetime) -> datetime:
    """The latest moment that a failure waits for."""
    return now + timedelta(seconds=LONGEST_BACKOFF_S)


def again_at(now: datetime, attempts: int) -> datetime:
    """The moment of the next try. `attempts`: the failures before."""
    # A power of a week's attempts is too large for a float.
    return now + timedelta(seconds=min(FIRST_BACKOFF_S * 2 ** min(attempts, DOUBLINGS_MAX), LONGEST_BACKOFF_S))


def mark_failed(session: Session, delivery: StoredDelivery, now: datetime, error: str) -> None:
    session.execute(
        update(InboxDelivery)
        .where(col(InboxDelivery.id) == delivery.inbox_id)
        .values(
            state=InboxState.NEW,
            done_at=None,
            attempts=delivery.attempts + 1,
            not_before=again_at(now, delivery.attempts),
            error=error,
        )
    )


def last_received(session: Session, event_keys: Iterable[str]) -> dict[str, datetime]:
    """When the last delivery of each event was received."""
    key, received_at = KEYS.c.event_key, func.max(_INBOX.c.received_at)
    last = select(key, received_at).join(_INBOX, _INBOX.c.id == KEYS.c.inbox_id).group_by(key)
    found = (session.connection().execute(last.where(key.in_(some))) for some in in_parts(event_keys))
    return {name: at for rows in found for name, at in rows}


def known_bodies(session: Session, hashes: Iterable[str]) -> set[str]:
    known, found = _INBOX.c.body_sha256, set[str]()
    for some in in_parts(hashes):
        found |= set(session.connection().execute(select(known).where(known.in_(some))).scalars())
    return found


def first_waiting(session: Session) -> FirstWaiting | None:
    row = _INBOX.c
    statement = select(row.id, row.error).where(_IS_NEW).order_by(row.received_at, row.id).limit(1)
    found = session.execute(statement).first()
    if found is None:
        return None
    number, error = found
    # The first line: a driver's message may go on with the statement.
    return FirstWaiting(number, error.splitlines()[0][:LONGEST_ERROR] if error else None)


def count_received(session: Session, since: datetime) -> dict[str, int]:
    """The number of deliveries by the event's name, or "" without a name. Drills are left out."""
    row = InboxDelivery
    name = func.coalesce(col(row.event_name), "")
    statement = select(name, func.count()).where(col(row.received_at) >= since, name != drill_mark.DRILL_EVENT)
    rows = session.execute(statement.group_by(col(row.event_name)))
    return {str(name): number for name, number in rows}


def first_received_at(session: Session) -> datetime | None:
    first = select(col(InboxDelivery.received_at)).order_by(col(InboxDelivery.id)).limit(1)
    return session.scalars(first).one_or_none()


def last_received_at(session: Session) -> datetime | None:
    """The receipt of the data service's last delivery. A drill is a delivery of our own, and does not count."""
    last = select(col(InboxDelivery.received_at)).order_by(col(InboxDelivery.received_at).desc()).limit(1)
    is_drill = col(InboxDelivery.event_name).is_not_distinct_from(drill_mark.DRILL_EVENT)
    return session.scalars(last.where(~is_drill)).one_or_none()


def count_waiting(session: Session) -> int:
    statement = select(func.count()).select_from(InboxDelivery).where(_IS_NEW)
    return session.scalars(statement).one()


def depths(session: Session) -> dict[str, Depth]:
    row = _INBOX.c
    failed = (row.attempts > literal_column("0")).label("failed")
    statement = select(failed, func.count(), func.min(row.received_at)).where(_IS_NEW).group_by(failed)
    return {
        "failed" if has_failed else "new": Depth(count, oldest_at)
        for has_failed, count, oldest_at in session.connection().execute(statement)
    }


def received_before(session: Session, before: datetime, *, after_id: int, limit: int) -> list[int]:
    """Numbers of deliveries received before a moment, among the next `limit` by number."""
    statement = (
        select(col(InboxDelivery.id), col(InboxDelivery.received_at))
        .where(col(InboxDelivery.id) > after_id)
        .order_by(col(InboxDelivery.id))
        .limit(limit)
    )
    return [number for number, received_at in session.execute(statement) if number and received_at < before]


def forget_bodies(session: Session, inbox_ids: Sequence[int]) -> int:
    statement = (
        update(InboxDelivery)
        .where(col(InboxDelivery.id).in_(inbox_ids), col(InboxDelivery.state) == InboxState.DONE)
        .values(body=None)
    )
    return affected(session, statement)
