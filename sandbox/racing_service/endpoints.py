"""The service's endpoints, as an ASGI app behind the gate.

Pages of a list have cursors: opaque, bound to their query, good for ever (Interface, Limits 6 to 8).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, ValidationError
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from sandbox.racing_day import REGION_CODES, Race, in_utc, made_up_id
from sandbox.racing_service.event_payloads import race_record
from sandbox.racing_service.gate import Endpoint, gated
from sandbox.racing_service.records import (
    country_records,
    course_records,
    delivery_record,
    reference_data,
    subscription_answer,
)
from sandbox.racing_service.refusals import invalid_param
from sandbox.racing_service.service_state import USAGE, By, Call, Position, State, grouped, month_of

Item = TypeVar("Item")


class NoQuery(BaseModel):
    """Parameters that an endpoint does not know are refused."""

    model_config = ConfigDict(extra="forbid")


class ListQuery(NoQuery):
    """Spec gap G12: the largest limit."""

    limit: Annotated[int, Field(ge=1, le=200)] | None = None
    cursor: str | None = None

    def bound(self) -> str:
        """What binds a cursor: "The next request repeats every other parameter unchanged"."""
        return f"{type(self).__name__} {self.model_dump(exclude={'cursor'})}"


def take_page(
    items: Sequence[Item], position_of: Callable[[Item], Position], query: ListQuery, state: State, *, descending: bool
) -> tuple[list[Item], dict[str, object]]:
    """The page's items, and the `meta` fields with the next cursor. Every bad cursor is the same invalid_param."""
    rest, after = sorted(items, key=position_of, reverse=descending), None
    if query.cursor is not None:
        bound, after = state.cursors.get(query.cursor, (None, None))
        if bound != query.bound():
            raise invalid_param("cursor", "was not issued by this service for this query")
    if after is not None:
        rest = [each for each in rest if (position_of(each) < after if descending else position_of(each) > after)]
    limit, short_every = query.limit or state.switches.default_limit, state.switches.short_page_every
    is_short = short_every and state.numbered % short_every == 0
    page = rest[: max(1, limit // 2) if is_short else limit]
    has_more = len(rest) > len(page)
    paging: dict[str, object] = {"has_more": has_more}
    if has_more or state.switches.last_cursor == "string":
        position = position_of(page[-1]) if page else after
        paging["next_cursor"] = cursor = made_up_id("pg_", query.bound(), position)
        state.cursors[cursor] = query.bound(), position
    elif state.switches.last_cursor == "null":
        paging["next_cursor"] = None
    return page, paging


Record = dict[str, Any]
EventName = Literal["result.received", "race.abandoned", "meeting.abandoned", "racecard.published"]
LOOPBACK_NAMES = ("127.0.0.1", "localhost")


def _known_region(code: str) -> str:
    if code not in REGION_CODES:
        raise ValueError("is not among the regions of /reference")
    return code


RegionCode = Annotated[str, AfterValidator(_known_region)]


class SearchQuery(ListQuery):
    region: RegionCode | None = None


class DeliveriesQuery(ListQuery):
    status: Literal["failed", "delivered", "pending"] | None = None


class UsageQuery(NoQuery):
    by: By = "day"


class SubscribeBody(BaseModel):
    """Interface, Webhook subscription."""

    model_config = ConfigDict(extra="forbid", strict=True)

    url: HttpUrl
    events: list[EventName] = Field(min_length=1, max_length=4)
    region: RegionCode | None = None


Read = TypeVar("Read", bound=BaseModel)


def build_app(state: State) -> ASGIApp:
    return gated(ENDPOINTS, state)


def meta(call: Call, state: State, count: int, paging: Mapping[str, object] | None = None) -> Record:
    """`paging` is for cursor lists."""
    return {
        "request_id": call.request_id,
        "data_as_of": in_utc(state.clock()),
        "plan": state.plan.name,
        "window": str(state.window),
        "count": count,
        **(paging or {}),
    }


def enveloped(call: Call, state: State, data: Any, paging: Mapping[str, object] | None = None) -> Response:
    return JSONResponse({"meta": meta(call, state, len(data), paging), "data": data})


def _query(call: Call, kind: type[Read]) -> Read:
    """Refuses unknown parameters, and parameters sent twice."""
    seen = dict(call.parameters)
    if len(seen) < len(call.parameters):
        raise invalid_param("query", "sends a parameter more than once")
    return _read(kind.model_validate, seen)


def _read(validate: Callable[[Any], Read], sent: Any) -> Read:
    try:
        return validate(sent)
    except ValidationError as error:
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"])
        raise invalid_param(param or "body", first["msg"].removeprefix("Value error, ")) from None


def whole(list_of: Callable[[State], Any]) -> Endpoint:
    """A list without parameters and pages."""

    def endpoint(call: Call, state: State) -> Response:
        _query(call, NoQuery)
        return enveloped(call, state, list_of(state))

    return endpoint


def search(call: Call, state: State) -> Response:
    query = _query(call, SearchQuery)
    races = [race for race in state.racing.races(region=query.region) if race.race_date in state.window]
    page, paging = take_page(races, race_position, query, state, descending=state.switches.newest_first)
    records = [race_record(race, state.racing.state(race), state.switches.races) for race in page]
    return enveloped(call, state, records, paging)


def race_position(race: Race) -> Position:
    """From "the race date and race identifier" (Interface, Race)."""
    return race.race_date.isoformat(), race.race_id


def subscribe(call: Call, state: State) -> Response:
    """The only answer with the signing secret. The address is https, or http on loopback with `allow_http_loopback`."""
    _query(call, NoQuery)
    body = _read(SubscribeBody.model_validate_json, call.body)
    is_local = state.switches.allow_http_loopback and body.url.host in LOOPBACK_NAMES
    if body.url.username or body.url.fragment:
        raise invalid_param("url", "is not an address that can be posted to")
    if body.url.scheme != "https" and not is_local:
        raise invalid_param("url", "must be https")
    if len(set(body.events)) < len(body.events):
        raise invalid_param("events", "names an event more than once")
    subscription = state.delivery_queue.subscribe(str(body.url), frozenset(body.events), body.region)
    answer = subscription_answer(subscription, meta(call, state, 1), state.switches)
    return JSONResponse(answer, state.switches.subscribe_status)


def deliveries(call: Call, state: State) -> Response:
    """Newest first. Spec gap G4: paging and other statuses are not shown."""
    query = _query(call, DeliveriesQuery)
    kept = state.delivery_queue.deliveries(call.at)
    shown = [each for each in kept if query.status in (None, each.status)]
    page, paging = take_page(shown, lambda one: (one.delivery_id, ""), query, state, descending=True)
    return enveloped(call, state, [delivery_record(each) for each in page], paging)


def usage(call: Call, state: State) -> Response:
    """Spec gap G5: `day` and the default are not shown; names, period and shape are switched."""
    by, month = _query(call, UsageQuery).by, month_of(call.at)
    groups = grouped(state.usage, month, by)
    if state.switches.usage == "rows":
        label = by if by == "endpoint" else "date"
        return enveloped(call, state, [_usage_row(label, name, counts) for name, counts in groups.items()])
    rows = [_usage_row(by, name, counts) | {"refusals": _refusals(counts)} for name, counts in groups.items()]
    used, limit = call.counts.months[month], state.plan.per_month
    return enveloped(call, state, {"period": month, "used": used, "limit": limit, f"by_{by}": rows})


def _usage_row(label: str, name: str, counts: Counter[str]) -> Record:
    refusals = sum(_refusals(counts).values())
    return {label: name, "requests": counts["requests"], "errors": counts["errors"], "refusals": refusals}


def _refusals(counts: Counter[str]) -> dict[str, int]:
    return {code: number for code, number in counts.items() if code not in ("requests", "errors")}


ENDPOINTS: dict[str, tuple[str, Endpoint]] = {
    "/countries": ("GET", whole(lambda state: country_records(state.racing))),
    "/courses": ("GET", whole(lambda state: course_records(state.racing))),
    "/reference": ("GET", whole(lambda state: reference_data(state.racing, state.switches))),
    "/races/search": ("GET", search),
    "/webhooks/subscribe": ("POST", subscribe),
    "/webhooks/deliveries": ("GET", deliveries),
    USAGE: ("GET", usage),
}
