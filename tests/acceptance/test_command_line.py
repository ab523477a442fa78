"""The commands of the shell as scripts and containers use them: exit codes, stdout, and a bot running beside.

The words of the command line are tested in `tests/unit/test_command_line.py`.
"""

import asyncio
import json
import os
import re
import signal
import sqlite3
import sys
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet
from sqlalchemy import Engine, event
from sqlalchemy.engine.default import DefaultDialect

from bot.deliveries.journal import Journal, Letter
from sandbox.racing_service.switches import Switches
from sandbox.slack import failures
from tests.acceptance.forked import run_command
from tests.clock import PATIENCE_S, START, now
from tests.databases import NEWEST, OLDEST, make_older_database
from tests.world import API_KEY, abandoned, until

EVENTS = ("result.received", "race.abandoned", "meeting.abandoned", "racecard.published")
NEED_SETTINGS = (("serve",), ("subscribe",), ("unlatch",), ("repair",), ("restored",), ("subscriptions", "export"))


async def test_every_command_without_settings_says_what_to_do(make_world):
    async with make_world(start=False) as world:
        nothing = dict.fromkeys(world.bot.env)
        told = ("RACING_API_URL", "RACING_API_KEY", "SLACK_BOT_TOKEN", ".env", "docs/settings.md", "README")
        for words in NEED_SETTINGS:
            ran = await run_command(world.bot, *words, **nothing)
            assert (ran.code, ran.out) == (2, ""), words
            assert [one for one in (*told, f"{world.bot.folder}/.env", "racing-bot doctor") if one not in ran.err] == []
        ran = await run_command(world.bot, "doctor", **nothing)
        assert (ran.code, ran.err) == (2, "")
        assert [name for name in told if name not in ran.out] == []
        for words in (("migrate",), ("manifest", "--socket")):
            assert (await run_command(world.bot, *words, **nothing)).code == 0


async def test_commands_that_fail_exit_with_1_say_so_on_stderr_and_show_no_secret(make_world):
    async with make_world(start=False) as world:
        away = "postgresql://racing@127.0.0.1:9/racing?password=secret%2D1&sslpassword=secret-2"
        keys = Fernet.generate_key().decode()
        known: dict[str, Any] = {"DATABASE_URL": away, "ENCRYPTION_KEYS": keys, "PUBLIC_URL": "https://bot.example.com"}
        for words in (("unlatch",), ("migrate",), ("subscribe",), ("restored",), ("subscriptions", "export")):
            ran = await run_command(world.bot, *words, **known)
            assert (ran.code, ran.out) == (1, ""), words
            assert re.search("(database|postgresql).*Connection refused", ran.err), ran.err
            assert not re.search("secret|psycopg|Error", ran.err)
            assert ran.err.count("\n") == 1
        assert world.service.requests == []
        examined = await run_command(world.bot, "doctor", DATABASE_URL=away)
        assert "failed   database: postgresql://racing@127.0.0.1:9/racing\n" in examined.out
        assert not re.search("secret(-|%2D)[12]", examined.said)
        missing = await run_command(world.bot, "repair", "--dry-run")
        assert (missing.code, missing.out) == (1, "")
        assert not (world.bot.folder / "bot.db").exists()


async def test_migrate_says_in_english_what_it_did(make_world):
    async with make_world(start=False) as world:
        address, file = world.bot.env["DATABASE_URL"], world.bot.folder / "bot.db"
        assert (await run_command(world.bot, "migrate")).out == f"{address}: all tables are made, revision {NEWEST}.\n"
        file.unlink()
        make_older_database(address)
        migrated = await run_command(world.bot, "migrate")
        kept = f"The database as before is kept at {file}.revision-{OLDEST}."
        assert (migrated.code, migrated.err) == (0, "")
        assert migrated.out == f"{address}: migrated from revision {OLDEST} to revision {NEWEST}. {kept}\n"
        assert (await run_command(world.bot, "migrate")).out == f"{address}: already up to date, revision {NEWEST}.\n"
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        for words in (("migrate",), ("unlatch",)):
            newer = await run_command(world.bot, *words)
            assert (newer.code, newer.out) == (1, "")
            assert "9999" in newer.err


async def test_backup_and_status_read_the_database_of_a_running_bot_and_status_a_stopped_bots_journal(make_world):
    async with make_world() as world:
        await world.subscribe("CGB", "GB")
        await world.bot.accept({})
        await world.bot.accept(abandoned())
        await world.wait_for_posts("CGB", 1)
        ran = await run_command(world.bot, "status", "--json")
        found = json.loads(ran.out)
        assert (ran.code, ran.err) == (0, "")
        assert (found["schema"], found["replicas"], found["deliveries"]) == (NEWEST, 1, {"": 1, "race.abandoned": 1})
        said = (await run_command(world.bot, "status")).out
        assert "deliveries: without an event 1, race.abandoned 1\n" in said
        assert re.search(r"^posts within s: p50 \d+\.\d\d, p95 \d+\.\d\d$", said, re.MULTILINE)
        copy = world.bot.folder / "copy.db"
        assert (await run_command(world.bot, "backup", str(copy))).code == 0
        kept = copy.read_bytes()
        again = await run_command(world.bot, "backup", str(copy))
        assert (again.code, again.out, copy.read_bytes()) == (1, "", kept)
        nowhere = await run_command(world.bot, "backup", str(world.bot.folder / "none" / "copy.db"))
        assert (nowhere.code, "/none does not exist" in nowhere.err, "Errno" in nowhere.err) == (1, True, False)
        away = await run_command(world.bot, "backup", "x", DATABASE_URL="postgresql://racing:secret@127.0.0.1:9/racing")
        assert (away.code, "pg_dump" in away.err, "secret" in away.err) == (1, True, False)
        assert await world.bot.stop() == 0
        with closing(Journal(world.bot.env["DATABASE_URL"], lambda: 0.0)) as journal:
            journal.append([Letter("a" * 64, "req-1", START, b"{}"), Letter("b" * 64, "req-2", START, b"{}")])
        assert "waiting deliveries: 2\n" in (await run_command(world.bot, "status")).out
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute(
            "SELECT count(*) FROM message WHERE state = 'sent' AND kind = 'event'"
        ).fetchone() == (1,)


def have_an_ascii_terminal(_folder: Path) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="ascii")  # type: ignore[union-attr]  # as text files are


async def test_letters_that_the_terminal_lacks_are_shown_as_numbers(make_world):
    async with make_world(start=False) as world:
        ran = await run_command(world.bot, "doctor", prepare=have_an_ascii_terminal, SLACK_BOT_TOKEN="xoxp-1")
    assert (ran.code, ran.err) == (2, "")
    assert "(xoxp-\\u2026)" in ran.out


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


async def deliver_one(world) -> None:
    """Settle a race, and deliver its result by the newest subscription, until accepted.

    The bot looks for new secrets every few seconds at most, and a busy disk takes seconds to store a delivery: the
    service sends a refused delivery again.
    """
    race = next(race for race in world.service.racing.races() if world.service.racing.state(race).status == "declared")
    *_, delivery = world.service.settle(race.race_id)
    async with asyncio.timeout(PATIENCE_S):
        while delivery.status != "delivered":
            await world.service.deliver_due()
            await asyncio.sleep(0.2)


async def test_running_bot_takes_the_secret_of_a_new_subscription_and_keys_rotate(make_world):
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    # More attempts than the time allows.
    switches = Switches(allow_http_loopback=True, retry_gaps_s=(0.0,) * 1_000)
    async with make_world(start=False, switches=switches, ENCRYPTION_KEYS=old, RACING_WEBHOOK_SECRETS="") as world:
        world.bot.env["PUBLIC_URL"] = world.bot.url
        await world.bot.start()
        for endpoint in ("/reference", "/courses", "/countries"):
            world.service.fail_next(endpoint, "server_error", times=100)
        world.service.fail_next("/webhooks/subscribe", "server_error")
        failed = await run_command(world.bot, "subscribe", LOG_LEVEL="debug")
        assert (failed.code, failed.out) == (1, "")
        assert API_KEY not in failed.err
        made = await run_command(world.bot, "subscribe", "--region", "GB", LOG_FORMAT="console")
        assert (made.code, len(made.out.splitlines())) == (0, 2)
        assert world.service.subscriptions[-1].secret not in made.said
        assert "region_not_checked" in made.err
        await deliver_one(world)
        for keys in (f"{new},{old}", new):
            world.bot.kill()
            world.bot.env["ENCRYPTION_KEYS"] = keys
            await world.bot.start()
            await deliver_one(world)


async def test_file_of_subscriptions_is_exported_changed_and_applied_beside_a_running_bot(make_world):
    async with make_world(ADMIN_USERS="UALICE") as world:
        await world.subscribe("CGB", "GB")

        async def run(*words):
            return await run_command(world.bot, "subscriptions", *words)

        exported = await run("export")
        assert (exported.code, exported.err) == (0, "")
        file = world.bot.folder / "subscriptions.yaml"
        file.write_text(exported.out + "  CIRE:\n  - region: IRE\n    topics: [abandonments]\n")
        unasked = await run("apply", str(file))
        assert (unasked.code, "  + abandonments from IRE\n1 new\n" in unasked.out) == (1, True)
        assert "Give --yes" in unasked.err
        assert json.loads((await run("export", "--json")).out)["channels"].keys() == {"CGB"}
        applied = await run("apply", str(file), "--yes")
        assert (applied.code, "Done (apply-" in applied.out) == (0, True)
        assert (await world.bot.deliver(abandoned(region="IRE"))).status_code == 200
        await world.wait_for_posts("CIRE", 1)
        assert "operator" in await world.say("/racing", "audit all", channel="CADMIN")
        file.write_text("version: 1\nchannels:\n  C1:\n  - region: GB\n    topics: [result]\n  gb: []\n")
        wrong = await run("apply", str(file), "--yes")
        assert (wrong.code, wrong.out) == (2, "")
        assert [line for line in ("channels.C1.0.topics.0: ", "channels.gb: ") if line not in wrong.err] == []
        missing = await run("apply", str(world.bot.folder / "none.yaml"))
        assert (missing.code, missing.out) == (2, "")


def asked(world) -> int:
    """How many requests cost quota, or would have."""
    return sum(request.endpoint != "/account/usage" for request in world.service.requests)


async def test_breaker_of_a_used_up_quota_outlives_a_kill_holds_up_no_alert_and_is_reset_at_a_word(make_world):
    async with make_world(start=False, ADMIN_USERS="UADMIN") as world:
        world.service.set_used(15_000)
        # Usage would tell before the refusal does, and close the circuit breaker again by itself.
        world.service.fail_next("/account/usage", "server_error", times=1_000)
        await world.bot.start()
        await world.wait_for_text("CADMIN", "racing-bot unlatch quota")
        # By the answer the requests of two jobs at start are refused, should both have gone out at once.
        await world.say("/racecard", "GB", channel="CGB")
        before = asked(world)
        assert 1 <= before <= 2
        world.bot.kill()
        await world.bot.start()
        assert "used up. The service answers again on 1 " in await world.say("/racecard", "GB", channel="CGB")
        assert asked(world) == before
        await world.subscribe("CGB", "GB")
        await world.bot.deliver(abandoned())
        await world.wait_for_posts("CGB", 1)
        # The month is the same, but somebody has bought more requests: the running bot believes the command.
        world.service.set_used(0)
        ran = await run_command(world.bot, "unlatch", "quota")
        assert (ran.code, ran.said.split(",")[0]) == (0, "quota: closed again")
        assert "used up" not in await world.say("/racecard", "GB", channel="CGB")
        assert asked(world) > before


def looks(world):
    return [one for one in world.service.requests if one.endpoint == "/webhooks/deliveries"]


async def lose(world) -> None:
    """The service gives up deliveries of all four events, thirty hours ago: nobody listened at the address."""
    service = world.service
    service.subscribe("http://127.0.0.1:9/webhooks/racing", frozenset(EVENTS))
    first, second = service.racing.meetings(START.date(), "GB")[:2]
    service.clock = lambda: START - timedelta(hours=30)
    service.settle(first.races[0].race_id)
    service.abandon_race(first.races[1].race_id, "Frozen track")
    service.abandon_meeting(second.meeting_id, "Waterlogged")
    service.publish("racecard.published", first)
    for number, delivery in enumerate(service.deliveries):
        delivery.shape = ("bare", "listed", "counted")[number % 3]
    await service.deliver_due()
    service.clock = now
    assert {delivery.status for delivery in service.deliveries} == {"failed"}


def before_the_commit(_folder: Path) -> None:
    """Nothing of the transaction is stored."""
    _die(is_committed=False)


def after_the_commit(_folder: Path) -> None:
    """Everything of the transaction is stored, and nothing after it is carried out."""
    _die(is_committed=True)


def _die(*, is_committed: bool) -> None:
    """At the commit by which the process queues its first message."""
    commit, queued = DefaultDialect.do_commit, list[str]()

    @event.listens_for(Engine, "after_cursor_execute")
    def _executed(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO message "):
            queued.append(statement)

    def do_commit(self: DefaultDialect, connection: Any) -> None:
        if queued and not is_committed:
            os.kill(os.getpid(), signal.SIGKILL)
        commit(self, connection)
        if queued:
            os.kill(os.getpid(), signal.SIGKILL)

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]  # in a dying process


def hang_at_a_commit(_folder: Path) -> None:
    """The disk does not answer, and the person presses Ctrl-C."""

    def do_commit(_self: DefaultDialect, _connection: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait()

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]  # in a dying process


async def test_command_whose_commit_hangs_is_ended_by_the_person(make_world):
    async with make_world(start=False) as world:
        assert (await run_command(world.bot, "unlatch", prepare=hang_at_a_commit)).code == -signal.SIGINT


async def test_repair_shows_and_makes_good_what_failed_once_whatever_kills_it(make_world):
    gives_up = Switches(allow_http_loopback=True, retry_gaps_s=())
    # `serve` looks at its start, and not again within the test.
    async with make_world(switches=gives_up, REPAIR_CHECK_S="2678400") as world:
        await world.subscribe("CGB", "GB results abandonments racecards")
        await until(lambda: bool(looks(world)))
        await lose(world)
        ran = await run_command(world.bot, "repair", "--dry-run", "--json")
        answer = json.loads(ran.out)
        assert (ran.code, answer["records"], len(answer["made_good"]), answer["unreadable"]) == (0, 4, 4, [])
        assert len(answer["events"]) == 4
        assert answer["answered"] == {"no answer (ConnectError)": 4}
        for prepare in (before_the_commit, after_the_commit):
            assert world.texts("CGB") == []
            assert (await run_command(world.bot, "repair", prepare=prepare)).code < 0
        (text,) = await world.wait_for_posts("CGB", 1)
        assert text.startswith("ABANDONED: ")
        done = await run_command(world.bot, "repair")
        assert done.code == 0
        assert "Known already: 4" in done.out
        await world.wait_for_posts("CADMIN", 1)
        assert len(world.texts("CGB")) == len(world.texts("CADMIN")) == 1
