"""Runs an ASGI app on a loopback port inside the current loop: what stand-ins, demo and tests listen with.

It also lets an app cut a connection without an answer, which no ASGI message can say.
"""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.utils import formatdate

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LOOPBACK = "127.0.0.1"
GRACE_S = 0.5
OWN_PORTS = range(10_000, 32_768)
"""Systems take the ports of outgoing connections from above: a port of these is still free a moment later."""
_ABORT = "bot.sandbox.abort"


def free_port() -> int:
    """A port on which nothing listens, for a process that is about to be started, or started again."""
    while True:
        port = random.choice(OWN_PORTS)
        try:
            _listen(port).close()
        except OSError:
            continue
        return port


@asynccontextmanager
async def serve(app: ASGIApp, port: int = 0) -> AsyncIterator[str]:
    """The address ("http://127.0.0.1:PORT") at which `app` answers until the block ends; port 0 takes a free one.

    Requests still running at the end get `GRACE_S` seconds and are then cut off.
    """
    listener = _listen(port)
    config = uvicorn.Config(
        _Dated(_CutWhenCancelled(app)),
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        date_header=False,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    finally:
        server.stop.set()
        await running


async def cut_connection(scope: Scope, receive: Receive) -> None:
    """Resets the request's TCP connection, and returns when the server has noticed: the app then answers nothing.

    Where no socket is underneath (httpx.ASGITransport) it raises ConnectionResetError in the caller instead.
    """
    extension = (scope.get("extensions") or {}).get(_ABORT)
    if extension is None:
        raise ConnectionResetError("the stand-in cut the connection")
    extension["abort"]()
    while (await receive())["type"] != "http.disconnect":
        continue


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        # Listening from here on: who connects before uvicorn accepts only waits.
        listener.listen(512)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


class _Protocol(HttpToolsProtocol):
    """Uvicorn's own protocol; each request's scope also carries a way to reset the connection."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {_ABORT: {"abort": self.transport.abort}}


class _Server(uvicorn.Server):
    """Uvicorn without signal handlers and without its waits of 100 ms, which a hundred tests would add up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stop = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # A connection that was accepted, but has no protocol yet, would never be closed once its server is.
        for listener in sockets or []:
            asyncio.get_running_loop().remove_reader(listener)
        await asyncio.sleep(0)
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await _finish(self.server_state.tasks)
        for server in self.servers:
            await server.wait_closed()


async def _finish(requests: Collection[asyncio.Task[None]]) -> None:
    if not requests:
        return
    _, late = await asyncio.wait(list(requests), timeout=GRACE_S)
    for request in late:
        request.cancel()
    await asyncio.gather(*late, return_exceptions=True)


class _Dated:
    """The app with the time in each answer. Uvicorn's own `Date` is of the last tick, and this server ticks once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                date = (b"date", formatdate(usegmt=True).encode())
                message = {**message, "headers": [*message.get("headers", ()), date]}
            await send(message)

        await self._app(scope, receive, dated)


class _CutWhenCancelled:
    """The app; a request that the server's end cancels leaves a reset connection, and no traceback."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            await cut_connection(scope, receive)
