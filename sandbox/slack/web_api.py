"""The workspace over HTTP: `/api/{method}`, and the response addresses."""

import asyncio
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sandbox.loopback_server import cut_connection
from sandbox.slack.calls import Arguments, Refused, read_arguments, read_body
from sandbox.slack.content import take_response
from sandbox.slack.failures import Failure, passes
from sandbox.slack.methods import METHODS
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
class _WebApi:
    state: WorkspaceState

    async def call(self, request: Request) -> ASGIApp:
        method = request.path_params["method"]
        try:
            args = await read_arguments(request)
        except ClientDisconnect:
            # Nobody reads the answer, and half a call did nothing.
            return Response(status_code=400)
        except Refused as refusal:
            return JSONResponse(refusal.body)
        failure = self._failure(method, args)
        await asyncio.sleep(failure.delay_before_s)
        reply, error = self._carry_out(method, args) if failure.carried_out else (None, None)
        self.state.log(
            Call(
                method=method,
                at=self.state.clock(),
                channel=args.text("channel"),
                error=error,
                failure=failure.name if failure.hides_answer else None,
                arguments=args.as_json(),
            )
        )
        await asyncio.sleep(failure.delay_after_s)
        return _answer(failure, reply)

    async def respond(self, request: Request) -> ASGIApp:
        failure = self.state.next_failure(RESPONSE_URL) or passes()
        await asyncio.sleep(failure.delay_before_s)
        reply = await self._take(request) if failure.carried_out else None
        await asyncio.sleep(failure.delay_after_s)
        return _answer(failure, reply)

    async def _take(self, request: Request) -> Response:
        try:
            url = self.state.response_urls.use(request.path_params["number"])
            take_response(self.state, url, await _payload(request))
        except Refused as refusal:
            status = refusal.status if refusal.status != 200 else 400
            return JSONResponse(refusal.body, status)
        except ClientDisconnect:
            return Response(status_code=400)
        return PlainTextResponse("ok")

    def _failure(self, method: str, args: Arguments) -> Failure:
        failure = self.state.failure_of(method, args) or self.state.next_failure(method) or passes()
        return passes() if failure.blocks_only and not args.has_blocks else failure

    def _carry_out(self, method: str, args: Arguments) -> tuple[Response, str | None]:
        """The answer, and Slack's error in the answer."""
        scopes = {"X-OAuth-Scopes": ",".join(sorted(self.state.scopes))}
        try:
            return JSONResponse({"ok": True, **self._result(method, args)}, headers=scopes), None
        except Refused as refusal:
            return JSONResponse(refusal.body, refusal.status, scopes | refusal.headers), refusal.code

    def _result(self, method: str, args: Arguments) -> Json:
        if method == "apps.connections.open":  # the one method that takes the app's own token
            return {"url": self.state.sockets.issue(args.token)}
        if method not in METHODS:
            raise Refused("unknown_method", req_method=method)
        if args.token is None:
            raise Refused("not_authed")
        if args.token != self.state.bot_token:
            raise Refused("invalid_auth")
        if self.state.limits is not None:
            self.state.limiter.take(self.state.limits, method, args.text("channel"), self.state.clock())
        return METHODS[method](self.state, args)


async def _payload(request: Request) -> Json:
    """Slack has one word for every response that can't be read. docs.slack.dev/changelog, 17 May 2016."""
    try:
        return await read_body(request)
    except Refused as refusal:
        raise Refused("invalid_payload") from refusal


def _answer(failure: Failure, reply: Response | None) -> ASGIApp:
    """The reply, unless the failure hides the reply."""
    if failure.cut:
        return cut_connection
    if failure.status is not None or reply is None:
        return Response(failure.body, failure.status or 500, failure.headers, failure.content_type)
    if failure.truncate:
        return Response(reply.body[: len(reply.body) // 2], reply.status_code, media_type=reply.media_type)
    return reply
