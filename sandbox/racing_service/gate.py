"""The gate in front of the endpoints: key, limits, plan, scripted failures, headers, and the log of requests."""

import asyncio
from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.loopback_server import cut_connection
from sandbox.racing_service import refusals
from sandbox.racing_service.plan_table import PLANS
from sandbox.racing_service.service_state import (
    USAGE,
    Call,
    State,
    day_of,
    minute_of,
    minute_reset,
    month_of,
    month_reset,
    seconds_until,
)

BASE_PATH = "/v1"
DROP, HTML, SLOW = "drop", "html", "slow"
PROXY_PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
"""The answer of a proxy that can't reach the service: it has none of the service's headers."""

Endpoint = Callable[[Call, State], Response]


def gated(endpoints: Mapping[str, tuple[str, Endpoint]], state: State) -> ASGIApp:
    """The app of endpoints by path, each with its method."""

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        call = await _read_call(Request(scope, receive), endpoints, state)
        failure = state.next_failure(call.endpoint)
        try:
            if failure == DROP:
                await cut_connection(scope, receive)
                return
            if failure == SLOW:
                await asyncio.sleep(state.switches.slow_s)
                failure = None
            response = HTMLResponse(PROXY_PAGE, 502) if failure == HTML else _answer(call, failure, endpoints, state)
            call.status = response.status_code
            if _is_charged(call):
                call.counts.months[month_of(call.at)] += 1
            await response(scope, receive, send)
        finally:
            state.requests.append(call)
            if call.keyed:
                _tally(call, state)

    return gate


async def _read_call(request: Request, endpoints: Mapping[str, object], state: State) -> Call:
    """Interface, Authentication 2. The key goes no farther than here."""
    state.numbered += 1
    now, path = state.clock(), request.scope["path"]
    keyed = request.headers.get("x-api-key", request.query_params.get("key")) == state.api_key
    counts = state.counts if keyed else state.strangers
    counts.minutes[minute_of(now)] += 1
    return Call(
        request_id=f"req_{state.numbered:010x}",
        at=now,
        method=request.method,
        endpoint=next((one for one in endpoints if path == BASE_PATH + one), "other"),
        parameters=[(name, value) for name, value in request.query_params.multi_items() if name != "key"],
        body=await request.body(),
        keyed=keyed,
        counts=counts,
        per_minute=state.plan.per_minute if keyed else PLANS["free"].per_minute,
        in_minute=counts.minutes[minute_of(now)],
    )


def _answer(call: Call, failure: str | None, endpoints: Mapping[str, tuple[str, Endpoint]], state: State) -> Response:
    try:
        _check(call, failure, state)
        method, endpoint = endpoints.get(call.endpoint, (call.method, _nothing))
        if call.method != method:
            raise refusals.method_not_allowed(method)
        response = endpoint(call, state)
    except refusals.Refusal as refusal:
        call.code = refusal.code
        response = refusals.refusal_response(refusal, call.request_id)
    response.headers.update(_common_headers(call))
    return response


def _check(call: Call, failure: str | None, state: State) -> None:
    """Raises the first reason for a refusal, in the service's order."""
    if failure is not None:
        raise refusals.scripted(failure, call.endpoint, state.window)
    if not call.keyed:
        raise refusals.unauthorized()
    if call.in_minute > call.per_minute:
        raise refusals.rate_limited(seconds_until(minute_reset(call.at), call.at))
    if state.plan.name not in (reaching := state.switches.reach.get(call.endpoint, tuple(PLANS))):
        raise refusals.upgrade_required(call.endpoint, state.plan.name, reaching)
    if call.endpoint != USAGE and call.counts.months[month_of(call.at)] >= state.plan.per_month:
        raise refusals.quota_exceeded(seconds_until(month_reset(call.at), call.at))


def _nothing(_call: Call, _state: State) -> Response:
    raise refusals.not_found()


def _is_charged(call: Call) -> bool:
    """Successes are charged, usage excepted (Interface, Limits 4)."""
    return call.keyed and call.endpoint != USAGE and call.status is not None and call.status < 400


def _common_headers(call: Call) -> dict[str, str]:
    """Interface, Common response headers."""
    return {
        "X-RateLimit-Limit": str(call.per_minute),
        "X-RateLimit-Remaining": str(max(0, call.per_minute - call.in_minute)),
        "X-RateLimit-Reset": str(minute_reset(call.at)),
        "X-Request-Id": call.request_id,
    }


def _tally(call: Call, state: State) -> None:
    counts = state.usage[day_of(call.at), call.endpoint]
    if call.status in (401, 403, 429):
        counts[call.code or ""] += 1
    elif call.status is None or call.status >= 400:
        counts["errors"] += 1
    elif _is_charged(call):
        counts["requests"] += 1
