"""The quota book: this month's use from `/account/usage`, with its certainty, and its stored readings.

Period and names are not shown (Spec gap G5). Dated rows are summed over the month in UTC. A total counts as the month's
where the answer names the month. Of another total only the growth from reading to reading is surely use of the month.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from math import sqrt
from statistics import mean, stdev
from typing import Literal

from sqlalchemy import delete, or_, select
from sqlmodel import Session, col

from bot.clock import Clock
from bot.db import named_values
from bot.db.engine import Database
from bot.db.named_values import Mark
from bot.db.tables import QuotaSample
from bot.events.days import EASTERNMOST
from bot.events.races import Value
from bot.logs import get_logger
from bot.racedata.client.circuit_breakers import QUOTA
from bot.racedata.client.records import UNREAD_SHOWN
from bot.racedata.client.service_client import BY_DAY, BY_ENDPOINT, RacingClient
from bot.racedata.client.service_errors import QuotaExceeded, ServiceFailure, Spared
from bot.racedata.month_quota import (
    DAYS_KEPT,
    LEAST_DAYS,
    Purpose,
    QuotaReading,
    QuotaSource,
    Usage,
    UsageRow,
    allowance,
    commands_left,
    forecast,
    month_key,
    month_start,
    read_usage,
    staleness_s,
)
from bot.settings import Settings

log = get_logger(__name__)

KEEP_SAMPLES = timedelta(days=DAYS_KEPT + 1)
"""A day more: the growth of a day begins with the sample before."""

SAMPLE_GAP_MAX = timedelta(hours=36)

DAY = timedelta(days=1)
LEAST_OF_DAY = timedelta(hours=23)
"""The time that samples must cover."""

LEAST_JUMP = 20

SIGMAS = 3.0
"""The control limit of a chart of counts. Source: NIST/SEMATECH e-Handbook of Statistical Methods, 6.3.3.1."""


class QuotaBook:
    def __init__(self, database: Database, client: RacingClient, settings: Settings, clock: Clock) -> None:
        self._database = database
        self._client = client
        self._settings = settings
        self._clock = clock

    async def read(self, by: str = BY_DAY) -> QuotaReading:
        """Costs no quota. Raises ServiceError."""
        page = await self._client.usage_by_day()
        usage = read_usage(page.data)
        plan = page.meta.plan or self._client.state.plan
        # Before the reading is stored: after a crash the next reading finds the same.
        published = usage.in_month(usage.month(self._clock()))
        if _has_room_again(await self.latest(), published, self._limit(plan)):
            await self._client.breakers.reset(QUOTA)
        reading = await self._database.write(partial(self._keep, usage=usage, plan=plan))
        if not reading.is_readable:
            log.warning("usage_not_readable", body=str(page.data)[:UNREAD_SHOWN])
        rows = await self.by_endpoint() if by == BY_ENDPOINT else usage.rows
        return reading.model_copy(update={"rows": rows, "grouped_by": by})

    async def by_endpoint(self) -> tuple[UsageRow, ...]:
        return read_usage((await self._client.usage(by=BY_ENDPOINT)).data).rows

    async def latest(self) -> QuotaReading | None:
        return await self._database.read(partial(latest, now=self._clock()))

    async def commands_left(self) -> int | None:
        """Requests left for commands, by COMMAND_QUOTA_SHARE; None with an unknown quota."""
        now, share = self._clock(), self._settings.command_quota_share

        def left(session: Session) -> int | None:
            if (reading := latest(session, now)) is None:
                return None
            return commands_left(reading, spent=spent(session, reading.month).by_commands, share=share)

        return await self._database.read(left)

    async def held_back(self, path: str, purpose: Purpose) -> ServiceFailure | None:
        """The failure in place of a request when the month has too little left for the purpose."""
        latest = await self.latest()
        if latest is None or purpose in latest.tier.purposes:
            return None
        return QuotaExceeded(path) if latest.is_spent else Spared(path)

    async def is_refused(self) -> bool:
        """Whether the service has refused requests for a spent quota, and is not asked again yet."""
        return any(one.code == QUOTA for one in await self._client.breakers.open_now())

    async def staleness_s(self) -> int:
        latest = await self.latest()
        return staleness_s(latest.left if latest else None)

    def _keep(self, session: Session, usage: Usage, plan: str | None) -> QuotaReading:
        now = self._clock()
        before = latest(session, now)
        # Once the service's month has turned, an answer that names no month is of the new month.
        month = max(usage.month(now), before.month) if before else usage.month(now)
        published = usage.in_month(month)
        by_us = spent(session, month)
        of_month = before if before and before.month == month else None
        used, certain, source = _figure(published, month, of_month, by_us.requests)
        reading = QuotaReading(
            taken_at=now,
            month=month,
            used=used,
            certain=certain,
            source=source,
            published=published,
            limit=self._limit(plan),
            plan=plan,
            window=self._client.state.window,
            spent_by_commands=by_us.by_commands,
            is_readable=usage.is_empty or published.requests is not None,
        )
        return put_reading(session, reading, _ends_of_days(usage, reading))

    def _limit(self, plan: str | None) -> int | None:
        return allowance(plan, self._settings.monthly_quota)


def _figure(published: UsageRow, month: str, before: QuotaReading | None, own: int) -> tuple[int, bool, QuotaSource]:
    """Requests of the month, certainty, source. `before`: the reading before in the month. `own`: our own count."""
    requests, growth = published.requests, before.growth_to(published) if before else None
    # An answer without the month's use lowers no figure.
    known = max(own, before.used) if before else own
    if requests is None:
        return known, False, QuotaSource.OWN_COUNT
    if published.since is not None:
        # Rows that reach back only some days lose the month's first days, so their sum can fall.
        least = before.used if before and not (before.certain and growth is not None) else 0
        return max(requests, least), requests >= least, QuotaSource.ROWS
    if published.label == month:
        return requests, True, QuotaSource.TOTAL
    grown = before.used + max(0, growth) if before and growth is not None else 0
    return (grown, False, QuotaSource.TOTAL) if grown > own else (known, False, QuotaSource.OWN_COUNT)


def _ends_of_days(usage: Usage, reading: QuotaReading) -> Iterator[QuotaReading]:
    """The month's figures at the end of each past day, from the first published day on."""
    now, month = reading.taken_at, reading.month
    days = [row.label for row in usage.rows if len(row.label) == len("2026-11-20")]
    is_whole_month = reading.certain and reading.source is QuotaSource.ROWS and month == month_key(now)
    if not is_whole_month or any(row.label == month for row in usage.rows) or not days:
        return
    end = month_start(now)
    while end.date() < now.astimezone(UTC).date():
        day, end = end.date().isoformat(), end + timedelta(days=1)
        if day >= min(days):
            sums = usage.in_month(month, until=day)
            yield reading.model_copy(update={"taken_at": end, "used": sums.requests or 0, "published": sums})


def _has_room_again(before: QuotaReading | None, published: UsageRow, limit: int | None) -> bool:
    """After a refusal a reading below the allowance proves nothing: the service counts by itself."""
    if before is None or published.requests is None or (limit is not None and published.requests >= limit):
        return False
    has_risen = limit is not None and before.limit is not None and limit > before.limit
    has_turned = published.label > before.month
    return has_risen or has_turned or (before.growth_to(published) or 0) < 0


class Spent(Value):
    """Requests of this bot in a month, with the commands' part."""

    month: str
    requests: int = 0
    by_commands: int = 0


def spent(session: Session, month: str) -> Spent:
    found = named_values.load(session, Mark.QUOTA_SPENT, Spent)
    return found if found and found.month == month else Spent(month=month)


def spend(session: Session, requests: int, now: datetime, *, by_commands: int = 0) -> None:
    """Count requests. Replicas at the same instant may lose a request: the figure is a lower bound anyway."""
    reading = latest(session, now)
    before = spent(session, reading.month if reading else month_key(now))
    after = Spent(month=before.month, requests=before.requests + requests, by_commands=before.by_commands + by_commands)
    named_values.put(session, Mark.QUOTA_SPENT, after.model_dump(), now)


def put_reading(session: Session, reading: QuotaReading, settled: Iterable[QuotaReading] = ()) -> QuotaReading:
    """Keep a reading, with the forecast, as the latest, and as the sample of its day.

    `settled`: the figures at past days' ends.
    """
    # Of a day, the last sample is kept, and each earlier higher figure. A sample at midnight ends the day before.
    midnight, taken_at = reading.taken_at.replace(hour=0, minute=0, second=0, microsecond=0), col(QuotaSample.taken_at)
    earlier = (taken_at > midnight, taken_at < reading.taken_at, col(QuotaSample.used) <= reading.used)
    session.execute(delete(QuotaSample).where(*earlier))
    known = {sample.taken_at for sample in samples(session)}
    session.add_all(_sample(one) for one in settled if one.taken_at not in known)
    session.add(_sample(reading))
    # A later sample is from before the clock was set back.
    is_needless = or_(taken_at < reading.taken_at - KEEP_SAMPLES, taken_at > reading.taken_at)
    session.execute(delete(QuotaSample).where(is_needless))
    expected = None
    # A forecast is for the days up to the end of the month in UTC.
    if reading.month == month_key(reading.taken_at):
        expected = forecast(reading.used, reading.limit, reading.taken_at, days_of(samples(session), "used").whole)
    reading = reading.model_copy(update={"expected": expected})
    kept = reading.model_copy(update={"rows": ()}).model_dump(mode="json")
    named_values.put(session, Mark.QUOTA_READING, kept, reading.taken_at)
    return reading


def _sample(reading: QuotaReading) -> QuotaSample:
    figures = reading.model_dump(include={*QuotaSample.model_fields})
    return QuotaSample(**figures, errors=reading.published.errors, refusals=reading.published.refusals)


def samples(session: Session) -> Sequence[QuotaSample]:
    return session.execute(select(QuotaSample).order_by(col(QuotaSample.taken_at))).scalars().all()


def latest(session: Session, now: datetime) -> QuotaReading | None:
    """The reading of the month in UTC, or of the next month: the service's month may turn earlier."""
    found = named_values.load(session, Mark.QUOTA_READING, QuotaReading)
    return found if found and month_key(now) <= found.month <= month_key(now + EASTERNMOST) else None


def last_read_at(session: Session) -> datetime | None:
    kept = named_values.text(session, Mark.QUOTA_READING)
    return kept[1] if kept else None


# The use of each day (UTC) by samples of the month's figures

Figure = Literal["used", "errors", "refusals"]


@dataclass(frozen=True)
class Jump:
    today: int
    usual: int
    highest: int


@dataclass(frozen=True)
class Days:
    """A figure by day. `today` is the day of the last sample, up to that sample."""

    whole: Mapping[date, int]
    today: int

    @property
    def jump(self) -> Jump | None:
        if len(self.whole) < LEAST_DAYS:
            return None
        usual = mean(self.whole.values())
        # The variance of a count is at least its mean (Poisson).
        highest = max(usual + SIGMAS * max(stdev(self.whole.values()), sqrt(usual)), LEAST_JUMP)
        return Jump(self.today, round(usual), round(highest)) if self.today > highest else None


def days_of(samples: Iterable[QuotaSample], figure: Figure) -> Days:
    """The growth from a day's last sample to the next day's last sample. Days without both samples are left out."""
    ordered = sorted(samples, key=lambda sample: (sample.taken_at, sample.month))
    # A sample at midnight ends the day before.
    ends = {(sample.taken_at - timedelta.resolution).date(): sample for sample in ordered}
    whole, grown = dict[date, int](), 0
    for before, (day, sample) in zip([None, *ends.values()], ends.items(), strict=False):
        grown, lasted = _growth(before, sample, figure)
        if lasted >= LEAST_OF_DAY and day != max(ends):
            whole[day] = round(grown * min(1.0, DAY / lasted))
    return Days(whole, grown)


def _growth(before: QuotaSample | None, sample: QuotaSample, figure: Figure) -> tuple[int, timedelta]:
    """The growth since a sample of the same kind, or since the month's start, and its time. Zeros if unknown."""
    after, earlier, since = getattr(sample, figure), None, sample.taken_at
    if before is not None and _kind(before) == _kind(sample):
        earlier, since = getattr(before, figure), before.taken_at
    elif sample.certain and (before is None or before.month != sample.month):
        earlier, since = 0, month_start(sample.taken_at)
    if after is None or earlier is None or after < earlier or sample.taken_at - since > SAMPLE_GAP_MAX:
        return 0, timedelta(0)
    return after - earlier, sample.taken_at - since


def _kind(sample: QuotaSample) -> tuple[str, bool, str | None]:
    return sample.month, sample.certain, sample.source
