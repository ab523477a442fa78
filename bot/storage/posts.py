"""Posts: what is to be said in which channel, each once."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum

from sqlalchemy import func, literal_column, select, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.domain.events import EventKind
from bot.domain.message import Message
from bot.storage.engine import insert_here
from bot.storage.tables import EventVersion, Lane, Notice, Post, PostState

IS_UNSENT = col(Post.state).in_([literal_column(f"'{state}'") for state in ("queued", "sending", "parked")])
"""As literals, and as the index says it: otherwise SQLite does not use an index over some states only."""


NOTICE = "notice:"
"""How the names of notices begin."""


ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)
"""When a new lane was free already. No process's own clock is good for it: leases go by the database's."""


class Priority(IntEnum):
    """What goes first within a lane, and across them; equal ones go by receipt."""

    WAITED = -1
    """The summary of what waited in a lane that was held: before what came later."""
    ABANDONMENT = 0
    ADMIN = 1
    OTHER = 2


@dataclass(frozen=True)
class NewPost:
    """A post to be made. `dedupe_key` names it: a second of the same name is never made.

    `edits_post_id`: no new message, but an edit of that post's. `folded`: that message says it already. `muted_by`: it
    is not to be posted, because that person muted its meeting in the channel.
    """

    channel_id: str
    dedupe_key: str
    priority: Priority
    received_at: datetime
    event_id: int | None = None
    content: Message | None = None
    edits_post_id: int | None = None
    folded: bool = False
    muted_by: str | None = None


def add(session: Session, posts: Iterable[NewPost]) -> int:
    """How many posts were new. Each gets its channel's lane, where there is none yet."""
    rows = {post.dedupe_key: post for post in posts}
    if not rows:
        return 0
    channels = sorted({post.channel_id for post in rows.values()})
    lanes = [{"channel_id": channel_id, "next_free_at": ALWAYS} for channel_id in channels]
    session.execute(insert_here(session, Lane).on_conflict_do_nothing(index_elements=["channel_id"]), lanes)
    statement = insert_here(session, Post).on_conflict_do_nothing(index_elements=["dedupe_key"])
    added = session.execute(statement.returning(col(Post.id)), [_as_row(post) for post in rows.values()])
    return len(added.all())


def _as_row(post: NewPost) -> dict[str, object]:
    return {
        "channel_id": post.channel_id,
        "dedupe_key": post.dedupe_key,
        "event_id": post.event_id,
        "edits_post_id": post.edits_post_id,
        "content": post.content.model_dump_json() if post.content else None,
        "priority": int(post.priority),
        "state": PostState.MUTED if post.muted_by else PostState.FOLDED if post.folded else PostState.QUEUED,
        "error": post.muted_by,
        "plain": False,
        "received_at": post.received_at,
        "attempts": 0,
        "looks": 0,
        "failed_looks": 0,
        "may_be_repeat": False,
    }


def messages_of(session: Session, event_key: str, *, locked: bool = False) -> dict[str, int]:
    """The message in which each channel has an event, sent or waiting: channel → the newest of its posts.

    `locked`: none of them is given up before the transaction ends.
    """
    statement = (
        select(col(Post.channel_id), col(Post.id))
        .join(EventVersion, col(EventVersion.id) == col(Post.event_id))
        .where(
            col(EventVersion.event_key) == event_key,
            col(Post.edits_post_id).is_(None),
            col(Post.state).not_in([PostState.PARKED, PostState.MUTED]),
        )
        .order_by(col(Post.id))
    )
    if locked:
        statement = statement.with_for_update(read=True, of=Post)
    return {channel_id: post_id for channel_id, post_id in session.execute(statement) if post_id}


def channels_told(session: Session, race_id: str, kind: str) -> set[str]:
    """The channels that were told of a race's event of that kind, or are about to be."""
    statement = (
        select(col(Post.channel_id))
        .join(EventVersion, col(EventVersion.id) == col(Post.event_id))
        .where(
            col(EventVersion.race_id) == race_id,
            col(EventVersion.kind) == kind,
            col(Post.state).not_in([PostState.PARKED, PostState.MUTED]),
        )
    )
    return set(session.execute(statement).scalars())


def meetings_saying(session: Session, race_id: str) -> dict[int, str]:
    """The messages of abandoned meetings that say of a race that it is called off: post → channel."""
    said, message, meeting = aliased(Post), aliased(Post), aliased(EventVersion)
    statement = (
        select(col(message.id), col(message.channel_id))
        .select_from(EventVersion)
        .join(said, col(said.event_id) == col(EventVersion.id))
        .join(message, col(message.id) == col(said.edits_post_id))
        .join(meeting, col(meeting.id) == col(message.event_id))
        .where(
            col(EventVersion.race_id) == race_id,
            col(EventVersion.kind) == EventKind.RACE_ABANDONED,
            col(meeting.kind) == EventKind.MEETING_ABANDONED,
        )
    )
    return {post_id: channel_id for post_id, channel_id in session.execute(statement) if post_id}


def hurry_races(session: Session, race_ids: Iterable[str | None]) -> None:
    """Give races' waiting posts an abandonment's priority, so that an abandonment does not overtake its own race's."""
    ids = sorted({race_id for race_id in race_ids if race_id})
    if not ids:
        return
    of_race = select(col(EventVersion.id)).where(col(EventVersion.race_id).in_(ids))
    session.execute(
        update(Post).where(IS_UNSENT, col(Post.event_id).in_(of_race)).values(priority=int(Priority.ABANDONMENT))
    )


def add_notice(session: Session, key: str, channel_id: str | None, message: Message, now: datetime) -> bool:
    """Whether this was news: a notice of a key is told once, to the admins' channel where there is one.

    Without a channel it is told to the log, under a key of its own: once there is a channel, it is told there.
    """
    statement = insert_here(session, Notice).values(key=key if channel_id else f"log:{key}", created_at=now)
    statement = statement.on_conflict_do_nothing(index_elements=["key"])
    # Asked by what comes back: a driver's row count of an INSERT is not to be relied on.
    if session.execute(statement.returning(col(Notice.key))).first() is None:
        return False
    if channel_id is not None:
        add(session, [NewPost(channel_id, f"{NOTICE}{key}@{channel_id}", Priority.ADMIN, now, content=message)])
    return True


def count_by_state(session: Session) -> dict[str, int]:
    """How many posts wait, are under way and are parked; the sent ones are not counted, there may be millions."""
    statement = select(col(Post.state), func.count()).where(IS_UNSENT).group_by(col(Post.state))
    return {state: count for state, count in session.execute(statement)}  # noqa: C416  rows are no pairs to mypy
