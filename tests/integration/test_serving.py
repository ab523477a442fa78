"""The server itself: connections that never say what they want."""

import asyncio
import contextlib

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from bot.cli import server


@contextlib.asynccontextmanager
async def served():
    app = Starlette(routes=[Route("/", lambda _request: PlainTextResponse("ok"))])
    running = server._PrivateServer(server.uvicorn_config(app, "127.0.0.1", 0, lifespan="off"))
    task = asyncio.create_task(running.serve())
    while not running.started:  # noqa: ASYNC110  uvicorn has no event for it
        await asyncio.sleep(0.01)
    yield running.servers[0].sockets[0].getsockname()[1]
    running.should_exit = True
    await task


async def test_connection_without_whole_headers_is_closed_and_a_quick_one_is_answered(monkeypatch):
    monkeypatch.setattr(server, "HEADERS_S", 0.2)
    async with served() as port:
        silent, _silent_writer = await asyncio.open_connection("127.0.0.1", port)
        slow, slow_writer = await asyncio.open_connection("127.0.0.1", port)
        slow_writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        quick, quick_writer = await asyncio.open_connection("127.0.0.1", port)
        quick_writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await quick.readline()).startswith(b"HTTP/1.1 200")
        async with asyncio.timeout(60):
            assert await silent.read() == b""
            assert await slow.read() == b""
        # A second request on a connection that was kept is held to the same.
        quick_writer.write(b"GET / HTTP/1.1\r\nHost")
        async with asyncio.timeout(60):
            assert (await quick.read()).endswith(b"ok")
        for writer in (_silent_writer, slow_writer, quick_writer):
            writer.close()
