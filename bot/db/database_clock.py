"""The clock of leases."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select
from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import dialect_of

FAR = timedelta(minutes=15)
"""No wait is so long: a moment further ahead was written before somebody set the clock back."""


def database_now(session: Session, clock: Clock) -> datetime:
    """PostgreSQL's clock, so that replicas agree on who holds a lease; on SQLite the clock of the process."""
    if dialect_of(session) == "sqlite":
        return clock()
    moment: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return moment.astimezone(UTC)
