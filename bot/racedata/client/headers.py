"""What the service's headers say of its limits, read as if a stranger had written them: nothing here raises.

The service's clock and ours may differ, so a time is taken relative to the answer's own `Date`.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

WINDOW_S = 60.0
"""Length of the rate window (Interface, Limits: requests per minute)."""

LONGEST_RETRY_AFTER_S = 300.0
"""A Retry-After above this is cut to it: a rate window is a minute, so a longer wait is nobody's honest answer."""


class RateReading(NamedTuple):
    """The rate state an answer reported. What did not come, or made no sense, is None.

    `window` is X-RateLimit-Reset where it is a time: equal values mean the same minute. `resets_in_s` is 1 to 60.
    """

    limit: int | None = None
    remaining: int | None = None
    window: int | None = None
    resets_in_s: float | None = None


def read_rate(headers: Mapping[str, str]) -> RateReading:
    """The X-RateLimit-* headers. Keys of `headers` are lower case, or it looks names up in any case."""
    reset = whole_number(headers.get("x-ratelimit-reset"))
    limit = whole_number(headers.get("x-ratelimit-limit"))
    return RateReading(
        limit=limit if limit and limit <= 1_000_000 else None,
        remaining=whole_number(headers.get("x-ratelimit-remaining")),
        window=reset if reset and reset > WINDOW_S else None,
        resets_in_s=_resets_in_s(reset, http_date(headers.get("date"))),
    )


def _resets_in_s(reset: int | None, date: datetime | None) -> float | None:
    """Seconds until the window resets; never less than the truth where `Date` came, None where it can't be told.

    `Date` is cut to whole seconds, so that the difference errs towards waiting. Without `Date` the service's clock is
    unknown, and a small number can only be meant as seconds from now.
    """
    if reset is not None and reset <= WINDOW_S:
        return max(1.0, float(reset))
    if reset is None or date is None:
        return None
    left_s = reset - date.timestamp()
    return min(WINDOW_S, max(1.0, left_s)) if left_s >= -1 else None


def read_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, 0 to LONGEST_RETRY_AFTER_S, from seconds or an HTTP date; None where absent or garbage."""
    value = (headers.get("retry-after") or "").strip()
    if re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", value):
        return min(LONGEST_RETRY_AFTER_S, float(value))
    at = http_date(value)
    if at is None:
        return None
    wait_s = (at - (http_date(headers.get("date")) or now)).total_seconds()
    return min(LONGEST_RETRY_AFTER_S, max(0.0, wait_s))


def whole_number(value: str | None) -> int | None:
    """The number, or None for anything but up to twelve ASCII digits."""
    text = (value or "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def http_date(value: str | None) -> datetime | None:
    """The moment, aware, or None where it is not an HTTP date."""
    try:
        moment = parsedate_to_datetime(value or "")
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
