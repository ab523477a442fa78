"""The data service, one method an endpoint. Every failure is a `ServiceFailure` (service_errors.py)."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr

from bot.racedata.client.address import fill_path
from bot.racedata.client.calls import (
    AccountState,
    Calls,
    MaySpend,
    OnAnswer,
    OnLatch,
    OnMeta,
    count_nothing,
    spend_freely,
    tell_nobody,
)
from bot.racedata.client.cursor_walk import Step, collect, collect_any, walk
from bot.racedata.client.latches import USAGE_PATH, Latches, StateStore
from bot.racedata.client.records import (
    AnyPage,
    CountryPage,
    CoursePage,
    DeliveryPage,
    DeliveryRecord,
    Page,
    RacePage,
    RaceRecord,
    SubscriptionPage,
    SubscriptionRecord,
)
from bot.racedata.client.retry import FOR_BACKGROUND, FOR_COMMANDS, ONE_TRY, Patience
from bot.racedata.client.service_errors import ServiceFailure
from bot.racedata.client.throttle import Throttle, one_replica
from bot.racedata.client.timing import Timing
from bot.racedata.client.transport import Request, Transport
from bot.racedata.quota_purposes import Purpose

T = TypeVar("T")
RACES_PATH = "races/search"
DELIVERIES_PATH = "webhooks/deliveries"
PAGE_SIZE = 200
"""The larger of the two page sizes that are specified; the largest that is allowed is not shown (Spec gap G12)."""


class WalkPosition(BaseModel):
    """Where a walk of `/races/search` stands: the cursor with the query that it belongs to (Interface, Limits 8)."""

    model_config = ConfigDict(frozen=True)

    region: str | None = None
    limit: int = Field(PAGE_SIZE, ge=1)
    cursor: str | None = None


class RacingClient:
    """Client of the data service. `in_background()` gives one that leaves room for people's commands."""

    def __init__(
        self,
        calls: Calls,
        *,
        background: bool = False,
        patience: Patience = FOR_COMMANDS,
        purpose: Purpose = Purpose.PEOPLE,
    ) -> None:
        self._calls = calls
        self._background = background
        self._patience = patience
        self._purpose = purpose

    @property
    def state(self) -> AccountState:
        """Plan, window and age of the data, as last seen."""
        return self._calls.state

    @property
    def latches(self) -> Latches:
        """What keeps the client from asking; for status, for usage readings, and for an admin to open."""
        return self._calls.latches

    def in_background(self) -> "RacingClient":
        """The same client for work that nobody waits for: patient, and kept to its part of each minute."""
        return RacingClient(self._calls, background=True, patience=FOR_BACKGROUND, purpose=self._purpose)

    def for_upkeep(self) -> "RacingClient":
        """The same client for background work that nobody asked for: Spared once little is left of the month."""
        return RacingClient(self._calls, background=True, patience=FOR_BACKGROUND, purpose=Purpose.UPKEEP)

    def in_one_try(self) -> "RacingClient":
        """The same client for background work that is done again anyway: no failed request is repeated."""
        return RacingClient(self._calls, background=True, patience=ONE_TRY, purpose=self._purpose)

    def held_up(self) -> ServiceFailure:
        """Why no races have come so far where they are being asked for; nothing was raised, and they may still come."""
        return self._calls.held_up(RACES_PATH)

    def recall(self, state: AccountState) -> None:
        """Take what an earlier run saw of the account for what is known, until an answer says otherwise."""
        if self._calls.state == AccountState():
            self._calls.state = state

    async def aclose(self) -> None:
        """Close the connections."""
        await self._calls.transport.aclose()

    async def countries(self) -> CountryPage:
        """Every country of the archive, and what it publishes."""
        return await collect(self._walk("countries", CountryPage, {}))

    async def courses(self) -> CoursePage:
        """Every course, all pages as one where the service pages them."""
        return await collect(self._walk("courses", CoursePage, {}))

    async def reference(self) -> AnyPage:
        """The valid values of every filter, as they came (Spec gap G6); see bot.racedata.client.filter_values."""
        return await self._whole("reference", {})

    async def races_page(
        self, region: str | None = None, limit: int = PAGE_SIZE, cursor: str | None = None
    ) -> RacePage:
        """One page of races. A cursor belongs to the region and limit that it came from."""
        return await self._get(RACES_PATH, RacePage, {"region": region, "limit": limit, "cursor": cursor})

    def walk_races(self, position: WalkPosition) -> AsyncGenerator[Step[RaceRecord]]:
        """The pages of races from a position on; `step.resume_at` is the cursor of the position to keep."""
        query = {"region": position.region, "limit": position.limit}
        return self._walk(RACES_PATH, RacePage, query, position.cursor)

    async def subscribe_webhook(
        self, url: str, events: Sequence[str], region: str | None = None
    ) -> Page[SubscriptionRecord]:
        """The subscription just made, with its secret, which is never shown again. Asked once, whatever happens.

        After ServiceUnreachable with `may_have_arrived`, ServerFault or AnswerUnreadable (too large to be read), it
        may have been made all the same.
        """
        body: dict[str, JsonValue] = {"url": url, "events": [*events]}
        if region is not None:
            body["region"] = region
        request = Request("POST", "webhooks/subscribe", body=body, repeatable=False)
        return await self._ask(request, SubscriptionPage, bare=True)

    async def deliveries(self, status: str | None = None, cursor: str | None = None) -> DeliveryPage:
        """One page of delivery records. `status="failed"` is the only value that is specified."""
        return await self._get(DELIVERIES_PATH, DeliveryPage, {"status": status, "cursor": cursor})

    def walk_deliveries(self, status: str | None = None) -> AsyncGenerator[Step[DeliveryRecord]]:
        """The pages of all delivery records that are kept (30 days)."""
        return self._walk(DELIVERIES_PATH, DeliveryPage, {"status": status})

    async def usage(self, by: str | None = None) -> AnyPage:
        """Requests, errors and refusals, as they came (Spec gap G5). `by="endpoint"` is specified. Costs no quota."""
        return await self._whole(USAGE_PATH, {"by": by})

    async def read_path(self, template: str, **values: str) -> AnyPage:
        """What is at a path that an operator knows of (Spec gaps G9, G10), its `{names}` filled in."""
        return await self._whole(fill_path(template, **values), {})

    async def _whole(self, path: str, query: dict[str, str | int | None]) -> AnyPage:
        """An answer of any shape. None of these is specified to be paged, but `has_more` is followed where it comes."""
        return await collect_any(self._walk(path, AnyPage, query))

    def _walk(
        self,
        path: str,
        page: type[Page[list[T]]],
        query: dict[str, str | int | None],
        cursor: str | None = None,
    ) -> AsyncGenerator[Step[T]]:
        async def fetch(cursor: str | None) -> Page[list[T]]:
            return await self._get(path, page, {**query, "cursor": cursor})

        return walk(path, fetch, cursor)

    async def _get(self, path: str, page: type[Page[T]], query: dict[str, str | int | None] | None = None) -> Page[T]:
        params = tuple((name, value) for name, value in (query or {}).items() if value is not None)
        return await self._ask(Request("GET", path, params), page)

    async def _ask(self, request: Request, page: type[Page[T]], *, bare: bool = False) -> Page[T]:
        await self._calls.check_spending(request.path, self._purpose)
        return await self._calls.ask(request, page, patience=self._patience, background=self._background, bare=bare)


def open_client(
    base_url: str,
    key: SecretStr,
    store: StateStore,
    *,
    http: httpx.AsyncClient | None = None,
    timing: Timing | None = None,
    replicas: Callable[[], int] = one_replica,
    on_meta: OnMeta = tell_nobody,
    on_latch: OnLatch = tell_nobody,
    may_spend: MaySpend = spend_freely,
    on_answer: OnAnswer = count_nothing,
) -> RacingClient:
    """A client, to be closed by `aclose()`. SettingsError where the address or the key can't be used."""
    timing = timing or Timing()
    transport = Transport(base_url, key, http=http)
    throttle = Throttle(timing, replicas=replicas)
    latches = Latches(store, timing.clock, key)
    calls = Calls(
        transport,
        throttle,
        latches,
        timing,
        on_meta=on_meta,
        on_latch=on_latch,
        may_spend=may_spend,
        on_answer=on_answer,
    )
    return RacingClient(calls)
