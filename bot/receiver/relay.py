"""Passes a request on to the bot's own server, and the answer back, each part as it comes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from bot.receiver.door import Headers, SenderLeft, refuse, values
from bot.receiver.front import HttpMessage, Receive, Send, answer, arriving
from bot.receiver.log import log

BOT_CONNECT_S = 2.0
"""The bot's server takes a connection in no time, unless the bot hangs."""

PIECE_BYTES = 65_536

OF_A_CONNECTION = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade", b"expect"})
"""Headers of a request that end here."""

OF_AN_ANSWER = frozenset({b"connection", b"date", b"transfer-encoding"})
"""The receiver's own server writes these."""


class Relay:
    def __init__(self, host: str, port: int) -> None:
        self._address = host, port

    async def __call__(self, scope: HttpMessage, receive: Receive, send: Send) -> None:
        """Pass on. A bot that is away is a 503."""
        try:
            async with asyncio.timeout(BOT_CONNECT_S):
                reader, writer = await asyncio.open_connection(*self._address)
        except (OSError, TimeoutError) as error:
            log.warning("bot_away", path=scope["path"][:200], reason=type(error).__name__)
            await answer(refuse(503, "the bot is not up; try again"), send)
            return
        try:
            await self._pass(scope, receive, send, reader, writer)
        finally:
            writer.close()

    async def _pass(
        self,
        scope: HttpMessage,
        receive: Receive,
        send: Send,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        writer.write(_head(scope))
        passing_on = asyncio.create_task(_pass_on(scope["headers"], receive, writer))
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
            status = int(lines[0].split(b" ", 2)[1])
            headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines[1:])]
            own = [(name, value) for name, value in headers if name not in OF_AN_ANSWER]
            await send({"type": "http.response.start", "status": status, "headers": own})
            async for piece in _pieces(reader, in_chunks=bool(values(headers, "transfer-encoding"))):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except (asyncio.IncompleteReadError, ConnectionError):
            # The bot ended meanwhile, or the sender went away.
            if not (passing_on.done() and passing_on.exception()):
                log.warning("bot_cut_off", path=scope["path"][:200])
                await answer(refuse(503, "the bot ended before the answer; try again"), send)
        finally:
            passing_on.cancel()
            with contextlib.suppress(asyncio.CancelledError, SenderLeft, ConnectionError):
                await passing_on


async def _pieces(reader: asyncio.StreamReader, *, in_chunks: bool) -> AsyncIterator[bytes]:
    """The body of the bot's answer, which ends with the connection."""
    while in_chunks and (size := int(await reader.readline(), 16)):
        yield (await reader.readexactly(size + 2))[:-2]
    while not in_chunks and (piece := await reader.read(PIECE_BYTES)):
        yield piece


def _head(scope: HttpMessage) -> bytes:
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    lines = [b"%s %s HTTP/1.1" % (scope["method"].encode(), target)]
    lines += [b"%s: %s" % header for header in scope["headers"] if header[0] not in OF_A_CONNECTION]
    return b"\r\n".join([*lines, b"connection: close", b"", b""])


async def _pass_on(headers: Headers, receive: Receive, writer: asyncio.StreamWriter) -> None:
    in_chunks = bool(values(headers, "transfer-encoding"))
    try:
        async for piece in arriving(receive):
            if piece:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if in_chunks else piece)
                await writer.drain()
    except SenderLeft:
        writer.close()
        raise
    if in_chunks:
        writer.write(b"0\r\n\r\n")
