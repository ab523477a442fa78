"""What waits in lanes that are held: given up after a time, or said in one message once its channel is back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import delete, func, select, update
from sqlmodel import Session, col

from bot.storage import posts
from bot.storage.engine import affected
from bot.storage.held_lanes import Held
from bot.storage.posts import IS_UNSENT, Priority
from bot.storage.tables import EventVersion, Lane, Post, PostState

TOGETHER = 1_000
"""Numbers of one statement: SQLite takes some thirty thousand, and a lane can hold more."""

UNSUBSCRIBED = "the channel unsubscribed while it waited"

_IS_QUEUED = (IS_UNSENT, col(Post.state) == PostState.QUEUED)


@dataclass(frozen=True)
class WaitingPost:
    """An event's post that waits in a lane, or an edit that waits with it."""

    post_id: int
    event_id: int
    event_key: str
    version: int
    kind: str | None
    edits_post_id: int | None


def of_lane(session: Session, channel_id: str, before: datetime) -> list[WaitingPost]:
    """What a lane holds that was received before a moment, in its order; edits only of messages that wait too."""
    statement = (
        select(
            col(Post.id),
            col(EventVersion.id),
            col(EventVersion.event_key),
            col(EventVersion.version),
            col(EventVersion.kind),
            col(Post.edits_post_id),
            col(Post.received_at),
        )
        .join(EventVersion, col(EventVersion.id) == col(Post.event_id))
        .where(col(Post.channel_id) == channel_id, *_IS_QUEUED)
        .order_by(col(Post.priority), col(Post.id))
    )
    rows = session.execute(statement).all()
    old = {row[0] for row in rows if row[5] is None and row[6] < before}
    return [WaitingPost(*row[:6]) for row in rows if row[0] in old or row[5] in old]


def versions(session: Session, event_ids: Sequence[int]) -> Sequence[EventVersion]:
    """The versions of events by their numbers."""
    found: list[EventVersion] = []
    for some in _in_parts(event_ids):
        found += session.execute(select(EventVersion).where(col(EventVersion.id).in_(some))).scalars()
    return found


def fold(session: Session, post_ids: Sequence[int], into: int) -> None:
    """A summary says these, messages with their edits: they need none of their own. An edit stays its message's."""
    for some in _in_parts(post_ids):
        session.execute(
            update(Post)
            .where(col(Post.id).in_(some), *_IS_QUEUED)
            .values(state=PostState.FOLDED, edits_post_id=func.coalesce(col(Post.edits_post_id), into), error=None)
        )


def unfold(session: Session, channel_id: str) -> None:
    """Summaries that were not posted are taken back: what they would have said waits by itself again."""
    statement = select(col(Post.id)).where(
        col(Post.channel_id) == channel_id, *_IS_QUEUED, col(Post.priority) == int(Priority.WAITED)
    )
    summaries = list(session.execute(statement).scalars())
    if not summaries:
        return
    posts.unfold(session, summaries)
    session.execute(delete(Post).where(col(Post.id).in_(summaries)))


def post_ids(session: Session, dedupe_keys: Sequence[str]) -> dict[str, int]:
    """The number of each post by its name."""
    statement = select(col(Post.dedupe_key), col(Post.id)).where(col(Post.dedupe_key).in_(dedupe_keys))
    return {key: number for key, number in session.execute(statement) if number}


def give_up(session: Session, before: datetime, limit: int) -> dict[str, tuple[Held, int]]:
    """The next event posts of held lanes that were received before a moment are parked: channel → why, how many.

    A lane that another replica is at is left for the next time.
    """
    statement = (
        select(col(Post.id), col(Lane.channel_id), col(Lane.held_because), col(Lane.held_at))
        .select_from(Lane)
        .join(Post, col(Post.channel_id) == col(Lane.channel_id))
        .where(col(Lane.held_because).is_not(None), *_IS_QUEUED)
        .where(col(Post.event_id).is_not(None), col(Post.received_at) < before)
        .order_by(col(Lane.channel_id), col(Post.id))
        .limit(limit)
        .with_for_update(of=Lane, skip_locked=True)
    )
    found: dict[tuple[str, Held], list[int]] = {}
    for post_id, channel_id, because, since in session.execute(statement):
        found.setdefault((channel_id, Held(because, since)), []).append(post_id)
    for (_, held), ids in found.items():
        session.execute(
            update(Post)
            .where(col(Post.id).in_(ids), *_IS_QUEUED)
            .values(state=PostState.PARKED, error=given_up_because(held))
        )
        # What they would have said of other events is younger, and waits by itself.
        folded = update(Post).where(col(Post.edits_post_id).in_(ids), col(Post.state) == PostState.FOLDED)
        session.execute(folded.values(state=PostState.QUEUED))
    return {channel_id: (held, len(ids)) for (channel_id, held), ids in found.items()}


def drop(session: Session, channel_id: str, because: str) -> int:
    """How many of a channel's waiting event posts are given up: nobody there wants them any more."""
    waiting = update(Post).where(col(Post.channel_id) == channel_id, *_IS_QUEUED, col(Post.event_id).is_not(None))
    return affected(session, waiting.values(state=PostState.PARKED, error=because))


def count_given_up(session: Session, channel_id: str, held: Held) -> int:
    """How many messages of a lane were given up while it was held that time, whatever Slack's reason was by then."""
    statement = (
        select(func.count())
        .select_from(Post)
        .where(col(Post.channel_id) == channel_id, IS_UNSENT, col(Post.state) == PostState.PARKED)
        .where(col(Post.error).endswith(_since(held)))
    )
    count: int = session.execute(statement).scalar_one()
    return count


def given_up_because(held: Held) -> str:
    """What a post says that was given up: by its end those of one closing are counted."""
    return f"it waited too long for its channel ({held.because}{_since(held)}"


def _since(held: Held) -> str:
    return f" since {held.since.astimezone(UTC).isoformat(timespec='milliseconds')})"


def _in_parts(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    return (numbers[start : start + TOGETHER] for start in range(0, len(numbers), TOGETHER))
