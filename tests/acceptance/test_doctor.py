"""`racing-bot doctor` as a process: the view of a shell and of a script, a full disk, secrets kept."""

import ctypes
import json
import os
import shutil
import socket
import time
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.acceptance.forked import CLONE_NEWNS, CLONE_NEWUSER, MS_PRIVATE, MS_REC, run_command, why_not
from tests.clock import PATIENCE_S
from tests.world import API_KEY, BOT_TOKEN, SIGNING_SECRET, WEBHOOK_SECRET

ALL_SCOPES = {"commands", "chat:write", "channels:read", "groups:read", "channels:history", "groups:history"} | {
    *("im:history", "usergroups:read", "users:read")
}
FERNET_KEY = Fernet.generate_key().decode()
SECRETS = (API_KEY, BOT_TOKEN, SIGNING_SECRET, WEBHOOK_SECRET, FERNET_KEY)
FILES_ON_THE_DISK = ("bot.db", "bot.db-wal", "bot.db-shm")


def checks_of(ran):
    return {check["check"]: check for check in json.loads(ran.out)["checks"]}


def codes_of(check):
    return [finding["code"] for finding in check["findings"]]


def have_patience(_folder: Path) -> None:
    """Give each check of the doctor PATIENCE_S. A busy machine is the subject of no test."""
    from bot.doctor import check_run, database_checks, deployment, slack_checks, webhook_checks

    for module in (database_checks, deployment, slack_checks, webhook_checks):
        vars(module).update(HTTP_TIMEOUT_S=PATIENCE_S, STORE_WITHIN_S=PATIENCE_S)
    (check_run.examine.__kwdefaults__ or {})["limit_s"] = PATIENCE_S


async def test_deployment_is_examined_from_before_its_first_start_until_it_is_well(make_world):
    async with make_world(start=False, ENCRYPTION_KEYS=FERNET_KEY) as world:
        world.bot.env |= {"PUBLIC_URL": world.bot.url, "PORT": str(world.bot.port)}
        world.slack.scopes |= ALL_SCOPES
        before = await run_command(world.bot, "doctor", "--json")
        assert before.code == 2
        checks = checks_of(before)
        assert codes_of(checks["database"]) == ["database_missing"]
        assert checks["schema"]["outcome"] == "skipped"
        assert checks["schema"]["because_of"] == "database"
        assert codes_of(checks["public address"]) == ["public_url_dead"]
        assert not (world.bot.folder / "bot.db").exists(), "the doctor makes nothing"

        await world.bot.start()
        # For some seconds after the start a bot calls itself degraded; commits and free space are the machine's.
        well = await run_command(world.bot, "doctor", "--json", prepare=have_patience)
        ended = {name: check["outcome"] for name, check in checks_of(well).items() if check["outcome"] != "ok"}
        assert {ended.pop(name, "ok") for name in ("bot", "commit", "free space")} <= {"ok", "warning"}
        # There is no message yet whose replies could be read.
        assert ended == {"socket mode": "skipped", "replies": "skipped"}
        world.slack.scopes.discard("users:read")
        warned = await run_command(world.bot, "doctor", "--json", prepare=have_patience)
        assert codes_of(checks_of(warned)["scopes"]) == ["scope_missing"]
        told = json.loads(warned.out)
        assert (warned.code, told["exit_code"], told["outcome"]) == (1, 1, "warning")
        for ran in (before, well, warned):
            assert not [secret for secret in SECRETS if secret in ran.said]


def silence_the_name_server(_folder: Path) -> None:
    """Have every look-up of a name hang in a thread: to wait for the thread would be to hang too."""

    def hang(*_args: object, **_named: object) -> None:
        time.sleep(10 * PATIENCE_S)

    socket.getaddrinfo = hang  # type: ignore[assignment]


async def test_name_server_that_is_silent_is_told_and_keeps_the_doctor_from_nothing(make_world):
    async with make_world(start=False) as world:
        assert (await run_command(world.bot, "migrate")).code == 0
        address = "https://slack.example.com/api/"
        ran = await run_command(world.bot, "doctor", "--json", prepare=silence_the_name_server, SLACK_API_URL=address)
        assert ran.code == 2
        assert codes_of(checks_of(ran)["slack token"]) == ["slack_unusable"]
        assert not (world.bot.folder / "bot.db-wal").exists(), "the database was closed"


# A full disk


class SmallDisk:
    """Puts a folder of the process on a disk of two megabytes, full or with room. Only this process sees the disk."""

    def __init__(self, *, full: bool) -> None:
        self.full = full

    def __call__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        kept = {name: (folder / name).read_bytes() for name in FILES_ON_THE_DISK if (folder / name).exists()}
        place = folder / "disk"
        steps = (
            libc.unshare(CLONE_NEWNS if os.geteuid() == 0 else CLONE_NEWNS | CLONE_NEWUSER),
            libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None),
            libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", ctypes.c_ulong(0), b"size=2m"),
        )
        assert steps == (0, 0, 0), os.strerror(ctypes.get_errno())
        for name, content in kept.items():
            (place / name).write_bytes(content)
        if self.full:
            free = shutil.disk_usage(place).free
            # Room for the first pages of a log, and not for a delivery.
            (place / "filler").write_bytes(b"x" * (free - 64 * 1024))


async def examined_on(world, disk: SmallDisk, **settings: str):
    address = f"sqlite:///{world.bot.folder / 'disk' / 'bot.db'}"
    ran = await run_command(world.bot, "doctor", "--json", prepare=disk, DATABASE_URL=address, **settings)
    return checks_of(ran)


async def test_full_disk_is_found_and_room_mends_it(make_world, tmp_path):
    if reason := why_not(tmp_path):
        pytest.skip(reason)
    async with make_world(start=False) as world:
        (world.bot.folder / "disk").mkdir()
        assert (await run_command(world.bot, "migrate")).code == 0
        full = await examined_on(world, SmallDisk(full=True))
        (finding,) = full["writable"]["findings"]
        assert finding["code"] == "database_not_written"
        assert "database or disk is full" in finding["told"]
        assert f"Make room on the disk of {world.bot.folder}/disk/bot.db" in finding["mend"]
        assert codes_of(full["free space"]) == ["disk_nearly_full"]

        roomy = await examined_on(world, SmallDisk(full=False), MAX_BODY_BYTES="1024")
        assert roomy["writable"]["outcome"] == "ok"
        # A busy machine commits slowly.
        assert roomy["commit"]["outcome"] in {"ok", "warning"}
        assert codes_of(roomy["free space"]) == ["disk_nearly_full"]
        larger = checks_of(await run_command(world.bot, "doctor", "--json", MAX_BODY_BYTES="1024"))
        assert "disk_nearly_full" not in codes_of(larger["free space"])
