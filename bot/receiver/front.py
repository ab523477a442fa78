"""The public address: deliveries go to the door, everything else to the bot. An ASGI application."""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from bot.receiver.door import Door, HttpAnswer, SenderLeft, refuse
from bot.web.plain_answers import WEBHOOK_PATH, RequestRefusal

HttpMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[HttpMessage]]
Send = Callable[[HttpMessage], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


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
