"""The data service, one method an endpoint. Every failure is a `ServiceFailure`."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

import httpx
from pydantic import JsonValue, SecretStr

from bot.racedata.client.calls import (
    FOR_BACKGROUND,
    FOR_COMMANDS,
    ONE_TRY,
    AccountState,
    Calls,
    Hooks,
    Patience,
    Timing,
)
from bot.racedata.client.circuit_breakers import USAGE_PATH, CircuitBreakers, StateStore
from bot.racedata.client.cursor_walk import Step, Trail, collect, walk
from bot.racedata.client.records import (
    AnyPage,
    CountryPage,
    CoursePage,
    DeliveryPage,
    RacePage,
    ServicePage,
    SubscriptionPage,
    SubscriptionRecord,
)
from bot.racedata.client.service_errors import InvalidParam, ServiceFailure
from bot.racedata.client.transport import Params, Request, Transport
from bot.racedata.month_quota import Purpose

T = TypeVar("T")
BY_DAY, BY_ENDPOINT = "day", "endpoint"
RACES_PATH = "races/search"
DELIVERIES_PATH = "webhooks/deliveries"
RECORDS_PER_PAGE = 200
"""The larger specified page size; the maximum is not shown (Spec gap G12)."""
WHOLE_LIST_PAGES = 50
"""A list of countries, courses, values or one day's races is some hundred rows. Each page costs quota."""
USAGE_PAGES = 5
"""Usage is a row a day or an endpoint, and is read every quarter of an hour."""


@dataclass(frozen=True)
class RacingClient:
    """Variants, such as `in_background()`, share connections, pace and breakers."""

    _calls: Calls
    _patience: Patience = FOR_COMMANDS
    _purpose: Purpose = Purpose.PEOPLE

    @property
    def state(self) -> AccountState:
        return self._calls.state

    @property
    def breakers(self) -> CircuitBreakers:
        return self._calls.breakers

    def in_background(self) -> "RacingClient":
        """For work without a waiting person: more patience, and no claim on the commands' share."""
        return replace(self, _patience=FOR_BACKGROUND)

    def for_upkeep(self) -> "RacingClient":
        """Spared once little of the month is left."""
        return replace(self.in_background(), _purpose=Purpose.UPKEEP)

    def in_one_try(self) -> "RacingClient":
        """For work that is repeated anyway: no retries for a first page."""
        return replace(self, _patience=ONE_TRY)

    def held_up(self) -> ServiceFailure:
        """Why the requested races have not come so far."""
        return self._calls.held_up(RACES_PATH)

    async def aclose(self) -> None:
        await self._calls.transport.aclose()

    async def countries(self) -> CountryPage:
        return await self._whole(Request("GET", "countries"), CountryPage)

    async def courses(self) -> CoursePage:
        return await self._whole(Request("GET", "courses"), CoursePage)

    async def reference(self) -> AnyPage:
        """The answer as published (Spec gap G6)."""
        return await self._whole(Request("GET", "reference"), AnyPage)

    def walk_races(
        self,
        region: str | None = None,
        limit: int = RECORDS_PER_PAGE,
        cursor: str | None = None,
        trail: Trail | None = None,
    ) -> AsyncGenerator[Step[dict[str, Any]]]:
        """`cursor`: the `resume_at` of a step of the same region and limit (Interface, Limits 8). See `walk`."""
        request = Request("GET", RACES_PATH, _given(region=region, limit=limit))
        return self._walk(request, RacePage, trail, cursor)

    async def subscribe_webhook(
        self, url: str, events: Sequence[str], region: str | None = None
    ) -> ServicePage[SubscriptionRecord]:
        """Never retried: the secret is shown once.

        The subscription may exist after AnswerUnreadable, ServerFault, or ServiceUnreachable with `may_have_arrived`.
        """
        body: dict[str, JsonValue] = {"url": url, "events": [*events]}
        if region is not None:
            body["region"] = region
        request = Request("POST", "webhooks/subscribe", body=body, bare=True)
        return await self._calls.ask(request, SubscriptionPage, self._patience, self._purpose)

    def walk_failed_deliveries(self, trail: Trail | None = None) -> AsyncGenerator[Step[dict[str, Any]]]:
        """Records are kept for 30 days. No other `status` is specified."""
        return self._walk(Request("GET", DELIVERIES_PATH, _given(status="failed")), DeliveryPage, trail)

    async def usage(self, by: str | None = None) -> AnyPage:
        """The usage as published (Spec gap G5). Costs no quota. Only `by="endpoint"` is specified."""
        return await self._whole(Request("GET", USAGE_PATH, _given(by=by)), AnyPage, USAGE_PAGES)

    async def usage_by_day(self) -> AnyPage:
        """The value for `by` is not shown (Spec gap G5). A refused value is not asked for again."""
        if not self._calls.refuses_days:
            try:
                return await self.usage(by=BY_DAY)
            except InvalidParam:
                self._calls.refuses_days = True
        return await self.usage()

    async def read_path(self, template: str, **values: str) -> AnyPage:
        """The answer of the operator's path (Spec gaps G9, G10), with its `{names}` filled in."""
        path, params = fill_path(template, **values)
        return await self._whole(Request("GET", path, params, template=template.partition("?")[0]), AnyPage)

    async def _whole(
        self, request: Request, page: type[ServicePage[Any]], most_pages: int = WHOLE_LIST_PAGES
    ) -> ServicePage[Any]:
        return await collect(self._walk(request, page, Trail(most_pages=most_pages)))

    def _walk(
        self, request: Request, page: type[ServicePage[list[T]]], trail: Trail | None, cursor: str | None = None
    ) -> AsyncGenerator[Step[T]]:
        async def fetch(cursor: str | None) -> ServicePage[list[T]]:
            # After a broken walk the caller asks for the pages before again, and each page costs quota.
            patience = self._patience if cursor is None else self._patience.for_later_pages()
            asked = replace(request, params=request.params + _given(cursor=cursor))
            return await self._calls.ask(asked, page, patience, self._purpose)

        return walk(request.path, fetch, cursor, trail)


def fill_path(template: str, **values: str) -> tuple[str, Params]:
    """The path and the query, each `{name}` replaced. ValueError for an empty value, or a value of dots alone."""
    if any(value in {"", ".", ".."} for value in values.values()):
        raise ValueError("an empty value, or one of dots, can't stand in a path")
    path, _, query = template.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    return (
        path.format(**{name: quote(value, safe="") for name, value in values.items()}),
        tuple((name.format(**values), value.format(**values)) for name, value in pairs),
    )


def _given(**query: str | int | None) -> Params:
    return tuple((name, value) for name, value in query.items() if value is not None)


def open_client(
    base_url: str,
    key: SecretStr,
    store: StateStore,
    timing: Timing,
    *,
    http: httpx.AsyncClient | None = None,
    hooks: Hooks | None = None,
) -> RacingClient:
    """Settings have checked the address and the key: httpx's own error would show the key."""
    transport = Transport(base_url, key, http=http)
    breakers = CircuitBreakers(store, timing.clock, key)
    return RacingClient(Calls(transport, breakers, timing, hooks or Hooks()))
