"""Runs the jobs. Each replica has a scheduler; the replica with the claim runs the slot.

A job's row has the last slot. After a crash another replica takes the slot over.
Two schedulers of APScheduler 3 on a shared job store run jobs twice. So the store is in memory, and claims are ours.
APScheduler goes by the wall clock: after somebody set the clock back, `look` has the scheduler try in time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy import or_, select, update
from sqlmodel import Session, col

from bot.clock import Clock, Monotonic, Token
from bot.db.engine import Database, database_now, put_where
from bot.db.tables import JobRun
from bot.errors import RacingBotError, StorageError
from bot.logs import get_logger
from bot.operations.jobs.job import Job, JobOutcome, last_done
from bot.racedata.client.service_errors import STOPPING, TRANSIENT, ServiceFailure, Spared

log = get_logger(__name__)

LEASE_S = 300.0
"""After this a claimed slot without an end is taken over."""

RUN_S = 1_800.0
"""Longest run. A run without an end would block its job unnoticed."""

SLOT_TRY_EVERY_S = 60
"""Each replica tries at least this often, to take over a dead claimant's slot in time."""

NOTED_EVERY_S = 60
"""In between, a look that finds nothing to do writes nothing."""

INTERVALS_MISSED = 3
"""After so many intervals without a good run by any replica, `/readyz` names the job."""

UNDONE_FOR = timedelta(days=1)
"""After so long without a good run by any replica, admins hear of a failing job."""


class SlotClaim(Enum):
    OURS = auto()
    UNDER_WAY = auto()
    DONE = auto()
    """Another run of the slot was good."""


def claim_slot(session: Session, job: str, slot_at: datetime, *, by: str, now: datetime, every_s: int) -> SlotClaim:
    """The slot is ours if nobody has claimed the slot, or if the lease expired without an end.

    A slot or a lease too far ahead was written before somebody set the clock back. Replicas that read the clock at
    nearly the same moment are one slot apart at most.
    """
    lease, row = timedelta(seconds=min(LEASE_S, every_s)), JobRun
    is_free = or_(
        col(row.slot_at) < slot_at,
        col(row.slot_at) > slot_at + timedelta(seconds=every_s),
        col(row.leased_until) <= now,
        col(row.leased_until) > now + 2 * lease,
    )
    if put_where(session, row, is_free, job=job, slot_at=slot_at, claimed_by=by, leased_until=now + lease):
        return SlotClaim.OURS
    leased_until = session.execute(select(col(row.leased_until)).where(col(row.job) == job)).scalar_one()
    return SlotClaim.DONE if leased_until is None else SlotClaim.UNDER_WAY


def finish_slot(session: Session, job: str, slot_at: datetime, *, by: str, now: datetime) -> None:
    """Changes nothing if another replica has the job by now."""
    ours = (col(JobRun.job) == job, col(JobRun.slot_at) == slot_at, col(JobRun.claimed_by) == by)
    session.execute(update(JobRun).where(*ours).values(leased_until=None, done_at=now))


@dataclass(eq=False)
class Jobs:
    """`failing`: job → reason of the failed last run. `count` gets each job and its outcome.

    `tell_undone` gets a failing job, the reason, and the last good run. `wall`: APScheduler's clock.
    `_over`: job → the slot that this replica does not try for again.
    """

    table: Sequence[Job]
    database: Database
    clock: Clock
    wall: Clock
    monotonic: Monotonic
    token: InitVar[Token]
    count: Callable[[str, JobOutcome], None] = lambda _job, _outcome: None
    tell_undone: Callable[[Job, str, datetime | None], Awaitable[None]] | None = None
    failing: dict[str, str] = field(default_factory=dict, init=False)
    _over: dict[str, datetime | None] = field(default_factory=dict, init=False)
    _done_s: dict[str, float] = field(default_factory=dict, init=False)
    _noted_at: dict[str, datetime] = field(default_factory=dict, init=False)
    _stopping: bool = field(default=False, init=False)

    def __post_init__(self, token: Token) -> None:
        self._replica = token(4)
        self._started_at = self.clock()
        defaults = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        self._scheduler = AsyncIOScheduler(timezone="UTC", job_defaults=defaults)

    def start(self) -> None:
        for job in self.table:
            every = IntervalTrigger(seconds=min(job.every_s, SLOT_TRY_EVERY_S))
            self._scheduler.add_job(self.run, every, args=[job], id=job.id, next_run_time=self.wall())
            self._done_s[job.id] = self.monotonic()
        self._scheduler.start()

    def stop(self) -> None:
        self._stopping = True
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def look(self) -> dict[str, str]:
        """Job → what is wrong. Call every few seconds: a try beyond the job's interval is made at once."""
        for scheduled in self._scheduler.get_jobs():
            now = self.wall()
            if scheduled.next_run_time > now + scheduled.trigger.interval:
                log.warning("clock_set_back", job=scheduled.id, tried_at=scheduled.next_run_time.isoformat())
                scheduled.modify(next_run_time=now)
        now_s, overdue = self.monotonic(), {}
        for job in self.table:
            since_s = now_s - self._done_s.get(job.id, now_s)
            if since_s > INTERVALS_MISSED * job.every_s:
                overdue[job.id] = f"no good run for {since_s:.0f} s"
        return overdue | self.failing

    async def run(self, job: Job) -> bool:
        """True if this replica claimed the slot and the job ran."""
        slot_at = None
        try:
            is_needless = job.look is not None and not await self.database.read(job.look)
            if is_needless and self._may_pass_over(job):
                return False
            slot_at = await self._claim(job, is_over=is_needless)
            if slot_at is None:
                return False
            done = None
            if not is_needless:
                done = await self._run_bounded(job)
                await self.database.write(partial(self._finish, job=job, slot_at=slot_at))
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            # The scheduler cancelled the run, and would log a failure.
            log.info("job_stopped", job=job.id)
            return False
        except Exception as error:  # noqa: BLE001  logged, and shown by /readyz
            # The slot stays open for a later try by any replica. A refusal would be the same.
            if isinstance(error, ServiceFailure) and not isinstance(error, TRANSIENT):
                self._over[job.id] = slot_at
            level = log.warning if isinstance(error, RacingBotError) else log.exception
            level("job_failed", job=job.id, reason=str(error))
            self.failing[job.id] = str(error) or type(error).__name__
            self._noted_at.pop(job.id, None)
            self.count(job.id, "failed")
            # Admins have had a notice of such a refusal already.
            if not isinstance(error, (*STOPPING, Spared)):
                await self._tell_if_undone(job)
            return False
        if done:
            log.info("job_done", job=job.id, changed=done)
        self._note_good_run(job, slot_at)
        self.count(job.id, "ok")
        return True

    async def _tell_if_undone(self, job: Job) -> None:
        try:
            done_at = (await self.database.read(last_done)).get(job.id)
        except StorageError as error:
            log.warning("job_run_not_read", job=job.id, reason=str(error))
            return
        longest = max(UNDONE_FOR, timedelta(seconds=INTERVALS_MISSED * job.every_s))
        if self.tell_undone and self.clock() - (done_at or self._started_at) > longest:
            await self.tell_undone(job, self.failing[job.id], done_at)

    def _note_good_run(self, job: Job, slot_at: datetime) -> None:
        self._over[job.id] = slot_at
        self.failing.pop(job.id, None)
        self._done_s[job.id] = self.monotonic()
        self._noted_at[job.id] = self.clock()

    def _may_pass_over(self, job: Job) -> bool:
        """Whether the look that found nothing counts as a good run, without a note for the other replicas."""
        noted_at = self._noted_at.get(job.id)
        ago_s = (self.clock() - noted_at).total_seconds() if noted_at else NOTED_EVERY_S
        # A look may come a little early.
        if not 0 <= ago_s < NOTED_EVERY_S - job.every_s / 2:
            return False
        self._done_s[job.id] = self.monotonic()
        self.count(job.id, "ok")
        return True

    async def _run_bounded(self, job: Job) -> object:
        try:
            async with asyncio.timeout(RUN_S) as bound:
                return await job.run()
        except TimeoutError:
            if bound.expired():
                raise RacingBotError(f"the run was ended after {RUN_S:g} s without an end of its own") from None
            raise

    async def _claim(self, job: Job, *, is_over: bool) -> datetime | None:
        """The slot, if the slot is ours. A good run of another replica counts as a good run of ours.

        `is_over`: with the claim the slot ends.
        """

        def claim(session: Session) -> tuple[datetime, SlotClaim]:
            # The clock of the leases: every replica names the same slot.
            now, every_s = database_now(session, self.clock), job.every_s
            slot_at = slot_of(now, every_s)
            if slot_at == self._over.get(job.id):
                return slot_at, SlotClaim.UNDER_WAY
            claimed = claim_slot(session, job.id, slot_at, by=self._replica, now=now, every_s=every_s)
            if claimed is SlotClaim.OURS and is_over:
                self._finish(session, job, slot_at)
            return slot_at, claimed

        slot_at, claimed = await self.database.write(claim)
        if claimed is SlotClaim.DONE:
            self._note_good_run(job, slot_at)
        return slot_at if claimed is SlotClaim.OURS else None

    def _finish(self, session: Session, job: Job, slot_at: datetime) -> None:
        now = database_now(session, self.clock)
        finish_slot(session, job.id, slot_at, by=self._replica, now=now)


def slot_of(now: datetime, every_s: int) -> datetime:
    """The begin of a moment's slot, equal in every replica."""
    return datetime.fromtimestamp(int(now.timestamp()) // every_s * every_s, now.tzinfo)
