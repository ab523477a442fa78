"""One call: circuit breaker, throttle, request, answer, and the decision to retry."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from bot.errors import StorageError
from bot.logs import get_logger
from bot.racedata.client.circuit_breakers import USAGE_PATH, CircuitBreakers
from bot.racedata.client.envelope import failure_of, read_page
from bot.racedata.client.headers import RateReading, read_rate
from bot.racedata.client.records import Meta, ServicePage
from bot.racedata.client.retry import Patience, rate_wait_s, wait_before_next_s
from bot.racedata.client.service_errors import QuotaExceeded, RateLimited, ServiceFailure, ServiceUnreachable, Spared
from bot.racedata.client.throttle import Slot, Throttle
from bot.racedata.client.timing import Timing
from bot.racedata.client.transport import Answer, Request, Transport
from bot.racedata.plans import PLANS
from bot.racedata.quota_purposes import Purpose

log = get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class AccountState:
    plan: str | None = None
    window: str | None = None
    data_as_of: str | None = None


async def tell_nobody(*_: object) -> None:
    """The default of `on_meta` and `on_circuit_open`."""


async def spend_freely(_purpose: Purpose) -> bool:
    return True


def count_nothing(_path: str, _failure: ServiceFailure | None) -> None:
    """The default of `on_answer`."""


@dataclass(frozen=True)
class Hooks:
    """What the bot does about calls.

    `on_meta` is called with the state before and now when plan or window change; an exception fails the call, and after
    False the hook is called again. `on_circuit_open` gets the refusal that opened a circuit breaker; an exception takes
    the refusal's place. `on_answer` is called for each request sent, with the path and any failure.
    """

    on_meta: Callable[[AccountState, AccountState], Awaitable[bool | None]] = tell_nobody
    on_circuit_open: Callable[[ServiceFailure], Awaitable[None]] = tell_nobody
    may_spend: Callable[[Purpose], Awaitable[bool]] = spend_freely
    on_answer: Callable[[str, ServiceFailure | None], None] = count_nothing


class Calls:
    """Shared by all calls: throttle, circuit breakers, account."""

    def __init__(
        self, transport: Transport, throttle: Throttle, breakers: CircuitBreakers, timing: Timing, hooks: Hooks
    ) -> None:
        self.transport = transport
        self.breakers = breakers
        self.state = AccountState()
        self.refused_groupings: dict[str, str | None] = {}
        self._told: tuple[str | None, str | None] = (None, None)
        self._repeated: dict[int, ServiceFailure] = {}
        self._throttle = throttle
        self._timing = timing
        self._hooks = hooks

    async def ask(
        self, request: Request, page: type[ServicePage[T]], *, patience: Patience, background: bool, bare: bool = False
    ) -> ServicePage[T]:
        """Raises a ServiceFailure when no further attempt is due."""
        started, attempt = self._timing.monotonic(), 0
        try:
            while True:
                attempt += 1
                left_s = patience.deadline_s - (self._timing.monotonic() - started)
                try:
                    async with self.breakers.permit(request.endpoint) as is_probe:
                        answer = await self._attempt(request, is_probe, background=background, patience_s=left_s)
                        return await self._read(answer, request, page, bare=bare, is_probe=is_probe)
                except ServiceFailure as error:
                    after_s = wait_before_next_s(
                        error,
                        attempt,
                        self._timing.monotonic() - started,
                        patience=patience,
                        repeatable=request.repeatable,
                        chance=self._timing.chance(),
                    )
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
                    self._repeated[id(request)] = error
                await self._timing.sleep(after_s)
        finally:
            self._repeated.pop(id(request), None)

    async def check_spending(self, path: str, purpose: Purpose) -> None:
        """Raise Spared if the month has too little left. The usage endpoint is free of quota."""
        if path != USAGE_PATH and not await self._hooks.may_spend(purpose):
            raise Spared(path)

    def held_up(self, path: str) -> ServiceFailure:
        """Why a call under way has no answer so far."""
        if self._repeated:
            return next(reversed(self._repeated.values()))
        if wait_s := self._throttle.wait_s(background=False):
            return RateLimited(path, code=RateLimited.known_code, retry_after_s=wait_s)
        return ServiceUnreachable(path, message="no answer so far", may_have_arrived=True)

    async def _attempt(self, request: Request, is_probe: bool, *, background: bool, patience_s: float) -> Answer:
        self._throttle.hold(self.breakers.held_s())
        async with self._throttle.slot(request.path, background=background, patience_s=patience_s) as slot:
            self.breakers.recheck(request.endpoint, is_probe=is_probe)
            answer = await self._send(request)
            failure = failure_of(answer, request.path, self._timing.clock(), self.transport.mask)
            _note_rate(slot, answer, failure)
        if failure is None:
            return answer
        self._hooks.on_answer(request.path, failure)
        if await self.breakers.refused(failure, self.state.plan, request.endpoint):
            await self._hooks.on_circuit_open(failure)
        raise failure

    async def _send(self, request: Request) -> Answer:
        try:
            return await self.transport.send(request)
        except ServiceFailure as failure:
            self._hooks.on_answer(request.path, failure)
            raise

    async def _read(
        self, answer: Answer, request: Request, page: type[ServicePage[T]], *, bare: bool, is_probe: bool
    ) -> ServicePage[T]:
        found = read_page(answer, request.path, page, self.transport.mask, bare=bare)
        if isinstance(found, ServiceFailure):
            self._hooks.on_answer(request.path, found)
            raise found
        self._hooks.on_answer(request.path, None)
        if found.meta.plan in PLANS and read_rate(answer.headers).limit is None:
            self._throttle.learn_limit(PLANS[found.meta.plan].requests_per_minute)
        try:
            await self._remember(found.meta, is_probe=is_probe)
        except StorageError as error:
            if request.repeatable:
                raise
            # The request must not be repeated, so its answer outweighs a failed note.
            log.warning("answer_not_noted", path=request.path, reason=str(error))
        return found

    async def _remember(self, meta: Meta, *, is_probe: bool) -> None:
        await self.breakers.answered(meta.plan, is_probe=is_probe)
        old = self.state
        self.state = AccountState(
            plan=meta.plan or old.plan, window=meta.window or old.window, data_as_of=meta.data_as_of or old.data_as_of
        )
        account = (self.state.plan, self.state.window)
        if account != self._told and await self._hooks.on_meta(old, self.state) is not False:
            self._told = account


def _note_rate(slot: Slot, answer: Answer, failure: ServiceFailure | None) -> None:
    """A proxy's error page has no rate headers, and says nothing about the service's count."""
    reading = read_rate(answer.headers)
    slot.reading = reading if answer.status < 500 or reading != RateReading() else None
    if answer.status == 429 and failure is not None and not isinstance(failure, QuotaExceeded):
        slot.hold_s = rate_wait_s(failure)
