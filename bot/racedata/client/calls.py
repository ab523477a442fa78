"""One call: circuit breakers, pace, request, answer, and the decision to retry."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from bot.clock import Clock, Monotonic
from bot.errors import StorageError
from bot.events.races import Value
from bot.logs import get_logger
from bot.racedata.client.circuit_breakers import USAGE_PATH, CircuitBreakers
from bot.racedata.client.envelope import read_answer
from bot.racedata.client.headers import RateReading, read_rate
from bot.racedata.client.records import Meta, ServicePage
from bot.racedata.client.retry import Patience
from bot.racedata.client.service_errors import RateLimited, ServiceFailure, ServiceUnreachable
from bot.racedata.client.transport import Answer, Request, Transport
from bot.racedata.month_quota import PLANS, Purpose

log = get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """Time and chance: real in production, set by hand in tests. `chance` gives 0 to 1, for the jitter of retries."""

    clock: Clock
    monotonic: Monotonic
    sleep: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


class AccountState(Value):
    plan: str | None = None
    window: str | None = None


async def tell_nobody(*_: object) -> None:
    """The default of the hooks that are awaited."""


def count_nothing(_path: str, _failure: ServiceFailure | None) -> None:
    """The default of `on_answer`."""


@dataclass(frozen=True)
class Hooks:
    """The bot's hooks around calls.

    `on_meta` is called when plan or window change; an exception fails the call, and after False the hook is called
    again. `on_circuit_open` gets the refusal that opened a circuit breaker, or that asks for a long wait; an exception
    takes the refusal's place.
    `held_back` gives the failure in place of a request that the month's quota does not allow.
    `on_answer` is called for each request sent, with the path and any failure.
    """

    on_meta: Callable[[AccountState], Awaitable[bool | None]] = tell_nobody
    on_circuit_open: Callable[[ServiceFailure], Awaitable[None]] = tell_nobody
    held_back: Callable[[str, Purpose], Awaitable[ServiceFailure | None]] = tell_nobody
    on_answer: Callable[[str, ServiceFailure | None], None] = count_nothing


class Calls:
    """Shared by all calls: circuit breakers, pace, account."""

    def __init__(self, transport: Transport, breakers: CircuitBreakers, timing: Timing, hooks: Hooks) -> None:
        self.transport = transport
        self.breakers = breakers
        self.state = AccountState()
        self.refuses_days = False
        self._told = AccountState()
        self._held_up: dict[int, ServiceFailure] = {}
        self._answered = asyncio.Event()
        self._timing = timing
        self._hooks = hooks

    async def ask(
        self, request: Request, page: type[ServicePage[T]], patience: Patience, purpose: Purpose
    ) -> ServicePage[T]:
        """Raises the failure of `held_back`, or a ServiceFailure when no further attempt is due."""
        if request.path != USAGE_PATH and (held_back := await self._hooks.held_back(request.path, purpose)):
            raise held_back
        started, attempt = self._timing.monotonic(), 0
        try:
            while True:
                attempt += 1
                try:
                    async with self._turn(request, started + patience.deadline_s, background=patience.background):
                        return await self._attempt(request, page)
                except ServiceFailure as error:
                    elapsed_s, chance = self._timing.monotonic() - started, self._timing.chance()
                    after_s = patience.wait_before_next_s(error, attempt, elapsed_s, chance)
                    after_s = after_s if request.is_repeatable else None
                    log.info(
                        "data service failed",
                        path=request.path,
                        failure=type(error).__name__,
                        code=error.code,
                        status=error.status,
                        request_id=error.request_id,
                        attempt=attempt,
                        again_after_s=after_s,
                    )
                    if after_s is None:
                        raise
                    self._held_up[id(request)] = error
                await self._timing.sleep(after_s)
        finally:
            self._held_up.pop(id(request), None)

    def held_up(self, path: str) -> ServiceFailure:
        """Why a call under way has no answer so far."""
        silent = ServiceUnreachable(path, message="no answer so far", may_have_arrived=True)
        return next(reversed(self._held_up.values()), silent)

    @asynccontextmanager
    async def _turn(self, request: Request, until: float, *, background: bool) -> AsyncGenerator[None]:
        """Wait until the request may be sent.

        RateLimited, without a request, if no turn comes `until`; ServiceUnreachable if others still have no answer.
        """
        while True:
            answered = self._answered
            wait_s = await self.breakers.take(request.endpoint, background=background)
            if wait_s == 0:
                break
            if wait_s is None:
                if self._timing.monotonic() > until:
                    raise ServiceUnreachable(request.path, message="no answer to others", may_have_arrived=False)
                await answered.wait()
                continue
            limited = RateLimited(request.path, code=RateLimited.known_code, retry_after_s=wait_s)
            if self._timing.monotonic() + wait_s > until:
                raise limited
            self._held_up.setdefault(id(request), limited)
            await self._timing.sleep(wait_s)
        try:
            yield
        finally:
            self.breakers.in_flight -= 1
            self._answered.set()
            self._answered = asyncio.Event()

    async def _attempt(self, request: Request, page: type[ServicePage[T]]) -> ServicePage[T]:
        try:
            answer = await self.transport.send(request)
        except ServiceFailure as error:
            self._hooks.on_answer(request.path, error)
            raise
        found = read_answer(answer, request, page, self._timing.clock())
        failure = found if isinstance(found, ServiceFailure) else None
        self._hooks.on_answer(request.path, failure)
        try:
            if not isinstance(found, ServiceFailure):
                await self._remember(found.meta, request, answer)
            elif await self.breakers.refused(found, self.state.plan, request.endpoint, _rate(answer, None)):
                await self._hooks.on_circuit_open(found)
        except StorageError as error:
            if failure is None and request.is_repeatable:
                raise
            # An error here would repeat the request, or would hide the refusal. Both outweigh a failed note.
            log.warning("answer_not_noted", path=request.path, reason=str(error))
        if isinstance(found, ServiceFailure):
            raise found
        return found

    async def _remember(self, meta: Meta, request: Request, answer: Answer) -> None:
        await self.breakers.answered(meta.plan, request.endpoint, _rate(answer, meta.plan))
        self.state = AccountState(plan=meta.plan or self.state.plan, window=meta.window or self.state.window)
        if self.state != self._told and await self._hooks.on_meta(self.state) is not False:
            self._told = self.state


def _rate(answer: Answer, plan: str | None) -> RateReading | None:
    """The plan's limit where no header tells the limit. A proxy's error page says nothing about the service's count."""
    reading = read_rate(answer.headers)
    if answer.status >= 500 and reading == RateReading():
        return None
    return reading._replace(limit=reading.limit or (PLANS[plan].requests_per_minute if plan in PLANS else None))
