"""Time and chance, passed in: real in production, set by hand in tests."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.clock import Clock, utc_now


@dataclass(frozen=True)
class Timing:
    """`chance` gives a number from 0 to 1 for the jitter of retries."""

    clock: Clock = utc_now
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
