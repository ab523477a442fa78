"""Live messages of meetings, kept up to date, with the meeting's results in the thread.

Live messages and their edits have no event: no channel counts as told by a live message. A live message is rendered
when sent: a waiting edit has all later news.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache, partial
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, bindparam, delete, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.channels import subscriptions
from bot.channels.conditions.event_conditions import takes_course
from bot.channels.filters import ALL_REGIONS, Meeting
from bot.db.engine import insert_once
from bot.db.named_values import parsed
from bot.db.tables import LiveMeetingRow, MessageKind, OutboxMessage
from bot.events.days import racing_day
from bot.events.event import Topic
from bot.events.race_state import STILL_OPEN
from bot.outbox import message_store, telling_store
from bot.outbox.message_store import IS_DEAD, IS_QUEUED, NewPost, Priority
from bot.outbox.telling_store import Bump
from bot.racedata.day import folded_name, is_whole, known_day
from bot.racedata.day_card import Outcomes, to_come_until

LIVE_FOR = timedelta(days=1)
"""After a meeting's day, which may end later than a day of UTC. Then live messages are needless."""

EDITS_PER_COMMIT = 20
"""The number is small, because intake waits for the transaction."""

PLACE_MAX = 200
"""Characters of region and course in a key. A longer place is hashed."""

_IS_GONE = col(OutboxMessage.gone_since).is_not(None)

_IS_ITS_MESSAGE = and_(
    col(OutboxMessage.id) == col(LiveMeetingRow.message_id), col(OutboxMessage.kind) == MessageKind.LIVE
)


class ResultsIn(StrEnum):
    """Where the channel's filters have the meeting's results told."""

    THREAD = "thread"
    CHANNEL = "channel"
    NOWHERE = "nowhere"


@dataclass(frozen=True)
class LiveMeeting:
    """`post`: the live message. `is_whole`: the race book has the whole card."""

    post: OutboxMessage
    meeting: Meeting
    outcomes: Outcomes
    is_whole: bool = True
    results_in: ResultsIn = ResultsIn.THREAD


def key_of(meeting: Meeting) -> str | None:
    """The beginning of the key of a new live message; None for a meeting without day or course."""
    day, name = racing_day(meeting.race_date), folded_name(meeting.course.name)
    place = f"{meeting.region or ''}:{name}" if name else meeting.course.course_id
    if place and len(place) > PLACE_MAX:
        # An index takes no long text.
        place = hashlib.sha256(place.encode()).hexdigest()
    return f"live:{day}:{place}" if day and place else None


def is_of_day_before(moment: datetime) -> ColumnElement[bool]:
    """True for a live message whose meeting's day is before the moment's."""
    before = select(col(LiveMeetingRow.message_id)).where(col(LiveMeetingRow.race_date) < str(moment.date()))
    return col(OutboxMessage.id).in_(before)


def is_over(meeting: Meeting, now: datetime) -> bool:
    day = racing_day(meeting.race_date)
    return day is not None and day < (now - LIVE_FOR).date()


def make(session: Session, meeting: Meeting, channels: Iterable[str], received_at: datetime) -> None:
    """Unless the channel has a message of the same key."""
    key = key_of(meeting)
    content = meeting.model_dump_json()
    posts = [
        NewPost(channel, f"{key}@{channel}", MessageKind.LIVE, Priority.OTHER, received_at, content=content)
        for channel in channels
    ]
    message_store.add(session, posts)
    # A message made earlier may lack its row: such a message gets a row too.
    made = message_store.ids_of(session, [one.idempotency_key for one in posts])
    rows = [{"message_id": number, **_columns(meeting)} for number in made.values()]
    session.connection().execute(insert_once(session, LiveMeetingRow), rows)


def of_channels(session: Session, meeting: Meeting, channels: Collection[str]) -> dict[str, int | None]:
    """Channel → its live message of the meeting. The rows learn what the meeting knows.

    None for a channel that gets no other: its live message was given up or deleted, or one of several may be meant.
    """
    there: dict[str, list[tuple[LiveMeetingRow, bool]]] = {}
    for found, channel, usable in _of_course(session, meeting, channels):
        there.setdefault(channel, []).append((found, usable))
    live: dict[str, int | None] = {}
    for channel, rows in there.items():
        meant = _meant([found for found, _ in rows], meeting.region)
        if meant is not None:
            _learn(meant, meeting)
            live[channel] = meant.message_id if (meant, True) in rows else None
        elif meeting.region is None:
            live[channel] = None
    session.flush()
    return live


_OF_COURSE = (
    select(
        LiveMeetingRow,
        col(OutboxMessage.channel_id),
        and_(~IS_DEAD, ~_IS_GONE),
    )
    .join(OutboxMessage, _IS_ITS_MESSAGE)
    .where(col(LiveMeetingRow.race_date) == bindparam("day"))
    .where(
        or_(
            col(LiveMeetingRow.course_id) == bindparam("course_id"),
            col(LiveMeetingRow.folded_name) == bindparam("name"),
        )
    )
    .where(col(OutboxMessage.channel_id).in_(bindparam("channels", expanding=True)))
    .order_by(col(LiveMeetingRow.message_id))
)


def _of_course(
    session: Session, meeting: Meeting, channels: Collection[str]
) -> Sequence[Row[LiveMeetingRow, str, bool]]:
    """Rows of the day and course, each with the channel, and whether the message may be edited."""
    place = {"course_id": meeting.course.course_id, "name": folded_name(meeting.course.name) or None}
    if not channels:
        return ()
    return session.execute(_OF_COURSE, {"day": meeting.race_date, **place, "channels": sorted(channels)}).all()


def _meant(rows: Sequence[LiveMeetingRow], region: str | None) -> LiveMeetingRow | None:
    """The row of the region, else the row without a region. Without a region: the only row."""
    if region is None:
        return rows[0] if len(rows) == 1 else None
    of_region = [row for row in rows if row.region == region]
    return next(iter(of_region or [row for row in rows if row.region is None]), None)


def _learn(row: LiveMeetingRow, meeting: Meeting) -> None:
    for name, value in _columns(meeting).items():
        if value is not None and getattr(row, name) is None:
            setattr(row, name, value)


def _columns(meeting: Meeting) -> dict[str, str | None]:
    return {
        "race_date": meeting.race_date,
        "region": meeting.region,
        "course_id": meeting.course.course_id,
        "course_name": meeting.course.name,
        "folded_name": folded_name(meeting.course.name) or None,
    }


def delete_unsent(session: Session, channel_id: str) -> None:
    """Edits that are due are not made. SQLite gives the number of a deleted message to another message."""
    of_channel = (col(OutboxMessage.channel_id) == channel_id, col(OutboxMessage.kind) == MessageKind.LIVE)
    telling_store.cancel_edits(session, *of_channel)
    unsent = select(col(OutboxMessage.id)).where(*of_channel, IS_QUEUED)
    session.execute(delete(LiveMeetingRow).where(col(LiveMeetingRow.message_id).in_(unsent)))
    session.execute(delete(OutboxMessage).where(col(OutboxMessage.id).in_(unsent)))


def of_regions(session: Session, meeting: Meeting, channels: Collection[str]) -> set[int]:
    """The usable live messages of the course and day, of any region: an event without a region may mean each."""
    return {row.message_id for row, _, is_usable in _of_course(session, meeting, channels) if is_usable}


def threads(session: Session, replies: Collection[int]) -> dict[int, str]:
    """Reply → the ts of its thread. A live message that was gone at the reply's last call has no thread."""
    if not replies:
        return {}
    found = session.execute(_THREADS, {"replies": sorted(replies)})
    return {number: ts for number, ts in found}  # noqa: C416  rows are no pairs to mypy


_REPLY = aliased(OutboxMessage)
_THREADS = (
    select(col(_REPLY.id), col(OutboxMessage.message_ts))
    .join(_REPLY, col(_REPLY.thread_of) == col(OutboxMessage.id))
    .where(col(_REPLY.id).in_(bindparam("replies", expanding=True)), col(OutboxMessage.message_ts).is_not(None))
    .where(or_(~_IS_GONE, col(_REPLY.sending_at) < col(OutboxMessage.gone_since)))
)


def read(session: Session, posts: Sequence[OutboxMessage], now: datetime) -> dict[int, LiveMeeting]:
    """The meetings by message, for live messages to be sent or edited.

    Notes when the words will be out of date. A row that fan-out holds is passed over, because fan-out adds an edit.
    """
    if not posts:
        return {}
    kept = {row.message_id: row for row in session.execute(_rows(posts)).scalars()}
    mine = set(
        session.execute(_rows(posts, col(LiveMeetingRow.message_id)).with_for_update(skip_locked=True)).scalars()
    )
    known = cache(partial(known_day, session))

    @cache
    def shown(meeting: Meeting) -> tuple[Outcomes, bool]:
        day = racing_day(meeting.race_date)
        if day is None:
            return Outcomes(), False
        return known(day).meeting(meeting.course, meeting.region), is_whole(session, meeting.region, day)

    found: dict[int, LiveMeeting] = {}
    for post in posts:
        meeting = parsed(Meeting, post.content, post=post.idempotency_key) or Meeting()
        if (row := kept.get(post.id)) is not None:
            meeting = _as_known(meeting, row)
        results_in = _results_in(session, post.channel_id, meeting)
        found[post.id] = LiveMeeting(post, meeting, *shown(meeting), results_in)
        if row is not None and row.message_id in mine:
            row.changes_at = _changes_at(found[post.id].outcomes, now)
    session.flush()
    return found


def _results_in(session: Session, channel_id: str, meeting: Meeting) -> ResultsIn:
    filters = subscriptions.filters_of(session, channel_id)
    regions = {ALL_REGIONS, meeting.region}
    here = [
        chosen
        for chosen in filters
        if (meeting.region is None or chosen.region in regions) and takes_course(chosen, meeting.course)
    ]
    taking = [chosen for chosen in here if Topic.RESULTS in chosen.topics]
    if not taking:
        return ResultsIn.NOWHERE
    return ResultsIn.THREAD if any(chosen.show for chosen in taking) else ResultsIn.CHANNEL


def first_out_of_date(session: Session, now: datetime) -> object | None:
    """None if `edit_what_is_out_of_date` would find no message."""
    return session.execute(_out_of_date(now)).first()


def _out_of_date(now: datetime) -> Select[LiveMeetingRow, str]:
    row = LiveMeetingRow
    return (
        select(row, col(OutboxMessage.channel_id))
        .join(OutboxMessage, _IS_ITS_MESSAGE)
        .where(col(row.changes_at).is_not(None), col(row.changes_at) <= now)
        .where(col(OutboxMessage.message_ts).is_not(None), ~_IS_GONE)
        .order_by(col(row.changes_at), col(row.message_id))
        .limit(EDITS_PER_COMMIT)
    )


def edit_what_is_out_of_date(session: Session, channels: Callable[[], Collection[str]], now: datetime) -> int:
    """Queue an edit of each live message whose time has come, in the channels. Returns the number of rows looked at.

    `channels`: the channels with live messages, asked for only if the time of a message has come.
    """
    due = _out_of_date(now).with_for_update(of=LiveMeetingRow, skip_locked=True)
    found = [(one, channel) for one, channel in session.execute(due)]
    listening = channels() if found else ()
    for one, _ in found:
        one.changes_at = None
    session.flush()
    telling_store.bump(session, {one.message_id: Bump(now) for one, channel in found if channel in listening})
    return len(found)


def _changes_at(outcomes: Outcomes, now: datetime) -> datetime | None:
    """When the first race to come is to come no more."""
    coming = [to_come_until(race) for race, outcome in outcomes.in_order() if outcome in STILL_OPEN]
    return min((until for until in coming if until and until > now), default=None)


def _rows(posts: Sequence[OutboxMessage], column: Any = LiveMeetingRow) -> Select[Any]:
    return select(column).where(col(LiveMeetingRow.message_id).in_(sorted({post.id for post in posts})))


def _as_known(meeting: Meeting, row: LiveMeetingRow) -> Meeting:
    course = meeting.course.model_copy(update={"course_id": row.course_id, "name": row.course_name})
    known = {"course": course, "race_date": row.race_date, "region": row.region, "meeting_id": None}
    return meeting.model_copy(update=known)
