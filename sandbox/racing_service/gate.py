"""The gate in front of the endpoints: key, limits, plan, scripted failures, headers, and the log of requests."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.responses import Response

from sandbox.loopback_server import cut_connection
from sandbox.racing_service import faults, refusals
from sandbox.racing_service.account import minute_reset, month_of, month_reset, seconds_until
from sandbox.racing_service.plan_table import PLANS
from sandbox.racing_service.service_state import ENDPOINTS, USAGE, Call, State

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
BASE_PATH = "/v1"
_ENDPOINT_OF = {BASE_PATH + endpoint: endpoint for endpoint in ENDPOINTS}


class Gate:
    """The `key` parameter goes no farther than here."""

    def __init__(self, app: App, state: State) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        call = _read_call(scope, self._state)
        scope = {
            **scope,
            "query_string": urlencode(call.parameters).encode(),
            "state": {"call": call, "service": self._state},
        }
        failure = self._state.faults.take(call.endpoint)
        call.in_minute = call.counts.count_request(call.at)
        call.headers = _common_headers(call)
        try:
            if failure == faults.DROP:
                await cut_connection(scope, receive)
            elif failure == faults.HTML:
                # A proxy's page has none of the service's headers.
                await _noting(call, faults.proxy_page(), scope, receive, send)
            else:
                await self._answer(call, failure, scope, receive, self._marked(call, send))
        finally:
            self._state.requests.append(call)
            if call.keyed:
                _tally(call, self._state)

    async def _answer(
        self, call: Call, failure: faults.Failure | None, scope: Message, receive: Receive, send: Send
    ) -> None:
        if failure == faults.SLOW:
            await asyncio.sleep(self._state.switches.slow_s)
            failure = None
        refusal = _refusal(call, failure, self._state)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        call.code = refusal.code
        response = refusals.refusal_response(refusal, call.request_id)
        await response(scope, receive, send)

    def _marked(self, call: Call, send: Send) -> Send:
        """Adds the four headers, notes the status, and charges the month."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                call.status = message["status"]
                extra = [(name.lower().encode(), value.encode()) for name, value in call.headers.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
                if _is_charged(call):
                    call.counts.months[month_of(call.at)] += 1
            await send(message)

        return marked


def _refusal(call: Call, failure: faults.Failure | None, state: State) -> refusals.Refusal | None:
    """The first reason for a refusal, in the service's order."""
    account, reset = state.account, minute_reset(call.at)
    if failure is not None:
        return refusals.scripted(failure, call.endpoint, state.window)
    if not call.keyed:
        return refusals.unauthorized()
    if call.in_minute > call.per_minute:
        return refusals.rate_limited(seconds_until(reset, call.at))
    if account.plan.name not in (reaching := state.plans_reaching(call.endpoint)):
        return refusals.upgrade_required(call.endpoint, account.plan.name, reaching)
    if call.endpoint != USAGE and call.counts.in_month(call.at) >= account.plan.per_month:
        return refusals.quota_exceeded(seconds_until(month_reset(call.at), call.at))
    return None


async def _noting(call: Call, response: Response, scope: Message, receive: Receive, send: Send) -> None:
    call.status = response.status_code
    await response(scope, receive, send)


def _read_call(scope: Message, state: State) -> Call:
    """Interface, Authentication 2."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    headers = [value for name, value in scope["headers"] if name == b"x-api-key"]
    sent = headers[0] if headers else next((value for name, value in query if name == "key"), "").encode()
    account = state.account
    keyed = hmac.compare_digest(sent, account.key.encode())
    return Call(
        request_id=state.next_request_id(),
        at=state.clock(),
        method=scope["method"],
        path=scope["path"],
        endpoint=_ENDPOINT_OF.get(scope["path"], "other"),
        parameters=[(name, value) for name, value in query if name != "key"],
        keyed=keyed,
        counts=account.counts if keyed else state.strangers,
        per_minute=account.plan.per_minute if keyed else PLANS["free"].per_minute,
    )


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
    tally = state.account.usage.of(call.at.astimezone(UTC).date(), call.endpoint)
    if call.status in (401, 403, 429):
        tally.refusals[call.code or "outside_window"] += 1
    elif call.status is None or call.status >= 400:
        tally.errors += 1
    elif _is_charged(call):
        tally.requests += 1
