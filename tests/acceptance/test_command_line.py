"""The command line as scripts and containers meet it: exit codes, what is on stdout, and how it ends."""

import asyncio
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest
from cryptography.fernet import Fernet

from sandbox.racing_service.switches import Switches
from sandbox.slack import failures
from tests.acceptance.command_line import run_command
from tests.acceptance.conftest import API_KEY, until
from tests.acceptance.payloads import abandoned
from tests.older_database import NEWEST, make_older_database

ROOT = Path(__file__).parents[2]
EVENTS = ("result.received", "race.abandoned", "meeting.abandoned", "racecard.published")
SUBSCRIBING = {"ENCRYPTION_KEYS": Fernet.generate_key().decode(), "PUBLIC_URL": "https://bot.example.com"}

WRONG_WORDS = {
    (): ["Usage:", "subscribe"],
    ("nosuch",): ["No such command 'nosuch'"],
    ("subscribe", "--event", "results"): ["--event", '"results"', *EVENTS],
    ("subscribe", "--event", "race.abandoned", "--event", "Race.Abandoned"): ['"Race.Abandoned"', *EVENTS],
    ("subscribe", "--retire", "1", "--event", "race.abandoned"): ["--retire", "without other options"],
    ("subscribe", "--retire", "1", "--show-secret"): ["--retire", "without other options"],
    ("subscribe", "--retire", "0"): ["--retire"],
    ("subscribe", "--region", " "): ["--region", "all regions"],
    ("unlatch", "month"): ['"month"', "quota, key or plan"],
    ("manifest",): ["--url", "--socket", "one of the two"],
    ("manifest", "--socket", "--url", "https://bot.example.com"): ["one of the two"],
    ("manifest", "--url", "http://bot.example.com"): ["--url", "must be https"],
    ("manifest", "--url", "https://bot.example.com/slack/events"): ["--url", "must end before /slack/events"],
    ("demo", "--speed", "0"): ["--speed"],
    ("migrate", "now"): ["now"],
    ("subscriptions",): ["Usage:", "export", "apply"],
    ("subscriptions", "apply"): ["FILE"],
    ("serve", "--json"): ["--json"],
    ("doctor", "now"): ["now"],
    ("doctor", "--yaml"): ["--yaml"],
}

NEED_SETTINGS = (("serve",), ("subscribe",), ("unlatch",), ("repair",), ("restored",), ("subscriptions", "export"))
NEED_NO_SETTINGS = ("doctor", "demo", "manifest", "migrate")
"""`migrate` has a default for the only setting in use; `doctor` tells of the settings as of everything else."""


async def test_wrong_words_are_told_on_stderr_with_exit_code_2(make_world):
    async with make_world(start=False, **SUBSCRIBING) as world:
        for words, told in WRONG_WORDS.items():
            ran = await run_command(world.bot, *words)
            assert (ran.code, ran.out) == (2, ""), words
            for one in told:
                assert one in ran.err, words
            assert "settings" not in ran.err, words
        assert world.service.requests == []


async def test_every_command_without_settings_says_what_to_do(make_world):
    async with make_world(start=False) as world:
        nothing = dict.fromkeys(world.bot.env)
        told = ("RACING_API_URL", "RACING_API_KEY", "SLACK_BOT_TOKEN", ".env", "docs/settings.md", "README")
        for words in NEED_SETTINGS:
            ran = await run_command(world.bot, *words, **nothing)
            assert (ran.code, ran.out) == (2, ""), words
            assert [
                name for name in (*told, f"{world.bot.folder}/.env", "racing-bot doctor") if name not in ran.err
            ] == []
        ran = await run_command(world.bot, "doctor", **nothing)
        assert (ran.code, ran.err) == (2, "")
        assert [name for name in told if name not in ran.out] == []
        assert (await run_command(world.bot, "--version", **nothing)).out == f"racing-bot {version('racing-bot')}\n"
        assert (await run_command(world.bot, "migrate", **nothing)).code == 0
        assert (await run_command(world.bot, "manifest", "--socket", **nothing)).code == 0


async def test_every_command_explains_itself_without_settings(make_world):
    async with make_world(start=False) as world:
        nothing = dict.fromkeys(world.bot.env)
        ran = await run_command(world.bot, "--help", **nothing)
        assert (ran.code, ran.err) == (0, "")
        listed = re.findall(r"^  ([a-z]+)  +\S", ran.out.partition("Commands:")[2], flags=re.MULTILINE)
        assert set(listed) == {*(first for first, *_ in NEED_SETTINGS), *NEED_NO_SETTINGS}, (
            "say of a new command whether settings are needed"
        )
        for command in listed:
            ran = await run_command(world.bot, command, "--help", **nothing)
            assert (ran.code, ran.err) == (0, ""), command
            assert ran.out.startswith(f"Usage: racing-bot {command} [OPTIONS]"), ran.out
            assert re.search(r"^  [A-Z].*\.", ran.out, flags=re.MULTILINE), f"{command} says nothing of itself"


async def test_stdout_has_the_answer_and_stderr_the_log(make_world):
    async with make_world(start=False, **SUBSCRIBING) as world:
        for endpoint in ("/reference", "/courses", "/countries"):
            world.service.fail_next(endpoint, "server_error", times=100)
        made = await run_command(world.bot, "subscribe", "--region", "GB", LOG_FORMAT="console")
        assert made.code == 0
        (subscription,) = world.service.subscriptions
        first, second = made.out.splitlines()
        assert first.startswith("Subscription 1 is made")
        assert "--show-secret" in second
        assert subscription.secret not in made.said
        assert "region_not_checked" in made.err
        world.service.fail_next("/webhooks/subscribe", "server_error")
        failed = await run_command(world.bot, "subscribe", "--again", LOG_LEVEL="debug")
        assert (failed.code, failed.out) == (1, "")
        assert "data service failed" in failed.err
        assert API_KEY not in failed.err


async def test_commands_that_fail_exit_with_1_and_say_so_on_stderr(make_world):
    async with make_world(start=False, **SUBSCRIBING) as world:
        away = "postgresql://racing@127.0.0.1:9/racing?password=secret%2D1&sslpassword=secret-2"
        for words in (("unlatch",), ("migrate",), ("subscribe",), ("restored",)):
            ran = await run_command(world.bot, *words, DATABASE_URL=away)
            assert (ran.code, ran.out) == (1, ""), words
            assert "database" in ran.err or "postgresql" in ran.err
            assert "secret" not in ran.err
        assert world.service.requests == []
        examined = await run_command(world.bot, "doctor", DATABASE_URL=away)
        assert "failed   database: postgresql+psycopg://racing@127.0.0.1:9/racing\n" in examined.out
        assert not re.search("secret(-|%2D)[12]", examined.said)


async def test_migrate_says_in_english_what_it_did(make_world):
    async with make_world(start=False) as world:
        address, file = world.bot.env["DATABASE_URL"], world.bot.folder / "bot.db"
        assert (await run_command(world.bot, "migrate")).out == f"{address}: all tables are made, revision {NEWEST}.\n"
        file.unlink()
        await make_older_database(address, "0002")
        migrated = await run_command(world.bot, "migrate")
        assert (migrated.code, migrated.err) == (0, "")
        assert migrated.out == f"{address}: migrated from revision 0002 to revision {NEWEST}.\n"
        assert (await run_command(world.bot, "migrate")).out == f"{address}: already up to date, revision {NEWEST}.\n"
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        for words in (("migrate",), ("unlatch",)):
            newer = await run_command(world.bot, *words)
            assert (newer.code, newer.out) == (1, "")
            assert "9999" in newer.err
            assert "a newer version has migrated the database" in newer.err


def test_letters_that_the_terminal_lacks_are_shown_as_numbers(tmp_path):
    """A process of its own: the encoding is chosen when the interpreter starts."""
    env = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT), "SLACK_BOT_TOKEN": "xoxp-1"}
    command = [sys.executable, "-m", "bot", "doctor"]
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"")
    assert b"(xoxp-\\u2026)" in ran.stdout


async def test_restored_is_refused_while_a_bot_runs_and_says_what_waited(make_world):
    async with make_world() as world:
        await world.subscribe("CGB", "GB")
        refused = await run_command(world.bot, "restored")
        assert (refused.code, refused.out) == (1, "")
        assert "stop the bot first" in refused.err
        world.slack.script("chat.postMessage", [failures.slack_error("service_unavailable")] * 100)
        assert (await world.bot.deliver(abandoned())).status_code == 200
        assert await world.bot.stop() == 0
        told = await run_command(world.bot, "restored")
        assert (told.code, told.err) == (0, "")
        assert told.out.startswith("Messages that waited in this copy: 1, the oldest from 20")


async def test_subscription_to_other_events_is_made_and_what_would_come_twice_is_named(make_world):
    async with make_world(start=False, **SUBSCRIBING) as world:

        async def subscribe(*words):
            return await run_command(world.bot, "subscribe", *words)

        assert (await subscribe("--region", "GB", "--event", "race.abandoned")).code == 0
        for other in (("--region", "IRE", "--event", "race.abandoned"), ("--region", "GB", "--event", EVENTS[0])):
            made = await subscribe(*other)
            assert made.code == 0, made.said
        refused = await subscribe("--event", "race.abandoned", "--event", "meeting.abandoned")
        assert (refused.code, refused.out) == (1, "")
        for told in (
            "1: https://bot.example.com/webhooks/racing, race.abandoned, GB",
            "2: https://bot.example.com/webhooks/racing, race.abandoned, IRE",
            "  race.abandoned from GB\n  race.abandoned from IRE\n",
            "racing-bot subscribe --event meeting.abandoned\n",
            "--again",
        ):
            assert told in refused.err
        assert "result.received" not in refused.err
        assert len(world.service.subscriptions) == 3
        everything = await subscribe("--region", "GB")
        assert "  race.abandoned from GB\n  result.received from GB\n" in everything.err
        assert "subscribe --region GB --event meeting.abandoned --event racecard.published\n" in everything.err
        assert (await subscribe("--region", "GB", "--again")).code == 0


async def test_stop_during_the_first_reading_of_the_lists_is_no_failure(make_world):
    slow = Switches(allow_http_loopback=True, slow_s=60)
    async with make_world(switches=slow, start=False) as world:
        world.service.fail_next("/reference", "slow", times=10)
        await world.bot.start()
        await until(lambda: world.service.failures_left("/reference") < 10)
        assert await world.bot.stop() == 0
        assert "Traceback" not in world.bot.log
        assert "CancelledError" not in world.bot.log
        assert '"event": "stopped"' in world.bot.log


STARTED_IN = ("unshare", "--pid", "--fork", "--kill-child")
"""Makes the bot the first process of its namespace, as in a container."""


def first_process_possible() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*STARTED_IN, "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("loaded", ["_socket", "pydantic_core", "httptools"])
async def test_sigterm_ends_the_first_process_while_it_still_loads(make_world, loaded):
    """Told when a library of the start is loaded: of the command line, of the settings, of the server."""
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
            async with asyncio.timeout(60):
                code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert code in {0, 143}
