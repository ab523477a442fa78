"""The interface of a job. `bot/app.py` has the table of all jobs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import select
from sqlmodel import Session, col

from bot.db.engine import Database, Work
from bot.db.tables import JobRun

HOUR_S = 3_600

JobOutcome = Literal["ok", "failed"]


@dataclass(frozen=True)
class Job:
    """`words`: for people, what a good run has done. `run` returns a count for the log, or nothing.

    A run may be repeated, and may be ended at any moment. `look`: truthy where there is work; None means always.
    """

    id: str
    words: str
    every_s: int
    run: Callable[[], Awaitable[object]]
    look: Callable[[Session], object] | None = None


def last_done(session: Session) -> dict[str, datetime]:
    """When each job last ended well, by the job's id. Jobs without a success are left out."""
    done = select(col(JobRun.job), col(JobRun.done_at)).where(col(JobRun.done_at).is_not(None))
    return {row.job: row.done_at for row in session.execute(done)}


async def write_all(database: Database, work: Work[int], wake: asyncio.Event | None = None) -> int:
    """Repeat until a transaction changes nothing; how much was changed. `wake` is set after each change."""
    total = 0
    while count := await database.write(work):
        total += count
        if wake:
            wake.set()
    return total
