"""What keeps the client from asking in vain: `quota_exceeded` and `unauthorized` latch, and survive a restart.

`quota_exceeded` holds until the month turns, the plan or the key changes, usage reads below the allowance, or an admin
opens it; the usage endpoint is free of quota and stays open. `unauthorized` holds until the key changes or an admin
opens it. The record is read anew for each request, so that what one replica learns or an admin opens holds for all.
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
from bot.racedata.client.service_errors import Latched, QuotaExceeded, ServiceFailure, Unauthorized

QUOTA = "quota_exceeded"
UNAUTHORIZED = "unauthorized"
CODES = (UNAUTHORIZED, QUOTA)
USAGE_PATH = "account/usage"
TURN_DOUBT = timedelta(hours=24)
"""How long after the month turned in UTC it may not have turned where the service is (Spec gap G13)."""
ASK_AGAIN = timedelta(hours=1)
"""How often one request finds out in that time."""


class StateStore(Protocol):
    """Small values by name that outlive the process."""

    async def get(self, name: str) -> dict[str, Any] | None:
        """The value, or None where none was set."""

    async def set(self, name: str, value: dict[str, Any]) -> None:
        """Keep the value in place of the one before."""


class LatchRecord(BaseModel):
    """A latch that is shut. `key` is the key's fingerprint; `ask_at` is when one request may find out (None: never)."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: str
    key: str
    since: AwareDatetime
    ask_at: AwareDatetime | None = None
    plan: str | None = None
    request_id: str | None = None


@dataclass(frozen=True)
class Leave:
    """Leave to send one request. `finds_out` is True where a latch is shut, and the answer says whether to open it.

    `recheck` raises Latched where a latch has shut since the leave was given: to be called after a wait.
    """

    finds_out: bool
    recheck: Callable[[], None]


def fingerprint(key: SecretStr) -> str:
    """What tells two keys apart and gives neither away."""
    return new_hmac(key.get_secret_value().encode(), b"racing-bot latch", sha256).hexdigest()[:16]


class Latches:
    """The latches of one key."""

    def __init__(self, store: StateStore, clock: Clock, key: SecretStr) -> None:
        self._store = store
        self._clock = clock
        self._key = fingerprint(key)
        self._shut: dict[str, LatchRecord] = {}
        self._asking = False
        self._writing = 0
        self._changes = 0

    async def shut(self) -> tuple[LatchRecord, ...]:
        """The latches that are shut now, as stored."""
        for code in CODES:
            await self._load(code)
        return tuple(self._shut.values())

    @asynccontextmanager
    async def gate(self, path: str) -> AsyncGenerator[Leave]:
        """Leave to ask for `path`, or Latched. When it is time to find out, one caller at a time is let through."""
        await self.shut()
        asking = self._check(path)
        self._asking = self._asking or asking
        try:
            yield Leave(asking, lambda: self._recheck(path, asking=asking))
        finally:
            if asking:
                self._asking = False

    async def refused(self, error: ServiceFailure, plan: str | None) -> bool:
        """Shut a latch where this refusal does; whether it was open before. `plan` is the one last seen.

        A bare 401, such as a proxy's, carries no code and shuts nothing.
        """
        if error.code not in CODES or not isinstance(error, QuotaExceeded | Unauthorized):
            return False
        before, now = self._shut.get(error.code), self._clock()
        since = before.since if before else now
        record = LatchRecord(
            code=error.code,
            key=self._key,
            since=since,
            ask_at=_next_question(since, now) if error.code == QUOTA else None,
            plan=plan,
            request_id=error.request_id,
        )
        self._shut[error.code] = record
        await self._put(error.code, record.model_dump(mode="json"))
        return before is None

    async def answered(self, plan: str | None, *, finds_out: bool = False) -> None:
        """Open the quota's latch where an answer disproves it: by finding out, or because the plan is another one.

        The answer to a request that was sent before the refusal came, and arrives after it, disproves nothing.
        """
        quota = self._shut.get(QUOTA)
        if quota and (finds_out or (quota.plan and plan and quota.plan != plan)):
            await self.open(QUOTA)
        elif quota and plan and quota.plan is None:
            # The refusal was the first answer since the start: only now is it known which plan is used up.
            self._shut[QUOTA] = quota.model_copy(update={"plan": plan})
            await self._put(QUOTA, self._shut[QUOTA].model_dump(mode="json"))

    async def usage_reads(self, used: int, allowance: int) -> None:
        """Open the quota's latch where usage reads below the allowance."""
        if used < allowance and any(record.code == QUOTA for record in await self.shut()):
            await self.open(QUOTA)

    async def open(self, code: str) -> None:
        """Open a latch: an admin says so, or it was disproved."""
        self._shut.pop(code, None)
        await self._put(code, {})

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
        record = _record(await self._store.get(_name(code)))
        if self._writing or self._changes != changes:
            # What was read may be older than what this process has just learned, and must not take its place.
            return
        if record and record.key == self._key:
            self._shut[code] = record
        else:
            self._shut.pop(code, None)

    def _check(self, path: str) -> bool:
        """Whether this caller is the one that finds out; Latched where there is nothing to find out."""
        records = self._in_the_way(path)
        for record in records:
            if self._asking or record.ask_at is None or self._clock() < record.ask_at:
                raise Latched(path, code=record.code, request_id=record.request_id)
        return bool(records)

    def _recheck(self, path: str, *, asking: bool) -> None:
        for record in self._in_the_way(path):
            if not (asking and record.code == QUOTA):
                raise Latched(path, code=record.code, request_id=record.request_id)

    def _in_the_way(self, path: str) -> list[LatchRecord]:
        return [record for code, record in self._shut.items() if not (code == QUOTA and path == USAGE_PATH)]


def _next_question(since: datetime, now: datetime) -> datetime:
    """When to find out whether the quota is back: at the turn of the month, in UTC.

    Refused right after that turn, the month may not have turned where the service is: then every hour for a day.
    """
    month = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    if since < month and now - month < TURN_DOUBT:
        return now + ASK_AGAIN
    return (month + timedelta(days=32)).replace(day=1)


def _name(code: str) -> str:
    return f"racing.latch.{code}"


def _record(stored: Mapping[str, Any] | None) -> LatchRecord | None:
    """The stored latch; None where there is none, or where it can't be read: to ask once too often harms nobody."""
    try:
        return LatchRecord.model_validate(stored) if stored else None
    except ValidationError:
        return None
