"""The service in a process of its own, as in production."""

import asyncio
import os
import sys
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from signal import Signals
from typing import TypeVar

import httpx

from bot.clock import utc_now
from sandbox.loopback_server import LOOPBACK, free_port, make_client

READY_S = 60.0
STOP_S = 15.0
LOG_LINES = 15
_POLL_S = 0.05
_END_SHOWS_S = 0.5
_KEPT = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "LD_PRELOAD", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP"})
"""Settings of the developer's own bot are left out."""

Result = TypeVar("Result")


class DemoFailed(Exception):
    """The demo can't go on; `str()` says why."""


class BotProcess:
    """In a folder without `.env`. The log is a file in the folder."""

    def __init__(self, folder: Path, database_url: str | None = None, log_name: str = "bot.log") -> None:
        self.folder = folder
        self.database_url = database_url or f"sqlite:///{folder / 'bot.db'}"
        self._process: asyncio.subprocess.Process | None = None
        self._killed: asyncio.subprocess.Process | None = None
        self._spawning = asyncio.Lock()
        self.started_at = utc_now()
        self.port = free_port()
        self.log_path = folder / log_name

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def is_running(self) -> bool:
        process = self._process
        return process is not None and process.returncode is None and process is not self._killed

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.is_running else None

    def kill(self) -> None:
        """SIGKILL. `while_alive` goes on until the bot is started again."""
        self._killed = self._process
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def start(self, settings: Mapping[str, str]) -> None:
        """Once the process before has ended. Returns when the bot is ready or killed; DemoFailed after READY_S."""
        own = {
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "HOST": LOOPBACK,
            "PORT": str(self.port),
            "DATABASE_URL": self.database_url,
        }
        async with self._spawning:
            if not self.is_running:
                await self._spawn(own | dict(settings))
        try:
            async with asyncio.timeout(READY_S):
                await self.while_alive(self._ready())
        except TimeoutError as error:
            raise DemoFailed(f"The bot was not ready within {READY_S:g} seconds.") from error

    async def _spawn(self, settings: Mapping[str, str]) -> None:
        if self._process is not None:
            await self._process.wait()
        self.started_at = utc_now()
        if not self.database_url.startswith("sqlite"):
            # `serve` brings an SQLite file to the current schema by itself, and no shared database.
            migrating = await self._run("migrate", settings)
            if (code := await migrating.wait()) != 0:
                raise DemoFailed(f"The database could not be prepared: exit code {code}.")
        self._process = await self._run("serve", settings)

    async def _run(self, command: str, settings: Mapping[str, str]) -> asyncio.subprocess.Process:
        with self.log_path.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "bot", command),
                cwd=self.folder,
                env={name: value for name, value in os.environ.items() if name in _KEPT} | dict(settings),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C reaches the whole terminal group. The demo stops the bot.
                start_new_session=True,
            )

    async def while_alive(self, work: Coroutine[None, None, Result]) -> Result:
        """The result of `work`. Raises DemoFailed as soon as the process ends."""
        assert self._process is not None, "started before anything is done with it"
        working, ended = asyncio.create_task(work), asyncio.create_task(self._ended_by_itself())
        try:
            await asyncio.wait({working, ended}, return_when=asyncio.FIRST_COMPLETED)
            if working.done() and working.exception() is not None:
                # The process may be ending: a better reason.
                await asyncio.wait({ended}, timeout=_END_SHOWS_S)
            if ended.done() and (not working.done() or working.exception() is not None):
                how = f"with exit code {code}" if (code := ended.result()) >= 0 else f"by {Signals(-code).name}"
                raise DemoFailed(f"The bot ended {how}. Start the demo again.")
            return working.result()
        finally:
            for task in (working, ended):
                task.cancel()
            await asyncio.gather(working, ended, return_exceptions=True)

    async def stop(self) -> None:
        """End the process gracefully, and by force after STOP_S."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        self._killed = process
        process.terminate()
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), STOP_S)
        finally:
            # Leave no process behind, after an interruption either.
            if process.returncode is None:
                process.kill()
        await process.wait()

    async def _ended_by_itself(self) -> int:
        """The exit code, unless the process was killed."""
        while True:
            process = self._process
            assert process is not None, "started before anything is done with it"
            code = await process.wait()
            while process is self._process is self._killed:  # noqa: ASYNC110  nobody tells of a new process
                await asyncio.sleep(_POLL_S)
            if self._process is process:
                return code

    async def _ready(self) -> None:
        async with make_client() as client:
            while self._process is not self._killed:
                # The bot does not listen yet. `while_alive` watches the process.
                with suppress(httpx.TransportError):
                    if (await client.get(f"{self.url}/readyz")).status_code == httpx.codes.OK:
                        return
                await asyncio.sleep(_POLL_S)


def end_of_log(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-LOG_LINES:])
