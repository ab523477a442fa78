"""Message timestamps: Slack's `ts` is a message's id in its channel and its place in time at once."""

from bot.clock import Clock

_MICROSECONDS = 1_000_000
_STEP = 100


class Timestamps:
    """Issues values such as "1763640000.000100": unique and increasing, whatever the clock does."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def issue(self) -> str:
        """The next one: the present moment, or just after the last one issued."""
        now = int(self._clock().timestamp() * _MICROSECONDS)
        self._last = max(now - now % _STEP, self._last + _STEP)
        return format_ts(self._last)


def format_ts(microseconds: int) -> str:
    """The `ts` of a number of microseconds since 1970."""
    return f"{microseconds // _MICROSECONDS}.{microseconds % _MICROSECONDS:06d}"


def parse_ts(ts: str) -> int:
    """Microseconds since 1970 of a `ts` or of a plain number of seconds; raises ValueError for anything else."""
    seconds, _, fraction = ts.partition(".")
    if not (seconds + fraction).isascii() or not seconds.isdigit() or (fraction and not fraction.isdigit()):
        raise ValueError("no timestamp")
    if len(seconds) > 12 or len(fraction) > 6:
        raise ValueError("no timestamp")
    return int(seconds) * _MICROSECONDS + int((fraction + "000000")[:6])
