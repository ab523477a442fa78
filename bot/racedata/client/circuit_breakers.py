"""Keeps requests back: circuit breakers for refusals that a repeated request would meet again, and the pace.

| Refusal | Not asked | Closes at a new key, at an admin's reset, and |
|---|---|---|
| `unauthorized` | Everything | |
| `quota_exceeded` | All but `/account/usage`, at no cost | At a new month or plan, lower usage or a higher allowance |
| `upgrade_required` | The refused endpoints | At a new plan |

The pace goes by the data service's own count of its minute, less the requests sent since. Commands go before
background work. Circuit breakers and pace of a key are one row, read and changed for each request, so all replicas
share the row.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import new as new_hmac
from http import HTTPStatus
from typing import Any, Protocol

from pydantic import AwareDatetime, SecretStr, ValidationError

from bot.clock import Clock
from bot.db.named_values import Mark
from bot.events.races import Value
from bot.racedata.client.headers import WINDOW_S, RateReading
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
RATE = "rate_limited"
PLAN = "upgrade_required"
BREAKER_CODES = tuple(BREAKER_WORDS)
USAGE_PATH = "account/usage"

LATEST_TURN = timedelta(hours=24)
"""The service's month may turn this long after the month in UTC (Spec gap G13)."""

PROBE_EVERY = timedelta(hours=1)

LONG_HOLD_S = 3_600.0
"""From this length on admins are told of a wait: nothing new is read meanwhile."""


COMMANDS_SHARE = 0.25
"""Part of each minute that background work leaves to commands."""

OTHERS_SHARE = 0.1
"""Part of each minute left unspent while others spend too: their next requests come before our next answer."""

LOWEST_LIMIT = 60
"""The lowest limit of any plan (Interface, Limits), until the service reports the key's own."""


class StateStore(Protocol):
    async def get(self, name: str) -> Any: ...

    async def change(self, name: str, change: Callable[[Any], Any]) -> None:
        """Store what `change` makes of the stored value (None: nothing yet)."""


class OpenBreaker(Value):
    """From `ask_at` on requests find out whether the refusal still holds.

    `endpoints`: the endpoints beyond `plan`, each with the words of the refusal; empty for a breaker of the whole
    service.
    """

    code: str
    since: AwareDatetime
    ask_at: AwareDatetime | None = None
    plan: str | None = None
    request_id: str | None = None
    endpoints: Mapping[str, dict[str, Any]] = {}

    def stops(self, endpoint: str) -> bool:
        if self.code == PLAN:
            return endpoint in self.endpoints
        return not (self.code == QUOTA and endpoint == USAGE_PATH)

    def is_due(self, now: datetime) -> bool:
        """True before `since` too: the clock was set back."""
        return self.ask_at is not None and not self.since <= now < self.ask_at

    def refusal_again(self, endpoint: str) -> ServiceFailure:
        if self.code == PLAN:
            return UpgradeRequired(endpoint, code=PLAN, **self.endpoints[endpoint])
        return CircuitOpen(endpoint, code=self.code, request_id=self.request_id)


class Minute(Value):
    """The count of the service's minute, stored for all replicas. The count is unknown before a minute's first answer.

    `left`: the requests left of the minute `window`, which ends at `resets_at`.

    Requests go out one at a time while the count is unknown or low: a minute that others used up costs one refusal,
    instead of a refusal for each request in flight. `others`: the minute shows requests that are not ours. After a 429
    that asked for `hold_s`, all requests wait until `held_until`.
    """

    limit: int = LOWEST_LIMIT
    left: int = 0
    window: int | None = None
    resets_at: AwareDatetime | None = None
    others: bool = False
    held_until: AwareDatetime | None = None
    hold_s: float = 0.0

    def wait_s(self, now: datetime, *, background: bool, in_flight: int) -> float | None:
        """Seconds until a request may be sent: 0 for now; None while an answer must come first."""
        if held_s := self.held_s(now):
            return held_s
        reset_s = _ahead_s(self.resets_at, now, WINDOW_S)
        if in_flight and (not reset_s or self.left <= self.limit * COMMANDS_SHARE):
            return None
        share = COMMANDS_SHARE if background else OTHERS_SHARE if self.others else 0
        return 0.0 if self.left > int(self.limit * share) else reset_s

    def held_s(self, now: datetime) -> float:
        return _ahead_s(self.held_until, now, self.hold_s)

    def taken(self) -> "Minute":
        return self.model_copy(update={"left": self.left - 1})

    def held(self, now: datetime, hold_s: float) -> "Minute":
        """The minute after a 429: the longer of two waits holds.

        After the wait the service has room again (Interface, Errors), so the count is unknown.
        """
        update = {"held_until": now + timedelta(seconds=hold_s), "hold_s": hold_s}
        return self.model_copy(update={"resets_at": None} | (update if hold_s > self.held_s(now) else {}))

    def answered(self, now: datetime, reading: RateReading, in_flight: int) -> "Minute":
        """The minute after an answer with headers. `in_flight`: our other requests, perhaps not counted there."""
        limit = reading.limit or self.limit
        remaining = limit - 1 if reading.remaining is None else min(reading.remaining, limit - 1)
        resets_at = now + timedelta(seconds=reading.resets_in_s or WINDOW_S)
        left, others = remaining - in_flight, remaining < limit - 1 - in_flight
        if self.resets_at and _ahead_s(self.resets_at, now, WINDOW_S):
            if self.window and reading.window and reading.window < self.window:
                return self  # The answer belongs to the minute before, and came late.
            if None in {self.window, reading.window} or self.window == reading.window:
                others = self.others or remaining < self.left
                left, resets_at = min(left, self.left), min(resets_at, self.resets_at)
        update = {"limit": limit, "left": left, "window": reading.window, "resets_at": resets_at, "others": others}
        return self.model_copy(update=update)


class _Kept(Value):
    """A key's stored row. Breakers by code."""

    breakers: Mapping[str, OpenBreaker] = {}
    pace: Minute = Minute()

    def with_open(self, *breakers: OpenBreaker) -> "_Kept":
        return self.model_copy(update={"breakers": {**self.breakers, **{one.code: one for one in breakers}}})

    def without(self, *codes: str) -> "_Kept":
        return self.model_copy(
            update={"breakers": {code: one for code, one in self.breakers.items() if code not in codes}}
        )


def row_name(key: SecretStr) -> str:
    """Each key has a row, so that no key changes another's: the name ends in the key's fingerprint."""
    fingerprint = new_hmac(key.get_secret_value().encode(), b"racing-bot latch", sha256).hexdigest()[:16]
    return f"{Mark.LATCHES}{fingerprint}"


class CircuitBreakers:
    """The circuit breakers and the pace of one key. `in_flight` counts this process's requests without an answer."""

    def __init__(self, store: StateStore, clock: Clock, key: SecretStr) -> None:
        self._store = store
        self._clock = clock
        self._name = row_name(key)
        self._turn = asyncio.Lock()
        self.in_flight = 0

    async def open_now(self) -> tuple[OpenBreaker, ...]:
        return tuple(_read(await self._store.get(self._name)).breakers.values())

    async def reset(self, code: str) -> None:
        await self._change(lambda kept: kept.without(code))

    async def take(self, endpoint: str, *, background: bool) -> float | None:
        """0 if the request may be sent now: the request is counted. Otherwise as `Minute.wait_s`.

        Raises CircuitOpen or UpgradeRequired for a request that may not be made.
        """
        wait_s: float | None = None
        refusal: ServiceFailure | None = None

        def take(kept: _Kept) -> _Kept:
            nonlocal wait_s, refusal
            now = self._clock()
            in_the_way = (one for one in kept.breakers.values() if one.stops(endpoint) and not one.is_due(now))
            # Raised after the change: an error in here would repeat other work of the same transaction.
            refusal = next((breaker.refusal_again(endpoint) for breaker in in_the_way), None)
            wait_s = kept.pace.wait_s(now, background=background, in_flight=self.in_flight)
            is_taken = refusal is None and wait_s == 0
            return kept.model_copy(update={"pace": kept.pace.taken()}) if is_taken else kept

        async with self._turn:
            await self._change(take)
            if refusal is not None:
                raise refusal
            self.in_flight += wait_s == 0
        return wait_s

    async def refused(
        self, error: ServiceFailure, plan: str | None, endpoint: str, reading: RateReading | None = None
    ) -> bool:
        """Whether this refusal has closed the whole service to us, or for LONG_HOLD_S. `plan` is the plan last seen.

        A refusal without a code, such as a proxy's, opens no breaker.
        """
        is_news = False

        def refuse(kept: _Kept) -> _Kept:
            nonlocal is_news
            is_limit = isinstance(error, RateLimited) or error.status == HTTPStatus.TOO_MANY_REQUESTS
            hold_s = error.rate_wait_s if is_limit and error.code != QUOTA else None
            is_news = kept.pace.held_s(self._clock()) < LONG_HOLD_S <= (hold_s or 0)
            kept = self._paced(kept, reading, hold_s)
            if error.code not in BREAKER_CODES:
                return kept
            before = kept.breakers.get(error.code)
            breaker = self._opened(error, before, plan, endpoint)
            is_news = before is None and not breaker.endpoints
            return kept.with_open(breaker)

        await self._change(refuse)
        return is_news

    def _opened(
        self, error: ServiceFailure, before: OpenBreaker | None, plan: str | None, endpoint: str
    ) -> OpenBreaker:
        now, endpoints = self._clock(), {}
        since = min(before.since, now) if before else now
        if isinstance(error, UpgradeRequired):
            plan = plan or error.your_plan
            extras = {"your_plan": error.your_plan, "reaches_on": error.reaches_on}
            words = {"status": error.status, "request_id": error.request_id, "message": error.message, "extras": extras}
            endpoints = {**(before.endpoints if before and before.plan == plan else {}), endpoint: words}
        return OpenBreaker(
            code=error.code or "",
            since=since,
            ask_at=_next_probe(since, now) if error.code == QUOTA else None,
            plan=plan,
            request_id=error.request_id,
            endpoints=endpoints,
        )

    async def answered(self, plan: str | None, endpoint: str, reading: RateReading | None = None) -> None:
        """Close the breakers that were due for a request. An answer of another plan closes all breakers but the key's.

        Answers while no breaker is due may belong to requests from before the refusal.
        """

        def answer(kept: _Kept) -> _Kept:
            now = self._clock()
            refusals = [one for one in kept.breakers.values() if one.code != UNAUTHORIZED]
            unknown = [one.model_copy(update={"plan": plan}) for one in refusals if plan and one.plan is None]
            other = [one.code for one in refusals if plan and one.plan not in {None, plan}]
            over = [one.code for one in refusals if one.stops(endpoint) and one.is_due(now)]
            return self._paced(kept, reading, None).with_open(*unknown).without(*other, *over)

        await self._change(answer)

    def _paced(self, kept: _Kept, reading: RateReading | None, hold_s: float | None) -> _Kept:
        now, pace = self._clock(), kept.pace
        if hold_s is not None:
            pace = pace.held(now, hold_s)
        elif reading is not None:
            pace = pace.answered(now, reading, max(0, self.in_flight - 1))
        return kept.model_copy(update={"pace": pace})

    async def _change(self, change: Callable[[_Kept], _Kept]) -> None:
        await self._store.change(self._name, lambda kept: change(_read(kept)).model_dump(mode="json"))


def _read(stored: Any) -> _Kept:
    """The stored row; empty for an unreadable row: one needless request does no harm."""
    try:
        return _Kept.model_validate(stored or {})
    except ValidationError:
        return _Kept()


def _next_probe(since: datetime, now: datetime) -> datetime:
    """The turn of the month in UTC; for a day after the turn, every hour."""
    has_just_turned = since < month_start(now) and now - month_start(now) < LATEST_TURN
    return now + PROBE_EVERY if has_just_turned else month_end(now)


def _ahead_s(moment: datetime | None, now: datetime, longest_s: float) -> float:
    """Seconds until the moment; 0 once past, and 0 for a moment further ahead, left from before a clock set back."""
    ahead_s = (moment - now).total_seconds() if moment else 0.0
    # A stored moment is rounded to microseconds.
    return ahead_s if 0 < ahead_s <= longest_s + 0.001 else 0.0
