"""The pace of requests: the data service's own count of its minute, less the requests sent since.

Commands go before background work.
"""

from datetime import datetime, timedelta

from pydantic import AwareDatetime

from bot.events.races import Value
from bot.racedata.client.headers import WINDOW_S, RateReading

COMMANDS_SHARE = 0.25
"""Part of each minute that background work leaves to commands."""

OTHERS_SHARE = 0.1
"""Part of each minute left unspent while others spend too: their next requests come before our next answer."""

LOWEST_LIMIT = 60
"""The lowest limit of any plan (Interface, Limits), until the service reports the key's own."""


class Minute(Value):
    """The count of the service's minute, stored for all replicas. The count is unknown before a minute's first answer.

    `left`: the requests left of the minute `window`, which ends at `resets_at`.

    Requests go out one at a time while the count is unknown or low: a minute that others used up costs one refusal,
    instead of a refusal for each request in flight. `others`: the minute shows requests that are not ours. After a 429
    that asked for `hold_s`, all requests wait until `held_until`.
    """

    limit: int = LOWEST_LIMIT
    left: int = 0
    window: int | None = None
    resets_at: AwareDatetime | None = None
    others: bool = False
    held_until: AwareDatetime | None = None
    hold_s: float = 0.0

    def wait_s(self, now: datetime, *, background: bool, in_flight: int) -> float | None:
        """Seconds until a request may be sent: 0 for now; None while an answer must come first."""
        if held_s := self.held_s(now):
            return held_s
        reset_s = _ahead_s(self.resets_at, now, WINDOW_S)
        if in_flight and (not reset_s or self.left <= self.limit * COMMANDS_SHARE):
            return None
        share = COMMANDS_SHARE if background else OTHERS_SHARE if self.others else 0
        return 0.0 if self.left > int(self.limit * share) else reset_s

    def held_s(self, now: datetime) -> float:
        return _ahead_s(self.held_until, now, self.hold_s)

    def taken(self) -> "Minute":
        return self.model_copy(update={"left": self.left - 1})

    def held(self, now: datetime, hold_s: float) -> "Minute":
        """The minute after a 429: the longer of two waits holds.

        After the wait the service has room again (Interface, Errors), so the count is unknown.
        """
        update = {"held_until": now + timedelta(seconds=hold_s), "hold_s": hold_s}
        return self.model_copy(update={"resets_at": None} | (update if hold_s > self.held_s(now) else {}))

    def answered(self, now: datetime, reading: RateReading, in_flight: int) -> "Minute":
        """The minute after an answer with headers. `in_flight`: our other requests, perhaps not counted there."""
        limit = reading.limit or self.limit
        remaining = limit - 1 if reading.remaining is None else min(reading.remaining, limit - 1)
        resets_at = now + timedelta(seconds=reading.resets_in_s or WINDOW_S)
        left, others = remaining - in_flight, remaining < limit - 1 - in_flight
        if self.resets_at and _ahead_s(self.resets_at, now, WINDOW_S):
            if self.window and reading.window and reading.window < self.window:
                return self  # The answer belongs to the minute before, and came late.
            if None in {self.window, reading.window} or self.window == reading.window:
                others = self.others or remaining < self.left
                left, resets_at = min(left, self.left), min(resets_at, self.resets_at)
        update = {"limit": limit, "left": left, "window": reading.window, "resets_at": resets_at, "others": others}
        return self.model_copy(update=update)


def _ahead_s(moment: datetime | None, now: datetime, longest_s: float) -> float:
    """Seconds until the moment; 0 once past, and 0 for a moment further ahead, left from before a clock set back."""
    ahead_s = (moment - now).total_seconds() if moment else 0.0
    # A stored moment is rounded to microseconds.
    return ahead_s if 0 < ahead_s <= longest_s + 0.001 else 0.0
