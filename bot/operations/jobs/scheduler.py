"""Runs the jobs: every replica has its own scheduler, and a slot is run by whoever claims its row.

A job store that two schedulers share runs jobs twice (APScheduler 3): it is kept in memory, and the claim is ours.
"""

import asyncio
import secrets
from collections.abc import Callable
from datetime import datetime
from functools import partial

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlmodel import Session

from bot.errors import RacingBotError
from bot.logs import get_logger
from bot.operations.jobs.table import JOBS, Job, JobParts
from bot.storage import job_runs
from bot.storage.clock import database_now

log = get_logger(__name__)

LEASE_S = 300.0
"""A claimed slot that is not done after this is taken over."""


TRY_EVERY_S = 60
"""How often a slot is tried for, at least: one that its claimant did not finish is taken over within its own time."""


class Jobs:
    """The scheduled jobs of this process. `failing` are those whose last run raised, with the reason.

    `count` is told of each run: the job, and "ok" or "failed".
    """

    def __init__(self, parts: JobParts, *, count: Callable[[str, str], None] = lambda _job, _outcome: None) -> None:
        self._parts = parts
        self._count = count
        self._replica = secrets.token_hex(4)
        self._scheduler = AsyncIOScheduler(
            timezone="UTC",
            # The default lets a run be skipped that is a second late.
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self.failing: dict[str, str] = {}
        self._stopping = False

    def start(self) -> None:
        """Run each job now, and then once in each of its slots."""
        for job in JOBS:
            try_every_s = min(job.every_s(self._parts.settings), TRY_EVERY_S)
            self._scheduler.add_job(
                self.run, IntervalTrigger(seconds=try_every_s), args=[job], id=job.id, next_run_time=self._parts.clock()
            )
        self._scheduler.start()

    def stop(self) -> None:
        """Start no more runs, and cancel those that are under way: their slots stay open."""
        self._stopping = True
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    async def run(self, job: Job) -> bool:
        """Whether the slot was ours, and the job ran."""
        every_s = job.every_s(self._parts.settings)
        try:
            slot = await self._claim(job, every_s)
            if slot is None:
                return False
            await job.run(self._parts)
            await self._parts.database.write(partial(self._finish, job=job, slot=slot))
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            # The scheduler, which cancelled the run, would log it as a failure.
            log.info("job_stopped", job=job.id)
            return False
        except Exception as error:  # noqa: BLE001  logged, and shown by /readyz
            # One run that fails is no reason to have no more: the slot stays open, and another replica may take it.
            level = log.warning if isinstance(error, RacingBotError) else log.exception
            level("job_failed", job=job.id, reason=str(error))
            self.failing[job.id] = str(error)
            self._count(job.id, "failed")
            return False
        self.failing.pop(job.id, None)
        self._count(job.id, "ok")
        return True

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
        # By the clock of the leases: by another, slots of just now would be too old to keep.
        job_runs.finish(session, job=job.id, slot=slot, now=database_now(session, self._parts.clock))


def slot_of(now: datetime, every_s: int) -> str:
    """The name of the slot that a moment falls into: the same in every replica."""
    start = int(now.timestamp()) // every_s * every_s
    return datetime.fromtimestamp(start, now.tzinfo).isoformat()
