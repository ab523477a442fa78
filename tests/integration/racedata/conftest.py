"""A scripted data service, reached through respx, or over a socket of this machine."""

import json
import socket
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest
import respx
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.racedata.client.service_client import open_client
from tests.integration.racedata.backends import FakeTime, Memory

KEY = "sk_recognisable_0123456789"
META = {
    "request_id": "req_1",
    "data_as_of": "2025-11-20T12:00:00+00:00",
    "plan": "free",
    "window": "2023 → upcoming",
    "count": 0,
}


@dataclass(frozen=True)
class Seen:
    """One request as the service saw it."""

    method: str
    path: str
    raw_query: str
    headers: dict[str, str]
    body: bytes

    @property
    def query(self):
        return dict(parse_qsl(self.raw_query, keep_blank_values=True))


@dataclass
class Service:
    """Answers what it was told, in order, the last for ever; remembers what it was asked."""

    base_url: str = ""
    replies: list[Any] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def reply(self, status=200, body=None, **headers):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.replies.append((status, content, {"content-type": "application/json", **names}))

    def data(self, data, **meta):
        self.reply(200, {"meta": {**META, **meta}, "data": data})

    def refuse(self, status, code, *, headers=None, **fields):
        self.reply(status, {"error": {"code": code, "message": "Said so.", **fields}}, **(headers or {}))

    def answer(self, method, path, query, headers, body):
        self.seen.append(Seen(method, path, str(query), dict(headers), body))
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


async def over_respx(service):
    service.base_url = "https://api.example.com/v1"

    def answer(request):
        path = request.url.path.removeprefix("/v1/")
        status, content, headers = service.answer(
            request.method, path, request.url.params, request.headers, request.content
        )
        return httpx.Response(status, content=content, headers=headers)

    with respx.mock(assert_all_called=False) as router:
        router.route(host="api.example.com").mock(side_effect=answer)
        yield service


async def over_a_socket(service):
    async def answer(request):
        status, content, headers = service.answer(
            request.method, request.path_params["path"], request.query_params, request.headers, await request.body()
        )
        return Response(content, status, headers)

    app = Starlette(routes=[Route("/v1/{path:path}", answer, methods=["GET", "POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    service.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    config = uvicorn.Config(app, log_config=None, lifespan="off", http="h11", ws="none")
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    # Without `serve`: its main loop looks only every tenth of a second whether it should end.
    await server.startup(sockets=[listener])
    try:
        yield service
    finally:
        await server.shutdown(sockets=[listener])


BOTH_WAYS = pytest.mark.parametrize("service", [over_respx, over_a_socket], indirect=True, ids=["respx", "socket"])
"""For tests of what stands on the wire: paths, queries, headers and bodies."""


@pytest.fixture
async def service(request):
    """By respx, unless the test is marked."""
    async for ready in getattr(request, "param", over_respx)(Service()):
        yield ready


@pytest.fixture
def fake_time():
    return FakeTime()


@pytest.fixture
def store():
    return Memory()


@pytest.fixture
async def open_racing(service, fake_time, store):
    """Opens clients of the service, and closes them when the test is over."""
    opened = []

    def open_one(key=KEY, **parts):
        client = open_client(service.base_url, SecretStr(key), store, timing=fake_time.timing(), **parts)
        opened.append(client)
        return client

    yield open_one
    for client in opened:
        await client.aclose()


@pytest.fixture
def client(open_racing):
    return open_racing()
