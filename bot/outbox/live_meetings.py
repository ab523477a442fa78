"""Live messages of meetings, kept up to date, with the meeting's results in the thread.

Live messages and their edits have no event, so that no channel counts as told by a live message. A live message is
rendered when sent, so that a waiting edit has all later news.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from sqlalchemy import ColumnElement, literal_column, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.channels.filters import Meeting
from bot.db.tables import MessageKind, MessageState, OutboxMessage
from bot.outbox import message_store
from bot.outbox.message_store import NewPost, Priority
from bot.racedata import race_book_store
from bot.racedata.day_card import Outcomes, outcomes_of

_QUEUED: ColumnElement[str] = literal_column(f"'{MessageState.QUEUED}'")

_EDIT = aliased(OutboxMessage)
_IS_GONE = (
    select(col(_EDIT.id))
    .where(
        col(_EDIT.edits_id) == col(OutboxMessage.id),
        col(_EDIT.kind) == MessageKind.LIVE_EDIT,
        col(_EDIT.state) == MessageState.FOLDED,
    )
    .correlate(OutboxMessage)
    .exists()
)
"""Slack refused an edit. Somebody may have deleted the message."""


@dataclass(frozen=True)
class LiveMeeting:
    """`post`: the live message."""

    post: OutboxMessage
    meeting: Meeting
    outcomes: Outcomes


def key_of(meeting: Meeting) -> str | None:
    """The beginning of the live message's key; None for a meeting without day or course."""
    name = meeting.course.name and f"{meeting.region or ''}:{' '.join(meeting.course.name.split()).casefold()}"
    place = name or meeting.course.course_id
    return f"live:{meeting.race_date}:{place}" if meeting.race_date and _day_of(meeting) and place else None


def make(session: Session, key: str, meeting: Meeting, channels: Iterable[str], received_at: datetime) -> None:
    """Unless the channel has the live message."""
    message_store.add(
        session,
        [
            NewPost(
                channel,
                f"{key}@{channel}",
                MessageKind.LIVE,
                Priority.OTHER,
                received_at,
                meeting=meeting.model_dump_json(),
            )
            for channel in channels
        ],
    )


def of_channels(session: Session, key: str, channels: Collection[str]) -> dict[str, int]:
    """Channel → its live message."""
    statement = select(col(OutboxMessage.channel_id), col(OutboxMessage.id)).where(
        col(OutboxMessage.idempotency_key).in_([f"{key}@{channel}" for channel in sorted(channels)]),
        col(OutboxMessage.state) != MessageState.DEAD_LETTER,
        ~_IS_GONE,
    )
    return {channel: number for channel, number in session.execute(statement) if number}


def edit(
    session: Session, key: str, meeting: Meeting, live: Mapping[str, int], *, news_id: int, received_at: datetime
) -> None:
    """Queue an edit of each live message without a queued edit.

    Call last in a transaction, so that the transaction waits for no lock after the messages' locks. A live message that
    another replica is claiming may have missed the news, and gets an edit.
    """
    numbers = sorted(live.values())
    waiting = (
        select(col(OutboxMessage.id), col(OutboxMessage.edits_id))
        .where(or_(col(OutboxMessage.id).in_(numbers), col(OutboxMessage.edits_id).in_(numbers)))
        .where(col(OutboxMessage.state) == _QUEUED)
        .with_for_update(skip_locked=True)
    )
    fresh = {edits_id or number for number, edits_id in session.execute(waiting)}
    message_store.add(
        session,
        [
            NewPost(
                channel,
                f"{key}@{channel}~{news_id}",
                MessageKind.LIVE_EDIT,
                Priority.OTHER,
                received_at,
                edits_id=number,
                meeting=meeting.model_dump_json(),
            )
            for channel, number in sorted(live.items())
            if number not in fresh
        ],
    )


def threads(session: Session, message_ids: Collection[int]) -> dict[int, str]:
    """Live message → ts, for live messages with a thread."""
    if not message_ids:
        return {}
    statement = select(col(OutboxMessage.id), col(OutboxMessage.message_ts)).where(
        col(OutboxMessage.id).in_(sorted(message_ids)), col(OutboxMessage.message_ts).is_not(None), ~_IS_GONE
    )
    return {number: ts for number, ts in session.execute(statement) if number and ts}


def read(session: Session, posts: Sequence[OutboxMessage]) -> dict[int, LiveMeeting]:
    """By message, for live messages and edits of live messages."""
    if not posts:
        return {}
    edited = select(OutboxMessage).where(col(OutboxMessage.id).in_(sorted(post.edits_id or 0 for post in posts)))
    lives = {post.id: post for post in session.execute(edited).scalars()}
    days: dict[tuple[str | None, str | None], Outcomes] = {}
    found: dict[int, LiveMeeting] = {}
    for post in posts:
        meeting = Meeting.model_validate_json(post.content or "{}")
        of = (meeting.model_dump_json(), meeting.race_date)
        if of not in days:
            days[of] = _outcomes(session, meeting)
        found[post.id or 0] = LiveMeeting(lives.get(post.edits_id, post), meeting, days[of])
    return found


def _outcomes(session: Session, meeting: Meeting) -> Outcomes:
    day = _day_of(meeting)
    if day is None:
        return Outcomes()
    since, until = (datetime.combine(day, clock, UTC) for clock in (time.min, time.max))
    races = [one.race for one in race_book_store.of_day(session, day.isoformat(), meeting.region)]
    told = race_book_store.told_of_day(session, day.isoformat(), since, until)
    return outcomes_of(races, told, meeting.region, meeting.course)


def _day_of(meeting: Meeting) -> date | None:
    try:
        return date.fromisoformat(meeting.race_date or "")
    except ValueError:
        return None
