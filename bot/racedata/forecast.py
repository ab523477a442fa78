"""The forecast of the month: requests by the month's end, a range, and the day on which the allowance runs out.

Simple exponential smoothing of daily use, less a profile by weekday. Sources and results:
`docs/decisions/0016-a-forecast-by-smoothing.md`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import sqrt
from statistics import NormalDist, mean

from bot.events.races import Value
from bot.racedata.month_quota import month_end
from bot.racedata.quota_by_day import LEAST_DAYS

MONTHS_OF_TEN_IN_RANGE = 8
"""This many of ten months end within the range."""

SAMPLES_KEPT = timedelta(days=56)
"""Older days are ignored: eight weeks show each weekday eight times."""

SMOOTHING = 0.1
"""The weight of the newest day. The level follows a change within two weeks."""

LEAST_OF_WEEKDAY = 2
"""Days of each weekday that a profile needs. Without a profile the range is wider."""

WEEK = 7


class Forecast(Value):
    """`runs_out_on` is the expected day; `may_run_out_on` the day at the upper end of the range. None: not this month.

    `days` counts the whole days behind the forecast.
    """

    month_total: int
    low: int
    high: int
    days: int
    runs_out_on: date | None = None
    may_run_out_on: date | None = None


@dataclass(frozen=True)
class _Model:
    level: float
    profile: Mapping[int, float]
    spread: float
    quantile: float

    def day(self, day: date) -> float:
        return max(0.0, self.level + self.profile[day.weekday()])


def forecast(used: int, limit: int | None, now: datetime, days: Mapping[date, int]) -> Forecast | None:
    """None with too few days."""
    now = now.astimezone(UTC)
    recent = {day: use for day, use in sorted(days.items()) if now.date() - SAMPLES_KEPT <= day < now.date()}
    if len(recent) < LEAST_DAYS:
        return None
    course = list(_course(_fit(recent), used, now))
    _, expected, low, high = course[-1]
    run_outs = {}
    if limit is not None and used < limit:
        run_outs = {
            "runs_out_on": next((day for day, total, _, _ in course if total > limit), None),
            "may_run_out_on": next((day for day, _, _, highest in course if highest > limit), None),
        }
    return Forecast(month_total=expected, low=low, high=high, days=len(recent), **run_outs)


def _course(model: _Model, used: int, now: datetime) -> Iterator[tuple[date, int, int, int]]:
    """Each day left, with the month's use by its end: expected, lowest, highest."""
    expected, parts = float(used), list(_parts_left(now))
    for number, (day, part) in enumerate(parts, start=1):
        expected += part * model.day(day)
        margin = model.quantile * model.spread * sqrt(_variance([part for _, part in parts[:number]]))
        yield day, round(expected), round(max(used, expected - margin)), round(expected + margin)


def _parts_left(now: datetime) -> Iterator[tuple[date, float]]:
    """The rest of today, then whole days."""
    day, end = now.date(), month_end(now).date()
    midnight = datetime.combine(day + timedelta(days=1), time.min, UTC)
    yield day, (midnight - now) / timedelta(days=1)
    while (day := day + timedelta(days=1)) < end:
        yield day, 1.0


def _variance(parts: Sequence[float]) -> float:
    """For a spread of 1: one day's surprise moves the level of all later days.

    Source: Snyder, Koehler, Hyndman and Ord, "Exponential smoothing models: means and variances for lead-time demand",
    2004.
    """
    after, variance = 0.0, 0.0
    for part in reversed(parts):
        variance += (part + SMOOTHING * after) ** 2
        after += part
    return variance


def _fit(days: Mapping[date, int]) -> _Model:
    profile = _profile(days)
    level = mean(use - profile[day.weekday()] for day, use in list(days.items())[:WEEK])
    squares = 0.0
    for day, use in days.items():
        surprise = use - profile[day.weekday()] - level
        squares += surprise * surprise
        level += SMOOTHING * surprise
    freedom = len(days) - (WEEK if any(profile.values()) else 1)
    # The variance of a count is at least its mean (Poisson).
    return _Model(level, profile, sqrt(max(squares / freedom, level, 0.0)), _quantile(freedom))


def _profile(days: Mapping[date, int]) -> Mapping[int, float]:
    """Zeros until each weekday is known twice."""
    of_weekday: dict[int, list[int]] = defaultdict(list)
    for day, use in days.items():
        of_weekday[day.weekday()].append(use)
    if len(of_weekday) < WEEK or min(map(len, of_weekday.values())) < LEAST_OF_WEEKDAY:
        return dict.fromkeys(range(WEEK), 0.0)
    means = {weekday: mean(uses) for weekday, uses in of_weekday.items()}
    whole = mean(means.values())
    return {weekday: of_one - whole for weekday, of_one in means.items()}


def _quantile(freedom: int) -> float:
    """The quantile of Student's t for the range. Source: Abramowitz and Stegun, 26.7.5."""
    z: float = NormalDist().inv_cdf(0.5 + MONTHS_OF_TEN_IN_RANGE / 20)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
