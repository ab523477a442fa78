"""One call: circuit breakers, pace, request, answer, and the decision to retry.

The answer is the envelope `{ meta, data }`, or stands for a failure. Refusals of key, plan, window and quota are not
transient (Interface, Authentication 3 and Errors). A POST is never retried.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from bot.clock import Clock, Monotonic
from bot.errors import StorageError
from bot.events.races import Value
from bot.logs import get_logger
from bot.racedata.client.circuit_breakers import USAGE_PATH, CircuitBreakers
from bot.racedata.client.headers import RateReading, read_rate, read_retry_after
from bot.racedata.client.records import Meta, ServicePage
from bot.racedata.client.service_errors import (
    BY_CODE,
    AnswerUnreadable,
    InvalidParam,
    NotFound,
    RateLimited,
    ServerFault,
    ServiceFailure,
    ServiceUnreachable,
    Unauthorized,
    UnknownRefusal,
)
from bot.racedata.client.transport import Answer, Request, Transport
from bot.racedata.month_quota import PLANS, Purpose

log = get_logger(__name__)
T = TypeVar("T")

REFUSAL_TEXT_MAX = 1000
REFUSAL_BYTES_MAX = 4_000
"""A larger refusal keeps its code and message alone: people read the rest, and circuit breakers store it."""

BY_STATUS: dict[int, type[ServiceFailure]] = {
    401: Unauthorized,
    404: NotFound,
    422: InvalidParam,
    429: RateLimited,
}
"""For answers without a code: a proxy's HTML, an empty body, a 404 (Spec gap G7).

A bare 403 can be either of two refusals. A bare 429 counts as `rate_limited`: a retry costs one request, a wrong
`quota_exceeded` would silence the bot until the month turns.
"""

FAULT_BACKOFF_S, FAULT_BACKOFF_MAX_S = 0.5, 8.0


@dataclass(frozen=True)
class Patience:
    """`deadline_s` runs from the first attempt on, and includes waits for the pace.

    `background`: nobody waits, so a part of the minute is left to commands.
    """

    deadline_s: float
    fault_tries: int = 4
    rate_tries: int = 10
    background: bool = True

    def for_later_pages(self) -> "Patience":
        return replace(self, fault_tries=Patience.fault_tries, rate_tries=Patience.rate_tries)

    def wait_before_next_s(self, error: ServiceFailure, attempt: int, elapsed_s: float, chance: float) -> float | None:
        """The wait after attempt number `attempt` (from 1), `elapsed_s` after the first began. None: no other attempt.

        `chance` is 0 to 1.
        """
        if isinstance(error, RateLimited):
            tries, wait_s = self.rate_tries, error.rate_wait_s
        elif isinstance(error, ServerFault | ServiceUnreachable):
            tries, wait_s = self.fault_tries, max(error.retry_after_s or 0.0, _backoff_s(attempt, chance))
        else:
            return None
        return wait_s if attempt < tries and elapsed_s + wait_s <= self.deadline_s else None


FOR_COMMANDS = Patience(deadline_s=75, background=False)
"""A person waits: one whole rate window."""

FOR_BACKGROUND = Patience(deadline_s=600)

ONE_TRY = Patience(deadline_s=60, fault_tries=1, rate_tries=1)
"""The caller repeats the work by itself."""


def _backoff_s(attempt: int, chance: float) -> float:
    """Half fixed and half random, so that replicas spread."""
    whole_s = min(FAULT_BACKOFF_MAX_S, FAULT_BACKOFF_S * 2.0 ** (attempt - 1))
    return whole_s * (1 + chance) / 2


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
    on_answer: Callable[[str, ServiceFailure | None], None] = lambda _path, _failure: None


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


def read_answer(
    answer: Answer, request: Request, page: type[ServicePage[T]], now: datetime
) -> ServicePage[T] | ServiceFailure:
    """The page, or the failure. The caller raises the failure: a traceback from here could show the body."""
    if not 200 <= answer.status < 300 or _has_error(answer.body):
        return read_refusal(answer, request.path, now)
    found = _validated(_enveloped(answer.body) if request.bare else answer.body, page)
    if found is None and _is_cut_off(answer.body):
        return ServiceUnreachable(request.path, message="the answer is cut off", may_have_arrived=True)
    return found or AnswerUnreadable(
        request.path,
        status=answer.status,
        request_id=_request_id(answer),
        message="it is not the envelope of meta and data",
    )


def _is_cut_off(body: Any) -> bool:
    """True for JSON that ends early: another try may bring the whole answer."""
    try:
        return isinstance(body, str) and bool(from_json(body, allow_partial=True))
    except ValueError:
        return False


def _enveloped(body: Any) -> dict[str, Any]:
    """Every field is kept, and text that is no JSON too: a signing secret is shown once."""
    parts = dict(body) if isinstance(body, Mapping) else {"data": body}
    meta = parts.pop("meta") if isinstance(parts.get("meta"), Mapping) else {}
    is_envelope = list(parts) == ["data"] and isinstance(parts["data"], Mapping)
    return {"meta": meta, "data": parts["data"] if is_envelope else parts}


def _validated(body: Any, page: type[ServicePage[T]]) -> ServicePage[T] | None:
    """A ValidationError quotes the body, so the error must not be chained to another."""
    try:
        return page.model_validate(body)
    except ValidationError:
        return None


def read_refusal(answer: Answer, path: str, now: datetime) -> ServiceFailure:
    """An HTTP date in Retry-After is relative to the answer's Date, else to `now`."""
    error, after_s = _error_object(answer.body), read_retry_after(answer.headers, now)
    code = error.pop("code", None)
    code = code if isinstance(code, str) and code else None
    message = error.pop("message", None)
    return _class_for(code, answer.status)(
        path,
        code=None if code is None else _clean(code),
        status=answer.status,
        request_id=_request_id(answer),
        message=_clean(message) if isinstance(message, str) and message else None,
        extras=_clean(error) if answer.size <= REFUSAL_BYTES_MAX else None,
        # A 429 without Retry-After has the time until the rate window resets.
        retry_after_s=read_rate(answer.headers).resets_in_s if after_s is None and answer.status == 429 else after_s,
    )


def _class_for(code: str | None, status: int) -> type[ServiceFailure]:
    if code in BY_CODE:
        return BY_CODE[code]
    if status == 404:
        return NotFound  # Of any code: the interface does not show the code of a 404 (Spec gap G7).
    if status >= 500:
        return ServerFault
    return UnknownRefusal if code else BY_STATUS.get(status, UnknownRefusal)


def _has_error(body: Any) -> bool:
    """An error is a refusal whatever its status (Interface, Errors): beside an error an empty list proves nothing."""
    error = body.get("error") if isinstance(body, Mapping) else None
    return any(error.values()) if isinstance(error, Mapping) else bool(error)


def _error_object(body: Any) -> dict[str, Any]:
    """A text counts as the code if known, else as the message."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return dict(error)
    return {"code" if error in BY_CODE else "message": error} if isinstance(error, str) else {}


def _request_id(answer: Answer) -> str | None:
    body = answer.body
    parts = [body.get("meta"), body.get("error"), body] if isinstance(body, Mapping) else []
    named = [part.get("request_id") for part in parts if isinstance(part, Mapping)]
    found = (value for value in [*named, answer.headers.get("x-request-id")] if isinstance(value, str) and value)
    return _clean(next(found, ""))[:200] or None


def _clean(value: Any) -> Any:
    """Texts on one line and cut, at any depth."""
    if isinstance(value, str):
        printable = "".join(char if char.isprintable() else " " for char in value)
        return " ".join(printable.split())[:REFUSAL_TEXT_MAX]
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, Mapping):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value
