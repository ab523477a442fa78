"""From the lanes to Slack: lease a lane, mark its first post "sending", commit, call Slack, write down the outcome.

Polling is the truth; wake-ups only make it quicker. What Slack answered decides by its class (bot.errors) what happens:
nothing here looks at a status or a code.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

from sqlmodel import Session

from bot.clock import Clock
from bot.db.database_clock import database_now
from bot.db.engine import Database, dialect_of
from bot.db.tables import MessageKind, Reason
from bot.deliveries import inbox
from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackDoubtful,
    SlackEditRefused,
    SlackError,
    SlackMessageRefused,
    SlackScopeMissing,
    SlackUnreached,
    SlackWait,
    StorageError,
)
from bot.events import drill_mark
from bot.logs import get_logger
from bot.outbox import channel_queues, claim_at_fanout
from bot.outbox.channel_queues import Claim
from bot.outbox.claim_at_fanout import Added, Tells, Times
from bot.outbox.claim_ends import Outcome, Outcomes
from bot.outbox.claim_outcomes import Taken
from bot.outbox.memory import Known
from bot.outbox.message import Message, NativeBlocks
from bot.outbox.message_store import NewPost
from bot.outbox.notices import Notices
from bot.outbox.pace import Buckets, Pace
from bot.outbox.poison_messages import Doubt, Doubts
from bot.outbox.wakeup import POLL_S, rest

log = get_logger(__name__)

CALL_S = 5.0
"""A call to Slack is over by then."""

SOON_S = 0.02
"""What is due is looked for again after this at the earliest: another replica may be claiming just then."""

LOOK_S = 2.0
"""A message whose edit is refused for good is looked at by then, within the lease of its queue."""

LEASE_MARGIN_S = 4.0
"""A lease outlives its call's deadline by this, so that nobody takes the lane while a call may still be under way."""

APART_S = 0.015
"""What Slack took is written down so far apart, so that outcomes share a transaction; a lone outcome waits for none."""

AT_ONCE = 64
"""Lanes that are posted to at the same time."""

BACKOFF_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Waits after calls that never left, by how often it happened to the post."""


@dataclass(frozen=True)
class LookedAt:
    """A page of a channel's history: the ts of the message that was looked for, or where the history goes on.

    `edits`: the numbers of the edits that the message says, by the message's own metadata.
    """

    message_ts: str | None
    next_cursor: str | None
    edits: frozenset[int] = frozenset()


class Sender(Protocol):
    """What the poster needs of Slack. Raises the classes of SlackError."""

    async def post(
        self, channel_id: str, message: Message, *, post_key: str, timeout_s: float, edits: Sequence[int] = ()
    ) -> str:
        """The message's ts. `edits`: the numbers of the edits that the message says."""

    async def update(
        self,
        channel_id: str,
        message_ts: str,
        message: Message,
        *,
        post_key: str,
        timeout_s: float,
        edits: Sequence[int] = (),
    ) -> None:
        """Put another message in the place of the one at `message_ts`; to do it twice changes nothing."""

    async def find(
        self, channel_id: str, post_key: str, *, since: datetime, until: datetime, cursor: str | None
    ) -> LookedAt:
        """The ts of the message that carries this key, if this page of the channel's history of that time has it."""


Render = Callable[[Claim, datetime], Message]
"""The message of a claim, as of now. Never raises."""


class Settle(Protocol):
    """What is done with a doubtful post; see bot.outbox.resolve."""

    def calls_slack(self, claim: Claim) -> bool:
        """Whether Slack is asked for it now: before its deadline it only waits."""

    async def __call__(self, claim: Claim, doubt: Doubt) -> Outcome: ...


_Taken = tuple[Taken, float, "asyncio.Future[bool | None]"]
"""What Slack took, when its claim was begun by the monotonic clock, and whether the lease was still ours.

The last is None where that could not be written down together with others.
"""


@dataclass
class Poster:
    """Posts what the lanes hold, until its task is cancelled; `finish` then waits for what is under way."""

    database: Database
    sender: Sender
    render: Render
    settle: Settle
    notices: Notices
    clock: Clock
    monotonic: Callable[[], float]
    wake: asyncio.Event
    pace: Pace = field(default_factory=Pace)
    native: NativeBlocks = field(default_factory=NativeBlocks)
    on_outcome: Callable[[str], None] = lambda _name: None
    on_told: Callable[[float], None] = lambda _seconds: None
    """Told how long after its receipt an event's message was taken by Slack."""

    def __post_init__(self) -> None:
        self._buckets = Buckets(self.pace.limits)
        self._under_way: set[asyncio.Task[None]] = set()
        self._is_running = False
        self._stopping = False
        self._full = False
        self._claimed_at_s = 0.0
        self._taken: list[_Taken] = []
        self._written_at_s = -APART_S
        self._writing: asyncio.Task[None] | None = None
        self._doubts = Doubts()
        self._outcomes = Outcomes(self.notices, self.pace.channel_s)
        self.problem: str | None = None
        self.good_turns = 0

    async def run(self) -> None:
        """Post until told to stop. To cancel it would leave claims without the task that is to send them."""
        self._is_running = True
        while not self._stopping:
            self.wake.clear()
            try:
                wait_s = await self.start_due()
                self.problem = None
                self.good_turns += 1
            except StorageError as error:
                if self.problem is None:
                    log.warning("poster_waits", reason=str(error))
                self.problem = str(error)
                wait_s = POLL_S
            except Exception as error:
                # A bug of ours: whatever it meets may be gone the next time.
                if self.problem is None:
                    log.exception("poster_waits")
                self.problem = f"our own {type(error).__name__}"
                wait_s = POLL_S
            await rest(self.wake, wait_s)
        self._is_running = False

    def stop(self) -> None:
        """Begin nothing more: `run` ends once what it is at is done."""
        self._stopping = True
        self.wake.set()

    async def finish(self) -> None:
        """Wait for the calls that are under way; for a graceful stop."""
        while self._under_way:
            await asyncio.gather(*self._under_way, return_exceptions=True)

    def add(
        self, session: Session, new: Sequence[NewPost], tells: Tells, known: Known, *, now: datetime, began_s: float
    ) -> Added:
        """Make new messages. Those that can be sent at once are claimed; `begin` sends them after the commit.

        `began_s`: a moment before `now`, by the monotonic clock.
        """
        added = claim_at_fanout.add(
            session,
            new,
            tells,
            known,
            now=now,
            room=self._room if self._is_running and not self._stopping else 0,
            buckets=self._buckets,
            times=Times(call_s=CALL_S, lease_s=CALL_S + LEASE_MARGIN_S),
        )
        return replace(added, begun_at_s=began_s)

    def begin(self, added: Added) -> None:
        """Send what `add` has claimed, and look for what waits."""
        for claim in added.claims:
            self._start(claim, added.begun_at_s)
        if added.waiting:
            self.wake.set()

    @property
    def _room(self) -> int:
        return AT_ONCE - len(self._under_way)

    async def start_due(self) -> float:
        """Begin what is due. Returns how many seconds may pass before there is more, at most POLL_S."""
        room = self._room
        if room <= 0:
            self._full = True
            return POLL_S
        claims, begun_at_s, wait_s = await self.database.write(lambda session: self._claim_due(session, room))
        for claim in claims:
            self._start(claim, begun_at_s)
        self._full = len(claims) >= room
        # Without room, whichever call ends first wakes the loop.
        return POLL_S if self._full else wait_s

    def _start(self, claim: Claim, begun_at_s: float) -> None:
        task = asyncio.create_task(self._deliver(claim, begun_at_s), name=f"post {claim.channel_id}")
        self._under_way.add(task)
        task.add_done_callback(self._done)

    def _claim_due(self, session: Session, limit: int) -> tuple[list[Claim], float, float]:
        """What is due, since when by the monotonic clock it is claimed, and in how many seconds more is due."""
        claims = self._claim(session, limit)
        if len(claims) >= limit:
            return claims, self._claimed_at_s, POLL_S
        now = database_now(session, self.clock)
        due = channel_queues.next_due(session, now, self._buckets.spent_until(now))
        wait_s = POLL_S if due is None else min(POLL_S, max(SOON_S, (due - now).total_seconds()))
        return claims, self._claimed_at_s, wait_s

    def _claim(self, session: Session, limit: int) -> list[Claim]:
        limits = self._buckets.limits
        taken = self._buckets.take(session)
        if limits and not taken:
            # Another replica is claiming: what is due is seen from `_claim_due`, and claimed soon.
            return []
        # Looked at only now, so that what the last replica wrote into a bucket is past.
        now = database_now(session, self.clock)
        self._claimed_at_s = self.monotonic()
        buckets = {method: bucket.at(now) for method, bucket in taken.items()}
        allowed = dict.fromkeys(limits, 0) | {method: int(bucket.calls) for method, bucket in buckets.items()}
        claims = channel_queues.claim(
            session, now, limit=limit, lease_s=CALL_S + LEASE_MARGIN_S, call_s=CALL_S, allowed=allowed
        )
        calls = Counter(
            claim.method
            for claim in claims
            if claim.method != channel_queues.LOOK_METHOD or self.settle.calls_slack(claim)
        )
        for method in buckets.keys() & calls.keys():
            self._buckets.put_back(session, method, buckets[method].without(calls[method]))
        return claims

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        if self._full:
            self.wake.set()

    async def _deliver(self, claim: Claim, begun_at_s: float) -> None:
        try:
            outcome = await (self._settle(claim) if claim.doubtful else self._send(claim, begun_at_s))
        except Exception as error:
            # A bug of ours. Whether Slack was called by then is not known, as where Slack does not answer.
            log.exception("post_failed", post=claim.post.idempotency_key)
            outcome = await self._refused(claim, SlackDoubtful(claim.method, f"our own {type(error).__name__}"))
        # A drill is in no statistic.
        if claim.event is None or claim.event.kind != drill_mark.KIND:
            self.on_outcome(outcome.name)
            if outcome.message_ts and claim.post.kind == MessageKind.EVENT:
                self.on_told(self._since_receipt_s(claim))
        if outcome.taken is None:
            await self._write_down(claim, outcome)
            # Its queue may go on, or another method be wanted.
            self.wake.set()
            return
        written: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
        self._taken.append((outcome.taken, begun_at_s, written))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_down_taken(), name="outcomes")
        ours = await written
        if ours is None:
            await self._write_down(claim, outcome)
            self.wake.set()
        else:
            self._log_outcome(claim, outcome, ours=ours)

    async def _write_down_taken(self) -> None:
        """Record what Slack took: whatever came while the last was written shares a transaction."""
        while self._taken:
            if (early_s := self._written_at_s + APART_S - self.monotonic()) > 0:
                await asyncio.sleep(early_s)
            self._written_at_s = self.monotonic()
            taken, self._taken = self._taken, []
            try:
                waiting = await self.database.write(partial(self._record_taken, taken=taken))
            except Exception as error:  # noqa: BLE001  whatever it was: each is written down by itself
                log.warning("outcomes_not_written", count=len(taken), reason=str(error))
                for _, _, written in taken:
                    written.set_result(None)
                continue
            for one, _, written in taken:
                written.set_result(one.claim.channel_id in waiting)
                if waiting.get(one.claim.channel_id):
                    self._wake_in(one.pause.total_seconds())

    def _record_taken(self, session: Session, *, taken: Sequence[_Taken]) -> dict[str, bool]:
        return self._outcomes.record_taken(session, [one for one, _, _ in taken], self._now(session, taken))

    def _now(self, session: Session, taken: Sequence[_Taken]) -> datetime:
        """The moment by the clock of leases, which has gone on since the claim as this process's own has."""
        if dialect_of(session) == "sqlite":
            return self.clock()
        now_s = self.monotonic()
        return max(one.claim.claimed_at + timedelta(seconds=now_s - begun_at_s) for one, begun_at_s, _ in taken)

    def _wake_in(self, seconds: float) -> None:
        if seconds > 0:
            asyncio.get_running_loop().call_later(seconds, self.wake.set)
        else:
            self.wake.set()

    async def _write_down(self, claim: Claim, outcome: Outcome) -> None:
        """Record an outcome, again and again until the lease is over: an unrecorded post has to be looked for."""
        give_up_at = self.monotonic() + CALL_S + LEASE_MARGIN_S
        while True:
            try:
                ours = await self.database.write(
                    lambda session: outcome.record(session, database_now(session, self.clock))
                )
            except Exception as error:  # noqa: BLE001  whatever it was: Slack may have the post, and this says so
                log.warning(
                    "outcome_not_written", post=claim.post.idempotency_key, outcome=outcome.name, reason=str(error)
                )
                if self.monotonic() >= give_up_at:
                    return
                await asyncio.sleep(0.2)
                continue
            self._log_outcome(claim, outcome, ours=ours)
            return

    def _log_outcome(self, claim: Claim, outcome: Outcome, *, ours: bool) -> None:
        """The line that joins a message in a channel to the delivery that brought the news."""
        log.info(
            "post" if ours else "post_lease_lost",
            post=claim.post.idempotency_key,
            outcome=outcome.name,
            attempt=claim.post.attempts,
            channel_id=claim.channel_id,
            message_ts=outcome.message_ts,
            reference=inbox.reference(claim.event.inbox_id) if claim.event else None,
            since_receipt_s=round(self._since_receipt_s(claim), 3),
        )

    def _since_receipt_s(self, claim: Claim) -> float:
        return (self.clock() - claim.post.received_at).total_seconds()

    async def _settle(self, claim: Claim) -> Outcome:
        return await self.settle(claim, self._doubts.of(claim))

    async def _send(self, claim: Claim, begun_at_s: float) -> Outcome:
        if claim.edited and claim.edited.message_ts is None:
            return self._outcomes.not_edited(claim, "its message was not posted")
        message = self.render(claim, self.clock())
        if claim.post.plain or (claim.edited and claim.edited.plain):
            message = message.in_words()
        try:
            message_ts = await self._say(claim, self.native.form_of(message), begun_at_s)
        except SlackError as error:
            log.info("post_not_made", post=claim.post.idempotency_key, reason=str(error))
            return await self._refused(claim, error)
        if message_ts is None:
            return self._outcomes.retry(claim, "too late to send", after_s=0.0)
        self._doubts.taken(claim)
        return self._outcomes.sent(claim, message_ts)

    async def _say(self, claim: Claim, message: Message, begun_at_s: float) -> str | None:
        """The ts of the message, which goes at once in sections where its native blocks are refused.

        None where it was not sent, because the time in which this claim may call Slack is over.
        """
        # By this process's own clock, from before the lane was taken: replicas' clocks may differ from the database's.
        left_s = CALL_S - (self.monotonic() - begun_at_s)
        if left_s <= 0:
            # This process slept since it took the lane: it is too late to be sure of being the only one.
            return None
        try:
            return await self._call(claim, message, left_s)
        except SlackMessageRefused as error:
            if not message.plain_blocks:
                raise
            log.warning("native_blocks_refused", post=claim.post.idempotency_key, reason=str(error))
        message_ts = await self._say(claim, message.in_sections(), begun_at_s)
        if message_ts is not None:
            self.native.refused()
        return message_ts

    async def _call(self, claim: Claim, message: Message, timeout_s: float) -> str:
        edited = claim.edited
        if edited is None or edited.message_ts is None:
            post_key = claim.post.idempotency_key
            return await self.sender.post(
                claim.channel_id, message, post_key=post_key, timeout_s=timeout_s, edits=claim.edits
            )
        await self.sender.update(
            claim.channel_id,
            edited.message_ts,
            message,
            post_key=edited.idempotency_key,
            timeout_s=timeout_s,
            edits=claim.edits,
        )
        return edited.message_ts

    async def _refused(self, claim: Claim, error: SlackError) -> Outcome:
        reason = str(error)
        match error:
            case SlackUnreached() | SlackDoubtful():
                return await self._unanswered(claim, error)
            case SlackWait():
                return self._outcomes.held(claim, error, error.retry_after_s)
            case SlackChannelClosed():
                return self._outcomes.channel_closed(claim, error.code)
            case SlackCredentialsDead():
                return self._outcomes.credentials_dead(claim, reason)
            case SlackMessageRefused() if not claim.post.plain:
                log.error("blocks_refused", post=claim.post.idempotency_key, reason=reason)
                return self._outcomes.retry(claim, reason, after_s=0.0, plain=True)
            case SlackEditRefused() | SlackMessageRefused() if claim.edited:
                return await self._not_edited(claim, reason)
            case _:
                return self._outcomes.given_up(claim, Reason.REFUSED, reason)

    async def _unanswered(self, claim: Claim, error: SlackError) -> Outcome:
        """A message is looked for, but where the call never left. An edit, made again, changes nothing if it was made.

        It is made later, as all edits then, so that the channel's messages need not wait for it; but not for ever.
        """
        doubt = self._doubts.unanswered(claim, left=isinstance(error, SlackDoubtful))
        if claim.edited:
            if self._doubts.is_edit_in_vain(doubt):
                return await self._not_edited(claim, str(error))
            return self._outcomes.held(claim, error, _back_off_s(claim))
        if isinstance(error, SlackUnreached):
            return self._outcomes.retry(claim, str(error), after_s=_back_off_s(claim))
        return self._outcomes.doubtful(claim, str(error))

    async def _not_edited(self, claim: Claim, reason: str) -> Outcome:
        """The edit becomes a message of its own, unless Slack took an earlier call for the edit and did not say so."""
        edited, shown = claim.edited, claim.shown
        if edited is None or edited.message_ts is None or shown is None or claim.post.attempts < 2:
            return self._outcomes.not_edited(claim, reason)
        try:
            said = await self._edits_said(claim.channel_id, edited.idempotency_key, edited.message_ts)
        except (SlackScopeMissing, SlackChannelClosed) as error:
            return self._outcomes.not_edited(claim, f"{reason}, and I can't look at the message ({error})")
        except SlackError as error:
            if not self._doubts.not_looked(claim):
                return self._outcomes.not_edited(claim, reason)
            # As edits without an answer: the channel's messages go on.
            return self._outcomes.held(claim, error, _back_off_s(claim))
        if claim.post.id not in said:
            return self._outcomes.not_edited(claim, reason)
        return self._outcomes.sent(claim.saying(said), edited.message_ts, "found")

    async def _edits_said(self, channel_id: str, post_key: str, message_ts: str) -> frozenset[int]:
        """The numbers of the edits that a message says in its channel. Raises SlackError."""
        at, second = datetime.fromtimestamp(float(message_ts), UTC), timedelta(seconds=1)
        try:
            async with asyncio.timeout(LOOK_S):
                found = await self.sender.find(channel_id, post_key, since=at - second, until=at + second, cursor=None)
        except TimeoutError:
            raise SlackUnreached(channel_queues.LOOK_METHOD, f"not read within {LOOK_S:g} s") from None
        return found.edits


def _back_off_s(claim: Claim) -> float:
    return BACKOFF_S[min(claim.post.attempts, len(BACKOFF_S)) - 1]
