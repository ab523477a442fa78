"""The month's quota: what plans allow, the use, and what may be spent. Months are in UTC (Spec gap G13)."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from pydantic import AwareDatetime

from bot.events.races import Value

STALENESS_S = ((100_000, 60), (15_001, 300))
"""Requests left → seconds for which a reading stays fresh. With fewer left, or unknown: STALENESS_WHEN_LOW_S."""

STALENESS_WHEN_LOW_S = 900


class QuotaSource(StrEnum):
    ROWS = "dated rows"
    TOTAL = "total"
    OWN_COUNT = "own count"


_MONTH = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")

Kinds = tuple[tuple[str, int], ...]


class UsageRow(Value):
    """`refusals` is the sum of all kinds."""

    label: str
    requests: int | None = None
    errors: int | None = None
    refusals: int | None = None
    refusal_kinds: Kinds = ()


class Counted(Value):
    """Requests as published. `since` is the first published day of the month; None for a total."""

    requests: int
    since: str | None = None

    def fell_from(self, before: "Counted") -> bool:
        """Sums from another day on can't be compared."""
        return self.since == before.since and self.requests < before.requests


class QuotaReading(Value):
    """A reading of `/account/usage`.

    `used` counts requests in `month` ("2026-11"), and is a lower bound unless `certain`. `limit` is MONTHLY_QUOTA or
    the known plan's. `rows` are grouped by `grouped_by`. `counted` is None without a published figure. `is_readable`
    is False for an answer without any known figure.
    `spent_by_commands`: requests of this bot's commands in the month, up to the reading.
    """

    taken_at: AwareDatetime
    month: str
    used: int
    certain: bool
    source: QuotaSource
    counted: Counted | None = None
    limit: int | None = None
    plan: str | None = None
    window: str | None = None
    errors: int | None = None
    refusals: int | None = None
    refusal_kinds: Kinds = ()
    grouped_by: str = "day"
    rows: tuple[UsageRow, ...] = ()
    spent_by_commands: int = 0
    is_readable: bool = True

    def goes_on_in(self, counted: Counted | None) -> bool:
        """Whether both readings sum up the same days, so that a lower sum is lower use."""
        return self.certain and bool(counted and self.counted and counted.since == self.counted.since)

    @property
    def left(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def tier(self) -> "Tier":
        return tier_of(self.left, self.limit)

    @property
    def is_spent(self) -> bool:
        return self.left == 0

    @property
    def percent(self) -> int | None:
        return None if self.limit is None else self.used * 100 // self.limit


def read_month(value: object) -> str | None:
    """Of a text such as "2026-11"."""
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


def thresholds_reached(used: int, limit: int, thresholds: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({threshold for threshold in thresholds if used * 100 >= threshold * limit}))


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
    Tier(1, frozenset({Purpose.PEOPLE}), "With 5% left or less, I spend requests only on what people ask for."),
    Tier(-1, frozenset(), "With 1% left or less, I ask only for the quota, which costs nothing."),
)
"""The first tier that fits holds. `/account/usage` is free, and is read in each tier."""


def tier_of(left: int | None, limit: int | None) -> Tier:
    if left is None or limit is None:
        return TIERS[0]
    return next(tier for tier in TIERS if left * 100 > tier.above_percent * limit)


def commands_left(reading: QuotaReading, *, spent: int, share: int) -> int | None:
    """Requests that commands may still make; None without a known limit.

    `share` percent of what the month would have left without commands, less the commands' own `spent`.
    """
    if reading.limit is None:
        return None
    if Purpose.PEOPLE not in reading.tier.purposes:
        return 0
    available = max(0, reading.limit - reading.used + reading.spent_by_commands)
    return max(0, available * share // 100 - spent)
