"""The heartbeat against a monitor over a real socket: a success, a failure with its reason, a monitor in trouble."""

import asyncio
import logging

import pytest
import structlog
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.operations import health
from bot.operations.health import BODY_MAX, HEARTBEAT_CALL_S, Heartbeat
from bot.web.outgoing import open_http
from sandbox.loopback_server import serve
from tests.clock import PATIENCE_S
from tests.integration.operations.running_bot import run_bot
from tests.world import own_port

SECRET_ID = "0f7c41d2-5a5e-4b7c-9d59-heartbeat"
PATH, FAIL = f"/ping/{SECRET_ID}", f"/ping/{SECRET_ID}/fail"


class Monitor:
    """Notes each call: method, path with query, and body. Answers with `status`, once `answers` is set."""

    def __init__(self):
        self.calls = []
        self.url = ""
        self.status = 200
        self.answers = asyncio.Event()
        self.answers.set()
        self.app = Starlette(routes=[Route("/{path:path}", self._take, methods=["GET", "POST"])])

    async def _take(self, request):
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        self.calls.append((request.method, path, (await request.body()).decode()))
        await self.answers.wait()
        return Response("OK", self.status, {"Location": "/elsewhere"} if self.status == 302 else {})


@pytest.fixture
async def monitor():
    watching = Monitor()
    async with serve(watching.app) as address:
        watching.url = f"{address}/ping/{SECRET_ID}"
        yield watching


@pytest.fixture
async def make_heartbeat():
    opened = []

    def make(url, problem=None):
        async def find_problem():
            if isinstance(problem, Exception):
                raise problem
            return problem

        opened.append(open_http(url, HEARTBEAT_CALL_S))
        return Heartbeat(SecretStr(url), opened[-1], find_problem)

    yield make
    for http in opened:
        await http.aclose()


FULL = "deliveries can't be stored: disk full é"


@pytest.mark.parametrize(
    ("query", "problem", "path", "body"),
    [
        ("", None, PATH, ""),
        ("", FULL, FAIL, FULL),
        ("?create=1", FULL, f"{FAIL}?create=1", FULL),
        ("/", FULL, FAIL, FULL),
        ("", "x" * 100_000, FAIL, "x" * BODY_MAX),
        ("", ZeroDivisionError(), FAIL, "the bot can't tell its own state (ZeroDivisionError)"),
    ],
    ids=["well", "problem", "query", "slash", "long", "bug"],
)
async def test_call_says_that_all_is_well_or_why_not(monitor, make_heartbeat, *, query, problem, path, body):
    assert await make_heartbeat(monitor.url + query, problem).beat()
    assert monitor.calls == [("POST", path, body)]


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_monitor_that_refuses_is_logged_once_without_the_address(monitor, make_heartbeat, status, caplog):
    beating = make_heartbeat(monitor.url)
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as lines:
        for monitor.status in (status, 200):
            assert [await beating.beat(), await beating.beat()] == [monitor.status == 200] * 2
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("heartbeat_not_taken", f"status {status}"),
        ("heartbeat_taken", None),
    ]
    assert len(monitor.calls) == 4, "a redirect was followed"
    assert SECRET_ID not in f"{lines}{caplog.text}"


async def test_monitor_that_is_away_or_silent_is_not_waited_for(monitor, make_heartbeat, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(health, "HEARTBEAT_CALL_S", 0.2)
    monitor.answers.clear()
    away = f"http://127.0.0.1:{own_port()}/{SECRET_ID}"
    with structlog.testing.capture_logs() as lines:
        assert [await make_heartbeat(url).beat() for url in (monitor.url, away)] == [False, False]
    monitor.answers.set()
    assert [line["reason"] for line in lines] == ["no answer within 0.2 s", "ConnectError"]
    assert SECRET_ID not in f"{lines}{caplog.text}"


async def test_running_bot_beats_and_says_why_no_post_goes_out(monitor, tmp_path, monkeypatch):
    monkeypatch.setattr(health, "HEARTBEAT_EVERY_S", 0.05)
    async with run_bot(tmp_path, heartbeat_url=monitor.url) as bot, asyncio.timeout(PATIENCE_S):
        await bot.until(lambda _scrape: bot.service.identity.problem is None)
        for problem, call in ((None, ("POST", PATH, "")), ("revoked", ("POST", FAIL, "slack: revoked"))):
            bot.service.identity.problem = problem
            await bot.service.look()
            while call not in monitor.calls:  # noqa: ASYNC110  the service calls when it does
                await asyncio.sleep(0.01)
