"""Stories of findings: a story breaks something and yields; after the doctor's look it follows the finding's line."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime
from inspect import isawaitable
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.doctor.findings import CheckOutcome
from sandbox.loopback_server import LOOPBACK
from tests.clock import now
from tests.integration.doctor.conftest import Clinic

Story = Callable[[Clinic], AsyncGenerator[None, None]]
Act = Callable[[Clinic], object]
FAILED, WARNING = CheckOutcome.FAILED, CheckOutcome.WARNING
DEAD = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Case:
    """A finding: the check, the outcome, words of the mending line, and the story."""

    code: str
    check: str
    outcome: CheckOutcome
    mend: str
    story: Story
    alone: bool = False

    def __str__(self) -> str:
        return f"{self.code}-{self.outcome}"


@dataclass
class Cases:
    """The cases of a file. As a decorator it adds a story."""

    cases: list[Case] = field(default_factory=list)

    def __call__(self, code: str, check: str, outcome: CheckOutcome, mend: str, *, alone: bool = False) -> Any:
        def register(story: Story) -> Story:
            self.cases.append(Case(code, check, outcome, mend, story, alone))
            return story

        return register

    def wrong(self, code: str, check: str, outcome: CheckOutcome, mend: str, **settings: str | None) -> None:
        """Settings are wrong, and then as before."""

        async def story(clinic: Clinic) -> AsyncGenerator[None, None]:
            right = dict(clinic.settings)
            clinic.settings |= settings
            yield
            clinic.settings = right

        self(code, check, outcome, mend)(story)

    def short(
        self, code: str, check: str, outcome: CheckOutcome, mend: str, *, broken: Act, mended: Act | None = None
    ) -> None:
        """Without `mended` the trouble passes by itself. What an act returns is awaited, where it can be."""

        async def story(clinic: Clinic) -> AsyncGenerator[None, None]:
            for act in (broken, mended):
                if act and isawaitable(done := act(clinic)):
                    await done
                if act is broken:
                    yield

        self(code, check, outcome, mend)(story)


async def check_mended(clinic: Clinic, told: Case) -> None:
    """The finding is told, and its line mends the fault."""
    async with aclosing(told.story(clinic)) as story:
        await anext(story)
        ill = (await clinic.examine(told.check, alone=told.alone))[told.check]
        found = {finding.code: finding for finding in ill.findings}
        assert found.keys() == {told.code}, ill
        assert (ill.outcome, found[told.code].outcome) == (told.outcome, told.outcome)
        assert told.mend in found[told.code].mend
        with suppress(StopAsyncIteration):
            await anext(story)
        well = (await clinic.examine(told.check, alone=told.alone))[told.check]
        assert (well.outcome, well.findings) == (CheckOutcome.OK, ())


# Programs in the bot's place at PUBLIC_URL


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
