"""The steps of escalations: whom the bot tells while nobody has taken an abandonment.

Each step moves the acknowledgement and makes the step's messages in one transaction, so that a kill repeats no step.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col

from bot.channels.conditions.event_conditions import is_person
from bot.db.engine import is_one_of
from bot.db.tables import (
    Acknowledgement,
    AckState,
    ChannelQueue,
    EventVersion,
    InboxDelivery,
    MessageKind,
    MessageState,
    OutboxMessage,
    QueueState,
    Reason,
)
from bot.events.days import ends_at, racing_day
from bot.logs import get_logger
from bot.outbox import message_store
from bot.outbox.acknowledgements import ALERTS, MINUTE, OPEN, Escalated, StoredRequest, asked_of, move
from bot.outbox.message_store import NewPost, Priority
from bot.outbox.notices import Notices
from bot.outbox.states import UNSENT

log = get_logger(__name__)

STEPS_PER_COMMIT = 50

ESCALATED_FOR = timedelta(days=1)
"""After the post, where the abandonment has no date, or came after its day."""

REMINDER = "reminder"
"""Ends the key of the message that mentions people."""

UNREADABLE = StoredRequest(minutes=0)

Absent = Collection[tuple[str, str]]
"""Channel and person: the person is not in the channel, as Slack says."""


@dataclass(frozen=True)
class Open:
    """An abandonment that nobody has taken, with a step left. `asked`: UNREADABLE, or as stored.

    `told_at`: since when somebody could have taken the abandonment, or since when the channel could not be told; by
    the clock of the database. None for a message that waits for the channel.
    """

    row: Acknowledgement
    alert: OutboxMessage
    is_closed: bool
    race_date: str | None
    told_at: datetime | None
    asked: StoredRequest

    @property
    def is_folded(self) -> bool:
        """The message may be unfolded, and asks on then."""
        return self.alert.state == MessageState.FOLDED

    @property
    def is_lost(self) -> bool:
        return self.alert.state == MessageState.DEAD_LETTER

    def is_moot(self, now: datetime) -> bool:
        """Nobody wants the abandonment, or the message waited too long, or a summary has told of the abandonment."""
        needless = (Reason.UNSUBSCRIBED, Reason.WAITED_TOO_LONG)
        is_unwanted = self.is_lost and self.alert.reason in needless
        return is_unwanted or (self.is_folded and self.is_past(now))

    def is_due(self, now: datetime) -> bool:
        since = self.row.stepped_at or self.told_at
        if since is None or self.is_folded or self.asked is UNREADABLE:
            return False
        # A moment further ahead than the wait was written before somebody set the clock back.
        return abs(now - max(since, self.asked.given_back_at or since)) >= self.asked.minutes * MINUTE

    def is_past(self, now: datetime) -> bool:
        """The day of the race is over: nobody is rung for the abandonment any more."""
        since = self.told_at or self.alert.received_at
        ends = [since + ESCALATED_FOR]
        if (day := racing_day(self.race_date)) is not None:
            ends.append(ends_at(day))
        return max(ends) <= now

    def minutes_untaken(self, now: datetime) -> int:
        """Whole minutes. A message in the place of an earlier message may be younger than the last step."""
        since = self.told_at or self.alert.received_at
        if self.row.stepped_at is not None:
            since = min(since, self.row.stepped_at - self.asked.minutes * MINUTE)
        return max(1, (now - since) // MINUTE)

    @property
    def elsewhere(self) -> list[str]:
        return [channel_id for channel_id in self.asked.channels if channel_id != self.alert.channel_id]

    @property
    def reminds(self) -> bool:
        """The step posts in the channel of the abandonment."""
        wanted = bool(self.asked.people or self.is_lost or not self.elsewhere)
        return self.row.state == AckState.ASKED and wanted and not self.is_closed


def escalate(session: Session, now: datetime, notices: Notices, absent: Absent = ()) -> int:
    """Take the steps that are due. Returns how many; rows that another replica holds are left out.

    An abandonment whose day is over rings nobody: admins are told once, with the number.
    """
    steps = 0
    past: list[Open] = []
    channels = {channel_id for one in _due(session, now) for channel_id, _, _ in _posts(one, absent)}
    # Before the locks: fan-out makes queues first too.
    message_store.make_queues(session, channels.union(notices.places(session)))
    for one in _open(session, locked=True):
        if one.is_moot(now):
            steps += move(session, [one.row.message_id], OPEN, state=AckState.REPLACED)
        elif one.asked is UNREADABLE:
            notices.unreadable_acknowledgement(session, one.alert.channel_id, one.alert.idempotency_key)
        elif one.is_due(now):
            if not one.is_past(now):
                steps += _step(session, one, now, absent)
            elif move(session, [one.row.message_id], OPEN, state=AckState.UNANSWERED):
                past.append(one)
        if steps >= STEPS_PER_COMMIT:
            break
    if past:
        notices.not_escalated(session, past[0].alert.idempotency_key, [one.alert.channel_id for one in past])
    return steps + len(past)


def first_open(session: Session) -> Open | None:
    """An abandonment with a step left."""
    return next(_open(session), None)


def people_to_be_told(session: Session, now: datetime) -> dict[str, set[str]]:
    """Channel → the people whom steps that are due mention there."""
    found: dict[str, set[str]] = {}
    for one in _due(session, now):
        if one.reminds:
            found.setdefault(one.alert.channel_id, set()).update(filter(is_person, one.asked.people))
    return {channel_id: people for channel_id, people in found.items() if people}


def _due(session: Session, now: datetime) -> Iterator[Open]:
    return (one for one in _open(session) if one.is_due(now) and not one.is_past(now))


def _open(session: Session, *, locked: bool = False) -> Iterator[Open]:
    statement = (
        ALERTS.add_columns(col(ChannelQueue.state), col(InboxDelivery.done_at))
        .join(ChannelQueue, col(ChannelQueue.channel_id) == col(OutboxMessage.channel_id))
        .join(InboxDelivery, col(InboxDelivery.id) == col(EventVersion.inbox_id))
        .where(is_one_of(Acknowledgement.state, OPEN))
        .order_by(col(Acknowledgement.message_id))
    )
    if locked:
        statement = statement.with_for_update(of=Acknowledgement, skip_locked=True)
    for row, alert, version, queue_state, fanned_out_at in session.execute(statement).all():
        is_closed = queue_state == QueueState.CLOSED
        told_at = alert.sent_at or alert.given_up_at
        if is_closed and alert.state in UNSENT:
            # The moment of receipt is by the receiver's clock.
            told_at = fanned_out_at or alert.received_at
        yield Open(row, alert, is_closed, version.race_date, told_at, asked_of(row) or UNREADABLE)


def _posts(one: Open, absent: Absent) -> list[tuple[str, str, tuple[str, ...]]]:
    """The next step's messages: the channel, the end of the key, and the mentioned people.

    First people are mentioned in the channel. Then, or where nobody reads the channel, the other channels are told.
    Where Slack took no message of the abandonment, both are one step. People outside the channel get a direct message,
    and so do the people of a closed channel without another channel.
    """
    elsewhere, people = one.elsewhere, list(filter(is_person, one.asked.people))
    if not one.reminds:
        told = elsewhere or (people if one.row.state == AckState.ASKED else [])
        return [(channel_id, channel_id, ()) for channel_id in told]
    told = [person for person in people if (one.alert.channel_id, person) in absent]
    told += elsewhere if one.is_lost else []
    return [(one.alert.channel_id, REMINDER, one.asked.people), *((channel_id, channel_id, ()) for channel_id in told)]


def _step(session: Session, one: Open, now: datetime, absent: Absent) -> bool:
    """False while nobody can be told, because a channel is closed."""
    posts = _posts(one, absent)
    if one.is_closed and not posts:
        return False
    waits = one.reminds and one.elsewhere and not one.is_lost
    after = AckState.REMINDED if waits else AckState.UNANSWERED
    if not move(session, [one.row.message_id], OPEN, state=after, stepped_at=now):
        return False
    minutes = one.minutes_untaken(now)
    message_store.add(
        session,
        [
            NewPost(
                channel_id,
                f"{one.alert.idempotency_key}!{what}",
                MessageKind.ESCALATION,
                Priority.ABANDONMENT,
                now,
                content=Escalated(people=people, minutes=minutes).model_dump_json(),
                follows_id=one.row.message_id,
            )
            for channel_id, what, people in posts
        ],
    )
    channels = [channel_id for channel_id, _, _ in posts]
    log.info("escalated", post=one.alert.idempotency_key, state=after.value, channels=channels)
    return True
