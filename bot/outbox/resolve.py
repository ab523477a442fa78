"""Resolves messages in doubt: the call was made, and nobody heard the outcome. Look before repeating.

Slack has no idempotency key. Each message carries a key in its metadata, and after the deadline the channel's history
is read for the key, twice. Only a missing message is repeated. The history has no replies in threads: for those the
thread is read. Each claim reads one page, because such calls are limited.

A poison message is given up: Slack leaves its calls unanswered, and answers the calls of other messages. During an
outage no message is given up, because no other message is sent. A restart counts again.
"""

import asyncio
import math
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.db.engine import FAR
from bot.db.tables import ChannelQueue, MessageState, OutboxMessage, Reason
from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackDoubtful,
    SlackError,
    SlackScopeMissing,
    SlackUnreached,
    SlackWait,
)
from bot.logs import get_logger
from bot.outbox.channel_queues import POST_CALL_S, QUEUE_WAIT_MAX, Claim
from bot.outbox.claim_outcomes import CallHeld, ClaimOutcome, Found, GivenUp, LookAgain, Repeated
from bot.outbox.message import HISTORY_IN_WORDS, HistoryPage, Search, Sender
from bot.outbox.message_store import IS_DUE, IS_UNSENT
from bot.outbox.states import POSTING, SENT_WHILE_PAUSED, Happened, move
from bot.settings import DoubtfulPosts

PLAIN_AFTER = 4
"""Unanswered calls. Then plain text is sent: the blocks may be at fault."""

GIVE_UP_AFTER = 8
"""Unanswered calls with other messages sent in between. Then the message is given up."""

EDIT_LOOKS_MAX = 8
"""Failed looks at the message of a refused edit. Then the edit becomes a message of its own."""

EDIT_ATTEMPTS = 5
"""Unanswered calls while others passed. Then the edit of an event becomes a message of its own."""


@dataclass(frozen=True)
class Unanswered:
    """The unanswered calls of a message or an edit, as seen by this process.

    `while_others_passed`: unanswered calls with another message sent since the call before. `passed_before`: other
    messages sent before the last unanswered call. `called_at_s`: of the last call, by the monotonic clock; None if
    another process made the call.
    """

    times: int = 0
    while_others_passed: int = 0
    passed_before: int = 0
    called_at_s: float | None = None
    failed_looks: int = 0


@dataclass
class UnansweredCalls:
    """The unanswered calls of each message. Calls that post and calls that edit are counted apart."""

    _sent: int = 0
    _edits: int = 0
    _messages_fail: bool = False
    _calls: dict[tuple[int, bool], Unanswered] = field(default_factory=dict)

    def begin(self, claim: Claim) -> None:
        """Note the time of a call under way: a set clock may end the lease early."""
        if not claim.is_edit:
            self._note(claim, called_at_s=claim.begun_at_s)

    def of(self, claim: Claim) -> Unanswered:
        return self._calls.get((claim.post.id, claim.is_edit), Unanswered())

    def count(self, claim: Claim, *, left: bool) -> Unanswered:
        """A message's call that never `left` the host does not count."""
        self._messages_fail |= not claim.is_edit
        seen = self.of(claim)
        if not (left or claim.is_edit):
            return seen
        # An edit without an event can't become a message, and waits through an outage of edits.
        passed = self._edits if claim.is_edit and claim.event is None else self._sent
        while_others_passed = seen.while_others_passed + (seen.times == 0 or passed > seen.passed_before)
        return self._note(claim, times=seen.times + 1, while_others_passed=while_others_passed, passed_before=passed)

    def look_failed(self, claim: Claim) -> bool:
        """True if the message of a refused edit is looked at again."""
        return self._note(claim, failed_looks=self.of(claim).failed_looks + 1).failed_looks < EDIT_LOOKS_MAX

    def is_poison_edit(self, claim: Claim, edit: Unanswered) -> bool:
        """True if enough calls were unanswered while others passed. An event's edit waits while messages fail."""
        fails = claim.event is not None and self._messages_fail
        return edit.times >= EDIT_ATTEMPTS and edit.while_others_passed > 1 and not fails

    def sent(self, claim: Claim) -> None:
        self.forget(claim)
        if claim.is_edit:
            self._edits += 1
        else:
            self._sent += 1
            self._messages_fail = False

    def forget(self, claim: Claim) -> None:
        self._calls.pop((claim.post.id, claim.is_edit), None)

    def _note(self, claim: Claim, **seen: Any) -> Unanswered:
        noted = self._calls[claim.post.id, claim.is_edit] = replace(self.of(claim), **seen)
        return noted


log = get_logger(__name__)

LOOKS_BEFORE_REPEAT = 2

LOOK_AGAIN = timedelta(seconds=5)
"""The history may lag by seconds."""

FAILED_LOOK_WAITS_S = (5, 10, 20, 40, 60)

CREDENTIALS_WAIT = timedelta(minutes=1)

HISTORY_LOOK_BACK = timedelta(minutes=5)
"""The history is read from so long before the call to so long after its deadline, by Slack's clock."""

LOOK_BACK_BLINDLY = timedelta(days=1)
"""The same where the difference of the clocks is unknown."""

CLOCKS_APART = timedelta(minutes=1)
"""More than the time between claim and answer, and more than the difference of the replicas' clocks."""

HISTORY_PAGE_S = 7.0
"""Shorter than the queue's lease."""

PAGES_PER_LOOK = 100
"""Ten minutes of the busiest channel, at 15 messages a page."""

FAILED_LOOKS_MAX = {DoubtfulPosts.REPEAT: 6, DoubtfulPosts.HOLD: 64}
"""After so many failed looks the operator's choice applies. 64 take an hour: most outages are over by then."""


@dataclass(frozen=True)
class _Place:
    """`look`: the message, its call, its number of looks.

    `ahead`: how far Slack's clock was ahead at the call, give or take a margin, reckoned back from now; None while the
    look goes by the channel's last answered post.
    """

    look: tuple[int | None, datetime | None, int]
    cursor: str | None = None
    pages: int = 0
    ahead: tuple[timedelta, timedelta] | None = None


@dataclass(frozen=True)
class Resolver:
    """`wait_s`: from the call's deadline to the first look. `began_s`: the process's start, by the monotonic clock."""

    sender: Sender
    wait_s: float
    in_doubt: DoubtfulPosts
    began_s: float = -math.inf
    _places: dict[str, _Place] = field(default_factory=dict)
    """Unfinished looks. Another process begins again."""

    async def __call__(self, claim: Claim, seen: Unanswered) -> ClaimOutcome:
        post = claim.post
        if wait := self.wait(claim, seen):
            # Any longer wait of a queue counts as written before a clock was set back.
            return LookAgain(claim, "waiting for its deadline", after=min(wait, QUEUE_WAIT_MAX / 2))
        place = self._place(claim)
        try:
            page = await self._read(claim, place)
        except SlackWait as error:
            self._places[claim.channel_id] = place
            return CallHeld(claim, str(error), error.code, error.retry_after_s)
        except SlackError as error:
            return self._cannot_look(claim, error, seen)
        if page.message_ts is not None:
            log.info("message_in_doubt_found", post=post.idempotency_key, message_ts=page.message_ts)
            return Found(claim, page.message_ts, page.rev)
        if page.next_cursor is not None:
            self._places[claim.channel_id] = replace(place, cursor=page.next_cursor, pages=place.pages + 1)
            return LookAgain(claim, "reading the channel's history", after=timedelta(0))
        if elsewhere := _after_a_set_clock(claim, seen, place, page):
            self._places[claim.channel_id] = elsewhere
            return LookAgain(claim, "our clock was set, so reading another part of the history", after=timedelta(0))
        if post.looks + 1 < LOOKS_BEFORE_REPEAT:
            return LookAgain(claim, "not in the channel's history yet", looks=1, after=LOOK_AGAIN)
        log.info("message_in_doubt_not_there", post=post.idempotency_key)
        return _repeat(claim, "not in the channel's history", seen, may_be_repeat=False)

    def wait(self, claim: Claim, seen: Unanswered) -> timedelta:
        """The time left before the look, by the monotonic clock: nobody sets this clock.

        For the call of another process the time counts from the start of this process, and from the deadline by the
        wall clock. A wait beyond FAR is ignored: the wall clock was set back. A passing abandonment ends the queue's
        wait, and leaves the look's wait.
        """
        settle_s = self.wait_s + LOOK_AGAIN.total_seconds() * claim.post.looks
        ended_s = self.began_s if seen.called_at_s is None else seen.called_at_s + POST_CALL_S
        left_s = max(0.0, ended_s + settle_s - claim.begun_at_s)
        if seen.called_at_s is None:
            assert claim.post.deadline_at
            by_clock = claim.post.deadline_at + timedelta(seconds=settle_s) - claim.claimed_at
            left_s = max(left_s, by_clock.total_seconds() if by_clock <= FAR else 0.0)
        return timedelta(seconds=left_s)

    def _place(self, claim: Claim) -> _Place:
        look = (claim.post.id, claim.post.sending_at, claim.post.looks)
        place = self._places.pop(claim.channel_id, None)
        return place if place and place.look == look else _Place(look)

    async def _read(self, claim: Claim, place: _Place) -> HistoryPage:
        if place.pages >= PAGES_PER_LOOK:
            raise SlackDoubtful(HISTORY_IN_WORDS, f"more than {PAGES_PER_LOOK} pages")
        try:
            return await look_for(self.sender, claim.channel_id, _search(claim, place), HISTORY_PAGE_S)
        except SlackError:
            raise
        except Exception as error:
            # A bug of ours, or an answer of another shape.
            log.exception("history_not_read", post=claim.post.idempotency_key)
            raise SlackDoubtful(HISTORY_IN_WORDS, type(error).__name__) from error

    def _cannot_look(self, claim: Claim, error: SlackError, seen: Unanswered) -> ClaimOutcome:
        log.info("cannot_look_for_post", post=claim.post.idempotency_key, reason=str(error))
        failed_looks = claim.post.failed_looks
        match error:
            case SlackCredentialsDead():
                return LookAgain(claim, str(error), after=CREDENTIALS_WAIT)
            case SlackScopeMissing() | SlackChannelClosed():
                return self._unresolved(claim, str(error), seen)
            case _ if failed_looks + 1 >= FAILED_LOOKS_MAX[self.in_doubt]:
                return self._unresolved(claim, str(error), seen)
            case _:
                wait_s = FAILED_LOOK_WAITS_S[min(failed_looks, len(FAILED_LOOK_WAITS_S) - 1)]
                return LookAgain(claim, str(error), failed_looks=1, after=timedelta(seconds=wait_s))

    def _unresolved(self, claim: Claim, reason: str, seen: Unanswered) -> ClaimOutcome:
        """The operator's choice for a message without a readable history."""
        if self.in_doubt is DoubtfulPosts.REPEAT:
            return _repeat(claim, reason, seen, may_be_repeat=True)
        told = f"it may have been posted, and I can't look ({reason})"
        return GivenUp(claim, Reason.UNRESOLVED, reason, told)


async def look_for(sender: Sender, channel_id: str, search: Search, within_s: float) -> HistoryPage:
    """Raises SlackError."""
    try:
        async with asyncio.timeout(within_s):
            return await sender.find(channel_id, search)
    except TimeoutError:
        raise SlackUnreached(HISTORY_IN_WORDS, f"not read within {within_s:g} s") from None


def _repeat(claim: Claim, reason: str, seen: Unanswered, *, may_be_repeat: bool) -> ClaimOutcome:
    """`may_be_repeat`: nobody could look. Such a repeat goes into the channel, whose history may be readable."""
    if seen.while_others_passed >= GIVE_UP_AFTER:
        # The message is at fault, and not an outage.
        why = f"{seen.times} calls for it ended in doubt while Slack took other posts"
        return GivenUp(claim, Reason.IN_VAIN, reason, f"{why}; it may have been posted" if may_be_repeat else why)
    return Repeated(
        claim,
        reason,
        plain=seen.times >= PLAIN_AFTER or claim.post.plain,
        may_be_repeat=may_be_repeat or claim.post.may_be_repeat,
        thread_of=None if may_be_repeat else claim.post.thread_of,
        is_stuck=seen.times >= GIVE_UP_AFTER,
    )


def _after_a_set_clock(claim: Claim, seen: Unanswered, place: _Place, page: HistoryPage) -> _Place | None:
    """A second place to look, if our clock was set after the channel's last answered post.

    The process that made the call knows the time since the call, also where our clock was set in between.
    """
    post, (before, margin) = claim.post, _ahead(claim, place)
    assert post.sending_at
    if page.slack_at is None or place.ahead is not None:
        return None
    since_call, around = claim.claimed_at - post.sending_at, LOOK_BACK_BLINDLY
    if seen.called_at_s is not None:
        since_call, around = timedelta(seconds=claim.begun_at_s - seen.called_at_s), HISTORY_LOOK_BACK
    ahead = page.slack_at - since_call - post.sending_at
    return _Place(place.look, ahead=(ahead, around)) if abs(ahead - before) > margin - CLOCKS_APART else None


def _ahead(claim: Claim, place: _Place) -> tuple[timedelta, timedelta]:
    """How far Slack's clock was ahead at the call, give or take a margin."""
    if place.ahead is not None:
        return place.ahead
    return (timedelta(0), LOOK_BACK_BLINDLY) if claim.slack_ahead is None else (claim.slack_ahead, HISTORY_LOOK_BACK)


def _search(claim: Claim, place: _Place) -> Search:
    post, (ahead, margin) = claim.post, _ahead(claim, place)
    assert post.sending_at
    assert post.deadline_at
    since, until = post.sending_at + ahead - margin, post.deadline_at + ahead + margin
    return Search(post.idempotency_key, since, until, place.cursor, claim.thread_ts)


_POSTING_CHANNELS = select(col(ChannelQueue.channel_id)).where(col(ChannelQueue.state).in_(POSTING))
_IS_IN_QUESTION = (
    IS_DUE,
    or_(
        col(OutboxMessage.state) != MessageState.QUEUED,
        col(OutboxMessage.kind).in_(SENT_WHILE_PAUSED),
        col(OutboxMessage.channel_id).in_(_POSTING_CHANNELS),
    ),
)


def put_in_doubt(session: Session, now: datetime) -> tuple[int, datetime | None]:
    """Put unsent messages in doubt, to be looked for from their receipt until now before they are sent.

    Returns their number, and the oldest receipt. A summary is looked for from the receipt of its first message. An edit
    may be made twice, so edits stay due. Messages of held queues, and messages that wait for a moment, stay queued: the
    history has no key of a message within a summary. A second run changes nothing.
    """
    first = aliased(OutboxMessage)
    of_first = (
        select(func.min(col(first.received_at)))
        .where(col(first.folded_into) == col(OutboxMessage.id))
        .correlate(OutboxMessage)
        .scalar_subquery()
    )
    oldest = session.execute(
        select(func.min(col(OutboxMessage.received_at))).where(IS_UNSENT, *_IS_IN_QUESTION)
    ).scalar_one()
    moved = move(
        session,
        Happened.RESTORED,
        *_IS_IN_QUESTION,
        sending_at=func.coalesce(of_first, col(OutboxMessage.received_at)),
        deadline_at=now,
        detail="the database is an older copy: the message may have been posted since",
        looks=0,
        failed_looks=0,
    )
    return moved, oldest
