"""uvicorn as both programs run it: signals, log lines and headers are the program's own."""

import contextlib
from collections.abc import Iterator
from typing import Any

from uvicorn.config import Config
from uvicorn.server import Server as UvicornServer

GRACE_S = 10
"""Seconds for open requests on a stop; longer than a body may take."""


class Server(UvicornServer):
    """The program hears signals, and stops the server by `should_exit`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


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
