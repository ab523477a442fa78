"""Claims messages, commits, calls Slack, and writes the outcomes down. Wake-ups only speed the polling up."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from sqlmodel import Session

from bot.channels.conditions.event_conditions import is_person
from bot.clock import Clock, Monotonic, Token
from bot.db.engine import Database, Repeatable, database_now, dialect_of
from bot.db.tables import MessageKind
from bot.deliveries import inbox
from bot.errors import SlackDoubtful, StorageError
from bot.events import drill_mark
from bot.logs import get_logger
from bot.loop import POLL_S, Loop
from bot.outbox import channel_queues, claim_outcomes, pace
from bot.outbox.channel_move import move_person
from bot.outbox.channel_queues import LEASE_MARGIN_S, POST_CALL_S, Claim
from bot.outbox.claim_at_fanout import Added, Claiming, QueuedOnly
from bot.outbox.claim_outcomes import ClaimOutcome, GivenUp, NotEdited, Posted, Recording
from bot.outbox.claim_sender import ClaimSender
from bot.outbox.message import Call
from bot.outbox.notices import Notices
from bot.outbox.pace import Bucket, Buckets, Pace
from bot.outbox.resolve import Resolver

log = get_logger(__name__)

CLAIM_AGAIN_S = 0.02
"""The least wait before claiming again: another replica may be claiming just then."""

OUTCOMES_APART_S = 0.015
"""The least time between two commits of simple outcomes, which share a commit. A lone outcome does not wait."""

CALLS_AT_ONCE = 64

ROOM_TO_CLAIM = 32
"""Ended calls that wake a full poster: each claim looks at every queue with a message."""

WRITE_AGAIN_S = 0.2


@dataclass
class Poster(Loop):
    """After `stop`, `finish` waits for the calls under way. `on_told` gets seconds from receipt to Slack."""

    waits = "poster_waits"

    database: Database
    claim_sender: ClaimSender
    resolver: Resolver
    notices: Notices
    clock: Clock
    monotonic: Monotonic
    worked: Monotonic
    token: Token
    wake: asyncio.Event
    pace: Pace = field(default_factory=Pace)
    on_outcome: Callable[[str], None] = lambda _name: None
    on_told: Callable[[float], None] = lambda _seconds: None

    def __post_init__(self) -> None:
        super().__init__(self.clock, self.monotonic, self.wake)
        self._buckets = Buckets(self.pace.limits)
        self._under_way: set[asyncio.Task[None]] = set()
        self._full = False
        self._pending: list[Posted] = []
        self._written_at_s = -OUTCOMES_APART_S
        self._turn = asyncio.Lock()
        self._writing: asyncio.Task[dict[str, timedelta | None] | None] | None = None

    async def work(self) -> float:
        return await self.start_due()

    async def finish(self) -> None:
        while self._under_way:
            await asyncio.gather(*self._under_way, return_exceptions=True)

    def claiming(self, now: datetime, at_s: float) -> Claiming:
        """For fan-out's transaction. After the commit `begin` sends the claims."""
        room = self._room if self.is_running else 0
        return Claiming(self.token(8), room, self._buckets, now, at_s)

    def begin(self, added: Added) -> None:
        for claim in added.claims:
            self._start(claim)
        if added.waiting:
            self.wake.set()

    @property
    def _room(self) -> int:
        return CALLS_AT_ONCE - len(self._under_way)

    async def start_due(self) -> float:
        """Returns the seconds until more is due, at most POLL_S."""
        room = self._room
        if room <= 0:
            self._full = True
            return POLL_S
        claims, wait_s = await self.database.write(lambda session: self._claim_due(session, room))
        for claim in claims:
            self._start(claim)
        self._full = len(claims) >= room
        return POLL_S if self._full else wait_s

    def _start(self, claim: Claim) -> None:
        task = asyncio.create_task(self._deliver(claim), name=f"post {claim.channel_id}")
        self._under_way.add(task)
        task.add_done_callback(self._done)

    def _claim_due(self, session: Session, limit: int) -> tuple[list[Claim], float]:
        """The claims, and the seconds until more is due."""
        limits = self._buckets.limits
        taken = self._buckets.take(session)
        # Read after the buckets are locked: no replica has written a later moment into a bucket.
        now = database_now(session, self.clock)
        holds = pace.ends_of_holds(session, now)
        # Without a bucket: another replica is claiming.
        claims = self._claim(session, limit, now, taken, holds) if taken or not limits else []
        if len(claims) >= limit:
            return claims, POLL_S
        spent = {call: max(until, holds.get(call, until)) for call, until in self._buckets.spent_until(now).items()}
        due = channel_queues.next_due(session, holds | spent)
        wait_s = POLL_S if due is None else min(POLL_S, max(CLAIM_AGAIN_S, (due - now).total_seconds()))
        return claims, wait_s

    def _claim(
        self,
        session: Session,
        limit: int,
        now: datetime,
        taken: Mapping[Call, Bucket],
        holds: Collection[Call],
    ) -> list[Claim]:
        begun_at_s, began_s = self.monotonic(), self.worked()
        buckets = {call: bucket.at(now) for call, bucket in taken.items()}
        allowed = dict.fromkeys(self._buckets.limits, 0) | {call: int(bucket.calls) for call, bucket in buckets.items()}
        allowed |= dict.fromkeys(holds, 0)
        claims = channel_queues.claim(session, now, token=self.token(8), limit=limit, allowed=allowed)
        read_s = self.worked() - began_s
        unanswered = self.claim_sender.unanswered
        will_call = (
            one for one in claims if one.call is not Call.LOOK or not self.resolver.wait(one, unanswered.of(one))
        )
        calls = Counter(claim.call for claim in will_call)
        # An empty bucket too, after somebody set the clock back: the bucket fills from now on.
        for call in (one for one, bucket in taken.items() if calls[one] or bucket.counted_at > now):
            self._buckets.put_back(session, call, buckets[call].without(calls[call]))
        return [replace(claim, read_s=read_s, begun_at_s=begun_at_s) for claim in claims]

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._under_way.discard(task)
        if self._full and self._room >= ROOM_TO_CLAIM:
            self.wake.set()

    async def _deliver(self, claim: Claim) -> None:
        outcome = await self._outcome(claim)
        if isinstance(outcome, Posted | NotEdited | GivenUp):
            self.claim_sender.unanswered.forget(claim)
        self._count(outcome)
        await self._record(outcome)
        if isinstance(outcome, Posted) and is_person(claim.channel_id):
            await self._move_person(claim.channel_id)

    async def _record(self, outcome: ClaimOutcome) -> None:
        if isinstance(outcome, Posted) and not (outcome.claim.in_doubt or outcome.claim.trial_since):
            self._pending.append(outcome)
            self._writing = self._writing or asyncio.create_task(self._write_pending(), name="outcomes")
            if (waiting := await asyncio.shield(self._writing)) is not None:
                channel_id = outcome.claim.channel_id
                self._log_outcome(outcome, ours=channel_id in waiting)
                if (pause := waiting.get(channel_id)) is not None:
                    asyncio.get_running_loop().call_later(pause.total_seconds(), self.wake.set)
                return
        await self._write_down(outcome)
        self.wake.set()

    async def _move_person(self, person_id: str) -> None:
        """To the direct message that Slack named. After a failure, or a death, the next message moves the person."""
        channel_id = self.claim_sender.sender.direct_message(person_id)
        if channel_id is None:
            return
        try:
            await self.database.write(partial(move_person, person_id=person_id, channel_id=channel_id))
        except StorageError as error:
            log.warning("person_not_moved", person_id=person_id, channel_id=channel_id, reason=str(error))
            return
        log.info("person_moved", person_id=person_id, channel_id=channel_id)
        self.wake.set()

    async def _outcome(self, claim: Claim) -> ClaimOutcome:
        try:
            if claim.in_doubt:
                return await self.resolver(claim, self.claim_sender.unanswered.of(claim))
            return await self.claim_sender.send(claim)
        except Exception as error:
            # A bug of ours, before or after the call.
            log.exception("post_failed", post=claim.post.idempotency_key)
            return await self.claim_sender.refused(claim, SlackDoubtful(claim.call, f"our own {type(error).__name__}"))

    def _count(self, outcome: ClaimOutcome) -> None:
        """Drills are not counted."""
        claim = outcome.claim
        if claim.event is not None and claim.event.kind == drill_mark.KIND:
            return
        self.on_outcome(outcome.name)
        if isinstance(outcome, Posted) and claim.post.kind == MessageKind.EVENT and not claim.is_edit:
            self.on_told((self.clock() - (claim.post.due_at or claim.post.received_at)).total_seconds())

    async def _write_pending(self) -> dict[str, timedelta | None] | None:
        """See `record_posted`. None if not recorded: then each outcome is written by itself."""
        async with self._turn:
            if (early_s := self._written_at_s + OUTCOMES_APART_S - self.monotonic()) > 0:
                await asyncio.sleep(early_s)
            self._written_at_s = self.monotonic()
            sent, self._pending, self._writing = self._pending, [], None
            try:
                # If a power cut undoes the commit, posts are in doubt and looked up, and edits are made again.
                return await self.database.write(Repeatable(self._record_pending, sent=sent))
            except Exception as error:  # noqa: BLE001  whatever the cause
                log.warning("outcomes_not_written", count=len(sent), reason=str(error))
                return None

    def _record_pending(self, session: Session, *, sent: Sequence[Posted]) -> dict[str, timedelta | None]:
        return claim_outcomes.record_posted(self.recording(session, self._now(session, sent)), sent)

    def recording(self, session: Session, now: datetime) -> Recording:
        return Recording(session, now, self.notices, timedelta(seconds=self.pace.channel_s))

    def _now(self, session: Session, sent: Sequence[Posted]) -> datetime:
        """By the clock of leases: the claim's moment, and the monotonic time passed since."""
        if dialect_of(session) == "sqlite":
            return self.clock()
        now_s = self.monotonic()
        claims = [outcome.claim for outcome in sent]
        return max(claim.claimed_at + timedelta(seconds=now_s - claim.begun_at_s) for claim in claims)

    async def _write_down(self, outcome: ClaimOutcome) -> None:
        """Try until the lease is over: then the message is in doubt."""
        give_up_at = self.monotonic() + POST_CALL_S + LEASE_MARGIN_S
        while True:
            try:
                ours = await self.database.write(
                    lambda session: outcome.record(self.recording(session, database_now(session, self.clock)))
                )
            except Exception as error:  # noqa: BLE001  whatever the cause: Slack may have the message
                log.warning(
                    "outcome_not_written",
                    post=outcome.claim.post.idempotency_key,
                    outcome=outcome.name,
                    reason=str(error),
                )
                if self.monotonic() >= give_up_at:
                    return
                await asyncio.sleep(WRITE_AGAIN_S)
                continue
            self._log_outcome(outcome, ours=ours)
            return

    def _log_outcome(self, outcome: ClaimOutcome, *, ours: bool) -> None:
        claim = outcome.claim
        log.info(
            "post" if ours else "post_lease_lost",
            post=claim.post.idempotency_key,
            outcome=outcome.name,
            attempt=claim.calls,
            channel_id=claim.channel_id,
            message_ts=outcome.message_ts if isinstance(outcome, Posted) else None,
            reference=inbox.reference(claim.event.inbox_id) if claim.event else None,
            since_receipt_s=round((self.clock() - claim.post.received_at).total_seconds(), 3),
        )


Outbox = Poster | QueuedOnly
"""The outbox that fan-out has: of a running bot, or of a command beside a running bot."""
