"""Circuit breakers for `quota_exceeded` and `unauthorized`: a repeated request would meet the same refusal.

The quota's breaker closes at a new month, plan or key, at usage below the allowance, or at an admin's reset. The key's
breaker closes at a new key or a reset. `/account/usage` is free of quota and passes the quota's breaker. Breakers are
stored and read for each request, so replicas share them.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import new as new_hmac
from typing import Any, Protocol

from pydantic import AwareDatetime, BaseModel, ConfigDict, SecretStr, ValidationError

from bot.clock import Clock
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, ServiceFailure, Unauthorized

QUOTA = "quota_exceeded"
UNAUTHORIZED = "unauthorized"
BREAKER_CODES = (UNAUTHORIZED, QUOTA)
USAGE_PATH = "account/usage"

LATEST_TURN = timedelta(hours=24)
"""The service's month may turn this long after the month in UTC (Spec gap G13)."""

PROBE_EVERY = timedelta(hours=1)


class StateStore(Protocol):
    async def get(self, name: str) -> dict[str, Any] | None: ...

    async def set(self, name: str, value: dict[str, Any]) -> None: ...


class OpenBreaker(BaseModel):
    """`key` is the key's fingerprint. From `ask_at` on a probe may be sent."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: str
    key: str
    since: AwareDatetime
    ask_at: AwareDatetime | None = None
    plan: str | None = None
    request_id: str | None = None


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
        self._changes = 0

    async def open_now(self) -> tuple[OpenBreaker, ...]:
        for code in BREAKER_CODES:
            await self._load(code)
        return tuple(self._open.values())

    @asynccontextmanager
    async def permit(self, path: str) -> AsyncGenerator[Permit]:
        """A permit for a request, or CircuitOpen. One probe at a time."""
        await self.open_now()
        is_probe = self._check(path)
        self._is_probing = self._is_probing or is_probe
        try:
            yield Permit(is_probe, lambda: self._recheck(path, is_probe=is_probe))
        finally:
            if is_probe:
                self._is_probing = False

    async def refused(self, error: ServiceFailure, plan: str | None) -> bool:
        """Whether this refusal has opened a closed breaker. `plan` is the plan last seen.

        A 401 without a code, such as a proxy's, opens no breaker.
        """
        if error.code not in BREAKER_CODES or not isinstance(error, QuotaExceeded | Unauthorized):
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

    async def answered(self, plan: str | None, *, is_probe: bool = False) -> None:
        """Close the quota's breaker after a successful probe, or under another plan.

        Other answers may belong to requests from before the refusal.
        """
        quota = self._open.get(QUOTA)
        if quota and (is_probe or (quota.plan and plan and quota.plan != plan)):
            await self.reset(QUOTA)
        elif quota and plan and quota.plan is None:
            # The refused plan becomes known only now.
            await self._keep_open(quota.model_copy(update={"plan": plan}))

    async def usage_reads(self, used: int, allowance: int) -> None:
        if used < allowance and any(breaker.code == QUOTA for breaker in await self.open_now()):
            await self.reset(QUOTA)

    async def reset(self, code: str) -> None:
        self._open.pop(code, None)
        await self._put(code, {})

    async def _keep_open(self, breaker: OpenBreaker) -> None:
        self._open[breaker.code] = breaker
        await self._put(breaker.code, breaker.model_dump(mode="json"))

    async def _put(self, code: str, value: dict[str, Any]) -> None:
        self._changes += 1
        self._writing += 1
        try:
            await self._store.set(_name(code), value)
        finally:
            self._changes += 1
            self._writing -= 1

    async def _load(self, code: str) -> None:
        changes = self._changes
        breaker = _breaker(await self._store.get(_name(code)))
        if self._writing or self._changes != changes:
            # The value may be older than the change that this process has made meanwhile.
            return
        if breaker and breaker.key == self._key:
            self._open[code] = breaker
        else:
            self._open.pop(code, None)

    def _check(self, path: str) -> bool:
        """Whether the request is a probe. Raises CircuitOpen if no probe is due."""
        breakers = self._in_the_way(path)
        for breaker in breakers:
            if self._is_probing or breaker.ask_at is None or self._clock() < breaker.ask_at:
                raise CircuitOpen(path, code=breaker.code, request_id=breaker.request_id)
        return bool(breakers)

    def _recheck(self, path: str, *, is_probe: bool) -> None:
        for breaker in self._in_the_way(path):
            if not (is_probe and breaker.code == QUOTA):
                raise CircuitOpen(path, code=breaker.code, request_id=breaker.request_id)

    def _in_the_way(self, path: str) -> list[OpenBreaker]:
        return [breaker for code, breaker in self._open.items() if not (code == QUOTA and path == USAGE_PATH)]


def _next_probe(since: datetime, now: datetime) -> datetime:
    """The turn of the month in UTC; for a day after the turn, every hour."""
    month = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    if since < month and now - month < LATEST_TURN:
        return now + PROBE_EVERY
    return (month + timedelta(days=32)).replace(day=1)


def _name(code: str) -> str:
    return f"racing.latch.{code}"


def _breaker(stored: Mapping[str, Any] | None) -> OpenBreaker | None:
    """An unreadable value counts as closed: one needless request does no harm."""
    try:
        return OpenBreaker.model_validate(stored) if stored else None
    except ValidationError:
        return None
