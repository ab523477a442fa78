"""Socket Mode.

docs.slack.dev/apis/events-api/using-socket-mode
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from aiohttp import WSMsgType, web

from sandbox.loopback_server import LOOPBACK
from sandbox.slack.answers import Answer, Changes
from sandbox.slack.calls import Refused
from sandbox.slack.values import Json


class Sockets:
    def __init__(self, app_token: str, changes: Changes) -> None:
        self.app_token = app_token
        self.address: str | None = None
        self.opened = 0
        self._changes = changes
        self._numbers = count(1)
        self._tickets: set[str] = set()
        self._connections: list[web.WebSocketResponse] = []
        self._waiting: dict[str, asyncio.Future[Json]] = {}

    @property
    def connections(self) -> int:
        return len(self._connections)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_get("/link/", self._connect)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, LOOPBACK, 0).start()
        self.address = f"ws://{LOOPBACK}:{runner.addresses[0][1]}/link/"
        try:
            yield
        finally:
            for connection in list(self._connections):
                await connection.close()
            await runner.cleanup()

    def issue(self, token: str | None) -> str:
        """The address of a new connection, good once."""
        if self.address is None:
            raise Refused("internal_error")
        if token != self.app_token:
            raise Refused("not_authed" if token is None else "invalid_auth")
        ticket = f"sandbox-ticket-{next(self._numbers)}"
        self._tickets.add(ticket)
        return f"{self.address}?ticket={ticket}&app_id=A0SANDBOX"

    async def deliver(self, kind: str, payload: Json, timeout_s: float, **more: object) -> Answer:
        """The app's answer to an envelope, over the newest connection. `more` are further fields of the envelope."""
        envelope_id = f"envelope-{next(self._numbers)}"
        about = {"type": kind, "envelope_id": envelope_id, "accepts_response_payload": kind != "events_api"}
        acked: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[envelope_id] = acked
        try:
            async with asyncio.timeout(timeout_s):
                if not self._connections:
                    return Answer(0, "", "dispatch_failed")
                await self._connections[-1].send_str(json.dumps({**about, "payload": payload, **more}))
                ack = await acked
        except TimeoutError:
            return Answer(0, "", "operation_timeout")
        except ConnectionError:
            return Answer(0, "", "dispatch_failed")
        finally:
            del self._waiting[envelope_id]
        return Answer(200, json.dumps(ack["payload"]) if ack.get("payload") else "", None)

    async def refresh(self, reason: str = "refresh_requested") -> None:
        """Asks for new connections. The app closes the old connections."""
        for connection in list(self._connections):
            await connection.send_str(json.dumps({"type": "disconnect", "reason": reason, "debug_info": {}}))

    async def cut(self) -> None:
        """Ends every connection silently, as a network does."""
        for connection in list(self._connections):
            request = connection._req  # noqa: SLF001  aiohttp offers no other way to the socket
            if request is not None and request.transport is not None:
                request.transport.abort()

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=403)
        self._tickets.remove(ticket)
        connection = web.WebSocketResponse()
        await connection.prepare(request)
        await connection.send_str(
            json.dumps({"type": "hello", "num_connections": self.connections + 1, "connection_info": {}})
        )
        self.opened += 1
        self._connections.append(connection)
        self._changes.notify()
        try:
            await self._listen(connection)
        finally:
            self._connections.remove(connection)
            self._changes.notify()
        return connection

    async def _listen(self, connection: web.WebSocketResponse) -> None:
        async for message in connection:
            if message.type is not WSMsgType.TEXT:
                continue
            with contextlib.suppress(ValueError):
                ack = json.loads(message.data)
                waiting = self._waiting.get(ack.get("envelope_id"))
                if waiting is not None and not waiting.done():
                    waiting.set_result(ack)
