"""Runs an ASGI app on a loopback port inside the current loop.

An app can also cut a connection, which ASGI has no message for.
"""

import asyncio
import errno
import random
import socket
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.utils import format_datetime

import httpx
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bot.clock import utc_now

LOOPBACK = "127.0.0.1"
GRACE_S = 0.5
OWN_PORTS = range(10_000, 32_768)
"""Systems take ports of outgoing connections from above."""
_ABORT = "sandbox.abort"


def free_port() -> int:
    """A port on which nothing listens."""
    while True:
        port = random.choice(OWN_PORTS)
        try:
            _listen(port).close()
        except OSError:
            continue
        return port


@asynccontextmanager
async def serve(app: ASGIApp, port: int = 0) -> AsyncIterator[str]:
    """The address while the block runs; port 0 takes a free port.

    At the end running requests get `GRACE_S`.
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
    """Returns when the server has noticed the reset.

    Without a socket (httpx.ASGITransport) raises what httpx raises over a socket.
    """
    extension = (scope.get("extensions") or {}).get(_ABORT)
    if extension is None:
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
    extension["abort"]()
    while (await receive())["type"] != "http.disconnect":
        continue


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        # Connections wait from here on until uvicorn accepts.
        listener.listen(512)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError(
                f"Port {port} is in use. Name another port, or none: then a free port is taken."
            ) from None
        raise
    listener.setblocking(False)
    return listener


class PortTakenError(OSError):
    """`str()` says what to do."""


class _Protocol(HttpToolsProtocol):
    """Puts a way to reset the connection into each request's scope."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {_ABORT: {"abort": self.transport.abort}}


class _Server(uvicorn.Server):
    """Uvicorn without signal handlers and without its waits of 100 ms."""

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
        # An accepted connection without a protocol would never be closed otherwise.
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
    """Uvicorn's `Date` is of the last tick, and `_Server` ticks once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                date = (b"date", format_datetime(utc_now(), usegmt=True).encode())
                message = {**message, "headers": [*message.get("headers", ()), date]}
            await send(message)

        await self._app(scope, receive, dated)


class _CutWhenCancelled:
    """A request that is cancelled at the end leaves a reset connection, and no traceback."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            await cut_connection(scope, receive)
