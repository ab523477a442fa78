"""Live messages of meetings, kept up to date, with the meeting's results in the thread.

Live messages and their edits have no event, so that no channel counts as told by a live message. A live message is
rendered when sent, so that a waiting edit has all later news.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import ColumnElement, func, literal_column, or_, select, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.channels.filters import Meeting
from bot.db.tables import MessageKind, MessageState, OutboxMessage
from bot.outbox import message_store
from bot.outbox.message_store import NewPost, Priority
from bot.racedata import day_path, race_book_store
from bot.racedata.day_card import Outcomes
from bot.racedata.meeting_day import KnownDay, folded_name, outcomes_at

LIVE_FOR = timedelta(days=1)
"""After a meeting's day, which may end later than a day of UTC. Then live messages are needless."""

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
    """`post`: the live message. `is_whole`: the race book has the whole card."""

    post: OutboxMessage
    meeting: Meeting
    outcomes: Outcomes
    is_whole: bool = True


def keys_of(meeting: Meeting) -> tuple[str, ...]:
    """The beginnings of the live message's key; empty for a meeting without day or course.

    The first is of a new message. The others are of a message that was made while less was known of the meeting.
    """
    name = folded_name(meeting.course.name)
    regions = dict.fromkeys((meeting.region or "", "")) if name else ()
    places = [*(f"{region}:{name}" for region in regions), meeting.course.course_id]
    day = _day_of(meeting)
    return tuple(f"live:{day}:{place}" for place in places if place) if day else ()


def is_of_day_before(moment: datetime) -> ColumnElement[bool]:
    """Of a live message, or of its edit: the meeting's day."""
    return col(OutboxMessage.idempotency_key) < f"live:{moment.date()}"


def is_over(meeting: Meeting, now: datetime) -> bool:
    day = _day_of(meeting)
    return day is not None and day < (now - LIVE_FOR).date()


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
                written=meeting.model_dump_json(),
            )
            for channel in channels
        ],
    )


def of_channels(session: Session, keys: Sequence[str], channels: Collection[str]) -> dict[str, int]:
    """Channel → its live message."""
    statement = (
        select(col(OutboxMessage.channel_id), col(OutboxMessage.id))
        .where(
            col(OutboxMessage.idempotency_key).in_(
                [f"{key}@{channel}" for key in keys for channel in sorted(channels)]
            ),
            col(OutboxMessage.state) != MessageState.DEAD_LETTER,
            ~_IS_GONE,
        )
        .order_by(col(OutboxMessage.id).desc())
    )
    return {channel: number for channel, number in session.execute(statement) if number}


def edit(session: Session, key: str, meeting: Meeting, live: Mapping[str, int], received_at: datetime) -> None:
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
                f"{key}@{channel}~{secrets.token_hex(8)}",
                MessageKind.LIVE_EDIT,
                Priority.OTHER,
                received_at,
                edits_id=number,
                written=meeting.model_dump_json(),
            )
            for channel, number in sorted(live.items())
            if number not in fresh
        ],
    )


def move(session: Session, old_id: str, new_id: str) -> None:
    """Find the channel's live messages under the channel's new id. A message in doubt is looked for by its old key."""
    other = aliased(OutboxMessage)
    moved = func.replace(col(OutboxMessage.idempotency_key), f"@{old_id}", f"@{new_id}")
    statement = update(OutboxMessage).where(
        col(OutboxMessage.channel_id) == old_id,
        col(OutboxMessage.kind) == MessageKind.LIVE,
        col(OutboxMessage.state).in_([MessageState.QUEUED, MessageState.SENT]),
        ~select(col(other.id)).where(col(other.idempotency_key) == moved).exists(),
    )
    session.execute(statement.values(idempotency_key=moved).execution_options(synchronize_session=False))


def threads(session: Session, message_ids: Collection[int]) -> dict[int, str]:
    """Live message → ts, for live messages with a thread."""
    if not message_ids:
        return {}
    statement = select(col(OutboxMessage.id), col(OutboxMessage.message_ts)).where(
        col(OutboxMessage.id).in_(sorted(message_ids)), col(OutboxMessage.message_ts).is_not(None), ~_IS_GONE
    )
    return {number: ts for number, ts in session.execute(statement) if number and ts}


def read(session: Session, posts: Sequence[OutboxMessage], now: datetime) -> dict[int, LiveMeeting]:
    """By message, for live messages and edits of live messages."""
    if not posts:
        return {}
    edited = select(OutboxMessage).where(col(OutboxMessage.id).in_(sorted(post.edits_id or 0 for post in posts)))
    lives = {post.id: post for post in session.execute(edited).scalars()}
    days: dict[date, KnownDay] = {}
    shown: dict[str, tuple[Outcomes, bool]] = {}
    found: dict[int, LiveMeeting] = {}
    for post in posts:
        meeting = Meeting.model_validate_json(post.content or "{}")
        of, day = meeting.model_dump_json(), _day_of(meeting)
        if day is not None and day not in days:
            days[day] = _known_day(session, day)
        if of not in shown:
            shown[of] = (
                outcomes_at(days[day], meeting.course, meeting.region) if day else Outcomes(),
                day is not None and day_path.is_whole(session, meeting.region, day, now),
            )
        found[post.id or 0] = LiveMeeting(lives.get(post.edits_id, post), meeting, *shown[of])
    return found


def _known_day(session: Session, day: date) -> KnownDay:
    since, until = (datetime.combine(day, clock, UTC) for clock in (time.min, time.max))
    return race_book_store.known_day(session, day.isoformat(), since, until)


def _day_of(meeting: Meeting) -> date | None:
    try:
        return date.fromisoformat(meeting.race_date or "")
    except ValueError:
        return None
