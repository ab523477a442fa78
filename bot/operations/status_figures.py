"""The bot's state for `/racing status` and the gauges of `/metrics`. A transaction reads each figure by an index."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.metadata import version

from sqlmodel import Session

from bot.clock import Clock
from bot.db import migrate, replicas
from bot.db.engine import database_now
from bot.deliveries import inbox
from bot.deliveries.inbox import Depth, FirstWaiting
from bot.operations import watchdog
from bot.operations.jobs.job import Job, last_done
from bot.outbox import acknowledgements, ledger, message_store
from bot.outbox.acknowledgements import Untaken
from bot.outbox.ledger import Sent, WaitingChannel
from bot.racedata import quota_book
from bot.racedata.month_quota import QuotaReading

FIGURES_COVER = timedelta(days=1)
STATUS_CHANNELS_MAX = 5


@dataclass(frozen=True)
class Status:
    """`deliveries`: last day, by event. `missing`: meetings told as missing. `without_result`: hours past their off.

    `untaken`: abandonments of the last day that nobody took. `untaken_here`: of one channel alone. `waiting_posts`: of
    all channels, or of the given channel. `done`: the last good run of each job that had a good run.
    """

    at: datetime
    deliveries: dict[str, int]
    sent: Sent
    waiting_deliveries: int
    first_waiting: FirstWaiting | None
    waiting_posts: int
    waiting_channels: Sequence[WaitingChannel]
    missing: int
    without_result: int
    untaken: Untaken
    untaken_here: Untaken | None
    reading: QuotaReading | None
    jobs: Sequence[Job]
    done: Mapping[str, datetime]
    replicas: int
    schema: str | None
    version: str


def read_status(
    session: Session, clock: Clock, jobs: Sequence[Job], *, channel_id: str | None = None, here: str | None = None
) -> Status:
    """`channel_id`: of this channel alone. `here`: of all channels, with this channel's untaken abandonments."""
    now = clock()
    since = now - FIGURES_COVER
    # Leases and holds use the database's clock.
    database_at = database_now(session, clock)
    waiting_posts, channels = ledger.waiting(session, database_at, at_most=STATUS_CHANNELS_MAX, channel_id=channel_id)
    return Status(
        at=now,
        deliveries=inbox.count_received(session, since),
        sent=ledger.sent_since(session, since),
        waiting_deliveries=inbox.count_waiting(session),
        first_waiting=inbox.first_waiting(session),
        waiting_posts=waiting_posts,
        waiting_channels=channels,
        missing=watchdog.told_as_missing(session, now),
        without_result=watchdog.races_without_result(session, now),
        untaken=acknowledgements.untaken(session, since, channel_id),
        untaken_here=acknowledgements.untaken(session, since, here) if here else None,
        reading=quota_book.latest(session, now),
        jobs=jobs,
        done=last_done(session),
        replicas=replicas.living(session, database_at),
        schema=migrate.applied(session.connection()),
        version=version("racing-bot"),
    )


@dataclass(frozen=True)
class ServiceState:
    """For the gauges. `last_done`: last success of each job."""

    now: datetime
    inbox: Mapping[str, Depth] = field(default_factory=dict)
    messages: Mapping[str, Depth] = field(default_factory=dict)
    quota: QuotaReading | None = None
    last_done: Mapping[str, datetime] = field(default_factory=dict)
    replicas: int = 1


def read_service_state(session: Session, now: datetime) -> ServiceState:
    return ServiceState(
        now=now,
        inbox=inbox.depths(session),
        messages=message_store.depths(session),
        quota=quota_book.latest(session, now),
        last_done=last_done(session),
        # The reader lives, also before its first beat.
        replicas=max(1, replicas.living(session, database_now(session, lambda: now))),
    )
