"""All jobs with their intervals."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.clock import Clock
from bot.db.engine import Database
from bot.operations.drill_run import Drills, end_drills
from bot.operations.jobs.check_channels import ChannelCheck
from bot.operations.jobs.check_quota import QuotaCheck
from bot.operations.jobs.end_pauses import PauseEnd
from bot.operations.jobs.escalate import EscalationCheck
from bot.operations.jobs.expire_queue import expire_queue
from bot.operations.jobs.follow_off_times import OffTimes
from bot.operations.jobs.prune_bodies import prune_bodies
from bot.operations.jobs.refresh_reference import CHECK_EVERY_S, refresh_for_filters, refresh_reference
from bot.operations.jobs.tell_due import DueTelling
from bot.operations.jobs.watch_deliveries import WATCH_EVERY_S, DeliveryWatch
from bot.operations.repair.repair_run import Repair
from bot.outbox.notices import Notices
from bot.racedata.quota_book import QuotaBook
from bot.racedata.reference_book import ReferenceBook
from bot.settings import Settings

HOUR_S = 3_600
TELL_EVERY_S = 30
ESCALATE_EVERY_S = 15
FOLLOW_EVERY_S = 15


@dataclass(frozen=True)
class JobParts:
    settings: Settings
    database: Database
    notices: Notices
    quota: QuotaBook
    reference: ReferenceBook
    channels: ChannelCheck
    pauses: PauseEnd
    due: DueTelling
    escalation: EscalationCheck
    off_times: OffTimes
    drills: Drills
    deliveries: DeliveryWatch
    repair: Repair
    clock: Clock


@dataclass(frozen=True)
class Job:
    id: str
    every_s: Callable[[Settings], int]
    run: Callable[[JobParts], Awaitable[None]]


async def _check_quota(parts: JobParts) -> None:
    await QuotaCheck(parts.quota, parts.notices, parts.database, parts.settings, parts.clock)()


async def _refresh_reference(parts: JobParts) -> None:
    await refresh_reference(parts.reference, parts.database, parts.notices, parts.clock)


async def _check_filters(parts: JobParts) -> None:
    await refresh_for_filters(parts.reference, parts.database, parts.notices, parts.clock, parts.channels.wake)


async def _prune_bodies(parts: JobParts) -> None:
    await prune_bodies(parts.database, parts.settings.body_keep_days, parts.clock)


async def _check_channels(parts: JobParts) -> None:
    await parts.channels()


async def _end_pauses(parts: JobParts) -> None:
    await parts.pauses()


async def _tell_due(parts: JobParts) -> None:
    await parts.due()


async def _escalate(parts: JobParts) -> None:
    await parts.escalation()


async def _follow_off_times(parts: JobParts) -> None:
    await parts.off_times()


async def _end_drills(parts: JobParts) -> None:
    await end_drills(parts.drills)


async def _expire_queue(parts: JobParts) -> None:
    await expire_queue(parts.database, parts.notices, parts.settings.queue_keep_hours, parts.clock)


async def _watch_deliveries(parts: JobParts) -> None:
    await parts.deliveries()


async def _repair(parts: JobParts) -> None:
    await parts.repair.as_job()


JOBS: tuple[Job, ...] = (
    Job("check_quota", lambda settings: settings.quota_check_s, _check_quota),
    Job("repair", lambda settings: settings.repair_check_s, _repair),
    Job("refresh_reference", lambda _settings: 600, _refresh_reference),
    Job("check_filters", lambda _settings: CHECK_EVERY_S, _check_filters),
    Job("prune_bodies", lambda _settings: HOUR_S, _prune_bodies),
    Job("check_channels", lambda _settings: 600, _check_channels),
    Job("end_pauses", lambda _settings: 30, _end_pauses),
    Job("tell_due", lambda _settings: TELL_EVERY_S, _tell_due),
    Job("escalate", lambda _settings: ESCALATE_EVERY_S, _escalate),
    Job("follow_off_times", lambda _settings: FOLLOW_EVERY_S, _follow_off_times),
    Job("end_drills", lambda _settings: 60, _end_drills),
    Job("expire_queue", lambda _settings: HOUR_S, _expire_queue),
    Job("watch_deliveries", lambda _settings: WATCH_EVERY_S, _watch_deliveries),
)
