"""Programs in the bot's place at PUBLIC_URL: a proxy with a mistake, another program, another clock."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.loopback_server import LOOPBACK
from tests.clock import now


def answering(response: Callable[[Request], Response]) -> Starlette:
    """A program with an answer for everything, such as a proxy without the bot behind the proxy."""

    async def answer(request: Request) -> Response:
        return response(request)

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])


def proxy(to: str, *, without: str) -> Starlette:
    """A forgetful reverse proxy."""

    async def pass_on(request: Request) -> Response:
        if request.url.path == without:
            return JSONResponse({"detail": "Not Found"}, 404)
        async with httpx.AsyncClient(trust_env=False) as client:
            headers = {name: value for name, value in request.headers.items() if name != "host"}
            url = f"{to}{request.url.path}"
            answer = await client.request(request.method, url, content=await request.body(), headers=headers)
        return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"))

    return Starlette(routes=[Route("/{path:path}", pass_on, methods=["GET", "POST"])])


@asynccontextmanager
async def healthy_program(
    *, ahead: timedelta = timedelta(), certificate: tuple[Path, Path] | None = None
) -> AsyncIterator[str]:
    """The address of a program with the answer of `/healthz` for everything, by another clock."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"status":"ok"}'
        date = format_datetime(now() + ahead, usegmt=True)
        headers: Mapping[str, object] = {"Date": date, "Content-Length": len(body), "Connection": "close"}
        lines = ["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    tls = None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*certificate)
    server = await asyncio.start_server(answer, LOOPBACK, 0, ssl=tls)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http{'s' if tls else ''}://{LOOPBACK}:{port}"
