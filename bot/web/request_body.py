"""Reading a stranger's body within limits: a cap, a time limit, and a budget for all bodies in flight."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from bot.errors import BodyBudgetSpent, BodyTooLarge, BodyTooSlow

BODY_S = 5.0
"""Time limit of a whole body."""


class BodyReader:
    """Reads the bodies of one endpoint. `budget_bytes` bounds the memory of all requests together."""

    def __init__(self, *, max_bytes: int, budget_bytes: int, body_s: float = BODY_S) -> None:
        self._max_bytes = max_bytes
        self._budget_bytes = budget_bytes
        self._body_s = body_s
        self.in_flight_bytes = 0

    def check_length(self, request: Request) -> None:
        """Raise BodyTooLarge by the Content-Length, before reading."""
        length = request.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > self._max_bytes):
            raise BodyTooLarge(f"more than {self._max_bytes} bytes")

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The whole body, which counts against the budget until the context ends.

        Raises BodyTooLarge, BodyTooSlow, BodyBudgetSpent, or Starlette's ClientDisconnect.
        """
        held = 0
        chunks: list[bytes] = []
        try:
            try:
                async with asyncio.timeout(self._body_s):
                    async for chunk in request.stream():
                        held += len(chunk)
                        self.in_flight_bytes += len(chunk)
                        if held > self._max_bytes:
                            raise BodyTooLarge(f"more than {self._max_bytes} bytes")
                        if self.in_flight_bytes > self._budget_bytes:
                            raise BodyBudgetSpent(f"more than {self._budget_bytes} bytes in flight")
                        chunks.append(chunk)
            except TimeoutError:
                raise BodyTooSlow(f"not whole within {self._body_s:g} s") from None
            yield b"".join(chunks)
        finally:
            self.in_flight_bytes -= held
