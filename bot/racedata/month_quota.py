"""The month's quota: plans' allowances, published use, its forecast, requests that may be spent.

The data service does not say when the month turns (Spec gap G13). The bot assumes the turn in UTC, or an earlier turn
if an answer names the next month. The forecast is by run rate, with a range:
`docs/decisions/0039-a-forecast-by-run-rate.md` has sources and results.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import chain
from math import sqrt
from statistics import mean, stdev
from typing import Any, NamedTuple

from pydantic import AwareDatetime

from bot.events.days import EASTERNMOST
from bot.events.races import Value
from bot.events.reading.json_values import text
from bot.events.reading.off_times import read_date

DAY_NAMES = ("date", "day", "period", "month")
ENDPOINT_NAMES = ("endpoint", "path")
SUM_NAMES = ("used", "total", "requests")
LAST_DAY = "9999-12-31"
LARGEST_COUNT = 10**15

STALENESS_S = ((100_000, 60), (15_001, 300))
"""Requests left → seconds for which a reading stays fresh. With fewer left, or unknown: STALENESS_WHEN_LOW_S."""

STALENESS_WHEN_LOW_S = 900

MONTHS_OF_TEN_IN_RANGE = 8
"""At least this many of ten months end within the range."""

DAYS_KEPT = 28
"""Older days are ignored."""

LEAST_DAYS = 7
"""Days that a forecast needs. Further days count by whole weeks, so that quiet and busy weekdays count alike."""

MARGIN = 1.35
"""Half of the range, in standard deviations."""


class QuotaSource(StrEnum):
    ROWS = "dated rows"
    TOTAL = "total"
    OWN_COUNT = "own count"


_MONTH = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")

Kinds = tuple[tuple[str, int], ...]


class UsageRow(Value):
    """Published figures. `refusals` is the sum of all kinds.

    `label`: a day, a month or an endpoint; empty for a sum of an unknown period. `since`: first day of a sum of days.
    """

    label: str = ""
    since: str | None = None
    requests: int | None = None
    errors: int | None = None
    refusals: int | None = None
    refusal_kinds: Kinds = ()


class Forecast(Value):
    """`may_run_out_on`: the day of running out at the upper end of the range. None: not this month."""

    month_total: int
    low: int
    high: int
    runs_out_on: date | None = None
    may_run_out_on: date | None = None


class QuotaReading(Value):
    """A reading of `/account/usage`.

    `used` counts requests in `month` ("2026-11"), and is a lower bound unless `certain`. `limit` is MONTHLY_QUOTA or
    the known plan's. `rows` are grouped by `grouped_by`. `is_readable`: the answer has the month's figure, or no use.
    `spent_by_commands`: requests of this bot's commands in the month, up to the reading. `expected`: None with too few
    days.
    """

    taken_at: AwareDatetime
    month: str
    used: int
    certain: bool
    source: QuotaSource
    published: UsageRow = UsageRow()
    limit: int | None = None
    plan: str | None = None
    window: str | None = None
    grouped_by: str = "day"
    rows: tuple[UsageRow, ...] = ()
    spent_by_commands: int = 0
    is_readable: bool = True
    expected: Forecast | None = None

    def growth_to(self, published: UsageRow) -> int | None:
        """Requests published since this reading; negative after a fall. None where the sums are of different days."""
        before = self.published.requests
        if before is None or published.requests is None or published.since != self.published.since:
            return None
        return published.requests - before

    @property
    def shown(self) -> str:
        return f"{'' if self.certain else 'at least '}{self.used:,}"

    @property
    def left(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def tier(self) -> "Tier":
        if self.left is None or self.limit is None:
            return TIERS[0]
        return next(tier for tier in TIERS if self.left * 100 > tier.above_percent * self.limit)

    @property
    def is_spent(self) -> bool:
        return self.left == 0

    @property
    def percent(self) -> int | None:
        return None if self.limit is None else self.used * 100 // self.limit


def read_month(value: object) -> str | None:
    """A month such as "2026-11"; None for another value."""
    return value if isinstance(value, str) and _MONTH.fullmatch(value) else None


def month_key(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m")


def month_before(month: str) -> str:
    return (datetime.strptime(f"{month}-01", "%Y-%m-%d").replace(tzinfo=UTC) - timedelta(days=1)).strftime("%Y-%m")


def month_after(month: str) -> date:
    """The first day of the next month: 1 December for "2026-11"."""
    return month_end(datetime.strptime(f"{month}-01", "%Y-%m-%d").replace(tzinfo=UTC)).date()


def month_start(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def month_end(now: datetime) -> datetime:
    return (month_start(now) + timedelta(days=32)).replace(day=1)


def staleness_s(left: int | None) -> int:
    return next((seconds for least, seconds in STALENESS_S if left is not None and left >= least), STALENESS_WHEN_LOW_S)


class PlanLimits(NamedTuple):
    """Both limits hold per key."""

    requests_per_minute: int
    requests_per_month: int


PLANS: dict[str, PlanLimits] = {
    "free": PlanLimits(60, 15_000),
    "live": PlanLimits(180, 250_000),
    "archive": PlanLimits(90, 150_000),
    "complete": PlanLimits(180, 400_000),
    "analyst": PlanLimits(240, 1_000_000),
}


def allowance(plan: str | None, monthly_quota: int | None) -> int | None:
    """Requests a month: MONTHLY_QUOTA, else the known plan's."""
    known = PLANS.get(plan or "")
    return monthly_quota or (known.requests_per_month if known else None)


class Purpose(StrEnum):
    UPKEEP = "upkeep"
    """Work that nobody asked for, such as reading lists anew."""
    PEOPLE = "people"


class Tier(NamedTuple):
    """The purposes of requests while more than `above_percent` of the allowance is left, and words for people."""

    above_percent: int
    purposes: frozenset[Purpose]
    words: str | None


TIERS = (
    Tier(5, frozenset(Purpose), None),
    Tier(1, frozenset({Purpose.PEOPLE}), "At 5% left or less, I read only failed deliveries and what people ask for."),
    Tier(-1, frozenset(), "At 1% left or less, I ask only for the quota, which costs nothing."),
)
"""The first tier that fits holds. `/account/usage` is free, and is read in each tier."""


def commands_left(reading: QuotaReading, *, spent: int, share: int) -> int | None:
    """Requests that commands may still make; None without a known limit.

    `share` percent of the requests that the month would have left without commands, less the commands' own `spent`.
    """
    if reading.limit is None:
        return None
    if Purpose.PEOPLE not in reading.tier.purposes:
        return 0
    available = max(0, reading.limit - reading.used + reading.spent_by_commands)
    return max(0, available * share // 100 - spent)


class Usage(Value):
    """`whole`: the figures beside the rows, labelled by their month if the answer names one. `is_empty`: no use yet."""

    rows: tuple[UsageRow, ...] = ()
    whole: UsageRow = UsageRow()
    is_empty: bool = False

    def month(self, now: datetime) -> str:
        """The month in UTC; the next month if the answer names the next month, and that month has begun somewhere."""
        latest = month_key(now + EASTERNMOST)
        named = {_month_of(row.label) for row in (*self.rows, self.whole)}
        return latest if latest in named else month_key(now)

    def in_month(self, month: str, *, until: str = LAST_DAY) -> UsageRow:
        """The sums of a month's dated rows up to a day, else the figures beside the rows (Spec gap G5).

        A larger figure that names the month goes before the rows' sum: a quota that runs out is told too early rather
        than too late.

        The label is the month, if the answer tells that the figures are the month's. A sum without all figures is None.
        """
        dated = [row for row in self.rows if _month_of(row.label)]
        rows = [row for row in dated if _month_of(row.label) == month and row.label <= until]
        requests = _whole_sum([row.requests for row in rows])
        if not dated or requests is None:
            return self.whole
        # Rows may reach back only some days.
        if self.whole.label == month and until == LAST_DAY and (self.whole.requests or 0) > requests:
            return self.whole
        return UsageRow(
            label=month,
            since=min((row.label for row in rows), default=month),
            requests=requests,
            errors=_whole_sum([row.errors for row in rows]),
            refusals=_whole_sum([row.refusals for row in rows]),
            refusal_kinds=_most_first(chain.from_iterable(row.refusal_kinds for row in rows)),
        )


def read_usage(data: Any) -> Usage:
    """`/account/usage` in one plain shape: rows by day or endpoint, or an object with such rows and a month's sums.

    Names and period are not shown (Spec gap G5). Another shape gives no figure, and admins are told.
    """
    sums = data if isinstance(data, Mapping) else {"rows": data}
    lists = [value for value in sums.values() if isinstance(value, list)]
    rows = [_row(item) for item in (lists[0] if len(lists) == 1 else ()) if isinstance(item, Mapping)]
    month = next(filter(None, (read_month(sums.get(name)) for name in DAY_NAMES)), "")
    whole = _figures(month, sums, SUM_NAMES)
    return Usage(rows=tuple(filter(None, rows)), whole=whole, is_empty=lists == [[]] and whole.requests is None)


def _row(fields: Mapping[str, Any]) -> UsageRow | None:
    days = (read_date(fields.get(name)) or read_month(fields.get(name)) for name in DAY_NAMES)
    label = next(filter(None, chain(days, (text(fields.get(name)) for name in ENDPOINT_NAMES))), None)
    row = _figures(label or "", fields, ("requests",))
    has_figure = (row.requests, row.errors, row.refusals) != (None, None, None)
    return row if label and has_figure else None


def _figures(label: str, fields: Mapping[str, Any], names: Sequence[str]) -> UsageRow:
    """`refusals` are a number, or numbers by kind."""
    refusals, kinds = fields.get("refusals"), []
    if isinstance(refusals, Mapping):
        counts = [(text(str(kind)), _count(count)) for kind, count in refusals.items()]
        kinds = [(kind, count) for kind, count in counts if kind and count is not None]
        refusals = sum(count for _, count in kinds)
    return UsageRow(
        label=label,
        requests=next((count for count in (_count(fields.get(name)) for name in names) if count is not None), None),
        errors=_count(fields.get("errors")),
        refusals=_count(refusals),
        refusal_kinds=_most_first(kinds),
    )


def _month_of(label: str) -> str | None:
    return read_month(label[:7]) if label else None


def _count(value: Any) -> int | None:
    is_digits = isinstance(value, str) and re.fullmatch("[0-9]{1,15}", value)
    if is_digits or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return value if type(value) is int and 0 <= value < LARGEST_COUNT else None


def _most_first(kinds: Iterable[tuple[str, int]]) -> Kinds:
    counts: Counter[str] = Counter()
    for kind, count in kinds:
        counts[kind] += count
    return tuple((kind, count) for kind, count in counts.most_common() if count)


def _whole_sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


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


def in_figures(expected: Forecast) -> str:
    """For example "9,000 by the end of the month (in 8 of 10 cases between 7,000 and 11,000)"; and when it runs out."""
    between = f"(in {MONTHS_OF_TEN_IN_RANGE} of 10 cases between {expected.low:,} and {expected.high:,})"
    total = f"{expected.month_total:,} by the end of the month {between}"
    surely, perhaps = (f"{day.day} {day:%B}" if day else "" for day in (expected.runs_out_on, expected.may_run_out_on))
    if not surely:
        return f"{total}: the quota may run out on {perhaps}" if perhaps else total
    early = "" if perhaps == surely else f", perhaps on {perhaps}"
    return f"{total}: the quota runs out on {surely}{early}"
