"""The ports of one life of the bot. Once the life has ended each of them raises Died, so no `finally` has an effect."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar

import aiohttp
import httpx
import pytest
from sqlmodel import Session
from starlette.types import ASGIApp

from bot.db.threads import Commit, Threads, WorkUnit
from tests.clock import START

T = TypeVar("T")
Start = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]


class Died(BaseException):
    """The process ends here: no handler of the bot's may go on."""


OF_EACH_START = ("commit of Jobs.", "commit of Replicas.")
"""A job's slot and a replica's heartbeat: no event's way leads by them."""


class Failpoints:
    """Counts the places on an event's way where the bot may die, and dies at the place of the number `die_at`."""

    def __init__(self, die_at: int | None = None) -> None:
        self.count = 0
        self.place = ""
        self.died = asyncio.Event()
        self.die_at = die_at

    def passed(self, when: str, names: set[str]) -> None:
        self.check()
        if all(name.startswith(OF_EACH_START) for name in names):
            return
        self.count += 1
        if self.count == self.die_at:
            self.place = f"{when} {', '.join(sorted(names))}"
            self.die()
            raise Died

    def die(self) -> None:
        self.died.set()

    def check(self) -> None:
        if self.died.is_set():
            raise Died


class Inline(Threads):
    """Runs units of work on the loop's own thread."""

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        self._check = check

    async def write(self, work: Callable[[Session], T], commit: Commit) -> T:
        await asyncio.sleep(0)
        self._check()
        unit = WorkUnit(work)
        commit([unit])
        result: T = unit.done.result()
        return result

    async def read(self, read: Callable[[], T]) -> T:
        await asyncio.sleep(0)
        self._check()
        return read()

    read_for_alerts = read

    async def close(self, let_go: Callable[[], None]) -> None:
        let_go()


class Wire:
    """To an ASGI app of the world's, which carries a request out although the bot waits no longer, or died."""

    def __init__(self, app: ASGIApp, check: Callable[[], None], start: Start) -> None:
        self._transport = httpx.ASGITransport(app)
        self._check = check
        self._start = start

    async def send(self, method: str, url: str, **request: Any) -> httpx.Response:
        self._check()
        try:
            response: httpx.Response = await asyncio.shield(self._start(self._carry(method, url, **request)))
        finally:
            self._check()
        return response

    async def _carry(self, method: str, url: str, **request: Any) -> httpx.Response:
        response = await self._transport.handle_async_request(httpx.Request(method, url, **request))
        await response.aread()
        return response


class SlackSession:
    """The part of aiohttp's session that slack_sdk uses."""

    closed = False

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def request(self, verb: str, url: str, **given: Any) -> "_Answer":
        asked = {name: given[name] for name in ("headers", "params", "json") if given.get(name)}
        data = given.get("data")
        body = {"content" if isinstance(data, str | bytes) else "data": data} if data else {}
        return _Answer(self._wire.send(verb, url, **asked, **body))

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed = True


class _Answer:
    """aiohttp's answer, as a context."""

    def __init__(self, sending: Coroutine[Any, Any, httpx.Response]) -> None:
        self._sending = sending

    async def __aenter__(self) -> Self:
        try:
            self._response = await self._sending
        except httpx.RemoteProtocolError:
            raise aiohttp.ServerDisconnectedError from None
        self.status, self.headers = self._response.status_code, self._response.headers
        self.content_type = self.headers.get("content-type", "").partition(";")[0]
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def json(self) -> Any:
        if self.content_type != "application/json":
            raise aiohttp.ContentTypeError(None, (), message=self.content_type)  # type: ignore[arg-type]  # for no text
        return self._response.json()

    async def text(self) -> str:
        return self._response.text

    async def read(self) -> bytes:
        return self._response.content


# Time that passes when nothing is left to do: a loop whose clock is a number


BEGIN_S = 1_000.0
TURN_S = 0.000_02
"""A turn of the loop takes so long, so that no two turns see the same moment."""


class NothingWillHappen(Exception):
    """Every task waits, and no timer is set."""


class _Selector(selectors.SelectSelector):
    """Has the time pass by which the loop wants to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = BEGIN_S

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingWillHappen
        self.now_s += max(timeout, TURN_S)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Work for threads is done at once, on the loop's own thread."""

    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)
        # Nobody hears what the tasks of a dead process end with.
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self) -> float:
        return self.selector.now_s

    def clock(self) -> datetime:
        return START + timedelta(seconds=self.time() - BEGIN_S)

    def run_in_executor(self, _executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]  # of any type
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  as a thread hands an error over
            future.set_exception(error)
        return future


def set_wall_clock(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], datetime]) -> None:
    """Have APScheduler go by `clock`: APScheduler can't be given a clock."""

    class Wall(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return clock().astimezone(tz)

    for module in ("schedulers.base", "triggers.interval", "executors.base"):
        monkeypatch.setattr(f"apscheduler.{module}.datetime", Wall)
