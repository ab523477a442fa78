"""The ports of a service to the outside: time, chance, threads, connections. Tests pass ports of their own."""

import asyncio
import random
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
import httpx

from bot.clock import Clock, Monotonic, Token, utc_now
from bot.db.threads import Threads
from bot.racedata.client.calls import Timing
from bot.slack.web_client import make_session


def _wall() -> datetime:
    """APScheduler's clock. Tests leave the clock real: the scheduler counts each run missed by a jump."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Ports:
    """`worked`: processor time of the thread. `racing_transport`: None for the network."""

    clock: Clock = utc_now
    wall: Clock = _wall
    monotonic: Monotonic = time.monotonic
    worked: Monotonic = time.thread_time
    chance: Callable[[], float] = random.random
    token: Token = secrets.token_hex
    runner: Callable[[], Threads] = Threads
    slack_session: Callable[[], AbstractAsyncContextManager[aiohttp.ClientSession]] = make_session
    racing_transport: httpx.AsyncBaseTransport | None = None

    @property
    def timing(self) -> Timing:
        return Timing(self.clock, self.monotonic, asyncio.sleep, self.chance)
