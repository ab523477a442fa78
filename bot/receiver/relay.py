"""Passes a request on to the bot's own server, and the answer back, part by part."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from bot.receiver.door import Headers, SenderLeft, refuse, values
from bot.receiver.front import HttpMessage, Receive, Send, answer, arriving
from bot.receiver.log import log

BOT_CONNECT_S = 2.0
"""The bot's server takes a connection at once, unless the bot hangs."""

ANSWER_S = 10.0
"""For the whole answer, the sender's body included."""

RELAYS = 100

PIECE_BYTES = 65_536

OF_A_CONNECTION = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade", b"expect"})
"""Headers of a request, not passed on."""

OF_AN_ANSWER = frozenset({b"connection", b"date", b"transfer-encoding"})
"""The receiver's own server writes these."""


CUT_OFF = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, TimeoutError, ValueError)
"""The bot ended, hangs or answers nonsense, or the sender went away."""


async def _is_up() -> bool:
    return True


class Relay:
    """At most `RELAYS` requests at once: a hanging bot must not use up the connections of deliveries."""

    def __init__(self, host: str, port: int, answer_s: float = ANSWER_S) -> None:
        self._address = host, port
        self._answer_s = answer_s
        self._under_way = 0

    async def __call__(
        self, scope: HttpMessage, receive: Receive, send: Send, comes_up: Callable[[], Awaitable[bool]] = _is_up
    ) -> None:
        """Pass a request on. A dead or hanging bot is a 503."""
        refusal = await self.ask(scope, receive, send, comes_up)
        if refusal is not None:
            await answer(refuse(503, f"{refusal}; try again"), send)

    async def ask(
        self, scope: HttpMessage, receive: Receive, send: Send, comes_up: Callable[[], Awaitable[bool]] = _is_up
    ) -> str | None:
        """Pass a request on. Returns why the bot did not answer, if a waiting sender has got no byte."""
        if self._under_way >= RELAYS:
            log.warning("bot_crowded", path=scope["path"][:200])
            return "too many requests wait for the bot"
        self._under_way += 1
        try:
            return await self._connect(scope, receive, send) if await comes_up() else "the bot is starting"
        finally:
            self._under_way -= 1

    async def _connect(self, scope: HttpMessage, receive: Receive, send: Send) -> str | None:
        try:
            async with asyncio.timeout(BOT_CONNECT_S):
                reader, writer = await asyncio.open_connection(*self._address)
        except (OSError, TimeoutError) as error:
            log.warning("bot_away", path=scope["path"][:200], reason=type(error).__name__)
            return "the bot is not up"
        try:
            return await self._pass(scope, receive, send, reader, writer)
        finally:
            # To close would wait until a hanging bot has read everything.
            writer.transport.abort()

    async def _pass(
        self,
        scope: HttpMessage,
        receive: Receive,
        send: Send,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> str | None:
        writer.write(_head(scope))
        passing_on = asyncio.create_task(_pass_on(scope["headers"], receive, writer))
        has_begun = False
        try:
            async with asyncio.timeout(self._answer_s):
                lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
                status = int(lines[0].split(b" ", 2)[1])
                pairs = (line.partition(b":") for line in lines[1:])
                headers = [(name.lower(), value.strip()) for name, _, value in pairs]
                own = [(name, value) for name, value in headers if name not in OF_AN_ANSWER]
                has_begun = True
                await send({"type": "http.response.start", "status": status, "headers": own})
                if scope["method"] != "HEAD":
                    async for piece in _pieces(reader, headers):
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except CUT_OFF as error:
            sender_left = passing_on.done() and passing_on.exception() is None
            if not sender_left:
                log.warning("bot_cut_off", path=scope["path"][:200], reason=type(error).__name__)
            # An answer without an end makes the server close the connection.
            return None if has_begun or sender_left else "the bot ended before the answer, or hangs"
        finally:
            passing_on.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await passing_on
        return None


async def _pieces(reader: asyncio.StreamReader, headers: Headers) -> AsyncIterator[bytes]:
    """The body of the bot's answer. A body without a length ends with the connection. Raises an error of CUT_OFF."""
    if values(headers, "transfer-encoding"):
        while size := int(await reader.readline(), 16):
            yield (await reader.readexactly(size + 2))[:-2]
        return
    length = values(headers, "content-length")
    left = int(length[0]) if length else None
    while left != 0 and (piece := await reader.read(PIECE_BYTES)):
        left = None if left is None else left - len(piece)
        yield piece
    if left:
        raise asyncio.IncompleteReadError(b"", left)


def _head(scope: HttpMessage) -> bytes:
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    lines = [b"%s %s HTTP/1.1" % (scope["method"].encode(), target)]
    lines += [b"%s: %s" % header for header in scope["headers"] if header[0] not in OF_A_CONNECTION]
    return b"\r\n".join([*lines, b"connection: close", b"", b""])


async def _pass_on(headers: Headers, receive: Receive, writer: asyncio.StreamWriter) -> None:
    """Returns when the sender has left. The connection to the bot then ends too. Raises ConnectionError."""
    in_chunks = bool(values(headers, "transfer-encoding"))
    with contextlib.suppress(SenderLeft):
        async for piece in arriving(receive):
            if piece:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if in_chunks else piece)
                await writer.drain()
        if in_chunks:
            writer.write(b"0\r\n\r\n")
        while (await receive())["type"] != "http.disconnect":
            continue
    writer.transport.abort()
