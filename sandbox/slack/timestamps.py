"""Slack's `ts`: a message's id in its channel and a point in time."""

import re

from bot.clock import Clock

_MICROSECONDS = 1_000_000
_STEP = 100
_TS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")


class Timestamps:
    """Issues values such as "1763640000.000100", unique and increasing even if the clock goes back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def issue(self) -> str:
        now = int(self._clock().timestamp() * _MICROSECONDS)
        self._last = max(now - now % _STEP, self._last + _STEP)
        return format_ts(self._last)


def format_ts(microseconds: int) -> str:
    return f"{microseconds // _MICROSECONDS}.{microseconds % _MICROSECONDS:06d}"


def parse_ts(ts: str) -> int:
    """Microseconds since 1970 of a `ts` or of plain seconds. Raises ValueError."""
    if not _TS.fullmatch(ts):
        raise ValueError("no timestamp")
    return round(float(ts) * _MICROSECONDS)
