"""The gate in front of the endpoints: key, limits, plan, scripted failures, headers."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlencode

from fastapi.responses import Response

from sandbox.racing_service import faults, key_limits, refusals
from sandbox.racing_service.request_log import Call, common_headers, is_charged, read_call, record
from sandbox.racing_service.service_state import USAGE, State

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
OPENAPI_PATH = "/openapi.json"


class Gate:
    """The `key` parameter goes no farther than here."""

    def __init__(self, app: App, state: State) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == OPENAPI_PATH:
            await self._app(scope, receive, send)
            return
        call = read_call(scope, self._state)
        scope = {
            **scope,
            "query_string": urlencode(call.query).encode(),
            "state": {"call": call, "service": self._state},
        }
        failure = self._state.faults.take(call.endpoint)
        call.in_minute = call.counts.count_request(call.at)
        call.headers = common_headers(call)
        try:
            if failure == faults.DROP:
                await faults.cut_off(scope, receive)
            elif failure == faults.HTML:
                # A proxy's page has none of the service's headers.
                await _noting(call, faults.proxy_page(), scope, receive, send)
            else:
                await self._answer(call, failure, scope, receive, self._marked(call, send))
        finally:
            record(call, self._state)

    async def _answer(
        self, call: Call, failure: faults.Failure | None, scope: Message, receive: Receive, send: Send
    ) -> None:
        if failure == faults.SLOW:
            await self._state.sleep(self._state.switches.slow_s)
            failure = None
        refusal = _refusal(call, failure, self._state)
        if refusal is None:
            await self._app(scope, receive, send)
            return
        call.code = refusal.code
        response = refusals.refusal_response(refusal, call.request_id, self._state.switches)
        await response(scope, receive, send)

    def _marked(self, call: Call, send: Send) -> Send:
        """Adds the four headers, notes the status, and charges the month."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                call.status = message["status"]
                extra = [(name.lower().encode(), value.encode()) for name, value in call.headers.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
                if is_charged(call):
                    call.counts.months[key_limits.month_of(call.at)] += 1
            await send(message)

        return marked


def _refusal(call: Call, failure: faults.Failure | None, state: State) -> refusals.Refusal | None:
    """The first reason for a refusal, in the service's order."""
    account, reset = state.account, key_limits.minute_reset(call.at)
    if failure is not None:
        return refusals.scripted(failure, call.endpoint, state.window, state.switches)
    if not call.keyed:
        return refusals.unauthorized()
    if call.in_minute > call.per_minute:
        return refusals.rate_limited(key_limits.seconds_until(reset, call.at))
    if account.plan.name not in (reaching := state.plans_reaching(call.endpoint)):
        return refusals.upgrade_required(call.endpoint, account.plan.name, reaching)
    if call.endpoint != USAGE and call.counts.in_month(call.at) >= account.plan.per_month:
        return refusals.quota_exceeded(key_limits.seconds_until(key_limits.month_reset(call.at), call.at))
    return None


async def _noting(call: Call, response: Response, scope: Message, receive: Receive, send: Send) -> None:
    call.status = response.status_code
    await response(scope, receive, send)
