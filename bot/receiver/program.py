"""`racing-bot serve`: the receiver, and the bot as its child.

The receiver is the parent: a service manager or a container knows the first process alone, and keeps the receiver when
the bot dies.
"""

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from secrets import token_hex
from typing import Any

from uvicorn.config import Config

from bot.clock import utc_now
from bot.db.vault import Vault
from bot.deliveries.journal import Journal
from bot.deliveries.signing_secrets import SigningSecrets, reading
from bot.errors import StorageError
from bot.logs import configure_logging, get_logger
from bot.receiver.bot_process import BotProcess, CountsForBot
from bot.receiver.door import ADMITTED_AT_ONCE, Appending, Door, HttpAnswer, SenderLeft, in_json, reader_of
from bot.receiver.http_protocol import Connections, Limits, StrangerProtocol
from bot.receiver.options import Options, read_options
from bot.receiver.relay import BotSilent, Front, HttpMessage, Receive, Relay, Send, answer
from bot.web.uvicorn_server import Server, server_config

log = get_logger("bot.receiver")

BOT_READY_S = JOURNAL_READY_S = 1.0
"""`/readyz` answers within two seconds, also while the bot hangs (Dockerfile)."""

PROOF_HOLDS_S = 1.0
"""The time for which a look at the journal holds: the same thread appends letters."""

OPEN_FILES = 3_072
"""For connections, the journal and the bot. Many systems begin with 1,024 files and allow more."""


def serve() -> None:
    """Returns at the end of a graceful stop. Exits with the bot's code where the bot does not come up.

    Raises SettingsError.
    """
    try:
        options = read_options()
        vault = Vault(options.encryption_keys)
    except (OSError, ValueError):
        _name_problems()
        raise
    configure_logging(options.log_level, options.log_format, options.secrets)
    # uvicorn tells of its start and stop.
    logging.getLogger().setLevel(max(logging.getLogger().level, logging.WARNING))
    listener = _bound(options)
    inner = socket.create_server(("127.0.0.1", 0))
    with listener, inner:
        code = asyncio.run(_run(options, vault, listener, inner))
    if code:
        # As a shell names the end by a signal.
        sys.exit(code if code > 0 else 128 - code)


def _name_problems() -> None:
    """Raises SettingsError with every wrong setting, if there is any."""
    from bot.settings import load_settings  # noqa: PLC0415  pydantic takes longer than the whole start

    load_settings()


def _bound(options: Options) -> socket.socket:
    """A taken address ends the process here."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # By name of the protocol: else asyncio leaves Nagle's delay of 40 ms on the connections.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except OSError as error:
        listener.close()
        _name_problems()
        advice = "set PORT or HOST to a free address, or end the program that has the address"
        log.error(  # noqa: TRY400  no fault of ours
            "address_not_to_be_had", host=options.host, port=options.port, reason=str(error.strerror), advice=advice
        )
        sys.exit(1)
    return listener


async def _run(options: Options, vault: Vault, listener: socket.socket, inner: socket.socket) -> int:
    report = CountsForBot()
    bot = BotProcess(inner, report)
    host, port = inner.getsockname()
    relay = Relay(host, port, bot.comes_up)
    thread, reader = ThreadPoolExecutor(1, "journal"), ThreadPoolExecutor(1, "secrets")
    run = asyncio.get_running_loop().run_in_executor
    journal = Journal(options.database_url, time.monotonic)
    signing_secrets = SigningSecrets(
        options.webhook_secrets,
        partial(run, reader, reading(options.database_url, vault)),
        time.monotonic,
        log.warning,
    )
    door = Door(
        reader_of(options.max_body_bytes),
        options.max_body_bytes,
        signing_secrets,
        Appending(journal.append, partial(run, thread), report.wake).store,
        asyncio.Semaphore(ADMITTED_AT_ONCE),
        utc_now,
        token_hex,
        report,
    )
    others = OtherRequests(bot, relay, partial(run, thread, journal.prove), shows_reasons=options.shows_reasons)
    # A request for the bot takes two files.
    limits = Limits(connections=min(Limits.connections, _open_files() // 3))
    app, connections = Front(door, others, report.request_refused), Connections(report.request_refused, limits)
    server = Server(public_config(app, connections))
    # The collector need not look at objects that live as long as the process.
    gc.freeze()
    rereading = asyncio.create_task(signing_secrets.keep_current(), name="secrets")
    try:
        return await until_stopped(server, listener, bot)
    finally:
        rereading.cancel()


async def until_stopped(server: Server, listener: socket.socket, bot: BotProcess) -> int:
    """Each program ends with the other. Returns the bot's exit code; raises what ended the server."""

    def stop() -> None:
        server.end()
        bot.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    serving, living = asyncio.create_task(server.serve([listener])), asyncio.create_task(bot.run())
    await asyncio.wait({serving, living}, return_when=asyncio.FIRST_COMPLETED)
    if not (living.done() or server.should_exit):
        bot.stop()
    server.end()
    await asyncio.wait({serving, living})
    serving.result()
    return living.result()


class OtherRequests:
    """`/healthz` and `/readyz`; the bot answers the latter while it is up, and everything else."""

    def __init__(
        self, bot: BotProcess, relay: Relay, prove: Callable[[], Awaitable[None]], *, shows_reasons: bool
    ) -> None:
        self._bot = bot
        self._relay = relay
        self._prove = prove
        self._proving: asyncio.Task[str | None] | None = None
        self._proved_s = 0.0
        self._shows_reasons = shows_reasons

    async def __call__(self, scope: HttpMessage, receive: Receive, send: Send) -> None:
        is_read = scope["method"] in {"GET", "HEAD"}
        if is_read and scope["path"] == "/healthz":
            await answer(in_json(200, {"status": "ok"}), send)
        elif is_read and scope["path"] == "/readyz":
            await answer(await self._answer_ready(scope, receive), send)
        else:
            await self._relay(scope, receive, send)

    async def _answer_ready(self, scope: HttpMessage, receive: Receive) -> HttpAnswer:
        """The bot looks at the journal too. Without the bot, deliveries are stored all the same."""
        if self._bot.is_up or not self._bot.was_up:
            with contextlib.suppress(BotSilent, SenderLeft, TimeoutError):
                async with asyncio.timeout(BOT_READY_S):
                    return await self._relay.ask(scope, receive)
        return await self._without_bot()

    async def _without_bot(self) -> HttpAnswer:
        if not await self._can_store():
            # Strangers read the answer: the driver's words are for the log alone.
            return self._told(503, "unready", "the journal can't be written")
        if not self._bot.was_up:
            return self._told(503, "unready", "the bot is starting")
        if not self._shows_reasons:
            return in_json(200, {"status": "degraded"})
        return in_json(200, {"status": "degraded", "degraded": {"bot": "does not answer; deliveries are stored"}})

    async def _can_store(self) -> bool:
        """Requests share a look at the journal, as anybody can send any number of them."""
        is_old = time.monotonic() - self._proved_s >= PROOF_HOLDS_S
        if self._proving is None or (self._proving.done() and is_old):
            self._proving = asyncio.create_task(self._look(), name="proving")
        problem: str | None = f"no answer within {JOURNAL_READY_S:g} s"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(JOURNAL_READY_S):
                problem = await asyncio.shield(self._proving)
        if problem:
            log.bounded("journal_not_writable", "journal_not_writable", reason=problem)
        return problem is None

    async def _look(self) -> str | None:
        try:
            await self._prove()
        except StorageError as error:
            return str(error)
        finally:
            self._proved_s = time.monotonic()
        return None

    def _told(self, status: int, word: str, reason: str) -> HttpAnswer:
        told = {"status": word, **({"reason": reason} if self._shows_reasons else {})}
        return in_json(status, told, {"Retry-After": "5"})


def public_config(app: Any, connections: Connections) -> Config:
    return server_config(
        app,
        lifespan="off",
        http=partial(StrangerProtocol, connections),
        loop="asyncio",
        timeout_keep_alive=int(connections.limits.idle_s),
    )


def _open_files() -> int:
    """The limit of open files, raised if it is low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= OPEN_FILES:
        return OPEN_FILES
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
