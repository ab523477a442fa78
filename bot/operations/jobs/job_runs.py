"""The last slot of each job. A single replica runs a slot; another takes over after a crash."""

from datetime import datetime, timedelta
from enum import Enum, auto

from sqlalchemy import or_, select, update
from sqlmodel import Session, col

from bot.db.engine import insert_here
from bot.db.tables import JobRun


class SlotClaim(Enum):
    OURS = auto()
    UNDER_WAY = auto()
    DONE = auto()
    """Another run of the slot was good."""


def claim(
    session: Session, job: str, slot_at: datetime, *, by: str, now: datetime, every_s: int, lease_s: float
) -> SlotClaim:
    """The slot is ours if nobody has claimed the slot, or if the lease expired without an end.

    A slot or a lease too far ahead was written before somebody set the clock back. Replicas that read the clock at
    nearly the same moment are one slot apart at most.
    """
    lease = timedelta(seconds=lease_s)
    statement = insert_here(session, JobRun).values(job=job, slot_at=slot_at, claimed_by=by, leased_until=now + lease)
    given, row = statement.excluded, JobRun
    is_free = or_(
        col(row.slot_at) < given.slot_at,
        col(row.slot_at) > slot_at + timedelta(seconds=every_s),
        col(row.leased_until) <= now,
        col(row.leased_until) > now + 2 * lease,
    )
    statement = statement.on_conflict_do_update(
        index_elements=["job"],
        set_={name: given[name] for name in ("slot_at", "claimed_by", "leased_until")},
        where=is_free,
    )
    if session.execute(statement.returning(col(row.job))).first() is not None:
        return SlotClaim.OURS
    leased_until = session.execute(select(col(row.leased_until)).where(col(row.job) == job)).scalar_one()
    return SlotClaim.DONE if leased_until is None else SlotClaim.UNDER_WAY


def finish(session: Session, job: str, slot_at: datetime, *, by: str, now: datetime) -> None:
    """Changes nothing if another replica has the job by now."""
    ours = (col(JobRun.job) == job, col(JobRun.slot_at) == slot_at, col(JobRun.claimed_by) == by)
    session.execute(update(JobRun).where(*ours).values(leased_until=None, done_at=now))


def last_done(session: Session) -> dict[str, datetime]:
    """Jobs without a success are left out."""
    done = select(col(JobRun.job), col(JobRun.done_at)).where(col(JobRun.done_at).is_not(None))
    return {row.job: row.done_at for row in session.execute(done)}
