"""Lanes: one a channel, leased by whoever posts to it, so that order, pace and exclusion come from one row.

`claim` takes the lane and marks its first post "sending" in one transaction. What becomes of it is written by
bot/storage/claim_outcomes.py.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Function,
    Integer,
    ScalarSelect,
    Select,
    Update,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, aliased
from sqlalchemy.orm.attributes import set_committed_value
from sqlmodel import Session, col

from bot.storage import held_methods
from bot.storage import shown as showing
from bot.storage.clock import FAR
from bot.storage.engine import insert_here, table_of
from bot.storage.held_lanes import PAUSED
from bot.storage.held_methods import EVERY_METHOD
from bot.storage.posts import ALWAYS, IS_UNSENT, Priority, slack_ahead
from bot.storage.shown import Shown
from bot.storage.tables import EventVersion, Lane, Post, PostState

POST_METHOD = "chat.postMessage"
EDIT_METHOD = "chat.update"
LOOK_METHOD = "conversations.history"

_IS_OPEN = or_(col(Lane.held_because).is_(None), col(Lane.held_because) == PAUSED)

_METHOD = case(
    (col(Post.edits_post_id).is_not(None), literal_column(f"'{EDIT_METHOD}'")),
    (col(Post.state) == PostState.SENDING, literal_column(f"'{LOOK_METHOD}'")),
    else_=literal_column(f"'{POST_METHOD}'"),
)
"""What a waiting post needs next, as `Claim.method` says it."""


_SAID, _BEARER = aliased(Post), aliased(Post)
_SAYS_WHAT_WAITS = exists().where(
    col(_SAID.event_id) == col(Post.event_id),
    col(_SAID.channel_id) == col(Post.channel_id),
    col(_BEARER.id) == func.coalesce(col(_SAID.edits_post_id), col(_SAID.id)),
    col(_BEARER.edits_post_id).is_(None),
    col(_BEARER.state).in_([PostState.QUEUED, PostState.SENDING]),
)
"""An edit's own message, and the message that the edit links, go first: where these are passed over, so is the edit."""


@dataclass(frozen=True)
class Claim:
    """A leased lane and its first post, which is marked "sending". `doubtful`: it was so before, and nobody knows."""

    channel_id: str
    token: str
    post: Post
    event: EventVersion | None
    doubtful: bool
    claimed_at: datetime
    """By the clock that leases are measured by."""
    shown: Shown | None = None
    """What its message is to show; None of what is no event."""
    held_since: datetime | None = None
    """Since when the lane is held, or is tried again: Slack has taken no post there since then."""
    slack_ahead: timedelta | None = None
    """Of a doubtful post: by how much Slack's clock is ahead of the one that leases go by; None where nothing tells."""

    @property
    def edited(self) -> Post | None:
        """The post whose message it edits; None where it is a message of its own."""
        return self.shown.post if self.shown and self.post.edits_post_id is not None else None

    @property
    def method(self) -> str:
        """The method of Slack's that the post needs next; a doubtful message is looked for before anything else."""
        if self.post.edits_post_id is not None:
            return EDIT_METHOD
        return LOOK_METHOD if self.doubtful else POST_METHOD


def tried_longest(session: Session) -> tuple[str, str] | None:
    """Of the posts in open lanes whose last try failed, the oldest: its name, and what Slack said. None without any."""
    statement = (
        select(col(Post.dedupe_key), col(Post.error))
        .join(Lane, col(Lane.channel_id) == col(Post.channel_id))
        .where(IS_UNSENT, col(Post.state) != PostState.PARKED, col(Post.error).is_not(None), _IS_OPEN)
        .order_by(col(Post.id))
        .limit(1)
    )
    found = session.execute(statement).first()
    return (found[0], found[1] or "") if found else None


def claim(
    session: Session,
    now: datetime,
    *,
    limit: int,
    lease_s: float,
    call_s: float,
    allowed: Mapping[str, int] | None = None,
) -> list[Claim]:
    """Up to `limit` free lanes that have something to post, abandonments first, leased for `lease_s` seconds.

    `allowed`: how many claims each method may have, any number where it is not named. What needs a method that is held
    or has had its number is passed over.
    """
    holds = held_methods.until_when(session, now)
    if EVERY_METHOD in holds:
        return []
    left = dict(allowed or {}) | dict.fromkeys(holds, 0)
    claims: list[Claim] = []
    passed_over = True
    # Whoever is passed over has taken another's place within the limit: then once more, without that method.
    while passed_over and len(claims) < limit:
        spent = [method for method, calls in left.items() if calls < 1]
        passed_over = False
        taken: list[Claim] = []
        for post, event, held_at in _heads(session, _lock_lanes(session, now, limit - len(claims), spent), spent):
            # An edit that nobody heard of is simply made again: it is the same whether it was made before or not.
            doubtful = post.state == PostState.SENDING and post.edits_post_id is None
            begun = Claim(post.channel_id, secrets.token_hex(8), post, event, doubtful, now, held_since=held_at)
            if left.get(begun.method, 1) < 1:
                passed_over = True
                continue
            if begun.method in left:
                left[begun.method] -= 1
            taken.append(begun)
        _begin(session, taken, lease_s=lease_s, call_s=call_s)
        claims += taken
    return [
        replace(claim, slack_ahead=slack_ahead(session, claim.channel_id)) if claim.doubtful else claim
        for claim in _with_shown(session, claims)
    ]


def _with_shown(session: Session, claims: list[Claim]) -> list[Claim]:
    if not claims:
        return []
    said = showing.shown(session, [(claim.post, claim.event) for claim in claims if claim.event])
    return [replace(claim, shown=said.get(claim.post.id or 0)) for claim in claims]


def _begin(session: Session, begun: Sequence[Claim], *, lease_s: float, call_s: float) -> None:
    """Write down that these lanes are leased, and that their first posts are being sent."""
    if not begun:
        return
    now = begun[0].claimed_at
    leased_until, deadline_at = now + timedelta(seconds=lease_s), now + timedelta(seconds=call_s)
    session.connection().execute(
        _leased(),
        [{"lane": claim.channel_id, "token": claim.token, "leased_until": leased_until} for claim in begun],
    )
    # In the order in which fan-out locks posts (`hurry_races`), so that neither waits for the other.
    sending = sorted((claim.post for claim in begun if not claim.doubtful), key=lambda each: each.id or 0)
    # From here on they are values: what becomes of them is written by whoever holds the lease.
    session.expunge_all()
    for each in sending:
        values = {"state": PostState.SENDING, "sending_at": now, "deadline_at": deadline_at}
        for name, value in (values | {"attempts": each.attempts + 1}).items():
            set_committed_value(each, name, value)
    if sending:
        session.connection().execute(
            _being_sent(), [{"number": each.id, "sending_at": now, "deadline_at": deadline_at} for each in sending]
        )


@lru_cache
def _leased() -> Update:
    """A statement of `_begin`, kept."""
    lane = table_of(Lane)
    statement = update(lane).where(lane.c.channel_id == bindparam("lane"))
    return statement.values(lease_token=bindparam("token"), leased_until=bindparam("leased_until"))


@lru_cache
def _being_sent() -> Update:
    """A statement of `_begin`, kept."""
    post = table_of(Post)
    return (
        update(post)
        .where(post.c.id == bindparam("number"))
        .values(
            state=PostState.SENDING.value,
            sending_at=bindparam("sending_at"),
            deadline_at=bindparam("deadline_at"),
            attempts=post.c.attempts + 1,
        )
    )


def _first(column: ColumnElement[Any] | Mapped[Any], state: PostState, spent: Collection[str]) -> ScalarSelect[Any]:
    """A column of a lane's first post of a state, those left out that need a method of `spent`."""
    wanted = [col(Post.channel_id) == col(Lane.channel_id), IS_UNSENT, col(Post.state) == state]
    if state is PostState.QUEUED:
        wanted.append(or_(col(Lane.held_because).is_(None), col(Post.priority) == int(Priority.ADMIN)))
    if spent:
        wanted.append(_METHOD.not_in(spent))
    if POST_METHOD in spent:
        wanted.append(~_SAYS_WHAT_WAITS)
    return (
        select(column)
        .where(*wanted)
        .order_by(col(Post.priority), col(Post.id))
        .limit(1)
        .correlate(Lane)
        .scalar_subquery()
    )


def _of_head(column: ColumnElement[Any] | Mapped[Any], spent: Collection[str] = ()) -> Function[Any]:
    """A column of a lane's first post. A doubtful one is settled before anything follows it."""
    return func.coalesce(_first(column, PostState.SENDING, ()), _first(column, PostState.QUEUED, spent))


def _has_head(spent: Collection[str]) -> ColumnElement[bool]:
    """Whether a lane has something to post by another method than those."""
    return _of_head(_METHOD, spent).not_in(spent) if spent else _of_head(col(Post.id)).is_not(None)


def _has_work(spent: Collection[str]) -> ColumnElement[bool]:
    """As `_has_head`, for most lanes by one look at what waits in all of them."""
    waiting = select(col(Post.channel_id)).where(IS_UNSENT, col(Post.state) != literal_column("'parked'"))
    return and_(col(Lane.channel_id).in_(waiting), _has_head(spent))


def _urgency(spent: Collection[str]) -> ColumnElement[int]:
    """The priority of the most urgent post of a lane: an abandonment may wait behind one that has to be settled."""
    doubtful, queued = (_first(col(Post.priority), state, spent) for state in (PostState.SENDING, PostState.QUEUED))
    return case((or_(doubtful.is_(None), queued < doubtful), queued), else_=doubtful)


def _lock_lanes(session: Session, now: datetime, limit: int, spent: Collection[str]) -> list[str]:
    """Free lanes that have something to post, the most urgent first. Nothing but the lanes is looked through."""
    statement = _free_lanes(frozenset(spent))
    return list(session.execute(statement, {"now": now, "far": now + FAR, "most": limit}).scalars())


def _heads(
    session: Session, channel_ids: list[str], spent: Collection[str]
) -> list[tuple[Post, EventVersion | None, datetime | None]]:
    """The lanes' first posts, and since when each is held: read after the lanes were locked.

    Before, another replica may have sent them.
    """
    if not channel_ids:
        return []
    found = session.execute(_first_posts(frozenset(spent)), {"channels": channel_ids})
    return [(post, event, held_at) for post, event, held_at in found]


@lru_cache
def _free_lanes(spent: frozenset[str]) -> Select[str]:
    """The statement of `_lock_lanes`, kept: to put it together takes longer than to carry it out."""
    moment = table_of(Lane).c.next_free_at.type
    now, far = bindparam("now", type_=moment), bindparam("far", type_=moment)
    return (
        select(col(Lane.channel_id))
        .where(
            _IS_OPEN,
            or_(col(Lane.next_free_at) <= now, col(Lane.next_free_at) > far),
            or_(col(Lane.leased_until).is_(None), col(Lane.leased_until) <= now, col(Lane.leased_until) > far),
            _has_work(spent),
        )
        .order_by(_urgency(spent), _of_head(col(Post.id), spent))
        .limit(bindparam("most", type_=Integer()))
        .with_for_update(of=Lane, skip_locked=True)
    )


@lru_cache
def _first_free(spent: frozenset[str]) -> Select[datetime]:
    """The statement of `next_due`, kept."""
    leased_until, next_free_at = col(Lane.leased_until), col(Lane.next_free_at)
    free_at = case((and_(leased_until.is_not(None), leased_until > next_free_at), leased_until), else_=next_free_at)
    return select(func.min(free_at)).where(_has_work(spent), _IS_OPEN)


@lru_cache
def _first_posts(spent: frozenset[str]) -> Select[Post, EventVersion, datetime | None]:
    """The statement of `_heads`, kept."""
    return (
        select(Post, EventVersion, col(Lane.held_at))
        .select_from(Lane)
        .join(Post, col(Post.id) == _of_head(col(Post.id), spent))
        .outerjoin(EventVersion, col(EventVersion.id) == col(Post.event_id))
        .where(col(Lane.channel_id).in_(bindparam("channels", expanding=True)))
        .order_by(_urgency(spent), col(Post.id))
    )


def next_due(session: Session, now: datetime, spent: Mapping[str, datetime] | None = None) -> datetime | None:
    """The first moment at which a lane that has something to post is free; None if none has.

    `spent`: methods that have no call left, and until when; those that are held count besides.
    """
    waits = dict(spent or {})
    for method, until in held_methods.until_when(session, now).items():
        waits[method] = max(until, waits.get(method, until))
    statement = _first_free(frozenset(waits))
    first: datetime | None = session.execute(statement).scalar_one_or_none()
    if EVERY_METHOD in waits:
        return first and max(first, waits[EVERY_METHOD])
    # What waits for a method is looked at when that is free again; in vain, where nothing needs it.
    return min([*waits.values(), *([first] if first else [])], default=None)


def make_missing(session: Session) -> int:
    """How many lanes were missing: of channels that have something to post, and had another id a moment ago."""
    has_lane = exists().where(col(Lane.channel_id) == col(Post.channel_id))
    statement = select(col(Post.channel_id)).where(IS_UNSENT, col(Post.state) != PostState.PARKED, ~has_lane).distinct()
    missing = list(session.execute(statement).scalars())
    if missing:
        rows = [{"channel_id": channel_id, "next_free_at": ALWAYS} for channel_id in missing]
        session.execute(insert_here(session, Lane).on_conflict_do_nothing(index_elements=["channel_id"]), rows)
    return len(missing)
