"""The service's rate headers, read without trust: no reader raises.

The service's clock and ours may differ, so times are relative to the answer's `Date`.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

WINDOW_S = 60.0

LONGEST_RETRY_AFTER_S = 86_400.0
"""Cap on Retry-After: a wait of more than a day would be a mistake, for a rate per minute."""


class RateReading(NamedTuple):
    """Missing or senseless values are None. `resets_in_s` is 1 to 60. Equal `window` values mean the same minute."""

    limit: int | None = None
    remaining: int | None = None
    window: int | None = None
    resets_in_s: float | None = None


def read_rate(headers: Mapping[str, str]) -> RateReading:
    reset = whole_number(headers.get("x-ratelimit-reset"))
    limit = whole_number(headers.get("x-ratelimit-limit"))
    return RateReading(
        limit=limit if limit and limit <= 1_000_000 else None,
        remaining=whole_number(headers.get("x-ratelimit-remaining")),
        window=reset if reset and reset > WINDOW_S else None,
        resets_in_s=_resets_in_s(reset, http_date(headers.get("date"))),
    )


def _resets_in_s(reset: int | None, date: datetime | None) -> float | None:
    """Seconds until the window resets, never too few: `Date` is cut to whole seconds.

    A number up to 60 means seconds from now.
    """
    if reset is not None and reset <= WINDOW_S:
        return max(1.0, float(reset))
    if reset is None or date is None:
        return None
    left_s = reset - date.timestamp()
    return min(WINDOW_S, max(1.0, left_s)) if left_s >= -1 else None


def read_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, 0 to LONGEST_RETRY_AFTER_S, from seconds or an HTTP date; None for anything else."""
    value = (headers.get("retry-after") or "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return min(LONGEST_RETRY_AFTER_S, float(value))
    at = http_date(value)
    if at is None:
        return None
    wait_s = (at - (http_date(headers.get("date")) or now)).total_seconds()
    return min(LONGEST_RETRY_AFTER_S, max(0.0, wait_s))


def whole_number(value: str | None) -> int | None:
    """The number of up to twelve ASCII digits, else None."""
    text = (value or "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def http_date(value: str | None) -> datetime | None:
    try:
        # An HTTP date may have a leap second; Python's datetime has none.
        moment = parsedate_to_datetime((value or "").replace(":60 ", ":59 "))
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
