"""A failed start stops every started part: no task, thread, connection or file is left.

Also the addresses of the service, without a start.
"""

import asyncio
import threading
from pathlib import Path

import httpx
import pytest

from bot import app, logs
from bot.app import Service
from bot.ports import Ports
from bot.settings import load_settings
from bot.slack.web_client import make_session
from bot.web.outgoing import open_http
from tests.front import receiver_of
from tests.logged import capture_logs

NOBODY = "http://127.0.0.1:9"


class StartFails(Exception):
    pass


@pytest.fixture
def service(tmp_path):
    addresses = {"racing_api_url": f"{NOBODY}/v1", "slack_api_url": f"{NOBODY}/api/", "heartbeat_url": f"{NOBODY}/ping"}
    secrets = {"racing_api_key": "key-of-a-test", "racing_webhook_secrets": "whsec-test"}
    tokens = {"slack_bot_token": "xoxb-test", "slack_app_token": "xapp-test"}
    file = f"sqlite:///{tmp_path / 'bot.db'}"
    return Service(
        load_settings(env_file=None, admin_channel="CADMIN", database_url=file, **addresses, **secrets, **tokens)
    )


@pytest.fixture
def opened(service, monkeypatch):
    """The HTTP clients opened by a start."""
    made = []

    def noting(open_client):
        def note(*args):
            made.append(open_client(*args))
            return made[-1]

        return note

    monkeypatch.setattr("bot.app.open_http", noting(open_http))
    service.ports = Ports(slack_session=noting(make_session))
    return made


@pytest.fixture
def left_over(service, opened, tmp_path):
    """Gives whatever a start made and a stop did not end."""
    threads_of_other_tests = set(threading.enumerate())

    def look():
        tasks = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        own_threads = set(threading.enumerate()) - threads_of_other_tests
        threads = [thread.name for thread in own_threads if thread.name.startswith("storage")]
        clients = [client for client in opened if not getattr(client, "closed", getattr(client, "is_closed", True))]
        files = [str(path) for path in open_files() if path.is_relative_to(tmp_path)]
        timers = ["jobs"] if service.jobs._scheduler.running else []
        return [*tasks, *threads, *clients, *files, *timers]

    return look


def open_files():
    links = Path("/proc/self/fd")
    return [path.readlink() for path in links.iterdir() if path.is_symlink()] if links.exists() else []


def fail(*_args, **_kwargs):
    raise StartFails


def fail_at_a_loop(name, run, begin=app._for_ever):
    if name == "look":
        raise StartFails
    return begin(name, run)


@pytest.mark.parametrize(
    ("step", "failing"),
    [
        ("bot.app.open_http", fail),
        ("aiohttp.ClientSession", fail),
        ("bot.app.Schema.prepare", fail),
        ("bot.app.SigningSecrets.read", fail),
        ("bot.app.Service._loops_to_run", fail),
        ("bot.app._for_ever", fail_at_a_loop),
    ],
)
async def test_start_that_fails_stops_whatever_was_started(service, left_over, monkeypatch, step, failing):
    monkeypatch.setattr(step, failing)
    with capture_logs(), pytest.raises(StartFails):
        await service.start()
    assert left_over() == []
    await service.stop()


async def test_stop_ends_whatever_a_start_made(service, opened, left_over):
    with capture_logs():
        await service.start()
        await service.database.write(lambda session: session.connection().exec_driver_sql("SELECT 1"))
        assert {"storage-writer_0", "look", "heartbeat"} <= set(map(str, left_over()))
        assert len(opened) == 2
        await service.stop()
    assert left_over() == []


ADDRESSES = {
    "/webhooks/racing": 401,
    "/webhooks/racing/": 401,
    "/webhooks/racing/?x=1": 401,
    "/webhooks%2Fracing": 401,
    "/slack/events/": 404,
    "/webhooks/racing//": 404,
    "//webhooks/racing": 404,
    "/Webhooks/Racing": 404,
    "/webhooks": 404,
    "/": 404,
    "/healthz": 405,
}


async def test_slash_at_the_end_changes_nothing_and_other_addresses_are_counted(service, monkeypatch):
    # Earlier tests of this process have used the minute's lines.
    monkeypatch.setattr(logs, "LINES_A_MINUTE", 10_000)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(receiver_of(service).app), base_url="http://bot"
    ) as client:
        with capture_logs() as lines:
            answers = {address: await client.post(f"http://bot{address}") for address in ADDRESSES}
        metrics = (await client.get("/metrics")).text
    assert {address: answer.status_code for address, answer in answers.items()} == ADDRESSES
    assert "/webhooks/racing" in answers["/webhooks"].json()["error"]
    assert all(one.json()["reference"] in str(lines) for one in answers.values())
    assert "Socket Mode" in answers["/slack/events/"].json()["error"]
    assert [line["path"] for line in lines if "path" in line] == [
        *("/slack/events", "/webhooks/racing//", "//webhooks/racing", "/Webhooks/Racing", "/webhooks", "/", "/healthz")
    ]
    assert 'racing_bot_requests_refused_total{reason="path"} 5.0' in metrics
    assert 'racing_bot_requests_refused_total{reason="method"} 1.0' in metrics
