"""The service's endpoints, as an ASGI app behind the gate."""

from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from ipaddress import ip_address
from typing import Annotated, Any, Literal, TypeVar, cast
from urllib.parse import SplitResult, urlsplit

import httpx
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.racing_day import Race, in_utc
from sandbox.racing_places import REGION_CODES
from sandbox.racing_service import refusals
from sandbox.racing_service.account import By, Tally, UsageBook, month_of
from sandbox.racing_service.cursors import ListQuery, effective_limit, take_page
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.racing_service.delivery_records import delivery_record, subscription_answer
from sandbox.racing_service.gate import BASE_PATH, Gate
from sandbox.racing_service.race_shapes import race_record
from sandbox.racing_service.reference_data import country_records, course_records, reference_data
from sandbox.racing_service.refusals import invalid_param, outside_window
from sandbox.racing_service.service_state import Call, Position, State
from sandbox.racing_service.switches import Switches

Record = dict[str, Any]
EventName = Literal["result.received", "race.abandoned", "meeting.abandoned", "racecard.published"]


def _known_region(code: str) -> str:
    if code not in REGION_CODES:
        raise ValueError("is not among the regions of /reference")
    return code


RegionCode = Annotated[str, AfterValidator(_known_region)]


class NoQuery(BaseModel):
    """Parameters that an endpoint does not know are refused."""

    model_config = ConfigDict(extra="forbid")


class ListParameters(NoQuery):
    limit: Annotated[int, Field(ge=1)] | None = None
    cursor: str | None = None


class SearchQuery(ListParameters):
    region: RegionCode | None = None


class DeliveriesQuery(ListParameters):
    status: Literal["failed", "delivered", "pending"] | None = None


class UsageQuery(NoQuery):
    by: By = "day"


class SubscribeBody(BaseModel):
    """Interface, Webhook subscription."""

    model_config = ConfigDict(extra="forbid", strict=True)

    url: str = Field(max_length=2_000)
    events: list[EventName] = Field(min_length=1, max_length=4)
    region: RegionCode | None = None


Read = TypeVar("Read", bound=BaseModel)


def build_app(state: State) -> Gate:
    return Gate(_endpoints(), state)


@lru_cache
def _endpoints() -> Starlette:
    reads = {
        "/countries": countries,
        "/courses": courses,
        "/reference": reference,
        "/races/search": search,
        "/webhooks/deliveries": deliveries,
        "/account/usage": usage,
    }
    routes = [Route(BASE_PATH + path, answer, methods=["GET"]) for path, answer in reads.items()]
    for route in routes:
        route.methods = {"GET"}
    app = Starlette(
        routes=[*routes, Route(f"{BASE_PATH}/webhooks/subscribe", subscribe, methods=["POST"])],
        exception_handlers={refusals.Refusal: _on_refusal, HTTPException: _on_http_error},
    )
    app.router.redirect_slashes = False
    return app


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, refusals.Refusal)
    call = call_of(request)
    call.code = error.code
    return refusals.refusal_response(error, call.request_id)


async def _on_http_error(request: Request, error: Exception) -> Response:
    """The framework's own refusals."""
    assert isinstance(error, HTTPException)
    refused = refusals.method_not_allowed(error.headers or {}) if error.status_code == 405 else refusals.not_found()
    return await _on_refusal(request, refused)


def call_of(request: Request) -> Call:
    return cast("Call", request.state.call)


def state_of(request: Request) -> State:
    return cast("State", request.state.service)


def meta(request: Request, count: int, paging: Mapping[str, object] | None = None) -> Record:
    """`paging` is for cursor lists."""
    state = state_of(request)
    return {
        "request_id": call_of(request).request_id,
        "data_as_of": in_utc(state.clock()),
        "plan": state.account.plan.name,
        "window": str(state.window),
        "count": count,
        **(paging or {}),
    }


def enveloped(request: Request, data: Any, paging: Mapping[str, object] | None = None) -> Response:
    return JSONResponse({"meta": meta(request, len(data), paging), "data": data})


def _query(request: Request, kind: type[Read]) -> Read:
    """Refuses unknown parameters, and parameters sent twice."""
    seen: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in kind.model_fields:
            raise invalid_param("query", f"this endpoint takes {', '.join(kind.model_fields) or 'no parameters'}")
        if name in seen:
            raise invalid_param(name, "was sent more than once")
        seen[name] = value
    return _read(kind.model_validate, seen)


def _read(validate: Callable[[Any], Read], sent: Any) -> Read:
    try:
        return validate(sent)
    except ValidationError as error:
        first = error.errors()[0]
        # A stranger's name may be no valid text.
        param = ".".join(str(part).encode("ascii", "backslashreplace").decode() for part in first["loc"])
        raise invalid_param(param or "body", first["msg"].removeprefix("Value error, ")) from None


async def countries(request: Request) -> Response:
    _query(request, NoQuery)
    return enveloped(request, country_records(state_of(request).racing))


async def courses(request: Request) -> Response:
    _query(request, NoQuery)
    return enveloped(request, course_records(state_of(request).racing))


async def reference(request: Request) -> Response:
    _query(request, NoQuery)
    state = state_of(request)
    return enveloped(request, reference_data(state.racing, state.switches))


async def search(request: Request) -> Response:
    sent, state = _query(request, SearchQuery), state_of(request)
    # Adding the usual limit to a query is a change.
    bound = {"region": sent.region, "limit": None if sent.limit is None else str(sent.limit)}
    query = ListQuery("/races/search", bound, effective_limit(sent.limit, state), sent.cursor)
    records, paging = _search(query, state)
    return enveloped(request, records, paging)


def _search(query: ListQuery, state: State) -> tuple[list[Record], dict[str, object]]:
    _check_window(query.after(state), state)
    races = [race for race in state.racing.races(region=query.filters["region"]) if race.race_date in state.window]
    page, paging = take_page(races, race_position, query, state, descending=state.switches.newest_first)
    shape = state.switches.races
    return [race_record(race, state.racing.state(race), shape) for race in page], paging


def _check_window(after: Position | None, state: State) -> None:
    """Outside the window the answer is outside_window, never an empty list."""
    if after is not None and date.fromisoformat(after[0]) not in state.window:
        raise outside_window(state.window, date.fromisoformat(after[0]))


def race_position(race: Race) -> Position:
    """From "the race date and race identifier" (Interface, Race)."""
    return race.race_date.isoformat(), race.race_id


async def subscribe(request: Request) -> Response:
    """The only answer with the signing secret."""
    state = state_of(request)
    _query(request, NoQuery)
    body = _read(SubscribeBody.model_validate_json, await request.body())
    check_receiver(body.url, state.switches)
    if len(set(body.events)) < len(body.events):
        raise invalid_param("events", "names an event more than once")
    subscription = state.delivery_queue.subscribe(body.url, frozenset(body.events), body.region)
    answer = subscription_answer(subscription, meta(request, 1), state.switches)
    return JSONResponse(answer, state.switches.subscribe_status)


async def deliveries(request: Request) -> Response:
    """Newest first. Spec gap G4: paging and other statuses are not shown."""
    sent, state = _query(request, DeliveriesQuery), state_of(request)
    query = ListQuery("/webhooks/deliveries", {"status": sent.status}, effective_limit(sent.limit, state), sent.cursor)
    kept = state.delivery_queue.deliveries(call_of(request).at)
    shown = [each for each in kept if sent.status in (None, each.status)]
    page, paging = take_page(shown, _delivery_position, query, state, descending=True)
    return enveloped(request, [delivery_record(each) for each in page], paging)


def _delivery_position(delivery: Delivery) -> Position:
    return delivery.delivery_id, ""


async def usage(request: Request) -> Response:
    """Spec gap G5: `day` and the default are not shown."""
    by, call, state = _query(request, UsageQuery).by, call_of(request), state_of(request)
    account = state.account
    used, limit = account.counts.in_month(call.at), account.plan.per_month
    data = _usage_data(account.usage, by, state.switches, month=month_of(call.at), used=used, limit=limit)
    return enveloped(request, data)


def _usage_data(book: UsageBook, by: By, switches: Switches, *, month: str, used: int, limit: int) -> Any:
    """Spec gap G5: names, period and shape are switched."""
    groups = book.grouped(month, by)
    if switches.usage == "rows":
        return [_usage_row(by if by == "endpoint" else "date", name, tally) for name, tally in groups.items()]
    rows = [_usage_row(by, name, tally) | {"refusals": dict(tally.refusals)} for name, tally in groups.items()]
    return {"period": month, "used": used, "limit": limit, f"by_{by}": rows}


def _usage_row(label: str, name: str, tally: Tally) -> dict[str, Any]:
    return {label: name, "requests": tally.requests, "errors": tally.errors, "refusals": tally.refusals.total()}


def check_receiver(url: str, switches: Switches) -> None:
    """Raises invalid_param unless the address is https, or http on loopback with `allow_http_loopback`."""
    try:
        parts = urlsplit(url)
        readable = bool(parts.hostname) and parts.port != 0 and bool(httpx.URL(url).host)
    except (ValueError, httpx.InvalidURL):
        readable = False
    if not readable or parts.username is not None or parts.fragment:
        raise invalid_param("url", "is not an address that can be posted to")
    if parts.scheme != "https" and not (switches.allow_http_loopback and _is_http_loopback(parts)):
        raise invalid_param("url", "must be https")


def _is_http_loopback(parts: SplitResult) -> bool:
    try:
        local = ip_address(parts.hostname or "").is_loopback
    except ValueError:
        local = parts.hostname == "localhost"
    return parts.scheme == "http" and local
