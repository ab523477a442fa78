"""uvicorn as both programs run it: signals, log lines and headers are the program's own."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

from uvicorn.config import Config
from uvicorn.server import Server as UvicornServer

from bot.loop import rest

GRACE_S = 10
"""Seconds for open requests on a stop; longer than a body may take."""

TICK_S = 1.0
"""Between two looks at `should_exit`. uvicorn's ten looks a second take a third of an idle bot's processor time."""


class Server(UvicornServer):
    """The program hears signals, and stops the server by `end`."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        # uvicorn renews the header Date in each tick with a multiple of ten.
        while not await self.on_tick(0):
            await rest(self._ending, TICK_S)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def loop_factory() -> Any:
    """uvloop's, except on Windows."""
    try:
        import uvloop  # noqa: PLC0415  not installed everywhere
    except ImportError:
        return None
    return uvloop.new_event_loop


def server_config(app: Any, **more: Any) -> Config:
    return Config(
        app,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Nothing asks for a sender's address.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        **more,
    )
