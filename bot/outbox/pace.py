"""Limits: a pause in each channel, and for each kind of call a bucket and a hold, shared by all replicas.

A kind of call that is held is not made before a moment set by Slack or by the bot.

Calls are taken in the claiming transaction. A locked bucket is not waited for: transactions are shared, so waiting
could deadlock.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from sqlalchemy import ColumnElement, bindparam, delete, exists, select, update
from sqlmodel import Session, col

from bot.db.engine import FAR, affected, insert_once, is_one_of, put_where, table_of
from bot.db.tables import MethodHold, MethodPace
from bot.outbox.message import Call
from bot.outbox.message_store import ALWAYS

EVERY_CALL: Final = "*"
"""Held while Slack refuses the token."""


def hold_call(session: Session, call: Call | Literal["*"], until: datetime, reason: str) -> None:
    """A longer hold stays: another answer may have asked for longer."""
    put_where(session, MethodHold, col(MethodHold.until) <= until, method=call, until=until, reason=reason)


def release_every_call(session: Session) -> None:
    session.execute(delete(MethodHold).where(col(MethodHold.method) == EVERY_CALL))


def is_call_free(call: Call, now: ColumnElement[datetime], far: ColumnElement[datetime]) -> ColumnElement[bool]:
    """A hold beyond `far` is ignored: a clock was set back."""
    holds = is_one_of(MethodHold.method, (call, EVERY_CALL))
    return ~exists().where(holds, col(MethodHold.until) > now, col(MethodHold.until) <= far)


def reasons_of_holds(session: Session, now: datetime) -> dict[str, str]:
    return {call: reason for call, _, reason in _held(session, now)}


def ends_of_holds(session: Session, now: datetime) -> dict[Call, datetime]:
    """When each held kind of call may be made again."""
    ends: dict[Call, datetime] = {}
    for held, until, _ in _held(session, now):
        for call in (one for one in Call if held in {one, EVERY_CALL}):
            ends[call] = max(until, ends.get(call, until))
    return ends


_HOLD = table_of(MethodHold).c
_HELD = select(_HOLD.method, _HOLD.until, _HOLD.reason).where(
    _HOLD.until > bindparam("now"), _HOLD.until <= bindparam("far")
)


def _held(session: Session, now: datetime) -> Iterator[tuple[str, datetime, str]]:
    for call, until, reason in session.connection().execute(_HELD, {"now": now, "far": now + FAR}):
        yield str(call), until, str(reason)


@dataclass(frozen=True)
class CallLimit:
    """In t minutes at most `burst` + t * `per_minute` calls."""

    burst: int
    per_minute: float


@dataclass(frozen=True)
class Bucket:
    """`calls` may be made at once, as of `counted_at`."""

    limit: CallLimit
    calls: float
    counted_at: datetime

    def at(self, now: datetime) -> "Bucket":
        """Does not fill while a clock is set back."""
        passed_s = max(0.0, (now - self.counted_at).total_seconds())
        calls = min(float(self.limit.burst), self.calls + passed_s * self.limit.per_minute / 60)
        return Bucket(self.limit, calls, now)

    def without(self, calls: int) -> "Bucket":
        return Bucket(self.limit, self.calls - calls, self.counted_at)

    @property
    def free_at(self) -> datetime:
        return self.counted_at + timedelta(minutes=max(0.0, 1 - self.calls) / self.limit.per_minute)


class Buckets:
    """As this process left the buckets: one statement takes a call without a read. For one thread at a time."""

    def __init__(self, limits: Mapping[Call, CallLimit]) -> None:
        self.limits = limits
        self._left: dict[Call, Bucket] = {}

    def take(self, session: Session) -> dict[Call, Bucket]:
        """Lock the buckets that no other replica has locked. New buckets are full."""
        if not self.limits:
            return {}
        found = session.connection().execute(_TAKE, {"methods": list(self.limits)})
        taken = {Call(name): Bucket(self.limits[Call(name)], calls, at) for name, calls, at in found}
        if missing := self.limits.keys() - taken.keys():
            full = {call: Bucket(self.limits[call], self.limits[call].burst, ALWAYS) for call in missing}
            taken |= _make(session, full)
        self._left.update(taken)
        return taken

    def put_back(self, session: Session, call: Call, bucket: Bucket) -> None:
        values = {"name": call, "after": bucket.calls, "after_at": bucket.counted_at}
        session.connection().execute(_PUT_BACK, values)
        self._left[call] = bucket

    def calls(self, session: Session, call: Call, now: datetime) -> int | None:
        """The calls left by the remembered bucket; None without a limit."""
        if call not in self.limits:
            return None
        if call not in self._left:
            self.take(session)
        return int(self._left[call].at(now).calls) if call in self._left else 0

    def spend(self, session: Session, call: Call, calls: int, now: datetime) -> bool:
        """False if the bucket is locked, or was changed by another replica."""
        if call not in self.limits or not calls:
            return True
        before = self._left.pop(call)
        after = before.at(now).without(calls)
        values = {"name": call, "before": before.calls, "before_at": before.counted_at}
        values |= {"after": after.calls, "after_at": after.counted_at}
        if not affected(session, _SPEND, values):
            return False
        self._left[call] = after
        return True

    def spent_until(self, now: datetime) -> dict[Call, datetime]:
        """The remembered buckets without a whole call, and when each has a call."""
        left = {call: bucket.at(now) for call, bucket in self._left.items()}
        return {call: bucket.free_at for call, bucket in left.items() if bucket.calls < 1}


_PACE = table_of(MethodPace)
_TAKE = (
    select(_PACE.c.method, _PACE.c.calls, _PACE.c.counted_at)
    .where(_PACE.c.method.in_(bindparam("methods", expanding=True)))
    .with_for_update(skip_locked=True)
)
_LEFT = update(_PACE).values(calls=bindparam("after"), counted_at=bindparam("after_at"))
_PUT_BACK = _LEFT.where(_PACE.c.method == bindparam("name"))
_UNCHANGED = (
    select(_PACE.c.method)
    .where(
        _PACE.c.method == bindparam("name"),
        _PACE.c.calls == bindparam("before"),
        _PACE.c.counted_at == bindparam("before_at"),
    )
    .with_for_update(skip_locked=True)
)
_SPEND = _LEFT.where(_PACE.c.method.in_(_UNCHANGED))


def _make(session: Session, full: Mapping[Call, Bucket]) -> dict[Call, Bucket]:
    """Make missing buckets. Another replica has locked the other buckets: inserts of these would wait for the commit.

    On a new database two replicas may deadlock here once. PostgreSQL ends one transaction, and the work is tried again.
    """
    missing = full.keys() - set(session.execute(select(col(MethodPace.method))).scalars())
    rows = [{"method": one, "calls": full[one].calls, "counted_at": full[one].counted_at} for one in sorted(missing)]
    if not rows:
        return {}
    made = session.connection().execute(insert_once(session, MethodPace, "method"), rows).scalars()
    return {Call(name): full[Call(name)] for name in made}


TIER_3 = CallLimit(burst=10, per_minute=40)
"""Slack's Tier 3 allows 50 a minute (docs.slack.dev/apis/web-api/rate-limits)."""


@dataclass(frozen=True)
class Pace:
    """`channel_s`: between two posts in a channel. `workspace_per_minute`: posts in all channels; None: no limits.

    Source: docs.slack.dev/apis/web-api/rate-limits, "1 per second per channel", and "several hundred messages per
    minute" for a workspace. With the burst no minute exceeds 300 posts. Edits and looks are Tier 3.
    """

    channel_s: float = 1.0
    workspace_per_minute: float | None = 280
    workspace_burst: int = 20
    edits: CallLimit = TIER_3
    looks: CallLimit = TIER_3

    @property
    def limits(self) -> Mapping[Call, CallLimit]:
        if self.workspace_per_minute is None:
            return {}
        posts = CallLimit(self.workspace_burst, self.workspace_per_minute)
        return {Call.POST: posts, Call.EDIT: self.edits, Call.LOOK: self.looks}
