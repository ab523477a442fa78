"""The bot's own server: a child of the receiver, behind the receiver's public address."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from uvicorn.config import Config

from bot.app import Service
from bot.errors import SettingsError
from bot.logs import configure_logging, get_logger
from bot.settings import Settings, load_settings
from bot.web.uvicorn_server import Server, loop_factory, server_config

log = get_logger(__name__)

LINE_MAX_BYTES = 1024 * 1024

NICER = 5
"""On a busy machine the receiver answers first. At equal priority the receiver waits half as long again for a core."""


class _Server(Server):
    """`serve_behind` hears signals. `up` is called when the server listens."""

    def __init__(self, config: Config, up: Callable[[], None]) -> None:
        super().__init__(config)
        self._up = up

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._up()


def serve_behind(settings: Settings, inner: socket.socket, news: socket.socket) -> None:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(settings, inner, news))


async def _serve(settings: Settings, inner: socket.socket, news: socket.socket) -> None:
    service = Service(settings)
    reader, writer = await asyncio.open_connection(sock=news, limit=LINE_MAX_BYTES)
    servers: list[_Server] = []

    def up() -> None:
        if all(one.started for one in servers):
            writer.write(b"up\n")

    server = _Server(uvicorn_config(service.app, lifespan="on"), up)
    servers.append(server)
    tasks = [asyncio.create_task(server.serve([inner]))]
    if settings.metrics_host is not None and settings.metrics_port is not None:
        at = {"host": settings.metrics_host, "port": settings.metrics_port}
        private = _Server(uvicorn_config(service.private_app(), **at), up)
        servers.append(private)
        tasks.append(asyncio.create_task(_serve_privately(private, server)))

    def stop() -> None:
        for one in servers:
            one.end()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    hearing = asyncio.create_task(_hear(service, reader))
    await tasks[0]
    stop()
    await asyncio.gather(*tasks)
    hearing.cancel()
    writer.close()
    if not all(one.started for one in servers):
        sys.exit(1)


async def _hear(service: Service, reader: asyncio.StreamReader) -> None:
    while line := await reader.readline():
        await service.receiver_news.hear(line)


async def _serve_privately(private: Server, public: Server) -> None:
    """Serve; if the private address is taken, stop the public server in good order."""
    try:
        await private.serve()
    except SystemExit:
        log.warning("metrics_address_not_to_be_had", host=private.config.host, port=private.config.port)
        public.end()


def uvicorn_config(app: Any, *, lifespan: Any = "off", **address: Any) -> Config:
    return server_config(app, lifespan=lifespan, http="httptools", **address)


def _end_with_receiver(life: int) -> None:
    """A bot without its receiver would never hear of a delivery. The next receiver starts another bot."""
    os.read(life, 1)
    os._exit(1)


def be_the_bot(inner: int, news: int, life: int) -> None:
    """The numbers of a listening socket, of a socket to the receiver, and of a pipe that ends with the receiver."""
    # A sandbox may refuse the lower priority.
    with suppress(PermissionError):
        os.nice(NICER)
    # Ctrl-C goes to both processes: the receiver stops the bot.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_receiver, args=(life,), daemon=True, name="receiver").start()
    try:
        settings = load_settings()
    except SettingsError as error:
        # The command line's libraries are loaded for the words alone.
        from bot.cli.main import exit_for_settings  # noqa: PLC0415

        exit_for_settings(error)
    configure_logging(settings.log_level, settings.log_format, settings.secret_values)
    serve_behind(settings, socket.socket(fileno=inner), socket.socket(fileno=news))
