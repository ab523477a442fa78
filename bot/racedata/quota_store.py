"""Stored quota readings: samples, the latest reading, our own count of requests, and given warnings."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func, or_, select
from sqlmodel import Session, col

from bot.db import named_values
from bot.db.named_values import Mark
from bot.db.tables import Notice, QuotaSample
from bot.events.races import Value
from bot.racedata.month_quota import QuotaReading, month_key

KEEP_SAMPLES = timedelta(days=100)

TURNED = "turned"


class Spent(Value):
    """Requests of this bot in a month, with the commands' part."""

    month: str
    requests: int = 0
    by_commands: int = 0


def spent(session: Session, month: str) -> Spent:
    kept = named_values.get(session, Mark.QUOTA_SPENT)
    found = Spent.model_validate(kept[0]) if kept else None
    return found if found and found.month == month else Spent(month=month)


def spend(session: Session, requests: int, now: datetime, *, by_commands: int = 0) -> None:
    """Count requests. Replicas at the same instant may lose a request: the figure is a lower bound anyway."""
    before = spent(session, month_key(now))
    after = Spent(month=before.month, requests=before.requests + requests, by_commands=before.by_commands + by_commands)
    named_values.put(session, Mark.QUOTA_SPENT, after.model_dump(), now)


def put_reading(session: Session, reading: QuotaReading, settled: Iterable[QuotaSample] = ()) -> None:
    """Keep a reading as the latest, and as the sample of its day. `settled` are the samples of past days' ends."""
    kept = reading.model_copy(update={"rows": ()}).model_dump(mode="json")
    named_values.put(session, Mark.QUOTA_READING, kept, reading.taken_at)
    _forget_earlier_today(session, reading)
    known = {sample.taken_at for sample in samples(session)}
    session.add_all(sample for sample in settled if sample.taken_at not in known)
    session.add(QuotaSample(**reading.model_dump(include={*QuotaSample.model_fields})))
    session.execute(delete(QuotaSample).where(col(QuotaSample.taken_at) < reading.taken_at - KEEP_SAMPLES))


def samples(session: Session, since: datetime | None = None) -> Sequence[QuotaSample]:
    of_these = () if since is None else (col(QuotaSample.taken_at) >= since,)
    return session.execute(select(QuotaSample).where(*of_these).order_by(col(QuotaSample.taken_at))).scalars().all()


def _forget_earlier_today(session: Session, reading: QuotaReading) -> None:
    """Keep only the last sample of each day, and any higher figure. A sample at midnight ends the day before."""
    midnight = reading.taken_at.replace(hour=0, minute=0, second=0, microsecond=0)
    taken_at = col(QuotaSample.taken_at)
    earlier = (taken_at > midnight, taken_at < reading.taken_at, col(QuotaSample.used) <= reading.used)
    session.execute(delete(QuotaSample).where(*earlier))


def latest(session: Session, month: str) -> QuotaReading | None:
    kept = named_values.get(session, Mark.QUOTA_READING)
    found = QuotaReading.model_validate(kept[0]) if kept else None
    return found if found and found.month == month else None


def last_read_at(session: Session) -> datetime | None:
    kept = named_values.text(session, Mark.QUOTA_READING)
    return kept[1] if kept else None


def most_used(session: Session, month: str) -> int:
    """The highest sampled figure of a month: use never falls within a month."""
    highest: int | None = session.execute(
        select(func.max(col(QuotaSample.used))).where(col(QuotaSample.month) == month)
    ).scalar_one()
    return highest or 0


def notice_key(month: str, what: str | int) -> str:
    """Such as "quota:2026-11:80"."""
    return f"quota:{month}:{what}"


def warned(session: Session, month: str) -> bool:
    prefix = notice_key(month, "")
    of_month = or_(
        col(Notice.key).startswith(prefix, autoescape=True), col(Notice.key) == f"refused:quota_exceeded:{month}"
    )
    keys = session.execute(select(col(Notice.key)).where(of_month)).scalars()
    return any(key.removeprefix(prefix).split(":")[0] != TURNED for key in keys)
