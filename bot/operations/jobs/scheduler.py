"""Runs the jobs. Each replica has a scheduler; the replica with the claim runs the slot.

Two schedulers of APScheduler 3 on a shared job store run jobs twice. So the store is in memory, and claims are ours.
"""

import asyncio
import secrets
from collections.abc import Callable
from datetime import datetime
from functools import partial

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlmodel import Session

from bot.db.database_clock import database_now
from bot.errors import RacingBotError
from bot.logs import get_logger
from bot.operations.jobs import job_runs
from bot.operations.jobs.table import JOBS, Job, JobParts

log = get_logger(__name__)

LEASE_S = 300.0
"""After this a claimed slot without an end is taken over."""

RUN_S = 1_800.0
"""Longest run. A run without an end would block its job unnoticed."""

SLOT_TRY_EVERY_S = 60
"""Each replica tries at least this often, to take over a dead claimant's slot in time."""


class JobHangs(RacingBotError):
    """A run took longer than RUN_S."""


class Jobs:
    """`failing`: job → reason of the failed last run. `count` gets each job and "ok" or "failed"."""

    def __init__(self, parts: JobParts, *, count: Callable[[str, str], None] = lambda _job, _outcome: None) -> None:
        self._parts = parts
        self._count = count
        self._replica = secrets.token_hex(4)
        self._scheduler = AsyncIOScheduler(
            timezone="UTC",
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self.failing: dict[str, str] = {}
        self._stopping = False

    def start(self) -> None:
        for job in JOBS:
            try_every_s = min(job.every_s(self._parts.settings), SLOT_TRY_EVERY_S)
            self._scheduler.add_job(
                self.run, IntervalTrigger(seconds=try_every_s), args=[job], id=job.id, next_run_time=self._parts.clock()
            )
        self._scheduler.start()

    def stop(self) -> None:
        self._stopping = True
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    async def run(self, job: Job) -> bool:
        """True if this replica claimed the slot and the job ran."""
        every_s = job.every_s(self._parts.settings)
        try:
            slot = await self._claim(job, every_s)
            if slot is None:
                return False
            await self._run_bounded(job)
            await self._parts.database.write(partial(self._finish, job=job, slot=slot))
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            # The scheduler cancelled the run, and would log a failure.
            log.info("job_stopped", job=job.id)
            return False
        except Exception as error:  # noqa: BLE001  logged, and shown by /readyz
            # The slot stays open for a later try by any replica.
            level = log.warning if isinstance(error, RacingBotError) else log.exception
            level("job_failed", job=job.id, reason=str(error))
            self.failing[job.id] = str(error) or type(error).__name__
            self._count(job.id, "failed")
            return False
        self.failing.pop(job.id, None)
        self._count(job.id, "ok")
        return True

    async def _run_bounded(self, job: Job) -> None:
        try:
            async with asyncio.timeout(RUN_S) as bound:
                await job.run(self._parts)
        except TimeoutError:
            if bound.expired():
                raise JobHangs(f"the run was ended after {RUN_S:g} s without an end of its own") from None
            raise

    async def _claim(self, job: Job, every_s: int) -> str | None:
        slot = slot_of(self._parts.clock(), every_s)
        ours = await self._parts.database.write(
            lambda session: job_runs.claim(
                session,
                job.id,
                slot,
                by=self._replica,
                now=database_now(session, self._parts.clock),
                lease_s=min(LEASE_S, float(every_s)),
            )
        )
        return slot if ours else None

    def _finish(self, session: Session, job: Job, slot: str) -> None:
        # By the clock of the leases: by another clock, recent slots may seem too old.
        job_runs.finish(session, job=job.id, slot=slot, now=database_now(session, self._parts.clock))


def slot_of(now: datetime, every_s: int) -> str:
    """The name of a moment's slot, equal in every replica."""
    start = int(now.timestamp()) // every_s * every_s
    return datetime.fromtimestamp(start, now.tzinfo).isoformat()
