"""Figures by day (UTC), from samples of the month's figures: requests, errors and refusals.

Growth between two samples is spread evenly over the time between these samples.
"""

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

LONGEST_GAP = timedelta(hours=36)
"""Samples further apart tell nothing of a single day."""

WHOLE = timedelta(hours=23)
"""A day counts as whole when the samples cover at least this much of the day."""

LEAST_DAYS = 7
"""Fewer whole days say nothing of the usual use: a week has quiet days and busy days."""

LEAST_JUMP = 20
"""Fewer errors or refusals in a day are no jump, however few are usual."""

SIGMAS = 3.0
"""The control limit of a chart of counts. Source: NIST/SEMATECH e-Handbook of Statistical Methods, 6.3.3.1."""


class Sample(Value):
    """The month's figures up to a moment; a lower bound where the figures are not `certain`.

    `source` is None for samples of an older version of the bot. `errors` and `refusals` are None where the
    service did not say.
    """

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
    """A count of today far above the usual: `usual` a day. Above `highest` a jump begins."""

    today: int
    usual: int
    highest: int


@dataclass(frozen=True)
class _Growth:
    """A figure grew by this amount in this time."""

    start: datetime
    end: datetime
    amount: int


@dataclass(frozen=True)
class Days:
    """A figure by day. `whole` days are settled; `today` is the day of the last sample, up to that sample."""

    whole: Mapping[date, int]
    today: int

    @property
    def jump(self) -> Jump | None:
        """The jump of today's count; None for a usual day, or before enough days are known."""
        if len(self.whole) < LEAST_DAYS:
            return None
        usual = mean(self.whole.values())
        # Counts vary by the root of their mean at least (Poisson); those of a weekly business by more.
        highest = max(usual + SIGMAS * max(stdev(self.whole.values()), sqrt(usual)), LEAST_JUMP)
        return Jump(self.today, round(usual), round(highest)) if self.today > highest else None


def days_of(samples: Sequence[Sample], figure: Figure) -> Days:
    """The figure by day. Days of which too little is known are left out."""
    ordered = sorted(samples, key=lambda sample: (sample.at, sample.month))
    amounts: dict[date, float] = defaultdict(float)
    known_s: dict[date, float] = defaultdict(float)
    for growth in _growths(ordered, figure):
        for day, amount, seconds in _spread(growth):
            amounts[day] += amount
            known_s[day] += seconds
    today = ordered[-1].at.date() if ordered else None
    whole = {
        day: round(amounts[day]) for day in sorted(known_s) if day != today and known_s[day] >= WHOLE.total_seconds()
    }
    return Days(whole, round(amounts[today]) if today else 0)


def _growths(ordered: Iterable[Sample], figure: Figure) -> Iterator[_Growth]:
    """The growth from each sample to the next, where both count the same thing, or from the month's start."""
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
        if growth and growth.amount >= 0 and timedelta(0) < growth.end - growth.start <= LONGEST_GAP:
            yield growth


def _continues(before: Sample, sample: Sample) -> bool:
    return (before.month, before.certain, before.source) == (sample.month, sample.certain, sample.source)


def _spread(growth: _Growth) -> Iterator[tuple[date, float, float]]:
    """Each day's share of a growth: the day, its amount, and its seconds."""
    whole_s = (growth.end - growth.start).total_seconds()
    start = growth.start
    while start < growth.end:
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        seconds = (min(midnight, growth.end) - start).total_seconds()
        yield start.date(), growth.amount * seconds / whole_s, seconds
        start = midnight
