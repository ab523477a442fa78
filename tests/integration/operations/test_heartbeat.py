"""The heartbeat against a monitor over a real socket: a success, a failure with its reason, a monitor in trouble."""

import asyncio
import logging
import time

import pytest
import structlog
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.app import Service
from bot.db.engine import Database
from bot.operations import heartbeat
from bot.operations.heartbeat import HEARTBEAT_CALL_S, Heartbeat
from bot.ports import Ports
from bot.settings import load_settings
from bot.web.outgoing import open_http
from sandbox.loopback_server import free_port, serve
from tests.databases import empty
from tests.integration.conftest import TOKEN

SECRET_ID = "0f7c41d2-5a5e-4b7c-9d59-heartbeat"


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

    def make(url, find_problem):
        opened.append(open_http(url, HEARTBEAT_CALL_S))
        return Heartbeat(SecretStr(url), opened[-1], find_problem)

    yield make
    for http in opened:
        await http.aclose()


async def fine():
    return None


async def test_heartbeat_calls_the_address_while_all_is_well(monitor, make_heartbeat):
    assert await make_heartbeat(monitor.url, fine).beat()
    assert monitor.calls == [("POST", f"/ping/{SECRET_ID}", "")]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("", f"/ping/{SECRET_ID}/fail"),
        ("?create=1", f"/ping/{SECRET_ID}/fail?create=1"),
        ("/", f"/ping/{SECRET_ID}/fail"),
    ],
)
async def test_failure_is_told_with_its_reason_after_the_path(monitor, make_heartbeat, query, path):
    async def full():
        return "deliveries can't be stored: disk full é"

    assert await make_heartbeat(monitor.url + query, full).beat()
    assert monitor.calls == [("POST", path, "deliveries can't be stored: disk full é")]


async def test_reason_of_any_length_is_cut(monitor, make_heartbeat):
    async def long():
        return "x" * 100_000

    assert await make_heartbeat(monitor.url, long).beat()
    assert len(monitor.calls[0][2]) == heartbeat.BODY_MAX


async def test_state_that_can_not_be_told_is_a_failure(monitor, make_heartbeat):
    async def broken():
        raise ZeroDivisionError

    assert await make_heartbeat(monitor.url, broken).beat()
    assert monitor.calls[0][1:] == (f"/ping/{SECRET_ID}/fail", "the bot can't tell its own state (ZeroDivisionError)")


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_monitor_that_refuses_is_logged_once_without_the_address(monitor, make_heartbeat, status, caplog):
    beating = make_heartbeat(monitor.url, fine)
    caplog.set_level(logging.DEBUG)
    monitor.status = status
    with structlog.testing.capture_logs() as lines:
        assert [await beating.beat(), await beating.beat()] == [False, False]
        monitor.status = 200
        assert [await beating.beat(), await beating.beat()] == [True, True]
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("heartbeat_not_taken", f"status {status}"),
        ("heartbeat_taken", None),
    ]
    assert len(monitor.calls) == 4, "a redirect was followed"
    assert SECRET_ID not in f"{lines}{caplog.text}"


async def test_monitor_that_is_away_or_silent_raises_nothing_and_is_not_waited_for(
    monitor, make_heartbeat, monkeypatch, caplog
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(heartbeat, "HEARTBEAT_CALL_S", 0.2)
    monitor.answers.clear()
    away = f"http://127.0.0.1:{free_port()}/{SECRET_ID}"
    with structlog.testing.capture_logs() as lines:
        assert [await make_heartbeat(url, fine).beat() for url in (monitor.url, away)] == [False, False]
    monitor.answers.set()
    assert [line["reason"] for line in lines] == ["no answer within 0.2 s", "ConnectError"]
    assert SECRET_ID not in f"{lines}{caplog.text}"


class Passed:
    """Monotonic seconds that the test may add to."""

    ahead_s = 0.0

    def __call__(self):
        return time.monotonic() + self.ahead_s


@pytest.fixture
def passed():
    return Passed()


@pytest.fixture
def database_url(request, tmp_path):
    """Of a SQLite file that is made by the service, or of the shared PostgreSQL."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path / 'bot.db'}"
    database = request.getfixturevalue("postgresql_database")
    empty(database)
    return database.url.render_as_string(hide_password=False)


@pytest.fixture
async def service(slack, monitor, database_url, passed, monkeypatch):
    """The whole service in this process, between stand-ins, with a heartbeat of many a second."""
    monkeypatch.setattr(heartbeat, "EVERY_S", 0.05)
    monkeypatch.setattr("bot.app.STATE_EVERY_S", 0.05)
    settings = load_settings(
        env_file=None,
        racing_api_url=f"http://127.0.0.1:{free_port()}/v1",
        racing_api_key="key-of-a-test",
        racing_webhook_secrets="whsec-test",
        slack_bot_token=TOKEN,
        slack_signing_secret="signing-secret",
        slack_api_url=slack.api_url,
        admin_channel="CADMIN",
        database_url=database_url,
        heartbeat_url=monitor.url,
    )
    running = Service(settings, ports=Ports(monotonic=passed))
    await running.start()
    yield running
    await running.stop()


async def next_call(monitor, is_wanted):
    async with asyncio.timeout(60):
        while not any(map(is_wanted, monitor.calls)):  # noqa: ASYNC110  the service calls when it does
            await asyncio.sleep(0.01)


async def test_service_beats_while_deliveries_are_stored_and_fails_with_the_reason_when_not(
    service, monitor, monkeypatch
):
    await next_call(monitor, lambda call: call[1] == f"/ping/{SECRET_ID}")
    monitor.calls.clear()

    async def full(_self, _work):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(Database, "write", full)
        await next_call(
            monitor, lambda call: call[1:] == (f"/ping/{SECRET_ID}/fail", "deliveries can't be stored: disk full")
        )
    monitor.calls.clear()
    await next_call(monitor, lambda call: call[1] == f"/ping/{SECRET_ID}")


async def test_service_fails_while_no_post_goes_out_and_while_every_delivery_is_refused(service, monitor):
    await next_call(monitor, lambda call: call[1] == f"/ping/{SECRET_ID}")
    service.identity.problem = "auth.test: token_revoked"
    await next_call(monitor, lambda call: call[1:] == (f"/ping/{SECRET_ID}/fail", "slack: auth.test: token_revoked"))
    service.identity.problem = None
    # A data service that is away is no reason: the bot stores and posts.
    monitor.calls.clear()
    await next_call(monitor, lambda call: call[1] == f"/ping/{SECRET_ID}")


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
async def test_a_look_that_is_long_ago_is_no_good_sign(service, passed):
    async with asyncio.timeout(60):
        while await service.standing_still():  # noqa: ASYNC110  the service looks when it does
            await asyncio.sleep(0.01)
    (look,) = [task for task in asyncio.all_tasks() if task.get_name() == "look"]
    look.cancel()
    passed.ahead_s += 61
    assert await service.standing_still() == "the bot has not looked at its own state for 60 s"
