"""The load generator: keep-alive connections with one request at a time, in a closed loop or at a fixed rate.

An HTTP library would cost more than the measured servers. A request is bytes made beforehand, and only the answer's
status is read.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

from httptools import HttpResponseParser

LOOPBACK = "127.0.0.1"
ACCEPTED = 200
LATE_S = 0.01
"""The rate was not kept if one request in a hundred was sent later than this."""

UNANSWERED_S = 10.0
"""A later answer, counted from the last planned moment, counts as no answer."""


@dataclass
class Load:
    """The outcome of some requests. Latencies are seconds; at a fixed rate, from the planned moment."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    """The number of each status; 0 stands for a broken connection."""
    accepted: list[int] = field(default_factory=list)
    """At a fixed rate: the numbers of the requests answered 200."""
    due: list[float] = field(default_factory=list)
    """The planned moments (time.perf_counter), in the order of the requests."""
    held_back: int = 0
    """At a fixed rate: requests held back, because too many were under way."""
    lateness: list[float] = field(default_factory=list)
    """By how much the generator itself was late."""

    @property
    def per_s(self) -> float:
        """Accepted requests a second."""
        return self.answers[ACCEPTED] / self.seconds

    @property
    def refused(self) -> int:
        """Answers other than 200, and broken connections."""
        return self.answers.total() - self.answers[ACCEPTED]

    @property
    def offered_per_s(self) -> float:
        """At a fixed rate: requests a second by the moments of the sending, with requests held back."""
        span_s = self.due[-1] + self.lateness[-1] - self.due[0] - self.lateness[0]
        return (len(self.due) - 1 + self.held_back) / span_s

    def note(self, status: int, latency_s: float) -> None:
        """Count an answer."""
        self.answers[status] += 1
        if status == ACCEPTED:
            self.latencies.append(latency_s)


class Connection(asyncio.Protocol):
    """A connection to a server of this machine."""

    def __init__(self) -> None:
        self.is_open = True
        self._parser = HttpResponseParser(self)
        self._status: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._note(self._parser.get_status_code(), is_open=self._parser.should_keep_alive())

    def connection_lost(self, _error: Exception | None) -> None:
        self._note(0, is_open=False)

    def _note(self, status: int, *, is_open: bool) -> None:
        self.is_open = is_open
        if self._status is not None and not self._status.done():
            self._status.set_result(status)

    async def ask(self, request: bytes) -> int:
        """The status of the answer; 0 where the connection broke."""
        self._status = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._status

    def close(self) -> None:
        self._transport.close()


async def connect(port: int, opened: list[Connection]) -> Connection:
    """An open connection, added to the list. Raises OSError where nothing listens."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, LOOPBACK, port)
    opened.append(connection)
    return connection


@asynccontextmanager
async def connected(port: int, connections: int = 1) -> AsyncIterator[list[Connection]]:
    """`connections` open connections. Connections added to the list meanwhile are closed too."""
    opened: list[Connection] = []
    try:
        for _ in range(connections):
            await connect(port, opened)
        yield opened
    finally:
        for connection in opened:
            connection.close()


async def closed_loop(port: int, requests: Iterator[bytes], *, seconds: float, connections: int = 32) -> Load:
    """As many requests as the server takes: each connection sends the next request after an answer."""
    load = Load()
    started = time.perf_counter()

    async def work(connection: Connection) -> None:
        while time.perf_counter() - started < seconds:
            request = next(requests)
            sent = time.perf_counter()
            load.note(await connection.ask(request), time.perf_counter() - sent)

    async with connected(port, connections) as opened:
        started = time.perf_counter()
        await asyncio.gather(*map(work, opened))
        load.seconds = time.perf_counter() - started
    return load


@dataclass
class Pool:
    """Connections for any request; without a free connection another is opened."""

    port: int
    opened: list[Connection]

    def __post_init__(self) -> None:
        self.free = list(self.opened)

    async def ask(self, request: bytes) -> int:
        """The status of the answer; 0 without an answer."""
        self.free = [one for one in self.free if one.is_open]
        try:
            connection = self.free.pop() if self.free else await connect(self.port, self.opened)
        except OSError:
            return 0
        status = await connection.ask(request)
        if connection.is_open:
            self.free.append(connection)
        return status

    def break_off(self) -> None:
        """Wait for no answer any longer."""
        for connection in self.opened:
            connection.close()


async def fixed_rate(
    port: int,
    requests: Iterator[bytes],
    *,
    per_s: float,
    seconds: float,
    connections: int = 64,
    most: float = math.inf,
) -> Load:
    """Requests at even distances, whatever the server does: a slow answer delays no later request.

    While `most` requests are under way, further requests are held back for good. Otherwise the measure would be of the
    generator's connections.
    """
    load, under_way = Load(), 0
    prepared = list(islice(requests, int(per_s * seconds)))
    async with connected(port, connections) as opened, asyncio.TaskGroup() as tasks:
        pool = Pool(port, opened)

        async def send(number: int, request: bytes, due: float) -> None:
            nonlocal under_way
            status = await pool.ask(request)
            under_way -= 1
            load.note(status, time.perf_counter() - due)
            if status == ACCEPTED:
                load.accepted.append(number)

        started = time.perf_counter() + 0.05
        for number, request in enumerate(prepared):
            due = started + number / per_s
            await _reach(due)
            if under_way >= most:
                load.held_back += 1
                continue
            under_way += 1
            load.due.append(due)
            load.lateness.append(time.perf_counter() - due)
            tasks.create_task(send(number, request, due))
        asyncio.get_running_loop().call_later(UNANSWERED_S, pool.break_off)
    load.seconds = time.perf_counter() - started
    return load


async def _reach(moment: float) -> None:
    """Return at a moment of time.perf_counter. A timer may ring up to a millisecond early."""
    for wait_s in iter(lambda: moment - time.perf_counter(), None):
        if wait_s <= 0:
            return
        await asyncio.sleep(wait_s)
