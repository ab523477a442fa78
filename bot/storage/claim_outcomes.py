"""What became of a claim. All of it goes through `_release`, which names the lane's lease.

A worker whose lease another has taken over changes nothing.
"""

from datetime import datetime
from functools import lru_cache

from sqlalchemy import Update, bindparam, update
from sqlmodel import Session, col

from bot.domain.events import EventKind
from bot.storage.engine import affected, table_of
from bot.storage.lanes import Claim
from bot.storage.posts import has_message, unfold
from bot.storage.tables import Lane, Post, PostState


def record_sent(session: Session, claimed: Claim, message_ts: str, now: datetime, *, free_at: datetime) -> bool:
    """Whether the result was ours to write: the post is sent, and its lane free again at `free_at`.

    So are the edits that its message said with it; of a doubtful one it is not known which those were.
    """
    if not _release(session, claimed, free_at=free_at):
        return False
    sent = {"state": PostState.SENT, "message_ts": message_ts, "sent_at": now, "error": None}
    if claimed.shown and claimed.shown.edits and not claimed.doubtful:
        session.execute(update(Post).where(col(Post.id).in_(claimed.shown.edits)).values(**sent))
    return _set(session, claimed, **sent)


def record_retry(
    session: Session,
    claimed: Claim,
    *,
    free_at: datetime,
    error: str,
    plain: bool | None = None,
    may_be_repeat: bool | None = None,
) -> bool:
    """Back into the queue, at its head: certainly not posted, or to be repeated knowingly."""
    return _release(session, claimed, free_at=free_at) and _set(
        session,
        claimed,
        state=PostState.QUEUED,
        error=error,
        looks=0,
        failed_looks=0,
        plain=claimed.post.plain if plain is None else plain,
        may_be_repeat=claimed.post.may_be_repeat if may_be_repeat is None else may_be_repeat,
    )


def record_doubtful(
    session: Session, claimed: Claim, *, free_at: datetime, error: str, looks: int, failed_looks: int
) -> bool:
    """It stays "sending": nobody knows whether it was posted. The lane is looked at again at `free_at`."""
    return _release(session, claimed, free_at=free_at) and _set(
        session, claimed, looks=looks, failed_looks=failed_looks, error=error
    )


def record_parked(session: Session, claimed: Claim, *, free_at: datetime, error: str) -> bool:
    """Not sent, and not tried again by itself; the lane goes on. What was folded into it has to be said after all."""
    if not _release(session, claimed, free_at=free_at):
        return False
    done = _set(session, claimed, state=PostState.PARKED, error=error)
    if claimed.post.event_id is None:
        unfold(session, [claimed.post.id or 0])
    else:
        folded = update(Post).where(col(Post.edits_post_id) == claimed.post.id, col(Post.state) == PostState.FOLDED)
        session.execute(folded.values(state=PostState.QUEUED))
    return done


def record_not_edited(session: Session, claimed: Claim, *, free_at: datetime, error: str) -> bool:
    """The message can't be edited: the edit becomes a message of its own, where no other in the channel says it.

    A corrected version in a message of its own takes over what else the old message was to say. An edit of the
    message's own version, with fields from the race book, never becomes a second message. Nor does the mark of a later
    message: that message is there.
    """
    shown, event = claimed.shown, claimed.event
    if shown is None or event is None or not _release(session, claimed, free_at=free_at):
        return False
    corrects = event.event_key == shown.own.event_key
    is_said = event.id == shown.own.id or not (corrects or event.kind == EventKind.RACE_ABANDONED)
    if is_said or has_message(session, claimed.post):
        return _set(session, claimed, state=PostState.FOLDED, error=error)
    if corrects and shown.post is not claimed.post:
        others = update(Post).where(col(Post.edits_post_id) == claimed.post.edits_post_id)
        session.execute(others.where(col(Post.id) != claimed.post.id).values(edits_post_id=claimed.post.id))
    return _set(session, claimed, state=PostState.QUEUED, edits_post_id=None, plain=False, error=error)


def _release(session: Session, claimed: Claim, *, free_at: datetime) -> bool:
    leased = {"lane": claimed.channel_id, "token": claimed.token}
    return affected(session, _freed(), leased | {"free_at": free_at}) > 0


@lru_cache
def _freed() -> Update:
    """The statement of `_release`, kept."""
    lane = table_of(Lane)
    return (
        update(lane)
        .where(lane.c.channel_id == bindparam("lane"), lane.c.lease_token == bindparam("token"))
        .values(lease_token=None, leased_until=None, next_free_at=bindparam("free_at"))
    )


def _set(session: Session, claimed: Claim, **values: object) -> bool:
    return affected(session, _changed(tuple(values)), {"number": claimed.post.id, **values}) > 0


@lru_cache
def _changed(columns: tuple[str, ...]) -> Update:
    """The statement of `_set`, kept."""
    post = table_of(Post)
    return update(post).where(post.c.id == bindparam("number")).values({name: bindparam(name) for name in columns})
