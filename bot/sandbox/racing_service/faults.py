"""Failures that a test scripts: the next requests of an endpoint are refused, cut off, garbled or slow."""

from collections import deque
from typing import Any

import httpx
from fastapi.responses import HTMLResponse

from bot.sandbox.loopback_server import cut_connection

Failure = int | str
ANY = "*"
DROP, HTML, SLOW = "drop", "html", "slow"
CONNECTION_FAILURES = frozenset({DROP, HTML, SLOW})


class Faults:
    """What is scripted, by endpoint; `ANY` stands for all of them."""

    def __init__(self) -> None:
        self._scripted: dict[str, deque[Failure]] = {}

    def add(self, endpoint: str, failure: Failure, times: int) -> None:
        """The next so many requests of the endpoint fail this way, after those scripted before."""
        self._scripted.setdefault(endpoint, deque()).extend([failure] * times)

    def left(self, endpoint: str) -> int:
        """How many of the endpoint's scripted failures have not come yet."""
        return len(self._scripted.get(endpoint, ()))

    def clear(self) -> None:
        """No request fails any longer."""
        self._scripted.clear()

    def take(self, endpoint: str) -> Failure | None:
        """The failure of the request at hand, which is used up by this; None where it is to be served."""
        for name in (endpoint, ANY):
            if self._scripted.get(name):
                return self._scripted[name].popleft()
        return None


class ConnectionCut(httpx.RemoteProtocolError):
    """The connection was cut. Where there is no socket, the client sees what httpx shows over one."""


async def cut_off(scope: Any, receive: Any) -> None:
    """Closes the connection without a byte of an answer; without a socket to close it raises ConnectionCut."""
    try:
        await cut_connection(scope, receive)
    except ConnectionResetError as error:
        raise ConnectionCut("Server disconnected without sending a response.") from error


def proxy_page() -> HTMLResponse:
    """What a proxy in front of the service answers when it can't reach it."""
    return HTMLResponse("<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", 502)
