"""The use of each day (UTC) by samples of the month's figures, and the month's forecast by run rate, with a range.

Sources and results: `docs/decisions/0039-a-forecast-by-run-rate.md`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import sqrt
from statistics import mean, stdev

from bot.db.tables import QuotaSample
from bot.events.races import Value
from bot.racedata.month_quota import month_end, month_start

MONTHS_OF_TEN_IN_RANGE = 8
"""At least this many of ten months end within the range."""

DAYS_KEPT = 28
"""Older days are ignored."""

LEAST_DAYS = 7
"""Days that a forecast needs. Further days count by whole weeks, so that quiet and busy weekdays count alike."""

MARGIN = 1.35
"""Half of the range, in standard deviations."""


class Forecast(Value):
    """`may_run_out_on`: the day of running out at the upper end of the range. None: not this month."""

    month_total: int
    low: int
    high: int
    runs_out_on: date | None = None
    may_run_out_on: date | None = None


def forecast(used: int, limit: int | None, now: datetime, days: Mapping[date, int]) -> Forecast | None:
    """None with too few days."""
    now = now.astimezone(UTC)
    today = now.date()
    known = [use for day, use in sorted(days.items()) if today - timedelta(days=DAYS_KEPT) <= day < today]
    known = known[len(known) % LEAST_DAYS :]
    if not known:
        return None
    rate = mean(known)
    # The variance of a count is at least its mean (Poisson).
    spread = max(stdev(known), sqrt(rate))
    course = []
    for day in (today + timedelta(days=number) for number in range((month_end(now).date() - today).days)):
        ahead = (datetime.combine(day + timedelta(days=1), time.min, UTC) - now) / timedelta(days=1)
        # The days to come vary, and the mean of the known days is a guess at their mean.
        margin = MARGIN * spread * sqrt(ahead + ahead**2 / len(known))
        course.append((day, round(used + rate * ahead), round(used + rate * ahead + margin)))
    _, total, high = course[-1]
    has_room = limit is not None and used < limit
    return Forecast(
        month_total=total,
        low=max(used, 2 * total - high),
        high=high,
        runs_out_on=next((day for day, total, _ in course if has_room and total > (limit or 0)), None),
        may_run_out_on=next((day for day, _, high in course if has_room and high > (limit or 0)), None),
    )


SAMPLE_GAP_MAX = timedelta(hours=36)

DAY = timedelta(days=1)
LEAST_OF_DAY = timedelta(hours=23)
"""The time that samples must cover."""

LEAST_JUMP = 20

SIGMAS = 3.0
"""The control limit of a chart of counts. Source: NIST/SEMATECH e-Handbook of Statistical Methods, 6.3.3.1."""


Figure = Callable[[QuotaSample], int | None]


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
    after, earlier, since = figure(sample), None, sample.taken_at
    if before is not None and _kind(before) == _kind(sample):
        earlier, since = figure(before), before.taken_at
    elif sample.certain and (before is None or before.month != sample.month):
        earlier, since = 0, month_start(sample.taken_at)
    if after is None or earlier is None or after < earlier or sample.taken_at - since > SAMPLE_GAP_MAX:
        return 0, timedelta(0)
    return after - earlier, sample.taken_at - since


def _kind(sample: QuotaSample) -> tuple[str, bool, str | None]:
    return sample.month, sample.certain, sample.source
