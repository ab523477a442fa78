"""Daily figures (UTC) from samples of the month's figures."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from math import sqrt
from statistics import mean, stdev

from bot.db.tables import QuotaSample
from bot.racedata.forecast import LEAST_DAYS
from bot.racedata.month_quota import month_start

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
    """Growth between two samples belongs to the day of the later sample. Days not covered by samples are left out."""
    ordered = sorted(samples, key=lambda sample: (sample.taken_at, sample.month))
    amounts: dict[date, int] = defaultdict(int)
    covered: dict[date, timedelta] = defaultdict(timedelta)
    day = None
    for before, sample in pairwise([None, *ordered]):
        assert sample is not None
        # A sample at midnight ends the day before.
        day = (sample.taken_at - timedelta.resolution).date()
        amount, lasted = _growth(before, sample, figure)
        amounts[day] += amount
        covered[day] += lasted
    whole = {
        one: round(amounts[one] * min(1.0, DAY / covered[one]))
        for one in sorted(covered)
        if one != day and covered[one] >= LEAST_OF_DAY
    }
    return Days(whole, amounts[day] if day else 0)


def _growth(before: QuotaSample | None, sample: QuotaSample, figure: Figure) -> tuple[int, timedelta]:
    """Since a sample of the same kind, or since the month's start. Zeros where nothing is known."""
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
