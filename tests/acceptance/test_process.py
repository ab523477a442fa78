"""Starts, stops, kills and outages of the real process, and two replicas on PostgreSQL."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest

from sandbox.racing_service.switches import Switches
from sandbox.slack import failures
from tests.acceptance.conftest import NOWHERE, Bot
from tests.acceptance.forked import PROCESSES, make_read_only, run_command, take_temporary_folders, why_not
from tests.clock import DAY, PATIENCE_S, move_clock
from tests.databases import new_postgres_database
from tests.world import APP_TOKEN, SIGNING_SECRET, abandoned, own_port, result, until

ROOT = Path(__file__).parents[2]
CHANGED_WITHIN_S = 2.0
"""A bot that is too busy for a change gives up later than that, and acks."""


async def test_what_was_acked_and_accepted_outlives_kills_and_a_stop_loses_nothing(make_world):
    async with make_world() as world:
        acked_after_s = CHANGED_WITHIN_S
        while acked_after_s >= CHANGED_WITHIN_S:
            began_s = time.monotonic()
            assert (await world.person().types("/racing subscribe GB", channel="CGB")).error is None
            acked_after_s = time.monotonic() - began_s
        world.bot.kill()
        await world.bot.start()
        # Slack asks for a wait while the delivery comes in, so the process is killed with the post still to be made.
        world.slack.script("chat.postMessage", [], then_always=failures.rate_limited(1))
        await world.bot.accept(result())
        world.bot.kill()
        assert world.texts("CGB") == []
        world.slack.script("chat.postMessage", [])
        await world.bot.start()
        await world.wait_for_posts("CGB", 1)
        await asyncio.gather(*(world.bot.accept(result(f"rc_late{n}", course=f"Park {n}")) for n in range(2)))
        assert await world.bot.stop() == 0
        assert "Traceback" not in world.bot.log
        await world.bot.start()
        texts = await world.wait_for_posts("CGB", 3)
        assert len(texts) == len(set(texts)) == 3


async def test_deliveries_are_taken_while_the_bot_is_stuck_or_dead_and_each_is_told_once(make_world):
    async with make_world() as world:
        await world.subscribe("CGB", "GB")
        (bot,) = world.bot.process.children
        # On a busy machine the receiver answers first.
        assert bot.nice() > psutil.Process(bot.ppid()).nice()
        bot.suspend()
        assert (await world.bot.deliver(result("rc_1", course="Park 1"))).json() == {"status": "accepted"}
        assert await world.bot.readiness() == (
            *(200, {"status": "degraded", "degraded": {"bot": "does not answer; deliveries are stored"}}),
        )
        bot.kill()
        await until(lambda: '"event": "bot_ended"' in world.bot.log)
        async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
            # A request that is for the bot waits for the next bot.
            assert "racing_bot_" in (await client.get(f"{world.bot.url}/metrics")).text
        assert (await world.bot.deliver(result("rc_2", course="Park 2"))).json() == {"status": "accepted"}
        assert (await world.bot.deliver(result("rc_1", course="Park 1"))).json() == {"status": "duplicate"}
        await world.wait_for_posts("CGB", 2)
        # Written down as sent: a post in doubt would hold the channel until its lease is over.
        await until(lambda: world.bot.log.count('"outcome": "sent"') == 2)
        (again,) = world.bot.process.children
        # The receiver's death is the bot's, and another receiver has another bot.
        world.bot.kill()
        await until(lambda: not again.is_running() or again.status() == psutil.STATUS_ZOMBIE)
        await world.bot.start()
        assert (await world.bot.deliver(result("rc_3", course="Park 3"))).json() == {"status": "accepted"}
        texts = await world.wait_for_posts("CGB", 3)
        assert len(texts) == len(set(texts)) == 3
        assert await world.bot.stop() == 0


async def test_starts_and_takes_deliveries_while_nothing_outside_answers(make_world):
    async with make_world(RACING_API_URL=f"{NOWHERE}/v1") as world:
        assert "could not check" in await world.say("/racing", "subscribe gb", channel="CGB")
        await world.bot.wait_degraded("job check_quota")
        await world.bot.stop()
        slack_url, world.bot.env["SLACK_API_URL"] = world.bot.env["SLACK_API_URL"], f"{NOWHERE}/api/"
        await world.bot.start()
        await world.bot.accept(abandoned())
        await world.bot.wait_degraded("slack")
        await world.bot.stop()
        world.bot.env["SLACK_API_URL"] = slack_url
        await world.bot.start()
        (text,) = await world.wait_for_posts("CGB", 1)
        assert text.startswith("ABANDONED")


async def test_port_that_is_taken_ends_the_start_and_is_named(make_world):
    async with make_world() as world:
        folder = world.bot.folder / "second"
        folder.mkdir()
        second = Bot(world.bot.port, folder, world.bot.env | {"DATABASE_URL": f"sqlite:///{folder}/b.db"})
        await second.start(ready=False)
        assert await second.ended() == 1
        assert "already in use" in second.log
        assert "set PORT or HOST to a free address" in second.log
        assert f'"port": {world.bot.port}' in second.log
        assert "Traceback" not in second.log


async def test_private_port_that_is_taken_ends_the_start(make_world):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        private = {"METRICS_HOST": "127.0.0.1", "METRICS_PORT": str(taken.getsockname()[1])}
        async with make_world(start=False, **private) as world:
            await world.bot.start(ready=False)
            assert await world.bot.ended() == 1
            assert '"event": "metrics_address_not_to_be_had"' in world.bot.log


async def test_second_sigterm_ends_a_bot_that_hangs(make_world):
    async with make_world() as world:
        (bot,) = world.bot.process.children
        bot.suspend()
        world.bot.process.terminate()
        await until(lambda: not is_heard(world.bot.url))
        assert bot.is_running()
        world.bot.process.terminate()
        assert await world.bot.ended() == 137
        assert not bot.is_running()


def is_heard(url: str) -> bool:
    address = httpx.URL(url)
    with socket.socket() as asked:
        return asked.connect_ex((address.host, address.port or 80)) == 0


async def test_bot_with_both_secrets_takes_both_ways_and_shows_no_secret(make_world):
    async with make_world(SLACK_APP_TOKEN=APP_TOKEN, SLACK_SIGNING_SECRET=SIGNING_SECRET, LOG_LEVEL="debug") as world:
        await world.subscribe("CGB", "GB")
        opened = world.slack.sockets.opened
        world.slack.script("apps.connections.open", [failures.slack_error("invalid_auth"), failures.html(502)])
        await world.slack.sockets.cut()
        await world.slack.wait_for(lambda: world.slack.sockets.opened > opened)
        world.slack.socket_mode = False
        world.service.fail_next("*", "server_error", times=2)
        await world.say("/usage", "", channel="CGB")
        for body in (result(), b"not json"):
            await world.bot.deliver(body)
        await world.wait_for_posts("CGB", 1)
        async with httpx.AsyncClient() as client:
            metrics = (await client.get(f"{world.bot.url}/metrics")).text
        assert "racing_bot_deliveries_total" in metrics
        await world.bot.stop()
        said = world.bot.log + metrics
        assert "socket_mode_not_connected" in said
        secrets = [
            value for name, value in world.bot.env.items() if {"KEY", "SECRETS", "SECRET", "TOKEN"} & {*name.split("_")}
        ]
        assert len(secrets) == 5
        assert [one for one in (*secrets, "sandbox-ticket", "Traceback") if one in said] == []


async def test_stop_during_the_first_reading_of_the_lists_is_no_failure(make_world):
    async with make_world(switches=Switches(allow_http_loopback=True, slow_s=60), start=False) as world:
        world.service.fail_next("/reference", "slow", times=10)
        await world.bot.start()
        await until(lambda: len(world.service.failures["/reference"]) < 10)
        assert await world.bot.stop() == 0
        assert [one for one in ("Traceback", "CancelledError") if one in world.bot.log] == []
        assert '"event": "stopped"' in world.bot.log


@pytest.mark.parametrize(
    ("program", "used", "left_out"),
    [
        (
            "bot.receiver.program, bot.cli.server",
            {"slack_bolt.async_app", "httpx", "uvicorn.server"},
            {"aiohttp.web_app", "rich.console", "uvicorn.supervisors", "click", "slack_sdk.web.base_client"},
        ),
        (
            "bot.receiver.program",
            {"uvicorn.server"},
            {"pydantic", "sqlalchemy", "starlette", "slack_sdk", "slack_bolt"},
        ),
    ],
    ids=["both", "receiver"],
)
def test_program_loads_nothing_that_it_has_no_use_for(program, used, left_out):
    words = (
        f"import sys; from bot.web.unused_modules import leave_out; leave_out(); import {program}; print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", words], cwd=ROOT, check=True, capture_output=True, text=True)
    loaded = set(run.stdout.split())
    assert used <= loaded
    assert left_out & loaded == set()


def start_without_priority(folder: Path) -> None:
    """Be the bot, without settings, where the system refuses a lower priority."""

    def refuse(_priority: int) -> int:
        raise PermissionError

    os.environ.clear()
    os.chdir(folder)
    os.dup2(os.open("errors", os.O_WRONLY | os.O_CREAT, 0o644), 2)
    os.nice = refuse
    from bot.cli.server import be_the_bot

    be_the_bot(0, 0, os.pipe()[0])


def test_bot_starts_where_a_sandbox_refuses_a_lower_priority(tmp_path):
    process = PROCESSES.Process(target=start_without_priority, args=(tmp_path,))
    process.start()
    process.join(PATIENCE_S)
    assert (process.exitcode, "RACING_API_URL is missing" in (tmp_path / "errors").read_text()) == (2, True)


STARTED_IN = ("unshare", "--pid", "--fork", "--kill-child")
"""Makes the bot the first process of its namespace, as in a container."""


def first_process_possible() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*STARTED_IN, "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("loaded", ["_socket", "httptools"])
async def test_sigterm_ends_the_first_process_while_it_still_loads(make_world, loaded):
    """Told when a library of the start is loaded: of the command line, of the server."""
    if not first_process_possible():
        pytest.skip("this machine lets nobody start the first process of a namespace (unshare --pid)")
    async with make_world(start=False) as world:
        env = {"PATH": os.environ["PATH"], "PORT": str(world.bot.port), "PYTHONPATH": str(ROOT)} | world.bot.env
        process = await asyncio.create_subprocess_exec(
            *STARTED_IN, sys.executable, "-m", "bot", "serve", cwd=world.bot.folder, env=env
        )
        try:
            await until(lambda: bool(psutil.Process(process.pid).children()))
            (bot,) = psutil.Process(process.pid).children()
            await until(lambda: any(loaded in one.path for one in bot.memory_maps()))
            bot.terminate()
            async with asyncio.timeout(PATIENCE_S):
                code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert code in {0, 143}


def close_data(folder: Path) -> None:
    make_read_only(folder / "data")


async def test_folder_that_cannot_be_written_is_named_with_the_user(make_world, tmp_path):
    if reason := why_not(tmp_path):
        pytest.skip(reason)
    data = tmp_path / "data"
    data.mkdir()
    async with make_world(start=False, DATABASE_URL=f"sqlite:///{data / 'bot.db'}") as world:
        world.bot.prepare = close_data
        await world.bot.start(ready=False)
        await world.bot.wait_for_answer(503, "the database's file or folder can't be written")
        assert (await world.bot.deliver(result())).status_code == 503
        line = next(line for line in world.bot.log.splitlines() if "schema_not_ready" in line)
        told = f"uid {os.getuid()} can't write {data}, which belongs to uid {data.stat().st_uid}"
        assert told in json.loads(line)["reason"]


def large_card(note: str) -> dict[str, object]:
    """A racecard of very many races. Its second version changes so many pages that SQLite wants a file for them."""
    meeting = {"meeting_id": "mt_1", "region": "GB", "date": DAY, "course": {"course_id": "cr_1", "name": "Ascot"}}
    races = [
        {key: meeting[key] for key in ("region", "date", "course")}
        | {
            "race_id": f"rc_of_a_card_{number}",
            "off_time": f"{12 + number // 60}:{number % 60:02}",
            "name": f"Handicap {number} {note}" + " of the very long name" * 20,
        }
        for number in range(300)
    ]
    return {"event": "racecard.published", "data": {"meeting": meeting | {"races": races}}}


async def test_abandonment_is_told_where_no_temporary_file_can_be_made(make_world, tmp_path):
    """As in a container whose file system is read-only."""
    if reason := why_not(tmp_path):
        pytest.skip(reason)
    async with make_world(start=False) as world:
        world.bot.prepare = take_temporary_folders
        await world.bot.start()
        await world.subscribe("CGB", "GB")
        for delivery in (large_card("first"), large_card("second"), abandoned()):
            assert (await world.bot.deliver(delivery)).status_code == 200
        (text,) = await world.wait_for_posts("CGB", 1)
        assert text.startswith("ABANDONED")
        assert "unable to open" not in world.bot.log


# PostgreSQL


async def test_bot_starts_before_the_schema_and_deliveries_are_taken_meanwhile(make_world, postgres_server):
    url = new_postgres_database(postgres_server)
    move_clock(url)
    async with make_world(start=False, DATABASE_URL=url) as world:
        await world.bot.start(ready=False)
        await world.bot.wait_for_answer(503, "migrate")
        assert (await world.bot.deliver(result("rc_early"))).json() == {"status": "accepted"}
        assert (await run_command(world.bot, "migrate")).code == 0
        await world.bot.wait_for_answer(200)
        await world.subscribe("CGB", "GB")
        assert (await world.bot.deliver(result())).status_code == 200
        assert len(await world.wait_for_posts("CGB", 1)) == 1
        assert (await world.bot.deliver(result("rc_early"))).json() == {"status": "duplicate"}


async def test_two_replicas_are_one_bot(make_world, postgres_server, tmp_path):
    url = new_postgres_database(postgres_server)
    move_clock(url)
    async with make_world(start=False, DATABASE_URL=url) as world:
        assert (await run_command(world.bot, "migrate")).code == 0
        await world.bot.start()
        folder = tmp_path / "other"
        folder.mkdir()
        other = Bot(own_port(), folder, world.bot.env)
        await other.start()
        try:
            await world.subscribe("CGB", "GB")
            await world.subscribe("CALL", "all")
            both = (world.bot, other)
            answers = await asyncio.gather(
                *(both[n % 2].deliver(result(f"rc_{n % 4}", course=f"Course {n % 4}")) for n in range(24))
            )
            assert sorted(answer.json()["status"] for answer in answers) == ["accepted"] * 4 + ["duplicate"] * 20
            assert (await other.deliver(abandoned())).status_code == 200
            world.bot.kill()
            texts = await world.wait_for_posts("CGB", 5)
            await world.wait_for_posts("CALL", 5)
            assert len(set(texts)) == 5
            assert await other.stop() == 0
        finally:
            if other.process is not None and other.process.poll() is None:
                other.kill()
