"""What arrives at the public address: deliveries for the door, everything else for the bot. An ASGI application."""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from bot.clock import Clock, Token
from bot.deliveries.signing_secrets import SigningSecrets
from bot.receiver.admission import Admission
from bot.receiver.door import (
    BODIES_IN_FLIGHT,
    READ_PER_BODY,
    Appending,
    Counts,
    Door,
    HttpAnswer,
    SenderLeft,
    refuse,
)
from bot.receiver.log import log
from bot.web.plain_answers import WEBHOOK_PATH
from bot.web.request_body import BodyReader

HttpMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[HttpMessage]]
Send = Callable[[HttpMessage], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


class Front:
    """`bot` takes every other request. `wrong_method` is told of a request for deliveries that is no POST."""

    def __init__(self, door: Door, bot: Application, wrong_method: Callable[[str], None]) -> None:
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
            log.warning("request_refused", status=405, method=scope["method"], path=scope["path"])
            words = f"Method Not Allowed: the bot takes a POST at {WEBHOOK_PATH} for deliveries"
            await answer(refuse(405, words)._replace(headers={"Allow": "POST"}), send)


async def arriving(receive: Receive) -> AsyncIterator[bytes]:
    """The parts of the body. Raises SenderLeft."""
    while (message := await receive())["type"] == "http.request":
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return
    raise SenderLeft


async def answer(given: HttpAnswer, send: Send) -> None:
    headers = {"Content-Length": str(len(given.body)), "Content-Type": "application/json", **given.headers}
    lines = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": given.status, "headers": lines})
    await send({"type": "http.response.body", "body": given.body})


def make_door(
    *,
    max_body_bytes: int,
    signing_secrets: SigningSecrets,
    appending: Appending,
    counts: Counts,
    clock: Clock,
    monotonic: Callable[[], float],
    token: Token,
) -> Door:
    return Door(
        bodies=BodyReader(max_bytes=max_body_bytes * READ_PER_BODY, budget_bytes=max_body_bytes * BODIES_IN_FLIGHT),
        max_body_bytes=max_body_bytes,
        signing_secrets=signing_secrets,
        store=appending.store,
        admission=Admission(monotonic),
        clock=clock,
        token=token,
        counts=counts,
    )
