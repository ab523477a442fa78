"""Runs the service under uvicorn, with a private address for metrics."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bot.app import Service
from bot.logs import get_logger
from bot.settings import Settings

log = get_logger(__name__)

CONNECTIONS = 2_000
"""Beyond this uvicorn answers 503."""

GRACE_S = 10
"""Seconds for open requests on a stop; longer than a body may take."""


HEADERS_S = 10.0
"""Limit for a request's headers: silent connections would use up all."""


class PatientProtocol(HttpToolsProtocol):
    _headers_late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn types it
        super().connection_made(transport)
        self._wait_for_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._headers_late is None:
            self._wait_for_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        self._headers_late = self.loop.call_later(HEADERS_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._headers_late is not None:
            self._headers_late.cancel()
            self._headers_late = None


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
    config = uvicorn_config(service.app, settings.host, settings.port, lifespan="on")
    # Before the start: a taken address ends the process here.
    try:
        bound = config.bind_socket()
    except SystemExit:
        log.error("address_not_to_be_had", host=settings.host, port=settings.port)  # noqa: TRY400  uvicorn said why
        raise
    public = _PublicServer(config)
    if settings.metrics_host is None or settings.metrics_port is None:
        await public.serve([bound])
    else:
        private = _PrivateServer(
            uvicorn_config(service.private_app(), settings.metrics_host, settings.metrics_port, lifespan="off")
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


def uvicorn_config(app: Any, host: str, port: int, *, lifespan: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan=lifespan,
        http=PatientProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_S,
    )


def loop_factory() -> Any:
    """uvloop's, except on Windows."""
    try:
        import uvloop  # noqa: PLC0415  not installed everywhere
    except ImportError:
        return None
    return uvloop.new_event_loop
