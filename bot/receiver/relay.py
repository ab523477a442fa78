"""The public address: deliveries go to the door, every other request to the bot's own server.

A request is passed on part by part, and the bot's whole answer back.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from bot.receiver.door import Door, Headers, HttpAnswer, SenderLeft, refuse, values
from bot.web.plain_answers import WEBHOOK_PATH, RequestRefusal

HttpMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[HttpMessage]]
Send = Callable[[HttpMessage], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

BOT_CONNECT_S = 2.0
"""The bot's server takes a connection at once, unless the bot hangs."""

ANSWER_S = 10.0
"""For the whole answer, the sender's body included."""

RELAYS = 100

OF_A_CONNECTION = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"te", b"upgrade", b"expect"})
"""Headers of a request, not passed on."""

OF_AN_ANSWER = frozenset({b"connection", b"date"})
"""The receiver's own server writes these."""


CUT_OFF = (ConnectionError, EOFError, TimeoutError, LookupError, ValueError)
"""The bot ended, hangs or answers nonsense, or the sender went away."""


class Front:
    """`bot` takes every other request. `wrong_method` is told of a request for deliveries that is no POST."""

    def __init__(self, door: Door, bot: Application, wrong_method: Callable[[RequestRefusal], None]) -> None:
        self._door = door
        self._bot = bot
        self._wrong_method = wrong_method

    async def __call__(self, scope: HttpMessage, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in {WEBHOOK_PATH, f"{WEBHOOK_PATH}/"}:
            await self._bot(scope, receive, send)
        elif scope["method"] == "POST":
            await answer(await self._door.answer(scope["headers"], arriving(receive)), send)
        else:
            self._wrong_method("method")
            words = f"Method Not Allowed: the bot takes a POST at {WEBHOOK_PATH} for deliveries"
            told = {"method": scope["method"], "path": scope["path"]}
            await answer(refuse(405, words, headers={"Allow": "POST"}, **told), send)


class BotSilent(Exception):
    """Why the bot gives no answer."""


class Relay:
    """At most `RELAYS` requests at once: a hanging bot must not use up the connections of deliveries.

    `comes_up` waits for a starting bot; False for a bot that does not start in time.
    """

    def __init__(
        self, host: str, port: int, comes_up: Callable[[], Awaitable[bool]], answer_s: float = ANSWER_S
    ) -> None:
        self._address = host, port
        self._comes_up = comes_up
        self._answer_s = answer_s
        self._under_way = 0

    async def __call__(self, scope: HttpMessage, receive: Receive, send: Send) -> None:
        """Pass a request on. A dead or hanging bot is a 503."""
        with contextlib.suppress(SenderLeft):
            try:
                said = await self.ask(scope, receive)
            except BotSilent as error:
                said = refuse(503, f"{error}; try again", path=scope["path"][:200], cause=repr(error.__cause__))
            await answer(said, send)

    async def ask(self, scope: HttpMessage, receive: Receive) -> HttpAnswer:
        """The bot's answer, in whole: the bot streams no answer. Raises BotSilent and SenderLeft."""
        if self._under_way >= RELAYS:
            raise BotSilent("too many requests wait for the bot")
        self._under_way += 1
        try:
            if not await self._comes_up():
                raise BotSilent("the bot is starting")
            return await self._pass(scope, receive, *await self._connect())
        finally:
            self._under_way -= 1

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(BOT_CONNECT_S):
                return await asyncio.open_connection(*self._address)
        except (OSError, TimeoutError) as error:
            raise BotSilent("the bot is not up") from error

    async def _pass(
        self, scope: HttpMessage, receive: Receive, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> HttpAnswer:
        writer.write(_head(scope))
        passing_on = asyncio.create_task(_pass_on(scope["headers"], receive, writer))
        try:
            async with asyncio.timeout(self._answer_s):
                return await _read_answer(reader, scope["method"])
        except CUT_OFF as error:
            if passing_on.done() and passing_on.exception() is None:
                raise SenderLeft from error
            raise BotSilent("the bot ended before the answer, or hangs") from error
        finally:
            passing_on.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await passing_on
            # `close` would wait until a hanging bot has read everything.
            writer.transport.abort()


async def _read_answer(reader: asyncio.StreamReader, method: str) -> HttpAnswer:
    """Raises an error of CUT_OFF for half an answer."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).strip().split(b"\r\n")
    pairs = (line.partition(b":") for line in lines)
    headers = [(name.lower(), value.strip()) for name, _, value in pairs]
    body = b"" if method == "HEAD" else await reader.readexactly(int(values(headers, "content-length")[0]))
    own = [(name, value) for name, value in headers if name not in OF_AN_ANSWER]
    return HttpAnswer(int(first.split(b" ", 2)[1]), own, body)


def _head(scope: HttpMessage) -> bytes:
    """Without `connection: close`: the bot's server would reset the connection after an answer to an unread body."""
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    lines = [b"%s %s HTTP/1.1" % (scope["method"].encode(), target)]
    lines += [b"%s: %s" % header for header in scope["headers"] if header[0] not in OF_A_CONNECTION]
    return b"\r\n".join([*lines, b"", b""])


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


async def arriving(receive: Receive) -> AsyncIterator[bytes]:
    """The parts of the body. Raises SenderLeft."""
    while (message := await receive())["type"] == "http.request":
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return
    raise SenderLeft


async def answer(given: HttpAnswer, send: Send) -> None:
    await send({"type": "http.response.start", "status": given.status, "headers": given.headers})
    await send({"type": "http.response.body", "body": given.body})
