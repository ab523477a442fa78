"""Outcomes of claims. An outcome writes itself down by the claim's lease; without the lease nothing is written."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple

from sqlalchemy import Boolean, ColumnElement, Integer, and_, bindparam, literal_column, tuple_, update
from sqlmodel import Session, col

from bot.db.engine import table_of
from bot.db.tables import ChannelQueue, OutboxMessage, Reason
from bot.deliveries import inbox
from bot.logs import get_logger
from bot.outbox import acknowledgements, pace
from bot.outbox.channel_queues import Claim
from bot.outbox.held_channels import close_channel, end_closing
from bot.outbox.message_store import OVERRAN, has_overrun, unfold
from bot.outbox.notices import Notices
from bot.outbox.said_anew import say_apart
from bot.outbox.states import UNSENT, Happened, move, move_each, write
from bot.outbox.telling_store import mark_said

log = get_logger(__name__)

CREDENTIALS_HOLD = timedelta(seconds=60)

OVERRAN_WAIT = timedelta(seconds=1)

IN_DOUBT_WAIT = timedelta(seconds=5)
"""A queue's wait after an unanswered call. The first look comes later still."""


class Recording(NamedTuple):
    """`now`: by the clock of leases. `channel_pause`: between two messages in a channel."""

    session: Session
    now: datetime
    notices: Notices
    channel_pause: timedelta

    def pause_after(self, claim: Claim) -> timedelta:
        """Edits are limited by method, not by channel."""
        return timedelta() if claim.is_edit else self.channel_pause


@dataclass(frozen=True)
class ClaimOutcome(ABC):
    """`name`: the label in the log and the metrics. `pauses`: the channel's pause between two messages follows.

    `after`: a further wait before the queue goes on.
    """

    name: ClassVar[str]
    pauses: ClassVar[bool] = False

    claim: Claim
    after: timedelta = field(default=timedelta(), kw_only=True)

    def record(self, at: Recording) -> bool:
        """False if the lease is lost."""
        pause = at.pause_after(self.claim) if self.pauses else timedelta()
        ours = bool(_free(at.session, [self.claim], at.now + self.after + pause))
        if ours:
            self._write(at)
        return ours

    @abstractmethod
    def _write(self, at: Recording) -> None:
        """Store the outcome. The lease is still ours."""


@dataclass(frozen=True)
class Posted(ClaimOutcome):
    name = "sent"
    pauses = True

    message_ts: str
    rev: int

    def _write(self, at: Recording) -> None:
        claim = self.claim
        _write_posted(at, [self])
        # A found message may be older than the closing.
        if claim.trial_since and not (claim.is_edit or claim.in_doubt):
            end_closing(at.session, at.notices, claim.channel_id, claim.trial_since, at.now)


@dataclass(frozen=True)
class Found(Posted):
    """In the channel's history, or in the edited message."""

    name = "found"


@dataclass(frozen=True)
class NotSent(ClaimOutcome):
    """Certainly not sent. `plain`: plain text from now on; None changes nothing."""

    name = "retry"

    reason: str
    plain: bool | None = None

    def _write(self, at: Recording) -> None:
        _write_not_sent(at.session, self.claim, self.reason, plain=self.plain)


@dataclass(frozen=True)
class Overran(ClaimOutcome):
    """Not sent, because rendering took too long. Sent later in plain form, after the messages of other channels."""

    name = "retry"

    after: timedelta = field(default=OVERRAN_WAIT, kw_only=True)

    def _write(self, at: Recording) -> None:
        claim, key = self.claim, self.claim.post.idempotency_key
        _write_not_sent(at.session, claim, OVERRAN, plain=True)
        log.error("post_overran", post=key, read_s=round(claim.read_s, 3))
        at.notices.told_plainly(at.session, OVERRAN, key, inbox.reference(claim.event.inbox_id) if claim.event else key)


@dataclass(frozen=True)
class NotEdited(ClaimOutcome):
    """The edit's news becomes a new message, unless another message of the channel says the same.

    `is_gone`: a message without an event is edited no more.
    """

    name = "not_edited"

    reason: str
    is_gone: bool = False

    def _write(self, at: Recording) -> None:
        claim = self.claim
        if claim.event is not None:
            acknowledgements.lock(at.session, [claim.post.id])
            say_apart(at.session, claim.post, at.now, lambda one: claim.post.sent_rev < one.said.rev <= claim.rev)
        _edit_ended(at.session, claim, detail=self.reason, is_gone=self.is_gone and claim.event is None)


@dataclass(frozen=True)
class NotInThread(ClaimOutcome):
    """The message goes into the channel."""

    name = "not_in_thread"

    reason: str

    def _write(self, at: Recording) -> None:
        move(at.session, Happened.NOT_IN_THREAD, _is_of(self.claim), thread_of=None, detail=self.reason)


@dataclass(frozen=True)
class LookAgain(ClaimOutcome):
    """The call was not answered, or the look found nothing yet. `looks` and `failed_looks`: of this claim."""

    name = "doubtful"

    reason: str
    looks: int = 0
    failed_looks: int = 0
    after: timedelta = field(default=IN_DOUBT_WAIT, kw_only=True)

    def _write(self, at: Recording) -> None:
        post, detail = self.claim.post, _detail(self.claim, self.reason)
        counts = {"looks": post.looks + self.looks, "failed_looks": post.failed_looks + self.failed_looks}
        move(at.session, Happened.UNANSWERED, _is_of(self.claim), detail=detail, **counts)


@dataclass(frozen=True)
class Repeated(ClaimOutcome):
    """`thread_of`: the live message; None for the channel. `is_stuck`: admins are told."""

    name = "repeat"

    reason: str
    plain: bool
    may_be_repeat: bool
    thread_of: int | None
    is_stuck: bool

    def _write(self, at: Recording) -> None:
        claim = self.claim
        written = {"detail": _detail(claim, self.reason), "plain": self.plain, "may_be_repeat": self.may_be_repeat}
        again = {"thread_of": self.thread_of, "looks": 0, "failed_looks": 0}
        move(at.session, Happened.REPEATED, _is_of(claim), **written, **again)
        if self.is_stuck:
            at.notices.stuck(at.session, claim, at.now)


@dataclass(frozen=True)
class CallHeld(ClaimOutcome):
    """The queue goes on with messages for other kinds of call, unless its message is in doubt."""

    name = "wait"

    reason: str
    code: str
    wait_s: float

    def _write(self, at: Recording) -> None:
        pace.hold_call(at.session, self.claim.call, at.now + timedelta(seconds=self.wait_s), self.code)
        if not self.claim.in_doubt:
            _write_not_sent(at.session, self.claim, self.reason)


@dataclass(frozen=True)
class CredentialsDead(ClaimOutcome):
    """Every call is held."""

    name = "credentials_dead"

    reason: str

    def _write(self, at: Recording) -> None:
        pace.hold_call(at.session, pace.EVERY_CALL, at.now + CREDENTIALS_HOLD, self.reason)
        log.error("slack_credentials_dead", reason=self.reason)
        _write_not_sent(at.session, self.claim, self.reason)


@dataclass(frozen=True)
class GivenUp(ClaimOutcome):
    """Admins are told `told`, or else `detail`."""

    name = "parked"
    pauses = True

    reason: Reason
    detail: str
    told: str | None = None

    def _write(self, at: Recording) -> None:
        claim = self.claim
        is_closed = self.reason is Reason.NO_ENTRY
        # Before the locks: the notice may need a queue.
        at.notices.dead_letter(at.session, claim, self.told or self.detail, is_closed=is_closed)
        if claim.is_edit:
            _edit_ended(at.session, claim, detail=self.detail)
        else:
            acknowledgements.lock(at.session, [claim.post.id])
            written = {"reason": self.reason, "detail": self.detail, "given_up_at": at.now}
            move(at.session, Happened.GIVEN_UP, _is_of(claim), **written)
            # Read once the message is locked: fan-out may have noted more to show.
            say_apart(at.session, claim.post, at.now)
            unfold(at.session, [claim.post.id])


@dataclass(frozen=True)
class ChannelClosed(ClaimOutcome):
    """A message repeated without a look is in doubt again: once the channel is open, its history may be readable."""

    name = "channel_closed"

    code: str

    def _write(self, at: Recording) -> None:
        if self.claim.post.may_be_repeat and not self.claim.is_edit:
            again = {"detail": _detail(self.claim, self.code), "looks": 0, "failed_looks": 0}
            move(at.session, Happened.UNANSWERED, _is_of(self.claim), **again)
        else:
            _write_not_sent(at.session, self.claim, self.code)
        close_channel(at.session, at.notices, self.claim.channel_id, self.code, at.now)


def record_posted(at: Recording, sent: Sequence[Posted]) -> dict[str, timedelta | None]:
    """Store simple outcomes together. Channel → the pause before further messages; None if no message waits.

    Leaves out lost leases.
    """
    ours: dict[str, timedelta | None] = {}
    for pause in {at.pause_after(one.claim) for one in sent}:
        claims = [one.claim for one in sent if at.pause_after(one.claim) == pause]
        freed = _free(at.session, claims, at.now + pause)
        ours.update((channel_id, pause if waits else None) for channel_id, waits in freed.items())
    # In a fixed order, so that no deadlock is possible.
    written = sorted((one for one in sent if one.claim.channel_id in ours), key=lambda one: one.claim.post.id)
    _write_posted(at, written)
    return ours


def _write_posted(at: Recording, posted: Sequence[Posted]) -> None:
    mark_said(at.session, {one.claim.post.id: one.rev for one in posted if one.rev}, at.now)
    posts = [one for one in posted if not one.claim.is_edit]
    sent = {"sent_at": at.now, "detail": None}
    rows = [{"number": one.claim.post.id, "message_ts": one.message_ts, "sent_rev": one.rev, **sent} for one in posts]
    move_each(at.session, Happened.TAKEN, rows)
    if edits := [_edit(one.claim, one.rev) for one in posted if one.claim.is_edit]:
        at.session.connection().execute(_EDIT_MADE, edits)
    for one in posts:
        at.notices.taken(one.claim.channel_id)


_QUEUE = table_of(ChannelQueue)
_UNSENT = ", ".join(f"'{state}'" for state in UNSENT)
_SECOND_WAITS = (
    "EXISTS (SELECT 1 FROM message AS waiting WHERE waiting.channel_id = channel_queue.channel_id"  # noqa: S608
    f" AND waiting.state IN ({_UNSENT}) AND waiting.not_before IS NULL"
    " UNION ALL SELECT 1 FROM message AS waiting WHERE waiting.channel_id = channel_queue.channel_id"
    " AND waiting.state = 'sent' AND waiting.wanted_rev > waiting.sent_rev AND waiting.gone_since IS NULL"
    " LIMIT 1 OFFSET 1)"
)
"""Made of constants. The first message that waits is the one just sent, or edited."""

_FREED = (
    update(_QUEUE)
    .where(tuple_(_QUEUE.c.channel_id, _QUEUE.c.lease_token).in_(bindparam("leases")))
    .values(lease_token=None, leased_until=None, next_free_at=bindparam("free_at"))
    .returning(
        _QUEUE.c.channel_id,
        # As text: on SQLite, RETURNING names no tables, so both channel_id columns would be the same.
        literal_column(_SECOND_WAITS, Boolean()),
    )
)


def _free(session: Session, claims: Sequence[Claim], free_at: datetime) -> dict[str, bool]:
    """Channel → whether a further message waits. Leaves out lost leases."""
    leases = [(claim.channel_id, claim.lease_token) for claim in claims]
    freed = session.connection().execute(_FREED, {"leases": leases, "free_at": free_at})
    return {channel_id: waits for channel_id, waits in freed}  # noqa: C416  rows are no pairs to mypy


def _write_not_sent(session: Session, claimed: Claim, detail: str, *, plain: bool | None = None) -> None:
    written = {"detail": _detail(claimed, detail), "plain": claimed.post.plain if plain is None else plain}
    if claimed.is_edit:
        write(session, _is_of(claimed), **written)
    else:
        move(session, Happened.NOT_SENT, _is_of(claimed), **written)


def _edit_ended(session: Session, claimed: Claim, *, detail: str, is_gone: bool = False) -> None:
    """Slack refused the edit."""
    session.connection().execute(_EDIT_MADE, _edit(claimed, claimed.rev, detail))
    if is_gone:
        write(session, _is_of(claimed), gone_since=col(OutboxMessage.edit_sending_at))


def _edit(claim: Claim, rev: int, detail: str | None = None) -> dict[str, int | str | None]:
    """`wanted`: who has an abandonment is shown up to there, even if `rev` is less because a link waits."""
    return {"number": claim.post.id, "rev": rev, "wanted": claim.post.wanted_rev, "why": detail}


_MESSAGE = table_of(OutboxMessage)
_REV = bindparam("rev", type_=Integer())
_EDIT_MADE = (
    update(_MESSAGE)
    .where(_MESSAGE.c.id == bindparam("number"))
    .values(
        sent_rev=_REV,
        edit_attempts=0,
        passes_pause=and_(_MESSAGE.c.passes_pause, _MESSAGE.c.wanted_rev > bindparam("wanted", type_=Integer())),
        detail=bindparam("why", type_=_MESSAGE.c.detail.type),
    )
)


def _is_of(claimed: Claim) -> ColumnElement[bool]:
    return col(OutboxMessage.id) == claimed.post.id


def _detail(claimed: Claim, detail: str) -> str:
    """A message too slow to render stays in plain form."""
    return f"{OVERRAN}; {detail}" if has_overrun(claimed.post) and detail != OVERRAN else detail
