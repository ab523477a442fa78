"""Daily figures (UTC) from samples of the month's figures. Growth between two samples is spread evenly over time."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import sqrt
from statistics import mean, stdev

from pydantic import AwareDatetime

from bot.events.races import Value
from bot.racedata.month_quota import QuotaSource, month_start

SAMPLE_GAP_MAX = timedelta(hours=36)

WHOLE_DAY = timedelta(hours=23)
"""The part of a day that samples must cover."""

LEAST_DAYS = 7
"""A week has quiet and busy days."""

LEAST_JUMP = 20

SIGMAS = 3.0
"""The control limit of a chart of counts. Source: NIST/SEMATECH e-Handbook of Statistical Methods, 6.3.3.1."""


class Sample(Value):
    """Lower bounds unless `certain`. `source` is None for samples of an older version of the bot."""

    at: AwareDatetime
    month: str
    used: int
    certain: bool
    source: QuotaSource | None = None
    errors: int | None = None
    refusals: int | None = None


Figure = Callable[[Sample], int | None]


@dataclass(frozen=True)
class Jump:
    today: int
    usual: int
    highest: int


@dataclass(frozen=True)
class _Growth:
    start: datetime
    end: datetime
    amount: int


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


def days_of(samples: Sequence[Sample], figure: Figure) -> Days:
    """Days that the samples do not cover are left out."""
    ordered = sorted(samples, key=lambda sample: (sample.at, sample.month))
    amounts: dict[date, float] = defaultdict(float)
    known_s: dict[date, float] = defaultdict(float)
    for growth in _growths(ordered, figure):
        for day, amount, seconds in _spread(growth):
            amounts[day] += amount
            known_s[day] += seconds
    today = ordered[-1].at.date() if ordered else None
    whole = {
        day: round(amounts[day])
        for day in sorted(known_s)
        if day != today and known_s[day] >= WHOLE_DAY.total_seconds()
    }
    return Days(whole, round(amounts[today]) if today else 0)


def _growths(ordered: Iterable[Sample], figure: Figure) -> Iterator[_Growth]:
    """The growth between samples of the same kind, or from the month's start."""
    for before, sample in pairwise([None, *ordered]):
        assert sample is not None
        after = figure(sample)
        if after is None:
            continue
        growth: _Growth | None = None
        if before is not None and _continues(before, sample):
            earlier = figure(before)
            growth = None if earlier is None else _Growth(before.at, sample.at, after - earlier)
        elif sample.certain and (before is None or before.month != sample.month):
            growth = _Growth(month_start(sample.at), sample.at, after)
        if growth and growth.amount >= 0 and timedelta(0) < growth.end - growth.start <= SAMPLE_GAP_MAX:
            yield growth


def _continues(before: Sample, sample: Sample) -> bool:
    return (before.month, before.certain, before.source) == (sample.month, sample.certain, sample.source)


def _spread(growth: _Growth) -> Iterator[tuple[date, float, float]]:
    whole_s = (growth.end - growth.start).total_seconds()
    start = growth.start
    while start < growth.end:
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        seconds = (min(midnight, growth.end) - start).total_seconds()
        yield start.date(), growth.amount * seconds / whole_s, seconds
        start = midnight
