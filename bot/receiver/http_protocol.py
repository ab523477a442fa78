"""HTTP/1.1 for strangers: uvicorn's protocol, with bounds on heads, on connections and on patience.

A connection waits while the next bytes are the sender's: a head, the rest of a body, or nothing at all. Each wait has
a time limit. Over the limit of connections, the connection that has waited longest is closed, so silent connections
keep no sender out. A proxy's connections share an address, so no bound goes by addresses.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from bot.receiver.door import refuse
from bot.web.plain_answers import RequestRefusal

PIECE_BYTES = 4_096
"""A read may have several requests. A piece's bytes before a request count as the request's."""


@dataclass(frozen=True)
class Limits:
    """`head_bytes` bounds chunk extensions and trailers too. `rest_s`: for the rest of a body after the answer."""

    connections: int = 1_000
    head_bytes: int = 64 * 1024
    headers: int = 100
    pipelined: int = 32
    head_s: float = 10.0
    rest_s: float = 5.0
    idle_s: float = 30.0


class Connections:
    """The connections of one server. `count` gets the reason of each refused request and of each closed connection."""

    def __init__(self, count: Callable[[RequestRefusal], None], limits: Limits | None = None) -> None:
        self.count = count
        self.limits = limits or Limits()
        self._waiting: dict[StrangerProtocol, None] = {}

    def wait(self, connection: "StrangerProtocol") -> None:
        self.stop_waiting(connection)
        self._waiting[connection] = None

    def stop_waiting(self, connection: "StrangerProtocol") -> None:
        self._waiting.pop(connection, None)

    def make_room(self, connections: int) -> None:
        """A new connection waits too: if all others are being answered, the new connection is closed."""
        longest = next(iter(self._waiting), None)
        if connections > self.limits.connections and longest is not None:
            self.stop_waiting(longest)
            self.count("crowded")
            longest.transport.abort()


class _RefusedError(Exception):
    def __init__(self, status: int, reason: RequestRefusal, words: str) -> None:
        self.status, self.reason, self.words = status, reason, words


class StrangerProtocol(HttpToolsProtocol):
    def __init__(self, connections: Connections, **of_uvicorn: Any) -> None:
        super().__init__(**of_uvicorn)
        # uvicorn's own parser drops bytes after a last request, so a wrong length would look like a wrong signature.
        self.parser = httptools.HttpRequestParser(self)
        self._others = connections
        self._limits = connections.limits
        self._timer: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        """The oldest request without an answer. `cycle` is the newest request."""
        self._in_head, self._in_body = True, False
        self._framing_bytes, self._body_bytes = 0, 0
        """All bytes of the present message outside its body; the bytes of bodies in the present piece."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn types it
        super().connection_made(transport)
        self._follow()
        self._others.make_room(len(self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._cut_off()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio.Protocol may say more
        """True for a sender that has closed its half, and waits for the answer to a whole request."""
        if not self._is_answering:
            return False
        if self._in_body:
            self._refuse(_RefusedError(400, "malformed", "the connection ended before the body did"))
        self.cycle.keep_alive = False
        return not self._in_body

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            for begin in range(0, len(data), PIECE_BYTES):
                self._count_and_feed(data[begin : begin + PIECE_BYTES])
        except _RefusedError as refused:
            self._refuse(refused)
        except httptools.HttpParserError as error:
            # The parser wraps our refusals, and the error of a malformed address.
            why = error.__context__ or error
            self._refuse(why if isinstance(why, _RefusedError) else _RefusedError(400, "malformed", f"{why}"[:200]))

    def _count_and_feed(self, piece: bytes) -> None:
        self._body_bytes = 0
        self._feed(piece)
        self._framing_bytes += len(piece) - self._body_bytes
        if self._framing_bytes > self._limits.head_bytes:
            raise self._too_large()

    def _feed(self, data: bytes) -> None:
        """No protocol is ever switched, and the parser drops the body of a request with an upgrade.

        A new parser gets the head without the offer, and then the body.
        """
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            method, version = self.parser.get_method(), self.parser.get_http_version()
            lines = [b"%s %s HTTP/%s" % (method, self.url, version.encode())]
            lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
            self.parser = httptools.HttpRequestParser(self)
            self._feed(b"\r\n".join([*lines, b"", data[upgrade.args[0] :]]))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._framing_bytes = True, 0
        self._follow()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers are not headers: a signature may be checked by then.
        if not self._in_head:
            return
        if len(self.headers) >= self._limits.headers:
            raise self._too_large()
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise _RefusedError(400, "malformed", "this is no proxy")
            return
        if len(self.pipeline) >= self._limits.pipelined:
            raise _RefusedError(400, "malformed", "too many requests at once on this connection")
        self._in_body = True
        super().on_headers_complete()
        self._follow()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._in_body = False
        super().on_message_complete()
        self._follow()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._follow()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._follow()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._follow()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    @property
    def _is_answering(self) -> bool:
        return self._answering is not None and not self._answering.response_complete

    def _follow(self) -> None:
        """Wait anew, or stop waiting, after each change of what is to come."""
        self._stop_waiting()
        if self.transport.is_closing() or (
            not self.flow.write_paused and (self.pipeline or (self._is_answering and not self._in_body))
        ):
            return
        self._others.wait(self)
        limits = self._limits
        if self.flow.write_paused or self._in_head:
            self._timer = self.loop.call_later(limits.head_s, self._give_up)
        elif self._in_body and not self._is_answering:
            self._timer = self.loop.call_later(limits.rest_s, self._give_up)
        elif not self._in_body:
            self._timer = self.loop.call_later(limits.idle_s, self._give_up)

    def _stop_waiting(self) -> None:
        self._others.stop_waiting(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self._in_head:
            self._others.count("late")
        self.transport.abort()

    def _cut_off(self) -> None:
        """Uvicorn cuts off the newest request alone, and the oldest would be answered on a closed transport."""
        for cycle in (self._answering, self.cycle):
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()

    def _too_large(self) -> _RefusedError:
        limits = self._limits
        words = f"more than {limits.headers} headers, or {limits.head_bytes} bytes outside the body"
        return _RefusedError(431, "head_too_large", words)

    def _refuse(self, refused: _RefusedError) -> None:
        """HttpAnswer, and close. A request that is being read counts as cut off: the body is not what was announced."""
        self._others.count(refused.reason)
        self._cut_off()
        answer = refuse(refused.status, refused.words)
        headers = [*self.server_state.default_headers, *answer.headers, (b"connection", b"close")]
        lines = [b"%s: %s\r\n" % header for header in headers]
        self.transport.write(b"".join([STATUS_LINE[refused.status], *lines, b"\r\n", answer.body]))
        self.transport.close()
