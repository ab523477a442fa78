"""The values for the gauges of `/metrics`, read in a single transaction."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import Session

from bot.db import replicas
from bot.db.database_clock import database_now
from bot.deliveries import inbox
from bot.deliveries.inbox import Depth
from bot.operations.jobs import job_runs
from bot.outbox import message_store
from bot.racedata import quota_book
from bot.racedata.forecast import Forecast
from bot.racedata.month_quota import QuotaReading, month_key
from bot.racedata.quota_book import expected_by


@dataclass(frozen=True)
class ServiceState:
    """`shut`: codes of open circuit breakers. `last_done`: last success of each job."""

    now: datetime
    inbox: Mapping[str, Depth] = field(default_factory=dict)
    messages: Mapping[str, Depth] = field(default_factory=dict)
    quota: QuotaReading | None = None
    forecast: Forecast | None = None
    last_done: Mapping[str, datetime] = field(default_factory=dict)
    shut: Collection[str] = ()
    replicas: int = 1


def read_service_state(session: Session, now: datetime) -> ServiceState:
    reading = quota_book.latest(session, month_key(now))
    return ServiceState(
        now=now,
        inbox=inbox.depths(session),
        messages=message_store.depths(session),
        quota=reading,
        forecast=expected_by(session, reading) if reading else None,
        last_done=job_runs.last_done(session),
        # The reader lives, also before its first beat.
        replicas=max(1, replicas.living(session, database_now(session, lambda: now))),
    )
