"""Outcomes of claims. An outcome writes itself down by the claim's lease; without the lease nothing is written."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from sqlalchemy import Boolean, bindparam, literal_column, tuple_, update
from sqlmodel import Session, col

from bot.channels.conditions.mention_condition import is_person
from bot.db.engine import affected, table_of
from bot.db.tables import ChannelQueue, MessageKind, OutboxMessage, Reason
from bot.deliveries import inbox
from bot.events.event import EventKind
from bot.logs import get_logger
from bot.outbox import acknowledgements, call_holds
from bot.outbox.channel_closing import close_channel, end_closing
from bot.outbox.channel_queues import Claim
from bot.outbox.message_store import OVERRAN, has_edit_of, has_overrun, message_telling, unfold
from bot.outbox.notices import Notices
from bot.outbox.states import UNSENT, Happened, move, move_each, move_one

log = get_logger(__name__)

CREDENTIALS_HOLD = timedelta(seconds=60)

OVERRAN_WAIT = timedelta(seconds=1)

IN_DOUBT_WAIT = timedelta(seconds=1)
"""The least wait of a queue with a message in doubt."""


@dataclass(frozen=True)
class OutcomeContext:
    """`channel_pause`: between two messages in a channel."""

    notices: Notices
    channel_pause: timedelta

    def pause_after(self, claim: Claim) -> timedelta:
        """Edits are limited by method, not by channel."""
        return timedelta(0) if claim.edited else self.channel_pause


@dataclass(frozen=True)
class ClaimOutcome(ABC):
    """`name`: the label in the log and the metrics."""

    name: ClassVar[str]

    claim: Claim

    @abstractmethod
    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        """False if the lease is lost."""


@dataclass(frozen=True)
class Posted(ClaimOutcome):
    name = "sent"

    message_ts: str

    @property
    def is_simple(self) -> bool:
        """True if `record_simple` is enough."""
        claim = self.claim
        others = claim.view is not None and any(number != claim.post.id for number in claim.view.edits)
        return not (claim.in_doubt or claim.trial_since or others)

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        claim = self.claim
        if not record_sent(session, claim, self.message_ts, now, free_at=now + context.pause_after(claim)):
            return False
        # A found message may be older than the closing.
        if claim.edited or claim.in_doubt:
            return True
        context.notices.taken(claim.channel_id)
        if claim.trial_since:
            end_closing(session, context.notices, claim.channel_id, claim.trial_since, now)
        return True


@dataclass(frozen=True)
class Found(Posted):
    """In the channel's history, or in the edited message."""

    name = "found"

    @property
    def is_simple(self) -> bool:
        return False


@dataclass(frozen=True)
class NotSent(ClaimOutcome):
    """Certainly not sent. `plain`: plain text from now on; None changes nothing."""

    name = "retry"

    reason: str
    after_s: float = 0.0
    plain: bool | None = None

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        del context
        free_at = now + timedelta(seconds=self.after_s)
        return record_not_sent(session, self.claim, free_at=free_at, detail=self.reason, plain=self.plain)


@dataclass(frozen=True)
class Overran(ClaimOutcome):
    """Not sent, because rendering took too long. Sent later in plain form, after the messages of other channels."""

    name = "retry"

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        claim = self.claim
        if not record_not_sent(session, claim, free_at=now + OVERRAN_WAIT, detail=OVERRAN, plain=True):
            return False
        log.error("post_overran", post=claim.post.idempotency_key, read_s=round(claim.read_s, 3))
        reference = inbox.reference(claim.event.inbox_id) if claim.event else claim.post.idempotency_key
        context.notices.told_plainly(session, OVERRAN, claim.post.idempotency_key, reference)
        return True


@dataclass(frozen=True)
class NotEdited(ClaimOutcome):
    """The edit becomes a message of its own, or is needless."""

    name = "not_edited"

    reason: str

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        del context
        return record_not_edited(session, self.claim, free_at=now, detail=self.reason)


@dataclass(frozen=True)
class NotInThread(ClaimOutcome):
    """The message goes into the channel."""

    name = "not_in_thread"

    reason: str

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        del context
        return _release(session, self.claim, free_at=now) and move_one(
            session, Happened.NOT_IN_THREAD, self.claim.post.id, thread_of=None, detail=self.reason
        )


@dataclass(frozen=True)
class NoAnswer(ClaimOutcome):
    name = "doubtful"

    reason: str

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        del context
        free_at = max(self.claim.post.deadline_at or now, now + IN_DOUBT_WAIT)
        return record_in_doubt(session, self.claim, free_at=free_at, detail=self.reason, looks=0, failed_looks=0)


@dataclass(frozen=True)
class LookAgain(ClaimOutcome):
    """`looks` and `failed_looks`: the new counts."""

    name = "doubtful"

    reason: str
    after: timedelta
    looks: int
    failed_looks: int

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        del context
        counts = {"looks": self.looks, "failed_looks": self.failed_looks}
        return record_in_doubt(session, self.claim, free_at=now + self.after, detail=self.reason, **counts)


@dataclass(frozen=True)
class Repeated(ClaimOutcome):
    """`thread_of`: the live message; None for the channel. `is_stuck`: admins are told."""

    name = "repeat"

    reason: str
    plain: bool
    may_be_repeat: bool
    thread_of: int | None
    is_stuck: bool

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        if not record_repeated(
            session,
            self.claim,
            free_at=now,
            detail=self.reason,
            plain=self.plain,
            may_be_repeat=self.may_be_repeat,
            thread_of=self.thread_of,
        ):
            return False
        if self.is_stuck:
            context.notices.stuck(session, self.claim, now)
        return True


@dataclass(frozen=True)
class CallHeld(ClaimOutcome):
    """The queue goes on with messages for other kinds of call."""

    name = "wait"

    reason: str
    code: str
    wait_s: float

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        del context
        claim, until = self.claim, now + timedelta(seconds=self.wait_s)
        call_holds.hold_call(session, claim.call, until, self.code)
        if not claim.in_doubt:
            return record_not_sent(session, claim, free_at=now, detail=self.reason)
        counts = {"looks": claim.post.looks, "failed_looks": claim.post.failed_looks}
        return record_in_doubt(session, claim, free_at=until, detail=self.reason, **counts)


@dataclass(frozen=True)
class CredentialsDead(ClaimOutcome):
    """Every call is held."""

    name = "credentials_dead"

    reason: str

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        del context
        call_holds.hold_call(session, call_holds.EVERY_CALL, now + CREDENTIALS_HOLD, self.reason)
        log.error("slack_credentials_dead", reason=self.reason)
        return record_not_sent(session, self.claim, free_at=now, detail=self.reason)


@dataclass(frozen=True)
class GivenUp(ClaimOutcome):
    """Admins are told `told`, or else `detail`."""

    name = "parked"

    reason: Reason
    detail: str
    told: str | None = None

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        free_at = now + context.pause_after(self.claim)
        if not record_given_up(session, self.claim, now, free_at=free_at, reason=self.reason, detail=self.detail):
            return False
        is_closed = self.reason is Reason.NO_ENTRY
        context.notices.dead_letter(session, self.claim, self.told or self.detail, is_closed=is_closed)
        return True


@dataclass(frozen=True)
class ChannelClosed(ClaimOutcome):
    name = "channel_closed"

    code: str

    def record(self, session: Session, now: datetime, context: OutcomeContext) -> bool:
        claim = self.claim
        if is_person(claim.channel_id):
            # Only the person could open direct messages again.
            return GivenUp(claim, Reason.NO_ENTRY, self.code).record(session, now, context)
        if not record_not_sent(session, claim, free_at=now, detail=self.code):
            return False
        close_channel(session, context.notices, claim.channel_id, self.code, now)
        return True


def record_simple(session: Session, sent: Sequence[Posted], now: datetime, context: OutcomeContext) -> dict[str, bool]:
    """Channel → whether more waits there, for the leases still ours."""
    ours: dict[str, bool] = {}
    for pause in {context.pause_after(one.claim) for one in sent}:
        leases = [
            (one.claim.channel_id, one.claim.lease_token) for one in sent if context.pause_after(one.claim) == pause
        ]
        values = {"leases": leases, "free_at": now + pause}
        ours.update((channel_id, waits) for channel_id, waits in session.connection().execute(_FREED, values))
    written = [one for one in sent if one.claim.channel_id in ours]
    move_each(
        session,
        Happened.TAKEN,
        [
            {"number": one.claim.post.id, "message_ts": one.message_ts, "sent_at": now, "detail": None}
            for one in written
        ],
    )
    for one in written:
        if not one.claim.edited:
            context.notices.taken(one.claim.channel_id)
    return ours


_QUEUE = table_of(ChannelQueue)
_UNSENT = ", ".join(f"'{state}'" for state in UNSENT)
_SECOND_WAITS = (
    "EXISTS (SELECT 1 FROM message AS waiting WHERE waiting.channel_id = channel_queue.channel_id"  # noqa: S608
    f" AND waiting.state IN ({_UNSENT}) AND waiting.not_before IS NULL LIMIT 1 OFFSET 1)"
)
"""Made of constants. The first unsent message is the one just sent."""

_FREED = (
    update(_QUEUE)
    .where(tuple_(_QUEUE.c.channel_id, _QUEUE.c.lease_token).in_(bindparam("leases", expanding=True)))
    .values(lease_token=None, leased_until=None, next_free_at=bindparam("free_at"))
    .returning(
        _QUEUE.c.channel_id,
        # As text: on SQLite, RETURNING names no tables, so both channel_id columns would be the same.
        literal_column(_SECOND_WAITS, Boolean()),
    )
)


def record_sent(session: Session, claimed: Claim, message_ts: str, now: datetime, *, free_at: datetime) -> bool:
    """With the edits in the message."""
    if not _release(session, claimed, free_at=free_at):
        return False
    sent = {"message_ts": message_ts, "sent_at": now, "detail": None}
    if claimed.view and claimed.view.edits:
        together = [number for number in claimed.view.edits if number != claimed.post.id]
        move(session, Happened.SAID_TOGETHER, col(OutboxMessage.id).in_(together), **sent)
    return move_one(session, Happened.FOUND if claimed.in_doubt else Happened.TAKEN, claimed.post.id, **sent)


def record_not_sent(
    session: Session, claimed: Claim, *, free_at: datetime, detail: str, plain: bool | None = None
) -> bool:
    plain = claimed.post.plain if plain is None else plain
    return _release(session, claimed, free_at=free_at) and move_one(
        session, Happened.NOT_SENT, claimed.post.id, detail=_detail(claimed, detail), plain=plain
    )


def record_repeated(
    session: Session,
    claimed: Claim,
    *,
    free_at: datetime,
    detail: str,
    plain: bool,
    may_be_repeat: bool,
    thread_of: int | None,
) -> bool:
    return _release(session, claimed, free_at=free_at) and move_one(
        session,
        Happened.REPEATED,
        claimed.post.id,
        detail=_detail(claimed, detail),
        plain=plain,
        may_be_repeat=may_be_repeat,
        thread_of=thread_of,
        looks=0,
        failed_looks=0,
    )


def record_in_doubt(
    session: Session, claimed: Claim, *, free_at: datetime, detail: str, looks: int, failed_looks: int
) -> bool:
    happened = Happened.LOOKED if claimed.in_doubt else Happened.UNANSWERED
    return _release(session, claimed, free_at=free_at) and move_one(
        session, happened, claimed.post.id, detail=_detail(claimed, detail), looks=looks, failed_looks=failed_looks
    )


def record_given_up(
    session: Session, claimed: Claim, now: datetime, *, free_at: datetime, reason: Reason, detail: str
) -> bool:
    """Messages folded into the dead letter are queued."""
    if not _release(session, claimed, free_at=free_at):
        return False
    done = move_one(session, Happened.GIVEN_UP, claimed.post.id, reason=reason, detail=detail, given_up_at=now)
    unfold(session, [claimed.post.id or 0])
    return done


def record_not_edited(session: Session, claimed: Claim, *, free_at: datetime, detail: str) -> bool:
    """The edit becomes a message of its own, unless another message of the channel says the same.

    A correction takes over the old message's other edits. An edit of a version already shown (fields from the race
    book) never becomes a second message. Nor does an edit of a live message or an escalation.
    """
    if claimed.view is None and claimed.post.edits_id is not None:
        return _release(session, claimed, free_at=free_at) and move_one(
            session, Happened.NEEDLESS, claimed.post.id, folded_into=claimed.post.edits_id, detail=detail
        )
    view, event, edits_id = claimed.view, claimed.event, claimed.post.edits_id
    if view is None or event is None or not _release(session, claimed, free_at=free_at):
        return False
    corrects = event.event_key == view.own.event_key
    # For another event, any version in a message of its own is enough.
    since = event.version if corrects else 1
    said_by = message_telling(session, claimed.channel_id, event.event_key, since=since, but=edits_id)
    is_shown = event.id == view.own.id or has_edit_of(session, edits_id, event.id)
    if said_by is None and (is_shown or not (corrects or event.kind == EventKind.RACE_ABANDONED)):
        said_by = edits_id
    if said_by is not None:
        return move_one(session, Happened.NEEDLESS, claimed.post.id, folded_into=said_by, detail=detail)
    if corrects and view.post is not claimed.post:
        others = update(OutboxMessage).where(col(OutboxMessage.edits_id) == edits_id)
        session.execute(others.where(col(OutboxMessage.id) != claimed.post.id).values(edits_id=claimed.post.id))
        acknowledgements.ask_instead(session, claimed.post.id or 0, edits_id or 0, free_at)
    return move_one(
        session,
        Happened.NOT_EDITED,
        claimed.post.id,
        kind=MessageKind.EVENT,
        edits_id=None,
        plain=False,
        detail=detail,
    )


def _detail(claimed: Claim, detail: str) -> str:
    """A message too slow to render stays in plain form."""
    return f"{OVERRAN}; {detail}" if has_overrun(claimed.post) and detail != OVERRAN else detail


def _release(session: Session, claimed: Claim, *, free_at: datetime) -> bool:
    is_ours = (_QUEUE.c.channel_id == claimed.channel_id, _QUEUE.c.lease_token == claimed.lease_token)
    freed = update(_QUEUE).where(*is_ours).values(lease_token=None, leased_until=None, next_free_at=free_at)
    return affected(session, freed) > 0
