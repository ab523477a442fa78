"""Circuit breakers for refusals that a repeated request would meet again.

| Refusal | Not asked | Closes at a new key, at an admin's reset, and |
|---|---|---|
| `unauthorized` | Everything | |
| `quota_exceeded` | All but `/account/usage`, at no cost | At a new month or plan, lower usage or a higher allowance |
| `upgrade_required` | The refused endpoints | At a new plan |

All are one row, read for each request, so replicas share them. The wait that a 429 asked for is in the row too.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import new as new_hmac
from typing import Any, Protocol

from pydantic import AwareDatetime, BaseModel, ConfigDict, SecretStr, ValidationError

from bot.clock import Clock
from bot.db.named_values import Mark
from bot.errors import StorageError
from bot.racedata.client.retry import rate_wait_s
from bot.racedata.client.service_errors import (
    BREAKER_WORDS,
    CircuitOpen,
    RateLimited,
    ServiceFailure,
    UpgradeRequired,
)
from bot.racedata.month_quota import month_end, month_start

QUOTA = "quota_exceeded"
UNAUTHORIZED = "unauthorized"
PLAN = "upgrade_required"
BREAKER_CODES = tuple(BREAKER_WORDS)
USAGE_PATH = "account/usage"

LATEST_TURN = timedelta(hours=24)
"""The service's month may turn this long after the month in UTC (Spec gap G13)."""

PROBE_EVERY = timedelta(hours=1)


class StateStore(Protocol):
    async def get(self, name: str) -> dict[str, Any] | None: ...

    async def set(self, name: str, value: dict[str, Any]) -> None: ...


class OpenBreaker(BaseModel):
    """`key` is the key's fingerprint. From `ask_at` on a probe may be sent.

    `endpoints`: the endpoints beyond `plan`, each with the words of the refusal; empty for a breaker of the whole
    service.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: str
    key: str
    since: AwareDatetime
    ask_at: AwareDatetime | None = None
    plan: str | None = None
    request_id: str | None = None
    endpoints: Mapping[str, dict[str, Any]] = {}

    def stops(self, endpoint: str) -> bool:
        if self.code == PLAN:
            return endpoint in self.endpoints
        return not (self.code == QUOTA and endpoint == USAGE_PATH)

    def refusal_again(self, endpoint: str) -> ServiceFailure:
        if self.code == PLAN:
            return UpgradeRequired(endpoint, code=PLAN, **self.endpoints[endpoint])
        return CircuitOpen(endpoint, code=self.code, request_id=self.request_id)


class _Latches(BaseModel):
    """The stored row. After a 429 that asked for `hold_s`, all requests wait until `held_until`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    breakers: Mapping[str, OpenBreaker] = {}
    held_until: AwareDatetime | None = None
    hold_s: float = 0.0


def fingerprint(key: SecretStr) -> str:
    return new_hmac(key.get_secret_value().encode(), b"racing-bot latch", sha256).hexdigest()[:16]


class CircuitBreakers:
    """Two replicas that write at the same instant may lose a breaker: the next refusal opens the breaker again."""

    def __init__(self, store: StateStore, clock: Clock, key: SecretStr) -> None:
        self._store = store
        self._clock = clock
        self._key = fingerprint(key)
        self._latches = _Latches()
        self._is_probing = False
        self._writing = 0
        self._written = 0

    async def open_now(self) -> tuple[OpenBreaker, ...]:
        await self._load()
        return tuple(self._latches.breakers.values())

    @asynccontextmanager
    async def permit(self, endpoint: str) -> AsyncGenerator[bool]:
        """Whether the request is a probe: its answer decides whether an open breaker closes. One probe at a time.

        Raises CircuitOpen or UpgradeRequired for a request that may not be made.
        """
        await self._load()
        is_probe = self._check(endpoint)
        self._is_probing = self._is_probing or is_probe
        try:
            yield is_probe
        finally:
            if is_probe:
                self._is_probing = False

    async def refused(self, error: ServiceFailure, plan: str | None, endpoint: str) -> bool:
        """Whether this refusal has closed the whole service to us. `plan` is the plan last seen.

        A refusal without a code, such as a proxy's, opens no breaker.
        """
        if isinstance(error, RateLimited):
            await self._hold(rate_wait_s(error))
        if error.code not in BREAKER_CODES:
            return False
        before, now = self._latches.breakers.get(error.code), self._clock()
        since, endpoints = before.since if before else now, {}
        if isinstance(error, UpgradeRequired):
            plan = plan or error.your_plan
            extras = {"your_plan": error.your_plan, "reaches_on": error.reaches_on}
            words = {"status": error.status, "request_id": error.request_id, "message": error.message, "extras": extras}
            endpoints = {**(before.endpoints if before and before.plan == plan else {}), endpoint: words}
        breaker = OpenBreaker(
            code=error.code,
            key=self._key,
            since=since,
            ask_at=_next_probe(since, now) if error.code == QUOTA else None,
            plan=plan,
            request_id=error.request_id,
            endpoints=endpoints,
        )
        await self._keep_open(breaker)
        return before is None and not endpoints

    def held_s(self) -> float:
        """Seconds that a 429 of any replica still holds all, as of the last permit.

        A longer hold was written before the clock was set back.
        """
        until = self._latches.held_until
        left_s = (until - self._clock()).total_seconds() if until else 0.0
        return left_s if 0 < left_s <= self._latches.hold_s else 0.0

    async def _hold(self, wait_s: float) -> None:
        """For the longer of two waits. A wait that can't be stored holds this replica alone."""
        if wait_s > self.held_s():
            with suppress(StorageError):
                await self._put(held_until=self._clock() + timedelta(seconds=wait_s), hold_s=wait_s)

    async def answered(self, plan: str | None, *, is_probe: bool = False) -> None:
        """Close the quota's breaker after a successful probe, and all but the key's under another plan.

        Other answers may belong to requests from before the refusal.
        """
        if is_probe:
            await self.reset(QUOTA)
        for breaker in [one for one in self._latches.breakers.values() if plan and one.code != UNAUTHORIZED]:
            if breaker.plan is None:
                # The refused plan becomes known only now.
                await self._keep_open(breaker.model_copy(update={"plan": plan}))
            elif breaker.plan != plan:
                await self.reset(breaker.code)

    async def reset(self, code: str) -> None:
        await self._load()
        await self._put(breakers={name: one for name, one in self._latches.breakers.items() if name != code})

    async def _keep_open(self, breaker: OpenBreaker) -> None:
        await self._put(breakers={**self._latches.breakers, breaker.code: breaker})

    async def _put(self, **changed: Any) -> None:
        self._latches = self._latches.model_copy(update=changed)
        self._writing += 1
        try:
            await self._store.set(Mark.LATCHES, self._latches.model_dump(mode="json"))
        finally:
            self._writing -= 1
            self._written += 1

    async def _load(self) -> None:
        written = self._written
        latches = _stored(await self._store.get(Mark.LATCHES))
        # Otherwise the value may be older than the change that this process has made meanwhile.
        if not self._writing and self._written == written:
            ours = {code: one for code, one in latches.breakers.items() if one.key == self._key}
            self._latches = latches.model_copy(update={"breakers": ours})

    def _check(self, endpoint: str) -> bool:
        """Whether the request is a probe. Raises if no probe is due."""
        breakers = self._in_the_way(endpoint)
        for breaker in breakers:
            if self._is_probing or breaker.ask_at is None or self._clock() < breaker.ask_at:
                raise breaker.refusal_again(endpoint)
        return bool(breakers)

    def recheck(self, endpoint: str, *, is_probe: bool) -> None:
        """After a wait: raise as `permit` if a breaker has opened meanwhile."""
        for breaker in self._in_the_way(endpoint):
            if not (is_probe and breaker.code == QUOTA):
                raise breaker.refusal_again(endpoint)

    def _in_the_way(self, endpoint: str) -> list[OpenBreaker]:
        return [breaker for breaker in self._latches.breakers.values() if breaker.stops(endpoint)]


def _next_probe(since: datetime, now: datetime) -> datetime:
    """The turn of the month in UTC; for a day after the turn, every hour."""
    has_just_turned = since < month_start(now) and now - month_start(now) < LATEST_TURN
    return now + PROBE_EVERY if has_just_turned else month_end(now)


def _stored(kept: Mapping[str, Any] | None) -> _Latches:
    """Without latches for an unreadable row: one needless request does no harm."""
    try:
        return _Latches.model_validate(kept or {})
    except ValidationError:
        return _Latches()
