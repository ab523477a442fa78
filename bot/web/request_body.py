"""Reading a stranger's body within limits: a cap, a time limit, and a budget for all large bodies in flight."""

import asyncio
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager

from bot.errors import BodyBudgetSpent, BodyCodingUnknown, BodyTooLarge, BodyTooSlow

BODY_S = 5.0
"""Time limit of a whole body."""

SMALL_BYTES = 64 * 1024
"""The first bytes of each body are outside the budget: large bodies of strangers keep no small body out.

The limit of connections bounds the memory of small bodies.
"""

CODINGS = "gzip, deflate"

WITH_HEADER, BARE = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS
"""Forms of zlib. Some senders' "deflate" lacks the header."""


class BodyReader:
    """Reads the bodies of one endpoint. `budget_bytes` bounds the bytes beyond `small_bytes` of all bodies together."""

    def __init__(
        self, *, max_bytes: int, budget_bytes: int, small_bytes: int = SMALL_BYTES, body_s: float = BODY_S
    ) -> None:
        self._max_bytes = max_bytes
        self._budget_bytes = budget_bytes
        self._small_bytes = small_bytes
        self._body_s = body_s
        self.in_flight_bytes = 0

    def check_length(self, length: str) -> None:
        """Raise BodyTooLarge by the Content-Length, before reading."""
        if length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > self._max_bytes):
            raise BodyTooLarge(f"more than {self._max_bytes} bytes")

    @asynccontextmanager
    async def read(self, arriving: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """The whole body, which counts against the budget until the context ends.

        Raises BodyTooLarge, BodyTooSlow, BodyBudgetSpent, or an error of `arriving`.
        """
        read = held = 0
        chunks: list[bytes] = []
        try:
            try:
                async with asyncio.timeout(self._body_s):
                    async for chunk in arriving:
                        read += len(chunk)
                        self.in_flight_bytes -= held
                        held = max(0, read - self._small_bytes)
                        self.in_flight_bytes += held
                        if read > self._max_bytes:
                            raise BodyTooLarge(f"more than {self._max_bytes} bytes")
                        if held and self.in_flight_bytes > self._budget_bytes:
                            raise BodyBudgetSpent(f"more than {self._budget_bytes} bytes of large bodies in flight")
                        chunks.append(chunk)
            except TimeoutError:
                raise BodyTooSlow(f"not whole within {self._body_s:g} s") from None
            yield b"".join(chunks)
        finally:
            self.in_flight_bytes -= held


def decoded(body: bytes, codings: Iterable[str], max_bytes: int) -> bytes:
    """The content of a signed body, by its `Content-Encoding` headers.

    Raises BodyCodingUnknown, and BodyTooLarge without unpacking further.

    Bytes in another coding than the named coding stay unchanged: nothing signed is thrown away.
    """
    coding = ", ".join(codings).strip().lower()
    if coding in {"gzip", "x-gzip", "deflate"}:
        body = _inflated(body, max_bytes, WITH_HEADER) or _inflated(body, max_bytes, BARE) or body
    elif coding not in {"", "identity"}:
        raise BodyCodingUnknown(f"the Content-Encoding is none of {CODINGS}")
    if len(body) > max_bytes:
        raise BodyTooLarge(f"more than {max_bytes} bytes")
    return body


def _inflated(body: bytes, max_bytes: int, form: int) -> bytes:
    """The content, or its beginning above the limit. Empty for a body in another form, or cut off."""
    content, rest = b"", body
    # A gzip body may have several members, and zeros for padding.
    while rest.strip(b"\0") and len(content) <= max_bytes:
        member = zlib.decompressobj(form)
        try:
            content += member.decompress(rest, max_bytes + 1 - len(content))
        except zlib.error:
            return b""
        if not member.eof:
            return content if len(content) > max_bytes else b""
        rest = member.unused_data
    return content
