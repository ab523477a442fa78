"""Findings of clock, database and data service, produced for real, and each finding's line tried."""

import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest
from starlette.responses import RedirectResponse

from bot.cli.recovery_commands import run_unlatch
from bot.db import migrate
from bot.db.named_values import DatabaseStateStore
from bot.deliveries.intake import Intake
from bot.deliveries.journal import Journal, Letter
from bot.ports import Ports
from bot.racedata.client.service_client import open_client
from bot.racedata.client.service_errors import Unauthorized
from sandbox.loopback_server import serve
from sandbox.racing_service.plan_table import PLANS
from sandbox.racing_service.service_state import USAGE
from tests.databases import make_older_database
from tests.integration.doctor.conftest import (
    DEAD,
    FAILED,
    KEY,
    NEW_KEY,
    OLD_KEY,
    WARNING,
    Cases,
    check_mended,
    healthy_program,
)

case = Cases()


# Clock

case.short(
    *("clock_off", "clock", FAILED, "timedatectl set-ntp true"),
    broken=lambda clinic: clinic.set_ahead(hours=1),
    mended=lambda clinic: clinic.set_ahead(),
)
case.short(
    *("clock_off", "clock", WARNING, "timedatectl set-ntp true"),
    broken=lambda clinic: clinic.set_ahead(minutes=-2),
    mended=lambda clinic: clinic.set_ahead(),
)
case.wrong(
    *("clock_off", "clock", WARNING, "keeps this machine from Slack"),
    racing_api_url=f"{DEAD}/v1",
    slack_api_url=f"{DEAD}/api/",
)


@case("clock_off", "clock", FAILED, "timedatectl set-ntp true")
async def bot_an_hour_behind(clinic):
    async with healthy_program(ahead=timedelta(hours=-1)) as address:
        clinic.settings["public_url"] = address
        yield
    async with healthy_program() as address:
        clinic.settings["public_url"] = address
        yield


# Database

case.wrong(
    *("database_unreachable", "database", FAILED, "Start PostgreSQL"),
    database_url="postgresql://racing:hidden@127.0.0.1:9/racing",
)


async def migrated(clinic):
    """Do as `racing-bot migrate` does."""
    database = clinic.database()
    migrate.upgrade(database)
    await database.close()


case.short(
    *("database_missing", "database", FAILED, "racing-bot migrate"),
    broken=lambda clinic: clinic.database_file.unlink(),
    mended=migrated,
)


@case("database_damaged", "database", FAILED, "a copy from the backup")
async def overwritten(clinic):
    shutil.copy(clinic.database_file, clinic.folder / "backup.db")
    clinic.database_file.write_bytes(b"no database" * 1000)
    yield
    shutil.copy(clinic.folder / "backup.db", clinic.database_file)


@case("database_unreachable", "database", FAILED, "user read and write")
async def a_folder_in_its_place(clinic):
    shutil.move(clinic.database_file, clinic.folder / "kept.db")
    (clinic.database_file / "folder").mkdir(parents=True)
    yield
    shutil.rmtree(clinic.database_file)
    shutil.move(clinic.folder / "kept.db", clinic.database_file)


@case("schema_not_current", "schema", FAILED, "racing-bot migrate")
async def an_older_version(clinic):
    clinic.database_file.unlink()
    make_older_database(clinic.settings["database_url"])
    yield
    await migrated(clinic)


@case("schema_not_current", "schema", FAILED, "put back a copy from before")
async def a_newer_version(clinic):
    shutil.copy(clinic.database_file, clinic.folder / "backup.db")
    with sqlite3.connect(clinic.database_file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    yield
    shutil.copy(clinic.folder / "backup.db", clinic.database_file)


@case("database_not_written", "writable", FAILED, "a shell with an open transaction")
async def a_forgotten_shell(clinic):
    shell = sqlite3.connect(clinic.database_file, isolation_level=None)
    shell.execute("BEGIN IMMEDIATE")
    clinic.busy_s = 0.1
    yield
    shell.close()


@case("commits_slow", "commit", WARNING, "end other processes that hold its lock", alone=True)
async def a_busy_neighbour(clinic):
    neighbour = sqlite3.connect(clinic.database_file, isolation_level=None, check_same_thread=False)
    neighbour.execute("BEGIN IMMEDIATE")
    seconds = 0.0

    def end():
        nonlocal seconds
        seconds = 0.8
        neighbour.rollback()

    timer = threading.Timer(0.05, end)

    def monotonic():
        """The neighbour ends after the first look. The second look is after a commit, which waits for the neighbour."""
        if timer.ident is None:
            timer.start()
        return seconds

    clinic.monotonic = monotonic
    yield
    timer.join()
    neighbour.close()


def journal_of(clinic):
    return Journal(clinic.settings["database_url"], Ports().monotonic)


@case("deliveries_wait", "journal", FAILED, "Start `racing-bot serve`")
async def a_bot_that_does_not_read(clinic):
    letter = Letter("0" * 64, "req-1", clinic.clock() - timedelta(minutes=2), b"{}")
    with closing(journal_of(clinic)) as journal:
        assert journal.append([letter]) == [True]
        yield
        database = clinic.database()
        assert await Intake(database, journal, clinic.clock).take() == 1
        await database.close()


@case("journal_not_read", "journal", FAILED, "Put a copy back")
async def a_damaged_journal(clinic):
    with closing(journal_of(clinic)) as journal:
        journal.prove()
        file = journal.file
    shutil.copy(file, clinic.folder / "journal.copy")
    file.write_bytes(b"no journal" * 1000)
    yield
    shutil.copy(clinic.folder / "journal.copy", file)


case.short(
    *("secrets_not_opened", "encryption keys", FAILED, "Add the key of that time to ENCRYPTION_KEYS, after the newest"),
    broken=lambda clinic: clinic.settings.update(encryption_keys=NEW_KEY),
    mended=lambda clinic: clinic.settings.update(encryption_keys=f"{NEW_KEY},{OLD_KEY}"),
)


@case("secrets_not_opened", "encryption keys", FAILED, "`racing-bot subscribe --retire 1`")
async def a_lost_key(clinic):
    clinic.settings["encryption_keys"] = NEW_KEY
    yield
    await clinic.subscribe(again=True)
    await clinic.retire(1)


@case("no_encryption_key", "encryption keys", WARNING, "Set ENCRYPTION_KEYS to a key made by: python -c")
async def no_key(clinic):
    await clinic.retire(1)
    clinic.settings["encryption_keys"] = None
    yield
    clinic.settings["encryption_keys"] = NEW_KEY


# The data service

case.wrong("service_unusable", "data service", FAILED, "correct the address", racing_api_url=f"{DEAD}/v1")
case.short(
    *("service_unusable", "data service", FAILED, "again in 1 seconds"),
    broken=lambda clinic: clinic.service.fail_next(USAGE, "rate_limited"),
)
case.short(
    *("service_unusable", "data service", FAILED, "report the request id"),
    broken=lambda clinic: clinic.service.fail_next(USAGE, "server_error"),
)
case.short(
    *("key_refused", "key", FAILED, "Set RACING_API_KEY"),
    broken=lambda clinic: clinic.service.rotate_key("key-of-tomorrow"),
    mended=lambda clinic: clinic.settings.update(racing_api_key="key-of-tomorrow"),
)
case.short(
    *("plan_unknown", "plan", WARNING, "analyst"),
    broken=lambda clinic: clinic.service.switch(reach={USAGE: ("analyst",)}),
    mended=lambda clinic: clinic.service.set_plan("analyst"),
)
case.short(
    *("window_ends", "window", WARNING, "ends in `upcoming`"),
    broken=lambda clinic: clinic.service.set_plan("archive"),
    mended=lambda clinic: clinic.service.set_plan("complete"),
)
case.short(
    *("quota_low", "quota", WARNING, "take a larger plan"),
    broken=lambda clinic: clinic.service.set_used(12_500),
    mended=lambda clinic: clinic.service.set_plan("live"),
)
case.short(
    *("quota_low", "quota", FAILED, "take a larger plan"),
    broken=lambda clinic: clinic.service.set_used(15_000),
    mended=lambda clinic: clinic.service.set_plan("live"),
)


@case("service_unusable", "data service", FAILED, "Correct RACING_API_URL")
async def wrong_version(clinic):
    right = clinic.settings["racing_api_url"]
    clinic.settings["racing_api_url"] = right.replace("/v1", "/v2")
    yield
    clinic.settings["racing_api_url"] = right


@case("service_unusable", "data service", FAILED, "Correct RACING_API_URL")
async def address_that_redirects(clinic):
    right = clinic.settings["racing_api_url"]
    async with serve(RedirectResponse("https://www.example.com/")) as address:
        clinic.settings["racing_api_url"] = f"{address}/v1"
        yield
    clinic.settings["racing_api_url"] = right


@case("service_not_asked", "latches", FAILED, "racing-bot unlatch key")
async def a_latched_key(clinic):
    clinic.service.rotate_key()
    database = clinic.database()
    settings = clinic.load()
    store = DatabaseStateStore(database, clinic.clock)
    client = open_client(settings.racing_api_url, settings.racing_api_key, store, Ports().timing)
    with pytest.raises(Unauthorized):
        await client.countries()
    await client.aclose()
    await database.close()
    clinic.service.rotate_key(KEY)
    yield
    await run_unlatch(clinic.load(), "key")


@case("plan_unknown", "plan", WARNING, "Set MONTHLY_QUOTA")
async def a_plan_of_another_name(clinic):
    clinic.service.plan = replace(PLANS["free"], name="gold")
    clinic.service.switch(reach={USAGE: ("gold",)})
    yield
    clinic.settings["monthly_quota"] = "20000"


@pytest.mark.parametrize("told", case.cases, ids=str)
async def test_finding_is_told_and_its_line_mends_it(clinic, told):
    await check_mended(clinic, told)
