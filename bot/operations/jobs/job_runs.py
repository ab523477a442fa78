"""Slots of scheduled jobs. A single replica runs a slot; another takes over after a crash."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ScalarSelect, and_, delete, select, update
from sqlmodel import Session, col

from bot.db.engine import affected, insert_here
from bot.db.tables import JobRun

KEEP_SLOTS = timedelta(days=7)


def claim(session: Session, job: str, slot: str, *, by: str, now: datetime, lease_s: float) -> bool:
    """True if the slot was free, or its lease expired without an end."""
    leased_until = now + timedelta(seconds=lease_s)
    statement = insert_here(session, JobRun).values(job=job, slot=slot, claimed_by=by, leased_until=leased_until)
    statement = statement.on_conflict_do_nothing(index_elements=["job", "slot"])
    if session.execute(statement.returning(col(JobRun.slot))).first() is not None:
        return True
    abandoned = and_(col(JobRun.done_at).is_(None), col(JobRun.leased_until) <= now)
    takeover = (
        update(JobRun)
        .where(col(JobRun.job) == job, col(JobRun.slot) == slot, abandoned)
        .values(claimed_by=by, leased_until=leased_until)
    )
    return affected(session, takeover) > 0


def finish(session: Session, job: str, slot: str, now: datetime) -> None:
    session.execute(update(JobRun).where(col(JobRun.job) == job, col(JobRun.slot) == slot).values(done_at=now))
    session.execute(delete(JobRun).where(col(JobRun.job) == job, col(JobRun.leased_until) < now - KEEP_SLOTS))


def last_done(session: Session, jobs: Sequence[str]) -> dict[str, datetime]:
    """Jobs without a success are left out.

    A subquery for each job finds the newest slot by key, among weeks of slots.
    """
    row = session.execute(select(*[_done_at(job).label(job) for job in jobs])).one()
    return {job: done_at for job, done_at in zip(jobs, row, strict=True) if done_at}


def _done_at(job: str) -> ScalarSelect[datetime | None]:
    of_job = select(col(JobRun.done_at)).where(col(JobRun.job) == job, col(JobRun.done_at).is_not(None))
    return of_job.order_by(col(JobRun.slot).desc()).limit(1).scalar_subquery()
