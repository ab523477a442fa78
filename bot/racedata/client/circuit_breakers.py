"""Circuit breakers for refusals that a repeated request would meet again.

| Refusal | Not asked | Closes at a new key, at an admin's reset, and |
|---|---|---|
| `unauthorized` | Everything | |
| `quota_exceeded` | All but `/account/usage`, at no cost | At a new month or plan, lower usage or a higher allowance |
| `upgrade_required` | The refused endpoints | At a new plan |

Breakers are stored and read for each request, so replicas share them. The wait that a 429 asked for is shared likewise.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import new as new_hmac
from typing import Any, Protocol, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, SecretStr, ValidationError

from bot.clock import Clock
from bot.errors import StorageError
from bot.racedata.client.retry import rate_wait_s
from bot.racedata.client.service_errors import (
    CircuitOpen,
    RateLimited,
    ServiceFailure,
    UpgradeRequired,
)

QUOTA = "quota_exceeded"
UNAUTHORIZED = "unauthorized"
PLAN = "upgrade_required"
BREAKER_CODES = (UNAUTHORIZED, QUOTA, PLAN)
USAGE_PATH = "account/usage"

LATEST_TURN = timedelta(hours=24)
"""The service's month may turn this long after the month in UTC (Spec gap G13)."""

PROBE_EVERY = timedelta(hours=1)

HOLD = "racing.hold"

M = TypeVar("M", bound=BaseModel)


class StateStore(Protocol):
    async def get(self, name: str) -> dict[str, Any] | None: ...

    async def set(self, name: str, value: dict[str, Any]) -> None: ...


class PlanRefusal(BaseModel):
    """The words of an `upgrade_required`, for the next requests to the same endpoint."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    status: int | None = None
    request_id: str | None = None
    message: str | None = None
    your_plan: str | None = None
    reaches_on: tuple[str, ...] = ()

    def again(self, endpoint: str) -> UpgradeRequired:
        return UpgradeRequired(
            endpoint,
            code=PLAN,
            status=self.status,
            request_id=self.request_id,
            message=self.message,
            extras={"your_plan": self.your_plan, "reaches_on": self.reaches_on},
        )


class OpenBreaker(BaseModel):
    """`key` is the key's fingerprint. From `ask_at` on a probe may be sent.

    `endpoints`: the endpoints beyond `plan`; empty for a breaker of the whole service.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: str
    key: str
    since: AwareDatetime
    ask_at: AwareDatetime | None = None
    plan: str | None = None
    request_id: str | None = None
    endpoints: Mapping[str, PlanRefusal] = {}


class _Hold(BaseModel):
    """Of all requests, after a 429 that asked for `wait_s`."""

    until: AwareDatetime
    wait_s: float


@dataclass(frozen=True)
class Permit:
    """A probe's answer decides whether an open breaker closes.

    After a wait, `recheck` raises CircuitOpen if a breaker has opened meanwhile.
    """

    is_probe: bool
    recheck: Callable[[], None]


def fingerprint(key: SecretStr) -> str:
    return new_hmac(key.get_secret_value().encode(), b"racing-bot latch", sha256).hexdigest()[:16]


class CircuitBreakers:
    def __init__(self, store: StateStore, clock: Clock, key: SecretStr) -> None:
        self._store = store
        self._clock = clock
        self._key = fingerprint(key)
        self._open: dict[str, OpenBreaker] = {}
        self._is_probing = False
        self._writing = 0
        self._written = 0

    async def open_now(self) -> tuple[OpenBreaker, ...]:
        for code in BREAKER_CODES:
            await self._load(code)
        return tuple(self._open.values())

    @asynccontextmanager
    async def permit(self, endpoint: str) -> AsyncGenerator[Permit]:
        """A permit for a request, or CircuitOpen, or UpgradeRequired. One probe at a time."""
        await self.open_now()
        is_probe = self._check(endpoint)
        self._is_probing = self._is_probing or is_probe
        try:
            yield Permit(is_probe, lambda: self._recheck(endpoint, is_probe=is_probe))
        finally:
            if is_probe:
                self._is_probing = False

    async def refused(self, error: ServiceFailure, plan: str | None, endpoint: str) -> bool:
        """Whether this refusal has closed the whole service to us. `plan` is the plan last seen.

        A refusal without a code, such as a proxy's, opens no breaker.
        """
        if isinstance(error, RateLimited):
            await self._hold(rate_wait_s(error))
            return False
        if isinstance(error, UpgradeRequired):
            await self._refused_by_plan(endpoint, error, plan or error.your_plan)
            return False
        if error.code not in {QUOTA, UNAUTHORIZED}:
            return False
        before, now = self._open.get(error.code), self._clock()
        since = before.since if before else now
        breaker = OpenBreaker(
            code=error.code,
            key=self._key,
            since=since,
            ask_at=_next_probe(since, now) if error.code == QUOTA else None,
            plan=plan,
            request_id=error.request_id,
        )
        await self._keep_open(breaker)
        return before is None

    async def _refused_by_plan(self, endpoint: str, error: UpgradeRequired, plan: str | None) -> None:
        before = self._open.get(PLAN)
        if before and before.plan != plan:
            before = None
        refusal = PlanRefusal(
            status=error.status,
            request_id=error.request_id,
            message=error.message,
            your_plan=error.your_plan,
            reaches_on=error.reaches_on,
        )
        breaker = OpenBreaker(
            code=PLAN,
            key=self._key,
            since=self._clock(),
            plan=plan,
            request_id=error.request_id,
            endpoints={**(before.endpoints if before else {}), endpoint: refusal},
        )
        await self._keep_open(breaker)

    async def held_s(self) -> float:
        """Seconds that a 429 of any replica still holds all.

        A longer hold was written before the clock was set back.
        """
        held = _stored(_Hold, await self._store.get(HOLD))
        left_s = (held.until - self._clock()).total_seconds() if held else 0.0
        return left_s if held and left_s <= held.wait_s else 0.0

    async def _hold(self, wait_s: float) -> None:
        """For the longer of two waits. A wait that can't be stored holds this replica alone."""
        with suppress(StorageError):
            if wait_s > await self.held_s():
                until = self._clock() + timedelta(seconds=wait_s)
                await self._store.set(HOLD, _Hold(until=until, wait_s=wait_s).model_dump(mode="json"))

    async def answered(self, plan: str | None, *, is_probe: bool = False) -> None:
        """Close the quota's breaker after a successful probe, and all but the key's under another plan.

        Other answers may belong to requests from before the refusal.
        """
        if is_probe:
            await self.reset(QUOTA)
        for breaker in [self._open[code] for code in (QUOTA, PLAN) if code in self._open and plan]:
            if breaker.plan is None:
                # The refused plan becomes known only now.
                await self._keep_open(breaker.model_copy(update={"plan": plan}))
            elif breaker.plan != plan:
                await self.reset(breaker.code)

    async def reset(self, code: str) -> None:
        self._open.pop(code, None)
        await self._put(code, {})

    async def _keep_open(self, breaker: OpenBreaker) -> None:
        self._open[breaker.code] = breaker
        await self._put(breaker.code, breaker.model_dump(mode="json"))

    async def _put(self, code: str, value: dict[str, Any]) -> None:
        self._writing += 1
        try:
            await self._store.set(_name(code), value)
        finally:
            self._writing -= 1
            self._written += 1

    async def _load(self, code: str) -> None:
        written = self._written
        breaker = _stored(OpenBreaker, await self._store.get(_name(code)))
        if self._writing or self._written != written:
            # The value may be older than the change that this process has made meanwhile.
            return
        if breaker and breaker.key == self._key:
            self._open[code] = breaker
        else:
            self._open.pop(code, None)

    def _check(self, endpoint: str) -> bool:
        """Whether the request is a probe. Raises if no probe is due."""
        breakers = self._in_the_way(endpoint)
        for breaker in breakers:
            if self._is_probing or breaker.ask_at is None or self._clock() < breaker.ask_at:
                raise _refusal_again(breaker, endpoint)
        return bool(breakers)

    def _recheck(self, endpoint: str, *, is_probe: bool) -> None:
        for breaker in self._in_the_way(endpoint):
            if not (is_probe and breaker.code == QUOTA):
                raise _refusal_again(breaker, endpoint)

    def _in_the_way(self, endpoint: str) -> list[OpenBreaker]:
        return [breaker for breaker in self._open.values() if _stops(breaker, endpoint)]


def _stops(breaker: OpenBreaker, endpoint: str) -> bool:
    if breaker.code == PLAN:
        return endpoint in breaker.endpoints
    return not (breaker.code == QUOTA and endpoint == USAGE_PATH)


def _refusal_again(breaker: OpenBreaker, endpoint: str) -> ServiceFailure:
    if breaker.code == PLAN:
        return breaker.endpoints[endpoint].again(endpoint)
    return CircuitOpen(endpoint, code=breaker.code, request_id=breaker.request_id)


def _next_probe(since: datetime, now: datetime) -> datetime:
    """The turn of the month in UTC; for a day after the turn, every hour."""
    month = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    if since < month and now - month < LATEST_TURN:
        return now + PROBE_EVERY
    return (month + timedelta(days=32)).replace(day=1)


def _name(code: str) -> str:
    return f"racing.latch.{code}"


def _stored(model: type[M], stored: Mapping[str, Any] | None) -> M | None:
    """None for an unreadable value: one needless request does no harm."""
    try:
        return model.model_validate(stored)
    except ValidationError:
        return None
