"""How many requests this minute still has room for: pure bookkeeping, the time is passed in.

Two counts are kept, and the more careful one holds: our own over the last 60 seconds, and the service's `Remaining`
less what was sent since. A request counts from when it starts until 60 seconds after its answer, because only then is
it certain to have left every window that the service may have counted it in. 4xx answers count (Interface, Limits 5).

The key may be used elsewhere (another replica, another program, ourselves before a restart). So one request goes out
alone wherever the service's count is not known, while somebody else is seen to spend from it, and in the last quarter
of a minute: that way a minute that others used up costs one refusal, not one for each request in flight.
"""

from collections import deque
from dataclasses import dataclass

from bot.racedata.client.headers import WINDOW_S, RateReading

COMMANDS_SHARE = 0.25
"""Part of each minute that background work leaves for people's commands."""

OTHERS_REMEMBERED_S = 120.0
"""How long somebody else's use of the key is taken to go on after it was last seen: two windows."""

LEAST_LIMIT = 60
"""The lowest limit of any plan (Interface, Limits), taken until the service reports the key's own."""


@dataclass
class _ServiceCount:
    """The service's count: what is left until `expires_at`, our requests in flight taken off. None: not reported."""

    window: int | None
    left: int | None
    expires_at: float


class Budget:
    """The minute's room. Times are monotonic seconds."""

    def __init__(self, limit: int = LEAST_LIMIT) -> None:
        self.limit = limit
        self._in_flight = 0
        self._answered: deque[float] = deque()
        self._held_until = float("-inf")
        self._others_until = float("-inf")
        self._theirs: _ServiceCount | None = None

    def wait_s(self, now: float, *, background: bool, replicas: int) -> float | None:
        """Seconds until there may be room: 0 where there is; None where a request in flight must be answered first."""
        self._forget(now)
        if now < self._held_until:
            return self._held_until - now
        if self._in_flight and self._goes_alone(now):
            return None
        waits = (self._own_wait_s(now, background, replicas), self._their_wait_s(now, background, replicas))
        return None if None in waits else max(wait for wait in waits if wait is not None)

    def _goes_alone(self, now: float) -> bool:
        """Whether one request at a time is sent, because the minute may be used up without our knowing."""
        if self._theirs is None or now < self._others_until:
            return True
        return self._theirs.left is not None and self._theirs.left <= self.limit * COMMANDS_SHARE

    def _own_wait_s(self, now: float, background: bool, replicas: int) -> float | None:
        share = max(1, self.limit // replicas)
        allowed = max(1, share - int(share * COMMANDS_SHARE)) if background else share
        over = self._in_flight + len(self._answered) - allowed
        if over < 0:
            return 0.0
        return self._answered[over] + WINDOW_S - now if over < len(self._answered) else None

    def _their_wait_s(self, now: float, background: bool, replicas: int) -> float:
        if self._theirs is None or self._theirs.left is None:
            return 0.0
        kept_free = int(self.limit * COMMANDS_SHARE) if background else 0
        room = (self._theirs.left - kept_free) // replicas
        return 0.0 if room > 0 else self._theirs.expires_at - now

    def start(self) -> None:
        """A request is sent."""
        self._in_flight += 1
        if self._theirs and self._theirs.left is not None:
            self._theirs.left -= 1

    def finish(self, now: float, reading: RateReading | None, hold_s: float | None = None) -> None:
        """A request has ended: with an answer's rate state, or without one.

        `hold_s` is the wait a 429 asked for. After that wait the client goes on (Interface, Errors), whatever a reset
        in `reading` says.
        """
        self._forget(now)
        self._in_flight -= 1
        self._answered.append(now)
        if hold_s is not None:
            self._hold(now, hold_s)
        elif reading is not None:
            self._read(now, reading)

    def _hold(self, now: float, hold_s: float) -> None:
        self._held_until = max(self._held_until, now + hold_s)
        self._others_until = now + OTHERS_REMEMBERED_S
        self._theirs = None
        # The service has counted these, and says when there is room all the same: our own count knows no better.
        self._answered.clear()

    def _read(self, now: float, reading: RateReading) -> None:
        self.limit = reading.limit or self.limit
        self._look_for_others(now, reading)
        old = self._theirs
        if old and old.window and reading.window and reading.window < old.window:
            return  # An answer of the minute before, overtaken by one of this minute.
        left = None if reading.remaining is None else reading.remaining - self._in_flight
        expires_at = now + (reading.resets_in_s or WINDOW_S)
        if old and (old.window == reading.window or None in (old.window, reading.window)):
            left = _smaller(left, old.left)
            expires_at = min(expires_at, old.expires_at)
        self._theirs = _ServiceCount(reading.window, left, expires_at)

    def _look_for_others(self, now: float, reading: RateReading) -> None:
        """Remember that somebody else spends, where less is left than our own requests explain."""
        if reading.remaining is None:
            return
        expected = self.limit - self._in_flight - len(self._answered)
        if self._theirs and self._theirs.window == reading.window and self._theirs.left is not None:
            expected = self._theirs.left
        if reading.remaining < expected:
            self._others_until = now + OTHERS_REMEMBERED_S

    def _forget(self, now: float) -> None:
        """Drop what is past: requests that have left every window, and a count whose minute is over."""
        while self._answered and self._answered[0] + WINDOW_S <= now:
            self._answered.popleft()
        if self._theirs and now >= self._theirs.expires_at:
            self._theirs = None


def _smaller(one: int | None, other: int | None) -> int | None:
    """The smaller of the two that are known."""
    known = [number for number in (one, other) if number is not None]
    return min(known) if known else None
