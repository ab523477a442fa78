"""Each slot of a job is run once, by whichever replica claims it; what a killed one left is taken over."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from sqlalchemy import update

from bot.db.tables import JobRun
from bot.operations.jobs import scheduler
from bot.operations.jobs.scheduler import SLOT_TRY_EVERY_S, Jobs
from bot.operations.jobs.table import JOBS, Job
from tests.clock import now

HOUR_S = 3_600
START = datetime(2026, 11, 20, 12, 0, 1, tzinfo=UTC)


class Killed(BaseException):
    """What ends a process in the middle of a run: nothing after it is carried out."""


class Replica:
    """One replica's jobs at a time of the test's own, with one job that notes who ran it."""

    def __init__(self, database: Any, name: str, runs: list[str]) -> None:
        self.now = START
        self.dies = self.hangs = False
        parts: Any = SimpleNamespace(database=database, clock=lambda: self.now, settings=SimpleNamespace())
        self.jobs = Jobs(parts)
        self._name, self._runs = name, runs

    async def tries(self, after_s: float = 0) -> bool:
        """Whether the slot was this one's."""
        self.now = START + timedelta(seconds=after_s)
        return await self.jobs.run(Job("count", lambda _settings: HOUR_S, self._run))

    async def _run(self, _parts: Any) -> None:
        self._runs.append(self._name)
        if self.hangs:
            await asyncio.Event().wait()
        if self.dies:
            raise Killed


async def test_slot_is_run_once_by_all_replicas_together(database):
    runs: list[str] = []
    one, other = Replica(database, "one", runs), Replica(database, "other", runs)
    assert [await one.tries(), await other.tries(2)] == [True, False]
    assert [await one.tries(SLOT_TRY_EVERY_S), await other.tries(SLOT_TRY_EVERY_S)] == [False, False]
    assert [await other.tries(HOUR_S), await one.tries(HOUR_S + 3)] == [True, False]
    assert runs == ["one", "other"]


async def test_slot_of_a_killed_claimant_is_taken_over_after_its_lease(database):
    runs: list[str] = []
    killed, other = Replica(database, "killed", runs), Replica(database, "other", runs)
    killed.dies = True
    try:
        await killed.tries()
    except Killed:
        runs.append("killed in it")
    assert await other.tries(SLOT_TRY_EVERY_S) is False
    # By the database's own clock, which a test can't move on PostgreSQL.
    over = update(JobRun).values(leased_until=START - timedelta(days=1))
    await database.write(lambda session: session.execute(over))
    assert await other.tries(2 * SLOT_TRY_EVERY_S) is True
    assert await killed.tries(3 * SLOT_TRY_EVERY_S) is False
    assert runs == ["killed", "killed in it", "other"]


async def test_every_slot_is_tried_for_again_within_its_own_time(database):
    settings = SimpleNamespace(quota_check_s=900, repair_check_s=HOUR_S)
    parts: Any = SimpleNamespace(database=database, clock=now, settings=settings)
    jobs = Jobs(parts)
    jobs.start()
    try:
        tried = {job.id: job.trigger.interval.total_seconds() for job in jobs._scheduler.get_jobs()}
    finally:
        jobs.stop()
    assert tried.keys() == {job.id for job in JOBS}
    assert max(tried.values()) <= SLOT_TRY_EVERY_S


async def test_run_without_an_end_is_ended_and_shown(database, monkeypatch):
    monkeypatch.setattr(scheduler, "RUN_S", 0.05)
    runs: list[str] = []
    one = Replica(database, "one", runs)
    one.hangs = True
    assert await asyncio.wait_for(one.tries(), 10) is False
    assert one.jobs.failing == {"count": "the run was ended after 0.05 s without an end of its own"}
