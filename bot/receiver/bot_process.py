"""The bot as a child process: started, started again when it dies, told what the receiver has stored and counted."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bot.logs import get_logger
from bot.loop import rest
from bot.web.plain_answers import EventOutcome, RequestRefusal, SignatureFailure

log = get_logger("bot.receiver")

START_AGAIN_S, START_AGAIN_MAX_S = 0.5, 30.0
"""The pause before a dead bot is started again, doubled until a bot has lived for STEADY_S."""

STEADY_S = 30.0

KILL_AFTER_S = 25.0
"""A stop kills a hanging bot after this time. Docker and systemd wait longer."""

COMES_UP_S = 2.5
"""A request's wait for a starting bot. Slack waits three seconds for an answer."""

TELL_S = 0.2
"""Counts share a line: work on lines of their own would take a tenth of the bot's processor time."""

UNREAD_MAX_BYTES = 65_536
"""A hanging bot is told nothing while more bytes wait."""


class Process(Protocol):
    """The part of `subprocess.Popen` in use."""

    def wait(self) -> int: ...

    def send_signal(self, number: int, /) -> None: ...


BOT_MODULE = "bot.cli.server"
"""The module of the bot. Its function `be_the_bot` gets the numbers of the inherited files."""

_START = """
import gc, sys
gc.disable()
sys.path.insert(0, {root!r})
from bot.web.unused_modules import leave_out
leave_out()
import {bot} as bot
bot.be_the_bot(*{fds!r})
"""
"""Loaded modules are no garbage, and collection takes a fifth of the start. bot.app enables gc again."""


def spawn(fds: Sequence[int]) -> Process:
    start = _START.format(root=str(Path(__file__).parents[2]), bot=BOT_MODULE, fds=tuple(fds))
    # Python's threads take turns: with a heap for each thread, 4 MiB would lie free.
    environment = {"MALLOC_ARENA_MAX": "1", **os.environ}
    return subprocess.Popen([sys.executable, "-P", "-c", start], pass_fds=fds, env=environment)  # noqa: S603  our own program


class Line(Protocol):
    """To the bot: a part of asyncio's transports."""

    def write(self, data: bytes, /) -> None: ...

    def get_write_buffer_size(self) -> int: ...


class CountsForBot:
    """The receiver's counts and news for the bot: `bot.operations.metrics` reads the lines."""

    def __init__(self, tell_s: float = TELL_S) -> None:
        self._tell_s = tell_s
        self._counts = Counter[tuple[str, ...]]()
        self._transport: Line | None = None
        self._timer: asyncio.TimerHandle | None = None

    def delivery(self, status: str) -> None:
        self._count("deliveries", status)

    def event(self, name: str | None, outcome: EventOutcome) -> None:
        """Count the outcome of a signed delivery."""
        self._count("webhook_events", name or "", outcome)

    def signature_failure(self, reason: SignatureFailure) -> None:
        self._count("signature_failures", reason)

    def signature_matched(self) -> None:
        self._count("signature_matched")

    def request_refused(self, reason: RequestRefusal) -> None:
        self._count("requests_refused", reason)

    def connect(self, transport: Line | None) -> None:
        self._transport = transport
        self.tell()

    def _count(self, *what: str) -> None:
        self._counts[what] += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._tell_s, self.tell)

    def wake(self) -> None:
        """Tell the bot, by a line without counts, that the journal has new letters."""
        self._write([])

    def tell(self) -> None:
        self._timer = None
        if self._write([[number, *what] for what, number in self._counts.items()]):
            self._counts.clear()

    def _write(self, news: Sequence[Sequence[object]]) -> bool:
        """False for a dead or hanging bot."""
        if self._transport is None or self._transport.get_write_buffer_size() > UNREAD_MAX_BYTES:
            return False
        self._transport.write(json.dumps(news).encode() + b"\n")
        return True


class BotProcess(asyncio.Protocol):
    """`inner`: the listening socket of the bot's own server, which outlives each process of the bot."""

    def __init__(self, inner: socket.socket, report: CountsForBot) -> None:
        self._inner = inner
        self._report = report
        self._process: Process | None = None
        self._up = asyncio.Event()
        self.was_up = False
        self._wait_s = START_AGAIN_S
        self._stopping = asyncio.Event()

    @property
    def is_up(self) -> bool:
        return self._up.is_set()

    async def comes_up(self) -> bool:
        await rest(self._up, COMES_UP_S)
        return self.is_up

    def stop(self) -> None:
        """A second call kills a hanging bot."""
        if self._stopping.is_set():
            self._kill()
        self._stopping.set()
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            asyncio.get_running_loop().call_later(KILL_AFTER_S, self._kill)

    async def run(self) -> int:
        """Keep the bot alive until `stop`. Returns the exit code, also of a bot that refuses to start."""
        time = asyncio.get_running_loop().time
        while not self._stopping.is_set():
            began_s = time()
            try:
                code = await self._live()
            except OSError as error:
                # The machine is out of memory, processes or files. Deliveries are taken meanwhile.
                log.error("bot_not_started", reason=str(error), again_in_s=self._wait_s)  # noqa: TRY400  no fault of ours
            else:
                # A signal is no word of the bot's: the system may lack memory.
                if self._stopping.is_set() or (code >= 0 and not self.was_up):
                    return code
                if time() - began_s >= STEADY_S:
                    self._wait_s = START_AGAIN_S
                log.error("bot_ended", code=code, again_in_s=self._wait_s)
            await rest(self._stopping, self._wait_s)
            self._wait_s = min(self._wait_s * 2, START_AGAIN_MAX_S)
        return 0

    def _kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)

    async def _live(self) -> int:
        """A life of the bot. Raises OSError."""
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            news, their_news = socket.socketpair()
            ours.callback(news.close)
            theirs.callback(their_news.close)
            # The pipe ends with the receiver, however the receiver ends. Then the bot ends too.
            their_life, life = os.pipe()
            ours.callback(os.close, life)
            theirs.callback(os.close, their_life)
            self._process = spawn((self._inner.fileno(), their_news.fileno(), their_life))
            theirs.close()
            transport, _ = await loop.create_connection(lambda: self, sock=news)
            self._report.connect(transport)
            code = await loop.run_in_executor(None, self._process.wait)
            self._up.clear()
            self._process = None
            transport.abort()
        return code

    def data_received(self, _data: bytes) -> None:
        """The bot writes a line when the bot is up."""
        self._up.set()
        self.was_up = True

    def connection_lost(self, _error: Exception | None) -> None:
        """A stopping bot closes the line first."""
        self._report.connect(None)
