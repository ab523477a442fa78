"""The moment by which leases are measured: the database's own where replicas share one."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select
from sqlmodel import Session

from bot.clock import Clock
from bot.db.engine import dialect_of

FAR = timedelta(minutes=15)
"""Nothing is ever put off for this long: a moment that lies further ahead is of a clock that was set back since."""


def database_now(session: Session, clock: Clock) -> datetime:
    """PostgreSQL's clock, since its replicas must agree on who holds a lease; on SQLite the process's own."""
    if dialect_of(session) == "sqlite":
        return clock()
    moment: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return moment.astimezone(UTC)
