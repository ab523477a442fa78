"""The workspace over HTTP: `/api/{method}`, and the response addresses."""

import asyncio
import json
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sandbox.loopback_server import cut_connection
from sandbox.slack.arguments import Arguments, read_arguments, read_body
from sandbox.slack.failures import Failure, passes
from sandbox.slack.methods import METHODS
from sandbox.slack.refused_calls import Refused
from sandbox.slack.response_intake import take_response
from sandbox.slack.state import RESPONSE_URL, WorkspaceState
from sandbox.slack.values import Call, Json


def build_app(state: WorkspaceState) -> Starlette:
    endpoint = _WebApi(state)
    return Starlette(
        routes=[
            Route("/api/{method}", endpoint.call, methods=["GET", "POST"]),
            Route("/commands/{number:int}", endpoint.respond, methods=["POST"]),
        ]
    )


@dataclass(frozen=True)
class _Reply:
    """The outcome of a call, before a scripted failure hides the outcome."""

    body: Json
    status: int
    headers: dict[str, str]


class _Cut(Response):
    async def __call__(self, scope: Scope, receive: Receive, _send: Send) -> None:
        await cut_connection(scope, receive)


class _WebApi:
    def __init__(self, state: WorkspaceState) -> None:
        self._state = state

    async def call(self, request: Request) -> Response:
        method = request.path_params["method"]
        try:
            args = await read_arguments(request)
        except ClientDisconnect:
            # Nobody reads the answer, and half a call did nothing.
            return Response(status_code=400)
        failure = self._failure(method, args)
        await asyncio.sleep(failure.delay_before_s)
        reply = self._carry_out(method, args) if failure.carried_out else None
        self._state.log(
            Call(
                method=method,
                at=self._state.clock(),
                channel=args.text("channel"),
                error=reply.body.get("error") if reply is not None else None,
                failure=failure.name if failure.hides_answer else None,
                arguments=args.as_json(),
            )
        )
        await asyncio.sleep(failure.delay_after_s)
        return _answer(failure, reply)

    async def respond(self, request: Request) -> Response:
        failure = self._state.next_failure(RESPONSE_URL) or passes()
        await asyncio.sleep(failure.delay_before_s)
        response = await self._take(request) if failure.carried_out else None
        await asyncio.sleep(failure.delay_after_s)
        if response is None or failure.cut or failure.status is not None:
            return _answer(failure, None)
        return response

    async def _take(self, request: Request) -> Response:
        try:
            url = self._state.response_urls.use(request.path_params["number"])
            take_response(self._state, url, await read_body(request))
        except Refused as refusal:
            status = refusal.status if refusal.status != 200 else 400
            return JSONResponse(refusal.body, status)
        except ClientDisconnect:
            return Response(status_code=400)
        return PlainTextResponse("ok")

    def _failure(self, method: str, args: Arguments) -> Failure:
        failure = self._state.failure_of(method, args) or self._state.next_failure(method) or passes()
        return passes() if failure.blocks_only and not args.has_blocks else failure

    def _carry_out(self, method: str, args: Arguments) -> _Reply:
        scopes = {"X-OAuth-Scopes": ",".join(sorted(self._state.scopes))}
        try:
            return _Reply({"ok": True, **self._result(method, args)}, 200, scopes)
        except Refused as refusal:
            return _Reply(refusal.body, refusal.status, scopes | refusal.headers)

    def _result(self, method: str, args: Arguments) -> Json:
        if method == "apps.connections.open":  # the one method that takes the app's own token
            return {"url": self._state.sockets.issue(args.token)}
        if method not in METHODS:
            raise Refused("unknown_method", req_method=method)
        if args.token is None:
            raise Refused("not_authed")
        if args.token != self._state.bot_token:
            raise Refused("invalid_auth")
        if self._state.limits is not None:
            self._state.limiter.take(self._state.limits, method, args.text("channel"), self._state.clock())
        return METHODS[method](self._state, args)


def _answer(failure: Failure, reply: _Reply | None) -> Response:
    if failure.cut:
        return _Cut()
    if failure.status is not None or reply is None:
        return Response(failure.body, failure.status or 500, failure.headers, failure.content_type)
    body = json.dumps(reply.body)
    if failure.truncate:
        body = body[: len(body) // 2]
    return Response(body, reply.status, reply.headers, "application/json")
