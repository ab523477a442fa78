"""The month's quota: what was used, how sure that is, and which warnings it has reached.

Months are those of UTC (Spec gap G13).
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from pydantic import AwareDatetime

from bot.events.races import Value

STALENESS_S = ((100_000, 60), (15_001, 300))
"""Requests left → seconds after which what was read is asked for again. With fewer left, or unknown: CAREFUL_S."""

CAREFUL_S = 900


class QuotaSource(StrEnum):
    """What a figure of use was taken from."""

    ROWS = "dated rows"
    TOTAL = "total"
    OWN_COUNT = "own count"


Kinds = tuple[tuple[str, int], ...]
"""Refusals by kind, each as published with its count."""


class UsageRow(Value):
    """A day or an endpoint of `/account/usage`; what did not come is None. `refusals` are all kinds together.

    `refusal_kinds` are the refusals by kind, where kinds came.
    """

    label: str
    requests: int | None = None
    errors: int | None = None
    refusals: int | None = None
    refusal_kinds: Kinds = ()


class QuotaReading(Value):
    """What `/account/usage` came to.

    `used` are requests in `month` ("2026-11"); a lower bound where it is not `certain`. `limit` is None where neither
    MONTHLY_QUOTA nor a known plan says it. `window` is the plan's, as published. `grouped_by` is what `rows` are.
    """

    taken_at: AwareDatetime
    month: str
    used: int
    certain: bool
    source: QuotaSource
    limit: int | None = None
    plan: str | None = None
    window: str | None = None
    errors: int | None = None
    refusals: int | None = None
    refusal_kinds: Kinds = ()
    grouped_by: str = "day"
    rows: tuple[UsageRow, ...] = ()

    @property
    def left(self) -> int | None:
        """Requests left this month, at most; None where the limit is not known."""
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of the month."""
        return self.left == 0

    @property
    def percent(self) -> int | None:
        """Whole percent of the limit that are used, rounded down; None where the limit is not known."""
        return None if self.limit is None else self.used * 100 // self.limit


def month_key(now: datetime) -> str:
    """The month of a moment: "2026-11"."""
    return now.astimezone(UTC).strftime("%Y-%m")


def month_before(month: str) -> str:
    """The month before: "2026-12" for "2027-01"."""
    return (datetime.strptime(f"{month}-01", "%Y-%m-%d").replace(tzinfo=UTC) - timedelta(days=1)).strftime("%Y-%m")


def month_after(month: str) -> date:
    """The day on which the month after begins: 1 December for "2026-11"."""
    return month_end(datetime.strptime(f"{month}-01", "%Y-%m-%d").replace(tzinfo=UTC)).date()


def month_start(now: datetime) -> datetime:
    """The moment at which the month began."""
    return now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def month_end(now: datetime) -> datetime:
    """The moment at which the next month begins."""
    return (month_start(now) + timedelta(days=32)).replace(day=1)


def thresholds_reached(used: int, limit: int, thresholds: Iterable[int]) -> tuple[int, ...]:
    """The thresholds, in percent, that the use has reached, lowest first."""
    return tuple(sorted({threshold for threshold in thresholds if used * 100 >= threshold * limit}))


def staleness_s(left: int | None) -> int:
    """Seconds for which what was read counts as fresh: the less is left of the month's quota, the longer."""
    return next((seconds for least, seconds in STALENESS_S if left is not None and left >= least), CAREFUL_S)


def commands_left(limit: int | None, used: int, *, spent: int, spent_at_reading: int, share: int) -> int | None:
    """Requests that commands may still make; None where no limit is known.

    `share` percent of what the month would have left without commands, less what they have `spent` of it. `used` was
    read when `spent_at_reading` had been spent, so that requests made since are not counted twice.
    """
    if limit is None:
        return None
    available = max(0, limit - used + spent_at_reading)
    return max(0, available * share // 100 - spent)
