"""How fast is posted: a channel's limit, and of each of Slack's methods a bucket of calls for all replicas.

Replicas take from a bucket in the transaction that claims lanes. Whoever finds it taken claims nothing this time: units
of work share transactions, so to wait for a row here could be to wait for oneself by way of another replica.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import bindparam, select, update
from sqlmodel import Session, col

from bot.db.engine import affected, insert_here, table_of
from bot.db.tables import MethodPace
from bot.outbox.channel_queues import EDIT_METHOD, LOOK_METHOD, POST_METHOD

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class MethodLimit:
    """How often a method may be called: in t minutes at most `burst` + t * `per_minute` times."""

    burst: int
    per_minute: float


@dataclass(frozen=True)
class Bucket:
    """What is left of a method's limit: `calls` that may be made at once, as of `counted_at`."""

    limit: MethodLimit
    calls: float
    counted_at: datetime

    def at(self, now: datetime) -> "Bucket":
        """The bucket as it has filled until now. A clock that was set back fills nothing, and goes on from there."""
        passed_s = max(0.0, (now - self.counted_at).total_seconds())
        calls = min(float(self.limit.burst), self.calls + passed_s * self.limit.per_minute / 60)
        return Bucket(self.limit, calls, now)

    def without(self, calls: int) -> "Bucket":
        """The bucket after so many calls."""
        return Bucket(self.limit, self.calls - calls, self.counted_at)

    @property
    def free_at(self) -> datetime:
        """When it holds a whole call, by itself."""
        return self.counted_at + timedelta(minutes=max(0.0, 1 - self.calls) / self.limit.per_minute)


class Buckets:
    """The buckets, and how this process left each: so that a call can be taken by one statement, without a look.

    For one thread at a time. What is remembered may be wrong, where another replica took a call since; then nothing is
    taken by it.
    """

    def __init__(self, limits: Mapping[str, MethodLimit]) -> None:
        self.limits = limits
        self._left: dict[str, Bucket] = {}

    def take(self, session: Session) -> dict[str, Bucket]:
        """The buckets that no other replica has in hand, ours until the transaction ends."""
        taken = take(session, self.limits) if self.limits else {}
        self._left.update(taken)
        return taken

    def put_back(self, session: Session, method: str, bucket: Bucket) -> None:
        """What is left of a bucket that was taken."""
        put_back(session, method, bucket)
        self._left[method] = bucket

    def calls(self, session: Session, method: str, now: datetime) -> int | None:
        """How many calls the bucket has by what is remembered, looked up where nothing is; None without a limit."""
        if method not in self.limits:
            return None
        if method not in self._left:
            self.take(session)
        return int(self._left[method].at(now).calls) if method in self._left else 0

    def spend(self, session: Session, method: str, calls: int, now: datetime) -> bool:
        """Whether so many calls were taken: not where the bucket is not as it was left, or in another's hand."""
        if method not in self.limits or not calls:
            return True
        before = self._left.pop(method)
        after = before.at(now).without(calls)
        values = {"name": method, "before": before.calls, "before_at": before.counted_at}
        values |= {"after": after.calls, "after_at": after.counted_at}
        if not affected(session, _SPEND, values):
            return False
        self._left[method] = after
        return True

    def spent_until(self, now: datetime) -> dict[str, datetime]:
        """The methods that have no call left by what is remembered, and when they have one again."""
        left = {method: bucket.at(now) for method, bucket in self._left.items()}
        return {method: bucket.free_at for method, bucket in left.items() if bucket.calls < 1}


_PACE = table_of(MethodPace)
_UNCHANGED = (
    select(_PACE.c.method)
    .where(
        _PACE.c.method == bindparam("name"),
        _PACE.c.calls == bindparam("before"),
        _PACE.c.counted_at == bindparam("before_at"),
    )
    .with_for_update(skip_locked=True)
)
_SPEND = (
    update(_PACE)
    .where(_PACE.c.method.in_(_UNCHANGED))
    .values(calls=bindparam("after"), counted_at=bindparam("after_at"))
)
"""The statement of `Buckets.spend`."""


def take(session: Session, limits: Mapping[str, MethodLimit]) -> dict[str, Bucket]:
    """The buckets that no other replica has in hand, ours until the transaction ends. New ones are full."""
    columns = select(col(MethodPace.method), col(MethodPace.calls), col(MethodPace.counted_at))
    statement = columns.where(col(MethodPace.method).in_(limits)).with_for_update(skip_locked=True)
    taken = {method: Bucket(limits[method], calls, at) for method, calls, at in session.execute(statement)}
    if missing := limits.keys() - taken.keys():
        taken |= _make(session, {method: Bucket(limits[method], limits[method].burst, LONG_AGO) for method in missing})
    return taken


def _make(session: Session, full: Mapping[str, Bucket]) -> dict[str, Bucket]:
    """Those that were not there yet; the others are only in another replica's hand.

    On a new database the INSERT may wait for another replica's. Should the two then wait for one another, PostgreSQL
    ends one, whose units of work are tried again; this can happen once in a database's life.
    """
    rows = [{"method": name, "calls": full[name].calls, "counted_at": full[name].counted_at} for name in sorted(full)]
    statement = insert_here(session, MethodPace).values(rows).on_conflict_do_nothing(index_elements=["method"])
    made = session.execute(statement.returning(col(MethodPace.method))).scalars()
    return {method: full[method] for method in made}


def put_back(session: Session, method: str, bucket: Bucket) -> None:
    """What is left of a bucket that was taken."""
    values = {"calls": bucket.calls, "counted_at": bucket.counted_at}
    session.execute(update(MethodPace).where(col(MethodPace.method) == method).values(**values))


TIER_3 = MethodLimit(burst=10, per_minute=40)
"""What Slack allows 50 times a minute and more (docs.slack.dev/apis/web-api/rate-limits): no minute exceeds 50."""


@dataclass(frozen=True)
class Pace:
    """`channel_s`: seconds between two posts in a channel. `workspace_per_minute`: posts a minute over all channels.

    Source: docs.slack.dev/apis/web-api/rate-limits ("1 per second per channel", and "several hundred messages per
    minute" for a workspace, which is nowhere given as a number: with the burst no minute exceeds 300). chat.update and
    conversations.history are Tier 3 by their own pages (docs.slack.dev/reference/methods). Where
    `workspace_per_minute` is None nothing is paced, and nothing is asked of the database for it.
    """

    channel_s: float = 1.0
    workspace_per_minute: float | None = 280
    workspace_burst: int = 20
    edits: MethodLimit = TIER_3
    looks: MethodLimit = TIER_3

    @property
    def limits(self) -> Mapping[str, MethodLimit]:
        """What is paced: method → its limit, for all replicas together."""
        if self.workspace_per_minute is None:
            return {}
        posts = MethodLimit(self.workspace_burst, self.workspace_per_minute)
        return {POST_METHOD: posts, EDIT_METHOD: self.edits, LOOK_METHOD: self.looks}
