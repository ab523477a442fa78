"""Time and chance, passed in: real in production, set by hand in tests."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.clock import Clock, Monotonic


@dataclass(frozen=True)
class Timing:
    """`chance` gives a number from 0 to 1 for the jitter of retries."""

    clock: Clock
    monotonic: Monotonic
    sleep: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]
