"""The month's forecast by run rate, with a range.

Sources and results: `docs/decisions/0039-a-forecast-by-run-rate.md`.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from math import sqrt
from statistics import mean, stdev

from bot.racedata.month_quota import Forecast, month_end

MONTHS_OF_TEN_IN_RANGE = 8
"""At least this many of ten months end within the range."""

DAYS_KEPT = 28
"""Older days are ignored."""

LEAST_DAYS = 7
"""Days that a forecast needs. Further days count by whole weeks, so that quiet and busy weekdays count alike."""

MARGIN = 1.35
"""Half of the range, in standard deviations."""


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
