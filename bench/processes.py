"""Servers as processes of their own: started, waited for, measured, ended."""

import asyncio
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from bench.load import ACCEPTED, connected
from bench.payloads import SECRET, get
from bot.db.engine import Database
from bot.deliveries import inbox
from sandbox.loopback_server import free_port

ROOT = Path(__file__).parents[1]
SIGNING_SECRET = "bench-signing-0123456789"
READY_S = 20.0
T = TypeVar("T")
CPU_CLOCK = 2
"""The kind of a process's clock that counts what all its threads had of a processor."""

PASSED_ON = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "TMPDIR")


@dataclass(frozen=True)
class Server:
    """A running server. `ready_s`: from the start of the process to the first 200 of /readyz."""

    port: int
    process: "subprocess.Popen[bytes]"
    ready_s: float

    @property
    def memory_mib(self) -> float:
        """What it and its child hold resident now, pages that both share once."""
        return sum(float(each.memory_full_info().pss) for each in self._family()) / 1024**2

    @property
    def cpu_s(self) -> float:
        """The processor time it has had, in user and system mode, with that of the commands it ran and saw end."""
        return sum(map(_cpu_s, self._family()))

    def _family(self) -> list[psutil.Process]:
        """The bot is a child of its receiver."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    own_s = times.user + times.system
    if sys.platform == "linux":
        # The same in nanoseconds, where psutil counts hundredths of a second: see clock_getcpuclockid(3).
        own_s = time.clock_gettime(~process.pid << 3 | CPU_CLOCK)
    return float(own_s + times.children_user + times.children_system)


@asynccontextmanager
async def running(
    *module: str, port: int, folder: Path, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Server]:
    """A Python module as a server, from when it is ready until the block ends. Its output goes to a file."""
    started = time.perf_counter()
    process = _start((sys.executable, "-m", *module), folder, folder / f"{port}.log", settings or {})
    try:
        await _ready(process, port, folder)
        yield Server(port, process, time.perf_counter() - started)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, READY_S)


def baseline(name: str, *rest: str, folder: Path) -> AbstractAsyncContextManager[Server]:
    """One of the servers that the bot is compared with; see bench/servers.py."""
    port = free_port()
    return running("bench.servers", name, str(port), *rest, port=port, folder=folder)


def bot(
    folder: Path, outside_url: str, database_url: str, *module: str, **settings: str
) -> AbstractAsyncContextManager[Server]:
    """The bot, or another module with its settings."""
    port = free_port()
    own = _bot_settings(port, outside_url, database_url) | settings
    return running(*(module or ("bot", "serve")), port=port, folder=folder, settings=own)


def _bot_settings(port: int, outside_url: str, database_url: str) -> dict[str, str]:
    """As in production, with JSON lines in a file, and all that is outside on this machine."""
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


async def empty_inbox(database: Database, *, timeout_s: float = 90.0) -> None:
    """Waits until the bot has fanned out all that it stored: it would slow whoever is measured next."""
    started = time.perf_counter()
    while await database.read(inbox.count_waiting):
        if time.perf_counter() - started > timeout_s:
            raise TimeoutError(f"the inbox was not empty after {timeout_s:g} s")
        await asyncio.sleep(0.02)


def _start(command: tuple[str, ...], folder: Path, log: Path, settings: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {"PYTHONPATH": str(ROOT), **settings}
    with log.open("wb") as output:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)


async def _ready(process: "subprocess.Popen[bytes]", port: int, folder: Path) -> None:
    async with asyncio.timeout(READY_S):
        while not await _answers(port):
            if process.poll() is not None:
                raise RuntimeError((folder / f"{port}.log").read_text(encoding="utf-8"))
            await asyncio.sleep(0.005)


async def _answers(port: int) -> bool:
    try:
        async with connected(port) as (connection,):
            return await connection.ask(get("/readyz")) == ACCEPTED
    except OSError:
        return False


async def apart(work: Callable[..., T], *args: object) -> T:
    """What `work`, a function of a module, returns in a process of its own: it shares no interpreter with the rest."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return await asyncio.get_running_loop().run_in_executor(process, work, *args)
