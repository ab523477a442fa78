"""Each slot of a job is run once, by the replica with the claim; a killed replica's slot is taken over."""

import asyncio
import secrets
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import func, select

from bot.app import Service
from bot.db.tables import JobRun
from bot.deliveries import inbox
from bot.deliveries.journal import Journal
from bot.operations.jobs import scheduler
from bot.operations.jobs.job import Job, last_done
from bot.operations.jobs.routine_jobs import prune_bodies
from bot.operations.jobs.scheduler import INTERVALS_MISSED, LEASE_S, SLOT_TRY_EVERY_S, Jobs
from bot.ports import Ports
from bot.racedata.client.service_errors import (
    CircuitOpen,
    QuotaExceeded,
    ServerFault,
    Spared,
    Unauthorized,
    UnknownRefusal,
)
from tests.clock import START, now, set_ahead
from tests.databases import on_both
from tests.unit.pages import settings

HOUR_S = 3_600


class Killed(BaseException):
    """Ends a process in the middle of a run: no later line is carried out."""


class Replica:
    """A replica's jobs at the test's time, with a job that notes the replica of each run."""

    def __init__(self, database: Any, name: str, runs: list[str]) -> None:
        self.now = START
        self.dies = self.hangs = False
        self.finds: bool | None = None
        self.fails: Exception | None = None
        self.every_s = HOUR_S
        wall, token = Ports().wall, secrets.token_hex
        self.told: list[tuple[str, datetime | None]] = []
        self.jobs = Jobs(
            (),
            database,
            lambda: self.now,
            wall=wall,
            monotonic=lambda: 0.0,
            token=token,
            tell_undone=self._tell_undone,
        )
        self._database, self._name, self._runs = database, name, runs

    async def tries(self, after_s: float = 0) -> bool:
        """Whether this replica got the slot, so long after the begin of an hour."""
        self.now = START + timedelta(seconds=after_s + 1)
        await set_ahead(self._database, self.now - now())
        look = None if self.finds is None else lambda _session: bool(self.finds)
        return await self.jobs.run(Job("count", "Counted", self.every_s, self._run, look))

    async def _tell_undone(self, _job: Job, reason: str, done_at: datetime | None) -> None:
        self.told.append((reason, done_at))

    async def _run(self) -> None:
        self._runs.append(self._name)
        if self.hangs:
            await asyncio.Event().wait()
        if self.dies:
            raise Killed
        if self.fails:
            raise self.fails


@pytest.fixture
def runs() -> list[str]:
    return []


@pytest.fixture
def one(database, runs) -> Replica:
    return Replica(database, "one", runs)


@pytest.fixture
def other(database, runs) -> Replica:
    return Replica(database, "other", runs)


@on_both
async def test_slot_is_run_once_by_all_replicas_together(one, other, runs):
    assert [await one.tries(), await other.tries(2)] == [True, False]
    assert [await one.tries(SLOT_TRY_EVERY_S), await other.tries(SLOT_TRY_EVERY_S)] == [False, False]
    assert [await other.tries(HOUR_S), await one.tries(HOUR_S + 3)] == [True, False]
    assert runs == ["one", "other"]


@pytest.mark.parametrize("set_back_s", [0, 2 * HOUR_S])
@on_both
async def test_slot_of_a_killed_claimant_is_taken_over_after_its_lease(one, other, runs, set_back_s):
    one.dies = True
    with pytest.raises(Killed):
        await one.tries()
    if not set_back_s:
        assert await other.tries(SLOT_TRY_EVERY_S) is False
    assert await other.tries(LEASE_S + 2 - set_back_s) is True
    assert await one.tries(LEASE_S + SLOT_TRY_EVERY_S - set_back_s) is False
    assert runs == ["one", "other"]


@on_both
async def test_clock_set_back_stops_no_job(one, other, runs):
    assert await one.tries(2 * HOUR_S) is True
    # A replica that read the clock before the hour was over.
    assert await other.tries(2 * HOUR_S - 2) is False
    assert [await one.tries(0), await other.tries(1)] == [True, False]
    assert await other.tries(HOUR_S) is True
    assert runs == ["one", "one", "other"]


async def test_job_keeps_one_row_however_often_the_job_has_run(database, one):
    for hours in range(3):
        assert await one.tries(hours * HOUR_S)
    assert await database.read(lambda session: session.execute(select(func.count()).select_from(JobRun)).scalar()) == 1


@on_both
async def test_failure_is_over_with_a_good_run_of_any_replica(one, other):
    one.fails = ValueError("no luck")
    assert await one.tries() is False
    assert one.jobs.look() == {"count": "no luck"}
    assert await one.tries(1) is False
    assert one.jobs.look() == {"count": "no luck"}
    assert await other.tries(LEASE_S + 2) is True
    assert await one.tries(LEASE_S + 3) is False
    assert one.jobs.look() == {}


@on_both
async def test_look_that_finds_nothing_is_a_good_run_that_is_noted_once_a_minute(database, one, other, runs):
    one.every_s = other.every_s = 15
    one.finds = other.finds = False
    noted = []
    for number in range(9):
        await one.tries(number * 15)
        noted.append((await database.read(last_done))["count"])
    assert [after > before for before, after in pairwise(noted)] == [False, False, False, True] * 2
    assert (runs, one.jobs.look()) == ([], {})
    other.finds = True
    assert [await other.tries(9 * 15), await one.tries(9 * 15 + 1)] == [True, False]
    assert runs == ["other"]


@pytest.mark.parametrize(
    ("failure", "runs_in_the_hour"),
    [(UnknownRefusal("account/usage", status=403), 1), (ServerFault("", status=500), 3)],
)
async def test_403_is_not_retried_before_the_next_slot(one, runs, failure, runs_in_the_hour):
    one.fails = failure
    for number in range(3):
        assert await one.tries(number * (LEASE_S + 2)) is False
    assert (len(runs), "count" in one.jobs.look()) == (runs_in_the_hour, True)
    one.fails = None
    assert await one.tries(HOUR_S) is True


@pytest.mark.parametrize("is_known", [False, True])
async def test_job_that_fails_for_a_day_is_told_with_its_last_good_run(one, is_known):
    done_at = START + timedelta(seconds=1) if is_known else None
    one.fails = None if is_known else ServerFault("", status=500)
    assert await one.tries() is is_known
    one.fails = ServerFault("", status=500)
    await one.tries(23 * HOUR_S)
    assert one.told == []
    await one.tries(25 * HOUR_S)
    assert one.told == [(str(one.fails), done_at)]


@pytest.mark.parametrize("refusal", [Unauthorized(""), QuotaExceeded(""), CircuitOpen(""), Spared("")])
async def test_refusal_of_everything_that_was_told_already_is_not_told_of_each_job(one, refusal):
    one.fails = refusal
    for hours in (0, 25):
        assert await one.tries(hours * HOUR_S) is False
    assert one.told == []


class Scheduled:
    """The bot's jobs with their scheduler, at monotonic seconds that the test moves."""

    def __init__(self, database: Any) -> None:
        self.now_s = 0.0
        table, wall = Service(settings()).jobs.table, Ports().wall
        self.jobs = Jobs(table, database, now, wall=wall, monotonic=lambda: self.now_s, token=secrets.token_hex)
        self.jobs.start()
        self.every_s = {job.id: job.every_s for job in table}

    def tried_at(self) -> dict[str, datetime]:
        return {job.id: job.next_run_time for job in self.jobs._scheduler.get_jobs()}


@pytest.fixture
async def scheduled(database):
    jobs = Scheduled(database)
    yield jobs
    jobs.jobs.stop()


async def test_every_slot_is_tried_for_again_within_its_own_time(scheduled):
    tried = {job.id: job.trigger.interval.total_seconds() for job in scheduled.jobs._scheduler.get_jobs()}
    assert tried.keys() == scheduled.every_s.keys()
    assert max(tried.values()) <= SLOT_TRY_EVERY_S


@on_both
async def test_scheduler_tries_in_time_after_the_clock_was_set_back(scheduled):
    """APScheduler's own clock can't be set: the state left by a clock two hours back is set."""
    before = scheduled.tried_at()
    for job in scheduled.jobs._scheduler.get_jobs():
        job.modify(next_run_time=before[job.id] + timedelta(hours=2))
    scheduled.jobs.look()
    latest = max(before.values()) + timedelta(seconds=SLOT_TRY_EVERY_S)
    assert max(scheduled.tried_at().values()) <= latest


async def test_job_without_a_good_run_for_three_intervals_is_told(scheduled):
    assert scheduled.jobs.look() == {}
    scheduled.now_s = INTERVALS_MISSED * scheduled.every_s["escalate"]
    assert scheduled.jobs.look() == {}
    scheduled.now_s += 1
    assert scheduled.jobs.look()["escalate"] == "no good run for 46 s"
    assert scheduled.jobs.look().keys() == {job for job, every_s in scheduled.every_s.items() if every_s == 15}
    scheduled.now_s = INTERVALS_MISSED * max(scheduled.every_s.values()) + 1
    assert scheduled.jobs.look().keys() == scheduled.every_s.keys()


async def test_run_without_an_end_is_ended_and_shown(one, monkeypatch):
    monkeypatch.setattr(scheduler, "RUN_S", 0.05)
    one.hangs = True
    assert await asyncio.wait_for(one.tries(), 10) is False
    assert one.jobs.failing == {"count": "the run was ended after 0.05 s without an end of its own"}


# Old bodies are forgotten, but not the hashes of replays


def arrival(number, age_days):
    return inbox.Arrival(
        f"result.received:rc_{number}", "result.received", f"{number:064}", b"{}", START - timedelta(age_days)
    )


async def store(database, arrivals, *, done=True):
    new = await database.write(lambda session: inbox.store(session, arrivals))
    if done:
        taken = await database.write(lambda session: inbox.waiting(session, START, 10_000))
        await database.write(lambda session: inbox.take(session, taken, START))
    return [one.event_key for one in new]


async def test_old_bodies_are_forgotten_once_and_their_keys_are_kept(database):
    await store(database, [arrival(number, 40) for number in range(450)])
    await store(database, [arrival(number, 5) for number in range(1000, 1010)])
    journal = Journal(database.address, lambda: 0.0)
    assert [await prune_bodies(database, journal, 30, lambda: START).run() for _ in range(2)] == [450, 0]
    assert await store(database, [arrival(7, 0), arrival(1005, 0)], done=False) == []
    assert await prune_bodies(database, journal, 30, lambda: START + timedelta(days=30)).run() == 10


@on_both
async def test_delivery_that_still_waits_keeps_its_body(database):
    await store(database, [arrival(1, 40)], done=False)
    journal = Journal(database.address, lambda: 0.0)
    assert await prune_bodies(database, journal, 30, lambda: START).run() == 0
    (waiting,) = await database.write(lambda session: inbox.waiting(session, START, 5))
    assert waiting.body == b"{}"
