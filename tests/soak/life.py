"""One life of the bot under the soak: the service as `racing-bot serve` runs it, and the places where it may die.

A failpoint stands before and after every commit of a change, named by the units of work in the commit, and before and
after every call of Slack. Failpoints are found when passed, and listed nowhere.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import uvicorn
from sqlalchemy import PoolProxiedConnection, event
from sqlmodel import Session

from bot.app import Service
from bot.cli.server import uvicorn_config
from bot.db.engine import Database, Work
from bot.logs import configure_logging
from bot.outbox.pace import Pace
from bot.ports import Ports
from bot.settings import Settings, load_settings
from bot.web.uvicorn_server import loop_factory
from tests.front import receiver_of

KILLED = "!"
"""Stands before the failpoint of the death, in the file of passed failpoints."""

BESIDE = "outside any unit of work"


CALL_S, LEASE_MARGIN_S, LOOK_S, LOOK_AGAIN_S, SETTLE_S = 0.8, 0.4, 1.0, 0.5, 1.0
"""The poster's times, shortened so that a death holds up queues for seconds, not for half a minute."""


@dataclass(frozen=True)
class Life:
    """The orders of a process: die at the first failpoint not `spared`, after `skip` more; None: never."""

    settings: dict[str, str]
    log: Path
    passed: Path
    spared: frozenset[str] = frozenset()
    skip: int | None = None
    pace: Pace = field(default_factory=Pace)


class Passing(Protocol):
    def passed(self, when: str, names: set[str]) -> None:
        """A failpoint is passed: a commit or a call, named after the units or the method."""


class Failpoints:
    """Writes down a passed failpoint at once: SIGKILL leaves no time later."""

    def __init__(self, life: Life) -> None:
        self._path = life.passed
        self._spared = life.spared
        self._skip = life.skip

    def passed(self, when: str, names: set[str]) -> None:
        labels = sorted(f"{when} {name}" for name in names)
        self._write(labels)
        if self._skip is None or self._spared.issuperset(labels):
            return
        if self._skip > 0:
            self._skip -= 1
            return
        self._write([f"{KILLED}{label}" for label in labels])
        os.kill(os.getpid(), signal.SIGKILL)

    def _write(self, lines: list[str]) -> None:
        with self._path.open("ab", buffering=0) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())


class Commits:
    """The failpoints around the commits of a database. A commit without a change has no failpoint."""

    def __init__(self, database: Database, failpoints: Passing) -> None:
        self._write, self._failpoints = database.write, failpoints
        self._unit = BESIDE
        self._changed: set[str] = set()
        self.outcome: ContextVar[str] = ContextVar("outcome", default="")
        engine = database.writer
        self._do_commit = engine.dialect.do_commit
        event.listen(engine, "begin", self._begin)
        event.listen(engine, "after_cursor_execute", self._executed)
        engine.dialect.do_commit = self._commit  # type: ignore[method-assign]  # on this instance alone
        database.write = self._labelled  # type: ignore[method-assign]  # to know what shares a commit

    def _begin(self, _connection: Any) -> None:
        self._changed.clear()

    def _executed(self, _conn: Any, cursor: Any, _sql: str, _values: Any, context: Any, _many: bool) -> None:
        if context and (context.isinsert or ((context.isupdate or context.isdelete) and cursor.rowcount)):
            self._changed.add(self._unit)

    def _commit(self, dbapi_connection: PoolProxiedConnection) -> None:
        changed = {f"commit of {unit}" for unit in self._changed}
        if changed:
            self._failpoints.passed("before", changed)
        self._do_commit(dbapi_connection)
        if changed:
            self._failpoints.passed("after", changed)

    async def _labelled(self, work: Work[Any]) -> Any:
        label = _name(work) + self.outcome.get()

        def run(session: Session) -> Any:
            self._unit = label
            try:
                result = work(session)
                session.flush()
            finally:
                self._unit = BESIDE
            return result

        return await self._write(run)


class DyingService(Service):
    """The service, with failpoints on the instances."""

    def __init__(self, settings: Settings, pace: Pace, failpoints: Passing, ports: Ports | None = None) -> None:
        super().__init__(settings, ports=ports, pace=pace)
        self._failpoints = failpoints
        self._commits = Commits(self.database, failpoints)

    async def start(self) -> None:
        await super().start()
        # The loops' tasks have not run yet: no message was sent before.
        self.slack.call = partial(self._call, self.slack.call)  # type: ignore[method-assign]  # as above
        self._count = self.poster.on_outcome
        self.poster.on_outcome = self._on_outcome

    def _on_outcome(self, name: str) -> None:
        """To be called in the task that commits the outcome: the outcome tells the commits apart."""
        self._commits.outcome.set(f", {name}")
        self._count(name)

    async def _call(self, call: Callable[..., Awaitable[Any]], method: str, *args: Any, **kwargs: Any) -> Any:
        self._failpoints.passed("before", {method})
        try:
            return await call(method, *args, **kwargs)
        finally:
            self._failpoints.passed("after", {method})


def live(life: Life) -> None:
    """Serve until killed, or until SIGTERM."""
    log = os.open(life.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    _shorten_times()
    settings = load_settings(env_file=None, **life.settings)
    configure_logging(settings.log_level, settings.log_format, settings.secret_values)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(settings, life))


async def _serve(settings: Settings, life: Life) -> None:
    """Receiver and bot in one process: a death is the death of both."""
    failpoints = Failpoints(life)
    service = DyingService(settings, life.pace, failpoints)
    append = partial(_append, failpoints, service.journal.append)
    service.journal.append = append  # type: ignore[method-assign]  # on this instance alone
    app = receiver_of(service).app
    await uvicorn.Server(uvicorn_config(app, lifespan="on", host=settings.host, port=settings.port)).serve()


def _append(failpoints: Passing, append: Callable[[Any], list[bool]], letters: Any) -> list[bool]:
    failpoints.passed("before", {"commit of the journal"})
    new = append(letters)
    failpoints.passed("after", {"commit of the journal"})
    return new


def _shorten_times() -> None:
    values = {
        "POST_CALL_S": CALL_S,
        "LEASE_MARGIN_S": LEASE_MARGIN_S,
        "EDIT_LOOK_S": LOOK_S,
        "HISTORY_PAGE_S": LOOK_S,
        "LOOK_AGAIN": timedelta(seconds=LOOK_AGAIN_S),
    }
    modules = [module for name, module in sys.modules.items() if name.startswith(("bot.fanout.", "bot.outbox."))]
    for name, value in values.items():
        owners = [module for module in modules if hasattr(module, name)]
        assert owners, f"bot.fanout and bot.outbox have no {name} any more"
        for module in owners:
            setattr(module, name, value)


def _name(work: Any) -> str:
    function = work.func if isinstance(work, partial) else work
    return str(function.__qualname__).removesuffix(".<locals>.<lambda>")
