"""The endpoints of the account."""

from ipaddress import ip_address
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

import httpx
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from sandbox.racing_service.account import By, Tally, UsageBook, month_of
from sandbox.racing_service.cursors import ListQuery, effective_limit, take_page
from sandbox.racing_service.delivery_queue import Delivery
from sandbox.racing_service.delivery_records import delivery_record, subscription_answer
from sandbox.racing_service.endpoint_answers import call_of, enveloped, meta, state_of, takes
from sandbox.racing_service.endpoints import Cursor, Limit, RegionCode
from sandbox.racing_service.refusals import invalid_param
from sandbox.racing_service.service_state import Position
from sandbox.racing_service.switches import Switches

EventName = Literal["result.received", "race.abandoned", "meeting.abandoned", "racecard.published"]
DeliveryStatus = Literal["failed", "delivered", "pending"]


class SubscribeBody(BaseModel):
    """Interface, Webhook subscription."""

    model_config = ConfigDict(extra="forbid", strict=True)

    url: str = Field(max_length=2_000)
    events: list[EventName] = Field(min_length=1, max_length=4)
    region: RegionCode | None = None


router = APIRouter()


@router.post("/webhooks/subscribe", dependencies=[Depends(takes())])
async def subscribe(request: Request, body: SubscribeBody) -> JSONResponse:
    """The only answer with the signing secret."""
    state = state_of(request)
    check_receiver(body.url, state.switches)
    if len(set(body.events)) < len(body.events):
        raise invalid_param("events", "names an event more than once")
    subscription = state.delivery_queue.subscribe(body.url, frozenset(body.events), body.region)
    answer = subscription_answer(subscription, meta(request, 1), state.switches)
    return JSONResponse(answer, state.switches.subscribe_status)


@router.get("/webhooks/deliveries", dependencies=[Depends(takes("status", "limit", "cursor"))])
async def deliveries(
    request: Request,
    status: Annotated[DeliveryStatus | None, Query()] = None,
    limit: Limit = None,
    cursor: Cursor = None,
) -> Any:
    """Newest first. Spec gap G4: paging and other statuses are not shown."""
    state = state_of(request)
    query = ListQuery("/webhooks/deliveries", {"status": status}, effective_limit(limit, state), cursor)
    kept = state.delivery_queue.deliveries(call_of(request).at)
    shown = [each for each in kept if status in (None, each.status)]
    page, paging = take_page(shown, _delivery_position, query, state, descending=True)
    return enveloped(request, [delivery_record(each) for each in page], paging)


def _delivery_position(delivery: Delivery) -> Position:
    return delivery.delivery_id, ""


@router.get("/account/usage", dependencies=[Depends(takes("by"))])
async def usage(request: Request, by: Annotated[By, Query()] = "day") -> Any:
    """Spec gap G5: `day` and the default are not shown."""
    call, state = call_of(request), state_of(request)
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
