"""New messages for news that a message can't show.

Slack refused the edit, or the message was given up. An admin may post an alert that was given up after all.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from sqlalchemy import Select, case, delete, exists, select, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.engine import insert_once, table_of
from bot.db.tables import EventVersion, MessageKind, OutboxMessage, Reason, SaidRow
from bot.events import event_store, named_races
from bot.events.event import EventKind, RacingEvent
from bot.outbox import acknowledgements, message_store, telling_store
from bot.outbox.message_store import IS_DEAD, NewPost, Priority
from bot.outbox.states import write
from bot.outbox.telling_store import ShownBeside

AGAIN = "#again"
"""Ends the key of an alert posted after all. A second press finds the key taken."""

OFFERED_FOR = timedelta(days=2)
"""After the receipt: an older alert is no news."""

LOOKED_AT = 100
"""The newest dead letters."""

_AGAIN = aliased(OutboxMessage)


@dataclass(frozen=True)
class DeadLetter:
    message_id: int
    channel_id: str
    event: RacingEvent
    reason: str
    given_up_at: datetime


def newest(session: Session, at_most: int, now: datetime) -> Sequence[DeadLetter]:
    """Alerts in force, not posted after all yet. Notices and edits are left out."""
    statement = _offered(now).order_by(col(OutboxMessage.given_up_at).desc(), col(OutboxMessage.id).desc())
    offered = session.execute(statement.limit(LOOKED_AT)).all()
    in_force = (pair for pair in offered if _is_in_force(session, *pair))
    return [_dead_letter(*pair) for pair in islice(in_force, at_most)]


def post_again(session: Session, message_id: int, now: datetime) -> str | None:
    """Queue the alert as a new message. The channel's id; None for an alert outside `newest`.

    The new message keeps the event's receipt and hour, and so says the lateness. An acknowledgement goes on with the
    new message.
    """
    found = session.execute(_offered(now).where(col(OutboxMessage.id) == message_id)).first()
    if found is None or not _is_in_force(session, *found):
        return None
    post: OutboxMessage = found[0]
    again = NewPost(
        post.channel_id,
        f"{post.idempotency_key}{AGAIN}",
        MessageKind.EVENT,
        Priority(post.priority),
        post.received_at,
        event_id=post.event_id,
        due_at=post.due_at,
    )
    made = message_store.add(session, [again])
    for number in made.values():
        acknowledgements.ask_instead(session, number, message_id, now)
    return post.channel_id if made else None


def _offered(now: datetime) -> Select[OutboxMessage, EventVersion]:
    return (
        select(OutboxMessage, EventVersion)
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .where(IS_DEAD)
        .where(col(OutboxMessage.kind) == MessageKind.EVENT, col(OutboxMessage.reason) != Reason.UNSUBSCRIBED)
        .where(col(OutboxMessage.received_at) > now - OFFERED_FOR)
        .where(~exists().where(col(_AGAIN.idempotency_key) == col(OutboxMessage.idempotency_key) + AGAIN))
    )


def _is_in_force(session: Session, post: OutboxMessage, version: EventVersion) -> bool:
    """False after a later version or a contradicting event, told in the channel or not.

    Also false where the message of the abandoned meeting tells the race's loss. A message that only links the meeting
    does not count.
    """
    event, _ = event_store.known(version)
    found = event_store.around(session, event_store.around_of([event])).values()
    for row in (row for rows in found for row in rows if (row.id or 0) > (version.id or 0)):
        is_of_race = row.event_key == event.contradicting_key or row.race_id == version.race_id is not None
        # The remarks decide, because a version of mere additions contradicts nothing.
        if row.event_key == version.event_key or (is_of_race and event_store.contradicted_by(row) == version.kind):
            return False
    if version.kind != EventKind.RACE_ABANDONED:
        return True
    meetings = event_store.latest(session, named_races.naming(session, [version.race_id]))
    told = telling_store.told(session, meetings, channels=[post.channel_id])
    return not any(
        one.id > post.id or (meetings[one.event_key].id or 0) > (version.id or 0)
        for one in told
        if one.is_own and one.tells
    )


def _dead_letter(post: OutboxMessage, version: EventVersion) -> DeadLetter:
    event, _ = event_store.known(version)
    assert post.given_up_at is not None, "a CHECK constraint of the table"
    return DeadLetter(post.id, post.channel_id, event, post.detail or post.reason or "", post.given_up_at)


_SAID = table_of(SaidRow)


def say_apart(
    session: Session, post: OutboxMessage, now: datetime, cannot: Callable[[ShownBeside], bool] = lambda _: True
) -> None:
    """`cannot`: True for an event that `post` can't show, among the post's events not shown in Slack yet.

    A correction becomes a message, and so does a race's abandonment, unless another message of the channel tells the
    same or a newer version. A correction takes over the other events, and an abandonment the events of the race. A mere
    link is left out.
    """
    beside = telling_store.shown_beside(session, [post.id]).get(post.id, [])
    unsaid = [one for one in beside if one.said.said_at is None and cannot(one)]
    found = [one.event for one in unsaid]
    corrections = [one.event for one in unsaid if one.event.event_key == one.own.event_key]
    for one in corrections:
        if _is_told(session, post, one, since=one.version):
            continue
        number = _make(session, post, one)
        if number is not None:
            _take_over(session, post, one, number, found)
            acknowledgements.ask_instead(session, number, post.id, now)
            return
    lost = [one for one in found if one.kind == EventKind.RACE_ABANDONED and one not in corrections]
    for one in lost:
        # A separate message about any version is enough.
        if not _is_told(session, post, one, since=1) and (number := _make(session, post, one)) is not None:
            of_race = _of_race(one, [each.event for each in beside])
            session.add_all([SaidRow(message_id=number, event_id=event_id) for event_id in of_race])


def say_unnoted(session: Session, pairs: Collection[tuple[int, int]], now: datetime) -> None:
    """Some messages were given up before noting an event to show. `pairs`: message and event."""
    if not pairs:
        return
    given_up = select(OutboxMessage).where(
        col(OutboxMessage.id).in_(sorted({number for number, _ in pairs})),
        IS_DEAD,
        col(OutboxMessage.reason) != Reason.UNSUBSCRIBED,
    )
    found = session.execute(given_up.execution_options(populate_existing=True)).scalars()
    posts = {post.id: post for post in found}
    for message_id, event_id in sorted(pairs):
        if (post := posts.get(message_id)) is not None:
            row = {"message_id": message_id, "event_id": event_id, "rev": 0}
            session.connection().execute(insert_once(session, SaidRow), row)
            say_apart(session, post, now, partial(_is_of, event_id))


def _is_of(event_id: int, one: ShownBeside) -> bool:
    return one.said.event_id == event_id


def _of_race(lost: EventVersion, found: Sequence[EventVersion]) -> list[int]:
    """Later versions of the abandonment, and contradicting results."""
    key = event_store.known(lost)[0].contradicting_key
    later = [one for one in found if one.event_key == lost.event_key and one.version > lost.version]
    of_race = [one for one in found if one.event_key == key or (one.race_id and one.race_id == lost.race_id)]
    denying = [one for one in of_race if event_store.contradicted_by(one) == lost.kind]
    return [one.id or 0 for one in (*later, *denying)]


def _is_told(session: Session, post: OutboxMessage, event: EventVersion, *, since: int) -> bool:
    """True if another message or a summary in the channel told the event, from version `since` on."""
    told = telling_store.told(session, [event.event_key], channels=[post.channel_id])
    others = [one for one in told if one.is_own and one.tells and post.id not in {one.id, one.by}]
    return any(one.version >= since for one in others)


def _make(session: Session, post: OutboxMessage, event: EventVersion) -> int | None:
    new = NewPost(
        post.channel_id,
        f"{event.event_key}#{event.version}@{post.channel_id}~{post.id}",
        MessageKind.EVENT,
        Priority(post.priority),
        event.received_at,
        event.id,
    )
    return message_store.insert(session, [new]).get(new.idempotency_key)


def _take_over(
    session: Session, post: OutboxMessage, event: EventVersion, number: int, unsaid: Sequence[EventVersion]
) -> None:
    of_post = _SAID.c.message_id == post.id
    session.execute(delete(_SAID).where(of_post, _SAID.c.event_id == event.id))
    others = [one.id for one in unsaid if one is not event]
    rev = case((_SAID.c.event_id.in_(others), 1), else_=0) if others else 0
    session.execute(update(_SAID).where(of_post).values(message_id=number, rev=rev))
    if others:
        write(session, col(OutboxMessage.id) == number, wanted_rev=1)
