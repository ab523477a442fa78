"""Sends one claim, and decides the outcome by the class of Slack's answer (bot.errors)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bot.channels.conditions.event_conditions import is_person
from bot.clock import Clock, Monotonic
from bot.db.tables import Reason
from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackDoubtful,
    SlackEditRefused,
    SlackError,
    SlackMessageGone,
    SlackMessageRefused,
    SlackRefused,
    SlackScopeMissing,
    SlackUnreached,
    SlackWait,
)
from bot.logs import get_logger
from bot.outbox.channel_queues import POST_CALL_S, Claim
from bot.outbox.claim_outcomes import (
    CallHeld,
    ChannelClosed,
    ClaimOutcome,
    CredentialsDead,
    Found,
    GivenUp,
    LookAgain,
    NotEdited,
    NotInThread,
    NotSent,
    Overran,
    Posted,
)
from bot.outbox.message import Message, NativeBlocks, Search, Sender, Sending
from bot.outbox.resolve import UnansweredCalls, look_for

log = get_logger(__name__)

RENDER_MAX_S = POST_CALL_S / 2
"""Seconds of processor time. A message with a longer rendering, and then too late to send, is sent in plain form."""

EDIT_LOOK_S = 2.0
"""Within the queue's lease."""

BACKOFF_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Waits after the first, second, … call of a message that never left the host, or was refused by an unknown code."""

UNKNOWN_CODE = "refused by an unknown code: "

Render = Callable[[Claim, datetime], Message]
"""Never raises."""


@dataclass
class ClaimSender:
    """Makes the call of a claim. `worked`: the processor time of the thread."""

    sender: Sender
    render: Render
    native: NativeBlocks
    clock: Clock
    monotonic: Monotonic
    worked: Monotonic
    unanswered: UnansweredCalls = field(default_factory=UnansweredCalls)

    async def send(self, claim: Claim) -> ClaimOutcome:
        self.unanswered.begin(claim)
        # A process that was stopped while rendering did no work meanwhile.
        worked_s = self.worked()
        message = self.render(claim, self.clock())
        worked_s = claim.read_s + self.worked() - worked_s
        if claim.post.plain:
            message = message.in_words()
        try:
            message_ts = await self._say(claim, self.native.form_of(message))
        except SlackError as error:
            log.info("post_not_made", post=claim.post.idempotency_key, reason=str(error))
            return await self.refused(claim, error)
        if message_ts is None:
            return Overran(claim) if worked_s > RENDER_MAX_S else NotSent(claim, "too late to send")
        self.unanswered.sent(claim)
        return Posted(claim, message_ts, claim.rev)

    async def _say(self, claim: Claim, message: Message, refused: tuple[Message, ...] = ()) -> str | None:
        """The message's ts; None if the time for the call is over. After a refusal the next plainer form is sent."""
        # The database's clock may differ.
        left_s = POST_CALL_S - (self.monotonic() - claim.begun_at_s)
        if left_s <= 0:
            # The process slept: another process may have the lease.
            return None
        try:
            message_ts = await self._call(claim, message, left_s)
        except SlackMessageRefused as error:
            if message.plainer is None:
                raise
            log.warning("native_blocks_refused", post=claim.post.idempotency_key, reason=str(error))
            return await self._say(claim, message.plainer, (*refused, message))
        if refused:
            self.native.refused(refused, taken=message)
        return message_ts

    async def _call(self, claim: Claim, message: Message, timeout_s: float) -> str:
        sending = Sending(claim.post.idempotency_key, timeout_s, claim.rev, claim.thread_ts)
        message_ts = claim.post.message_ts
        if not claim.is_edit or message_ts is None:
            return await self.sender.post(claim.channel_id, message, sending)
        await self.sender.update(claim.channel_id, message_ts, message, sending)
        return message_ts

    async def refused(self, claim: Claim, error: SlackError) -> ClaimOutcome:
        reason = str(error)
        match error:
            case SlackUnreached() | SlackDoubtful():
                return await self._no_answer(claim, error)
            case SlackWait():
                return CallHeld(claim, reason, error.code, error.retry_after_s)
            case SlackChannelClosed() if claim.is_edit and is_person(claim.channel_id):
                # Slack edits by the id of the direct message, which is not known.
                return NotEdited(claim, reason)
            case SlackChannelClosed():
                # Only the person could open direct messages again.
                is_over = is_person(claim.channel_id)
                return GivenUp(claim, Reason.NO_ENTRY, error.code) if is_over else ChannelClosed(claim, error.code)
            case SlackCredentialsDead():
                return CredentialsDead(claim, reason)
            case _ if claim.thread_ts and not claim.is_edit:
                return NotInThread(claim, reason)
            case SlackMessageRefused() if not claim.post.plain:
                log.error("blocks_refused", post=claim.post.idempotency_key, reason=reason)
                return NotSent(claim, reason, plain=True)
            case SlackMessageGone() | SlackEditRefused() | SlackMessageRefused() if claim.is_edit:
                return await self._edit_refused(claim, error)
            case SlackRefused() if claim.calls <= len(BACKOFF_S) or UNKNOWN_CODE not in (claim.post.detail or ""):
                # Nobody knows whether an unknown code is for good. Code and words may differ each time.
                return NotSent(claim, f"{UNKNOWN_CODE}{reason}", after=timedelta(seconds=_backoff_s(claim)))
            case _:
                return GivenUp(claim, Reason.REFUSED, reason)

    async def _no_answer(self, claim: Claim, error: SlackError) -> ClaimOutcome:
        """A message is in doubt. An edit is made again, because a second call changes nothing.

        Meanwhile edits are held, so that the channel's messages need not wait.
        """
        seen = self.unanswered.count(claim, left=isinstance(error, SlackDoubtful))
        if claim.is_edit:
            if self.unanswered.is_poison_edit(claim, seen):
                return await self._edit_refused(claim, error)
            return CallHeld(claim, str(error), error.code, _backoff_s(claim))
        if isinstance(error, SlackUnreached):
            return NotSent(claim, str(error), after=timedelta(seconds=_backoff_s(claim)))
        return LookAgain(claim, str(error))

    async def _edit_refused(self, claim: Claim, refusal: SlackError) -> ClaimOutcome:
        """The edit is not made, unless an earlier unanswered call has made the edit."""
        post = claim.post
        if post.message_ts is None or claim.calls < 2:
            return _not_edited(claim, refusal)
        posted_at, second = datetime.fromtimestamp(float(post.message_ts), UTC), timedelta(seconds=1)
        search = Search(post.idempotency_key, posted_at - second, posted_at + second, thread_ts=claim.thread_ts)
        try:
            shown = await look_for(self.sender, claim.channel_id, search, EDIT_LOOK_S)
        except (SlackScopeMissing, SlackChannelClosed) as error:
            return _not_edited(claim, refusal, f", and I can't look at the message ({error})")
        except SlackError as error:
            if not self.unanswered.look_failed(claim):
                return _not_edited(claim, refusal)
            return CallHeld(claim, str(error), error.code, _backoff_s(claim))
        if shown.rev < claim.rev:
            return _not_edited(claim, refusal)
        return Found(claim, post.message_ts, claim.rev)


def _not_edited(claim: Claim, refusal: SlackError, more: str = "") -> ClaimOutcome:
    """A message without an event is edited no more once Slack says that the message is gone.

    Else such a message misses the edit.
    """
    reason, is_gone = f"{refusal}{more}", isinstance(refusal, SlackMessageGone)
    if claim.event is not None or is_gone:
        return NotEdited(claim, reason, is_gone)
    is_unanswered = isinstance(refusal, SlackUnreached | SlackDoubtful)
    return GivenUp(claim, Reason.IN_VAIN if is_unanswered else Reason.REFUSED, reason)


def _backoff_s(claim: Claim) -> float:
    return BACKOFF_S[min(claim.calls, len(BACKOFF_S)) - 1]
