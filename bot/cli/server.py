"""Runs the service under uvicorn, with a private address for metrics."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import uvicorn

from bot.app import Service
from bot.logs import get_logger
from bot.settings import Settings
from bot.web.http_protocol import Connections, Limits, StrangerProtocol

log = get_logger(__name__)

GRACE_S = 10
"""Seconds for open requests on a stop; longer than a body may take."""

OPEN_FILES = 2_048
"""For connections, the database, Slack and the data service. Many systems begin with 1,024 files and allow more."""


class _PublicServer(uvicorn.Server):
    """Stops at SIGTERM and SIGINT. uvicorn would raise the signal again at the end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _PrivateServer(uvicorn.Server):
    """Stopped by the public server, which hears signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(settings: Settings) -> None:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    service = Service(settings)
    limits = Limits(connections=min(Limits.connections, _open_files() // 2))
    configure = partial(uvicorn_config, count=service.metrics.request_refused, limits=limits)
    config = configure(service.app, settings.host, settings.port, lifespan="on")
    # Before the start: a taken address ends the process here.
    try:
        bound = config.bind_socket()
    except SystemExit:
        advice = "set PORT or HOST to a free address, or end the program that has the address"
        log.error("address_not_to_be_had", host=settings.host, port=settings.port, advice=advice)  # noqa: TRY400  uvicorn said why
        sys.exit(1)
    public = _PublicServer(config)
    if settings.metrics_host is None or settings.metrics_port is None:
        await public.serve([bound])
    else:
        private = _PrivateServer(
            configure(service.private_app(), settings.metrics_host, settings.metrics_port, lifespan="off")
        )
        task = asyncio.create_task(_serve_privately(private, public))
        await public.serve([bound])
        private.should_exit = True
        await task
        if not private.started:
            sys.exit(1)
    if not public.started:
        sys.exit(1)


async def _serve_privately(private: uvicorn.Server, public: uvicorn.Server) -> None:
    """Without the private address, stop the public server in good order."""
    try:
        await private.serve()
    except SystemExit:
        log.warning("metrics_address_not_to_be_had", host=private.config.host, port=private.config.port)
        public.should_exit = True


def uvicorn_config(
    app: Any, host: str, port: int, *, lifespan: Any, count: Callable[[str], None], limits: Limits | None = None
) -> uvicorn.Config:
    connections = Connections(count, limits)
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan=lifespan,
        http=partial(StrangerProtocol, connections),  # type: ignore[arg-type]  # any factory is called
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(connections.limits.idle_s),
        timeout_graceful_shutdown=GRACE_S,
    )


def _open_files() -> int:
    """The limit of open files, raised if it is low."""
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return OPEN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= OPEN_FILES:
        return OPEN_FILES
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def loop_factory() -> Any:
    """uvloop's, except on Windows."""
    try:
        import uvloop  # noqa: PLC0415  not installed everywhere
    except ImportError:
        return None
    return uvloop.new_event_loop
