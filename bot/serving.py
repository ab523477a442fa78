"""Running the service under uvicorn, with a second address for what is nobody else's business."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import uvicorn

from bot.app import Service
from bot.logs import get_logger
from bot.settings import Settings

log = get_logger(__name__)

CONNECTIONS = 2_000
"""Connections at once; beyond it uvicorn answers 503, so that opening more and more of them exhausts nothing."""

GRACE_S = 10
"""On a stop, requests that are under way are waited for this long; longer than a body may take."""


class _PrivateServer(uvicorn.Server):
    """Stopped by the public one, which is the one that hears signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, then finish what has begun."""
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises the signal once more when it has stopped; by then there is nothing left to do but leave.
        signal.signal(number, _leave)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    service = Service(settings)
    public = uvicorn.Server(uvicorn_config(service.app, settings.host, settings.port, lifespan="on"))
    if settings.metrics_host is None or settings.metrics_port is None:
        await public.serve()
    else:
        private = _PrivateServer(
            uvicorn_config(service.private_app(), settings.metrics_host, settings.metrics_port, lifespan="off")
        )
        task = asyncio.create_task(private.serve())
        await public.serve()
        private.should_exit = True
        await task
    if not public.started:
        sys.exit(1)


def uvicorn_config(app: Any, host: str, port: int, *, lifespan: Any) -> uvicorn.Config:
    """How every server of ours is set up."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan=lifespan,
        http="httptools",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_S,
    )


def loop_factory() -> Any:
    """The loop of uvloop where there is one (not on Windows)."""
    try:
        import uvloop  # noqa: PLC0415  not installed everywhere
    except ImportError:
        return None
    return uvloop.new_event_loop


def _leave(number: int, _frame: FrameType | None) -> None:
    log.debug("leaving", signal=number)
