"""A data service with a test's answers, behind the bot's client, on a clock moved by sleeping."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import httpx
import respx
from pydantic import SecretStr

from bot.racedata.client.calls import Hooks, Timing
from bot.racedata.client.service_client import RacingClient, open_client

KEY = "sk_recognisable_0123456789"
BASE_URL = "https://api.example.com/v1"
META = {"request_id": "req_1", "data_as_of": "2025-11-20T12:00:00+00:00", "plan": "free", "window": "2023 → upcoming"}


class SleepClock:
    """Time passes only in sleep."""

    def __init__(self):
        self.start = datetime(2025, 11, 20, 12, tzinfo=UTC)
        self.now_s = 0.0
        self.slept: list[float] = []

    def clock(self):
        return self.start + timedelta(seconds=self.now_s)

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now_s += seconds
        await asyncio.sleep(0)

    def timing(self):
        return Timing(self.clock, lambda: self.now_s, self.sleep, lambda: 1.0)


class Memory:
    """A StateStore in memory."""

    def __init__(self):
        self.values: dict[str, dict[str, Any]] = {}

    async def get(self, name: str) -> Any:
        return self.values.get(name)

    async def change(self, name: str, change: Callable[[Any], Any]) -> None:
        self.values[name] = change(self.values.get(name))


@dataclass(frozen=True)
class Seen:
    """A request as the service saw the request."""

    method: str
    path: str
    raw_query: str
    headers: dict[str, str]
    body: bytes

    @property
    def query(self):
        return dict(parse_qsl(self.raw_query, keep_blank_values=True))


class Scripted:
    """Answers in the order of the replies, the last for ever. A reply is an answer, or a kind of httpx's errors."""

    def __init__(self, replies=()):
        self.replies: list[Any] = list(replies)
        self.seen: list[Seen] = []

    def reply(self, status=200, body=b"", **headers):
        self.replies.append(answer(status, body, **headers))

    def data(self, data, **meta):
        self.reply(200, {"meta": META | meta, "data": data})

    def refuse(self, status, code, *, headers=None, **fields):
        self.replies.append(refusal(status, code, headers=headers, **fields))

    def answer(self, request: httpx.Request) -> httpx.Response:
        path, query = request.url.path.removeprefix("/v1/"), str(request.url.params)
        self.seen.append(Seen(request.method, path, query, dict(request.headers), request.content))
        found = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(found, type):
            raise found(f"{request.url} {request.headers!r} {KEY}", request=request)
        status, content, headers = found
        return httpx.Response(status, content=content, headers=headers)

    async def handle(self, request: httpx.Request) -> httpx.Response:
        return self.answer(request)

    @property
    def paths(self):
        return [seen.path for seen in self.seen]

    def client(self, store, time, key=KEY, **hooks) -> RacingClient:
        router = respx.MockRouter(base_url=BASE_URL, assert_all_called=False)
        router.route().mock(side_effect=self.handle)
        http = httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler))
        return open_client(BASE_URL, SecretStr(key), store, time.timing(), http=http, hooks=Hooks(**hooks))


def answer(status, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return status, content, {name.replace("_", "-"): value for name, value in headers.items()}


def refusal(status, code, *, headers=None, message="Said so.", **fields):
    body = {"meta": {"request_id": "req_1"}, "error": {"code": code, "message": message, **fields}}
    return answer(status, body, **(headers or {}))
