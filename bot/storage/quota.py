"""Quota readings: samples, the latest in full, our own count of requests, and the warnings that were given."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlmodel import Session, col

from bot.domain.quota import QuotaReading
from bot.domain.races import Value
from bot.storage import state
from bot.storage.engine import insert_here
from bot.storage.tables import Notice, QuotaSample

KEEP_SAMPLES = timedelta(days=100)

_SPENT, _LATEST = "quota.spent", "quota.latest"


class Spent(Value):
    """Requests that this bot made in a month, and those of them that commands made."""

    month: str
    requests: int = 0
    by_commands: int = 0


class Latest(Value):
    """The latest reading, without its rows, and what commands had spent by then."""

    reading: QuotaReading
    spent_by_commands: int = 0


def spent(session: Session, month: str) -> Spent:
    """What was spent in a month. A month that is not the stored one begins at nothing."""
    kept = state.get(session, _SPENT)
    found = Spent.model_validate(kept[0]) if kept else None
    return found if found and found.month == month else Spent(month=month)


def spend(session: Session, month: str, requests: int, now: datetime, *, by_commands: int = 0) -> None:
    """Count requests. Replicas that count in the same instant may lose one: the figure is a lower bound anyway."""
    before = spent(session, month)
    after = Spent(month=month, requests=before.requests + requests, by_commands=before.by_commands + by_commands)
    state.put(session, _SPENT, after.model_dump(), now)


def put_reading(session: Session, reading: QuotaReading) -> None:
    """Keep a reading: as the latest, and as a sample."""
    latest = Latest(
        reading=reading.model_copy(update={"rows": ()}), spent_by_commands=spent(session, reading.month).by_commands
    )
    state.put(session, _LATEST, latest.model_dump(mode="json"), reading.taken_at)
    session.add(QuotaSample(taken_at=reading.taken_at, month=reading.month, used=reading.used, certain=reading.certain))
    session.execute(delete(QuotaSample).where(col(QuotaSample.taken_at) < reading.taken_at - KEEP_SAMPLES))


def latest(session: Session, month: str) -> Latest | None:
    """The latest reading, if it is of that month."""
    kept = state.get(session, _LATEST)
    found = Latest.model_validate(kept[0]) if kept else None
    return found if found and found.reading.month == month else None


def most_used(session: Session, month: str) -> int:
    """The highest figure that was sampled in a month: use never goes down within one."""
    highest: int | None = session.execute(
        select(func.max(col(QuotaSample.used))).where(col(QuotaSample.month) == month)
    ).scalar_one()
    return highest or 0


def notice_key(month: str, what: str | int) -> str:
    """What a quota warning is told by, once: "quota:2026-11:80"."""
    return f"quota:{month}:{what}"


def warned(session: Session, month: str) -> bool:
    """Whether admins were warned in a month."""
    prefix = notice_key(month, "")
    statement = select(col(Notice.key)).where(col(Notice.key).startswith(prefix, autoescape=True))
    return any(key.removeprefix(prefix).split(":")[0].isdigit() for key in session.execute(statement).scalars())


def mark_told(session: Session, keys: Iterable[str], now: datetime) -> None:
    """Note as told what a weightier warning made superfluous."""
    for key in keys:
        statement = insert_here(session, Notice).on_conflict_do_nothing(index_elements=["key"])
        session.execute(statement.values(key=key, created_at=now))
