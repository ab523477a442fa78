"""Runs an ASGI app on a loopback port inside the current loop.

An app can also cut a connection, which ASGI has no message for.
"""

import asyncio
import errno
import random
import socket
import ssl
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from email.utils import format_datetime
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from bot.clock import utc_now

LOOPBACK = "127.0.0.1"
GRACE_S = 0.5
OWN_PORTS = range(10_000, 32_768)
"""Systems take ports of outgoing connections from above."""
_ABORT = "sandbox.abort"


def make_client(**options: Any) -> httpx.AsyncClient:
    """For this machine alone: no proxy, and no certificates are loaded, so https fails."""
    return httpx.AsyncClient(trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), **options)


def free_port() -> int:
    """A port on which nothing listens."""
    while True:
        port = random.choice(OWN_PORTS)
        with suppress(OSError), _listen(port):
            return port


@asynccontextmanager
async def serve(app: ASGIApp, port: int = 0) -> AsyncIterator[str]:
    """The address while the block runs; port 0 takes a free port.

    At the end running requests get `GRACE_S`. Uvicorn's own server would take the signals, and wait 100 ms at its end.
    """
    listener = _listen(port)
    config = uvicorn.Config(_cut_when_cancelled(app), ws="none", log_config=None, log_level="warning")
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Protocol(config, state, {}), sock=listener)
    try:
        yield f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    finally:
        # An accepted connection without a protocol would never be closed otherwise. The protocol comes two turns later.
        loop.remove_reader(listener)
        for _ in range(3):
            await asyncio.sleep(0)
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
        await _finish(state.tasks)
        await server.wait_closed()


async def cut_connection(scope: Scope, receive: Receive, _send: Send | None = None) -> None:
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
    try:
        return socket.create_server((LOOPBACK, port), backlog=512)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortTakenError(f"Port {port} is in use. Name another port, or none: then a free port is taken.") from None


class PortTakenError(OSError):
    """`str()` says what to do."""


class _Protocol(HttpToolsProtocol):
    """Dates each answer, and puts a way to reset the connection into each request's scope."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {_ABORT: {"abort": self.transport.abort}}
        self.server_state.default_headers = [(b"date", format_datetime(utc_now(), usegmt=True).encode())]


async def _finish(requests: Collection[asyncio.Task[None]]) -> None:
    if not requests:
        return
    _, late = await asyncio.wait(list(requests), timeout=GRACE_S)
    for request in late:
        request.cancel()
    await asyncio.gather(*late, return_exceptions=True)


def _cut_when_cancelled(app: ASGIApp) -> ASGIApp:
    """A request that is cancelled at the end leaves a reset connection, and no traceback."""

    async def cutting(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            await cut_connection(scope, receive)

    return cutting
