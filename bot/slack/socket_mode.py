"""Slack over a connection that the bot opens (Socket Mode), into the same Bolt app as HTTP.

slack_sdk's client carries each connection without its reconnecting, which tries a used ticket again and again and logs
the ticket. Source: docs.slack.dev/apis/events-api/using-socket-mode.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
from pydantic import SecretStr
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.adapter.socket_mode.internals import build_headers
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot.addresses import proxy_of
from bot.errors import BodyUnreadable, SlackError, SlackRefused, SlackUnreached, SlackWait
from bot.logs import get_logger
from bot.loop import rest
from bot.slack.bolt_app import receive
from bot.slack.web_client import SlackClient
from bot.tasks import Tasks

log = get_logger(__name__)

OPEN_METHOD = "apps.connections.open"
CONNECT_S = 10.0
FIRST_RECONNECT_S = 1.0
LONGEST_RECONNECT_S = 60.0
"""About one ticket a minute: docs.slack.dev/apis/web-api/rate-limits, Tier 1. A 429 says when there is a ticket."""

STABLE_AFTER_S = 30.0
"""A longer-lived connection is replaced without a pause."""

OVERLAP_S = 5.0
"""Slack asks for a new connection some seconds before closing the old connection."""

ACK_WITHIN_S = 3.0
"""docs.slack.dev/interactivity"""

PING_S = 10.0
CLOSE = aiohttp.ClientWSTimeout(ws_close=1.0)

LIVENESS_CHECK_S = 1.0

Handle = Callable[["Connection", SocketModeRequest], Coroutine[Any, Any, None]]


class Connection(SocketModeClient):
    """Every end sets `ended`; a connection never reconnects."""

    def __init__(self, app_token: SecretStr, web: AsyncWebClient, url: str, handle: Handle) -> None:
        # slack_sdk's log messages contain the ticket and payloads.
        silent = logging.Logger("slack_sdk.socket_mode", logging.CRITICAL + 1)  # noqa: LOG001  never to be found again
        super().__init__(
            app_token.get_secret_value(),
            logger=silent,
            web_client=web,
            auto_reconnect_enabled=False,
            ping_interval=PING_S,
            on_close_listeners=[self._on_end],
            on_error_listeners=[self._on_end],
        )
        self.wss_uri = url
        self.proxy = proxy_of(url)
        self.ended = asyncio.Event()
        self.envelopes = Tasks()
        self._handle = handle
        self.socket_mode_request_listeners.append(self._on_envelope)

    async def connect(self) -> None:
        """Raises aiohttp's errors."""
        self.current_session = await self.aiohttp_client_session.ws_connect(
            self.wss_uri or "", autoping=False, heartbeat=PING_S, proxy=self.proxy, timeout=CLOSE
        )
        self.current_session_monitor = asyncio.ensure_future(self.monitor_current_session())
        self.message_receiver = asyncio.ensure_future(self.receive_messages())

    async def connect_to_new_endpoint(self, force: bool = False) -> None:  # noqa: ARG002  as slack_sdk calls it
        """Slack wants a new connection in place of this connection."""
        self.ended.set()

    async def until_ended(self) -> None:
        while not self.ended.is_set() and await self.is_connected():
            await rest(self.ended, LIVENESS_CHECK_S)

    async def _on_envelope(self, _client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.envelopes.start(self._handle(self, request), f"envelope {request.envelope_id}")

    async def _on_end(self, _message: aiohttp.WSMessage) -> None:
        self.ended.set()


class SocketMode:
    """`problem` is for `/readyz`; None while all is well."""

    def __init__(
        self, bolt: AsyncApp, slack: SlackClient, app_token: SecretStr, *, count: Callable[[str], None]
    ) -> None:
        self.problem: str | None = "not connected yet"
        self._bolt = bolt
        self._slack = slack
        self._app_token = app_token
        self._count = count
        self._open: set[Connection] = set()
        self._replaced = asyncio.Event()
        self._closing = Tasks()
        self._is_stopping = False

    async def run(self) -> None:
        """Replace each connection that ends. The pauses grow while no connection is made."""
        wait_s = 0.0
        while True:
            await asyncio.sleep(wait_s)
            started = asyncio.get_running_loop().time()
            wait_s = min(max(wait_s * 2, FIRST_RECONNECT_S), LONGEST_RECONNECT_S)
            try:
                connection = await self._connect()
            except SlackError as error:
                self.problem = str(error)
                if isinstance(error, SlackWait):
                    wait_s = max(wait_s, error.retry_after_s)
                log.warning("socket_mode_not_connected", reason=self.problem, again_in_s=wait_s)
                continue
            self.problem = None
            log.info("socket_mode_connected")
            await connection.until_ended()
            self._replaced = asyncio.Event()
            self._closing.start(self._replace(connection, self._replaced), "close a connection")
            is_stable = asyncio.get_running_loop().time() - started >= STABLE_AFTER_S
            wait_s = 0.0 if is_stable else FIRST_RECONNECT_S
            if not await connection.is_connected():
                self.problem = "the connection broke"
            log.info("socket_mode_connection_ended", again_in_s=wait_s)

    async def finish(self, within_s: float) -> None:
        """Answer the envelopes that came, and close. `run` has been cancelled before."""
        self._is_stopping = True
        self._replaced.set()
        for connection in list(self._open):
            await connection.envelopes.finish(within_s)
            await self._close(connection)
        await self._closing.finish(within_s)

    async def _connect(self) -> Connection:
        """Raises SlackError."""
        web = self._slack.web
        answer = await self._slack.call(
            OPEN_METHOD, lambda: web.apps_connections_open(app_token=self._app_token.get_secret_value())
        )
        url = answer.get("url")
        if not isinstance(url, str) or not url.startswith(("wss://", "ws://")):
            raise SlackRefused(OPEN_METHOD, "answer without an address")
        connection = Connection(self._app_token, web, url, self._on_envelope)
        self._open.add(connection)
        try:
            async with asyncio.timeout(CONNECT_S):
                await connection.connect()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            # aiohttp's words contain the ticket.
            raise SlackUnreached("WebSocket", type(error).__name__) from None
        finally:
            if connection.current_session is None:
                await self._close(connection)
        self._replaced.set()
        return connection

    async def _replace(self, connection: Connection, replaced: asyncio.Event) -> None:
        """The ending connection answers its envelopes beside the new connection."""
        await rest(replaced, OVERLAP_S)
        await connection.envelopes.finish(ACK_WITHIN_S)
        await self._close(connection)

    async def _close(self, connection: Connection) -> None:
        self._open.discard(connection)
        with contextlib.suppress(aiohttp.ClientError, OSError):
            await connection.close()  # type: ignore[no-untyped-call]  # slack_sdk does not type it

    async def _on_envelope(self, connection: Connection, request: SocketModeRequest) -> None:
        """Ack an envelope after Bolt's answer. Changes are committed by then."""
        if self._is_stopping:
            return
        try:
            answer = await receive(self._bolt, request.payload, build_headers(request))
        except BodyUnreadable as error:
            # Slack sends the envelope again, and then gives up.
            log.warning("envelope_refused", kind=request.type, reason=str(error))
            self._count("400")
            return
        self._count(str(answer.status))
        try:
            # The time is for a line of the silent log.
            await send_async_response(connection, request, answer, 0.0)
        except ConnectionError as error:
            # The event comes again on another connection, and changes nothing twice.
            log.warning("envelope_not_acked", kind=request.type, reason=type(error).__name__)
