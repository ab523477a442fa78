"""The database behind two calls: `write` and `read`.

Units of work that are waiting share one transaction, so that many of them cost one fsync. Where one fails, all are
rolled back, and each runs again in a transaction of its own: a unit may run twice, and is committed once. One thread
writes (SQLite has one writer anyway, and begins IMMEDIATE); a few threads read beside it.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import CursorResult, Engine, Table, UpdateBase, create_engine, event, exc
from sqlalchemy.engine import URL, make_url
from sqlmodel import Session, SQLModel

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

from bot.errors import LockTaken, QueueFull, StorageUnavailable

T = TypeVar("T")
Work = Callable[[Session], T]

MAX_TOGETHER = 200
"""Units that share a transaction at most: more would only make the first of them wait."""

MAX_WAITING = 10_000
"""Units that wait at most; beyond it the caller is told at once instead of waiting for nothing."""

BUSY_S = 1.0
"""How long SQLite waits for another process's lock: less than the two seconds in which a delivery is answered."""

TOOL_BUSY_S = 5.0
"""For commands that nobody waits for with a deadline: a busy bot lets others have the lock only now and then."""

READERS = 4

LOCK_PATIENCE_S = 1.0
"""How long a unit of work is tried again whose lock another replica has: somebody in Slack waits three seconds."""

LOCK_AGAIN_S = 0.02
"""Between the first two tries, and twice as long each time: the other replica's transaction is a short one."""

PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    # A savepoint of many pages, or a large sort, would need a temporary file: there may be no folder for one.
    "temp_store=MEMORY",
)
"""What each connection to SQLite begins with."""

_UNAVAILABLE = (
    exc.OperationalError,
    exc.InterfaceError,
    exc.InternalError,
    exc.TimeoutError,
    # What statements after a broken one get: the transaction is dead, whoever broke it.
    exc.PendingRollbackError,
    exc.ResourceClosedError,
)
_SESSION = " ".join(
    f"-c {setting}"
    for setting in (
        "lock_timeout=5000",
        "statement_timeout=30000",
        # A replica that is frozen, or whose machine is gone, must not hold its locks against the others.
        "idle_in_transaction_session_timeout=10000",
        "tcp_keepalives_idle=5",
        "tcp_keepalives_interval=2",
        "tcp_keepalives_count=3",
    )
)
"""What each session of PostgreSQL's begins with; times in milliseconds, those of keepalives in seconds."""

_OF_ONE_UNIT = ("40P01", "55P03")
"""PostgreSQL's codes for a deadlock and for a lock that was waited for too long: the fault of one unit, not of all."""

_NO_SUCH_TABLE = ("42P01", "42703")
"""PostgreSQL's codes for a table or column that is not there: the schema is not current yet."""


def is_unavailable(error: BaseException) -> bool:
    """Whether the database can't do it just now; other errors of SQLAlchemy's are ours."""
    if isinstance(error, exc.ProgrammingError):
        return getattr(error.orig, "sqlstate", None) in _NO_SUCH_TABLE
    return isinstance(error, _UNAVAILABLE) or is_damage(error)


def is_damage(error: BaseException) -> bool:
    """Whether SQLite's file is damaged, or no database at all: its word for that is of no class below this one."""
    return type(error) is exc.DatabaseError


@dataclass(eq=False)
class _Unit:
    work: Work[Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        try:
            self.loop.call_soon_threadsafe(self._set)
        except RuntimeError:
            # The loop has ended, and with it whoever waited; the work itself is committed or rolled back by now.
            return

    def _set(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Database:
    """One database, SQLite or PostgreSQL. Connects at the first call; `close` waits for what has begun.

    `busy_s`: how long another process's lock is waited for (SQLite).
    """

    def __init__(self, url: str, *, busy_s: float = BUSY_S) -> None:
        self.url = _engine_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._writer = _make_engine(self.url, begin="BEGIN IMMEDIATE", connections=1, busy_s=busy_s)
        self._reader = _make_engine(self.url, begin="BEGIN", connections=READERS + 1, busy_s=busy_s)
        self._waiting: queue.Queue[_Unit | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="storage-reader")
        self._alert_reader = ThreadPoolExecutor(1, thread_name_prefix="storage-alerts")

    def __repr__(self) -> str:
        return f"Database({self.url.render_as_string(hide_password=True)!r})"

    @property
    def writer(self) -> Engine:
        """The engine that writes; for migrations, and for tools that have no event loop."""
        return self._writer

    async def write(self, work: Work[T]) -> T:
        """What `work` returns, after it was committed.

        Raises StorageUnavailable where the database refuses (whether it was committed is then not known), QueueFull
        where too much waits, or what `work` itself raised (then nothing of it was stored). Work that raises LockTaken
        is done again until the lock is free, for LOCK_PATIENCE_S at most.
        """
        again_s, give_up_at = LOCK_AGAIN_S, time.monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                return await self._write(work)
            except LockTaken:
                if time.monotonic() >= give_up_at:
                    raise
            await asyncio.sleep(again_s)
            again_s *= 2

    async def _write(self, work: Work[T]) -> T:
        if self._waiting.qsize() >= MAX_WAITING:
            raise QueueFull(f"{MAX_WAITING} writes are waiting")
        loop = asyncio.get_running_loop()
        unit = _Unit(work, loop, loop.create_future())
        self._start_writing()
        self._waiting.put(unit)
        result: T = await unit.future
        return result

    async def read(self, work: Work[T]) -> T:
        """What `work` reads. Raises StorageUnavailable where the database refuses."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def read_for_alerts(self, work: Work[T]) -> T:
        """As `read`, by a reader that alerts alone have: no command that reads for long keeps one waiting."""
        return await asyncio.get_running_loop().run_in_executor(self._alert_reader, self._read, work)

    async def close(self) -> None:
        """Finish what waits, then let go of every connection."""
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    def _close(self) -> None:
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
        self._readers.shutdown()
        self._alert_reader.shutdown()
        self._writer.dispose()
        self._reader.dispose()

    def _read(self, work: Work[T]) -> T:
        try:
            with Session(self._reader, expire_on_commit=False) as session:
                return work(session)
        except exc.SQLAlchemyError as error:
            if not is_unavailable(error):
                raise
            raise StorageUnavailable(reason_of(error)) from error

    def _start_writing(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_for_ever, name="storage-writer", daemon=True)
            self._thread.start()

    def _write_for_ever(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch = [first]
            stop = False
            while len(batch) < MAX_TOGETHER and not stop:
                try:
                    unit = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if unit is None:
                    stop = True
                else:
                    batch.append(unit)
            self._commit_together([unit for unit in batch if not unit.future.cancelled()])
            if stop:
                return

    def _commit_together(self, batch: list[_Unit]) -> None:
        try:
            self._commit(batch)
        except BaseException as error:  # noqa: BLE001  the thread must live on, and whoever waits must hear of it
            if len(batch) > 1 and (not is_unavailable(error) or _is_of_one_unit(error)):
                # One of them failed, and all were rolled back: each gets a transaction of its own.
                for unit in batch:
                    self._commit_together([unit])
                return
            for unit in batch:
                unit.error = StorageUnavailable(reason_of(error)) if is_unavailable(error) else error
        for unit in batch:
            unit.settle()

    def _commit(self, batch: list[_Unit]) -> None:
        with Session(self._writer, expire_on_commit=False) as session, session.begin():
            for unit in batch:
                unit.result = unit.work(session)
                session.flush()
                # The next one reads what is in the database, not what this one knew of it.
                session.expunge_all()


def _is_of_one_unit(error: BaseException) -> bool:
    """Whether it may be the fault of one unit alone: a damaged page is met by whoever reads it, and by no other."""
    return is_damage(error) or getattr(getattr(error, "orig", None), "sqlstate", None) in _OF_ONE_UNIT


def affected(session: Session, statement: UpdateBase, values: Mapping[str, object] | None = None) -> int:
    """How many rows an UPDATE or DELETE touched. `values` are for a kept statement of a table (`table_of`)."""
    result = session.execute(statement) if values is None else session.connection().execute(statement, dict(values))
    assert isinstance(result, CursorResult)
    return result.rowcount


def table_of(model: type[SQLModel]) -> Table:
    """A model's table. Statements on it pass by the session's bookkeeping of objects, and cost a third."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


def dialect_of(session: Session) -> str:
    """The name of this database's dialect: "sqlite" or "postgresql"."""
    return session.get_bind().dialect.name


def insert_here(session: Session, table: type[SQLModel]) -> "postgresql.Insert | sqlite.Insert":
    """An INSERT of this database's own dialect: the one that knows ON CONFLICT."""
    return insert_into(dialect_of(session), table)


def insert_into(dialect: str, table: type[SQLModel]) -> "postgresql.Insert | sqlite.Insert":
    """As `insert_here`, for statements that are kept."""
    # By name, so that the dialect that is not used is not loaded.
    module: Any = import_module(f"sqlalchemy.dialects.{dialect}")
    insert: postgresql.Insert | sqlite.Insert = module.insert(table)
    return insert


def reason_of(error: BaseException) -> str:
    """What the driver said, without the statement and its values."""
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {str(cause).splitlines()[0] if str(cause) else ''}"


def _engine_url(url: str) -> URL:
    """The address with the driver that we bring."""
    parsed = make_url(url)
    return parsed.set(drivername="postgresql+psycopg") if parsed.drivername.startswith("postgres") else parsed


def _make_engine(url: URL, *, begin: str, connections: int, busy_s: float) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(
            url,
            pool_size=connections,
            max_overflow=0,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={
                "connect_timeout": 3,
                "options": _SESSION,
                # A server that has fallen silent is given up after seconds: there is only one writer to hang.
                "tcp_user_timeout": 5000,
                "keepalives_idle": 5,
                "keepalives_interval": 2,
                "keepalives_count": 2,
            },
        )
    engine = create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"timeout": busy_s, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _record: Any) -> None:
        # The driver's own BEGIN comes too late, at the first write: it is ours to give (see "begin" below).
        connection.isolation_level = None
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine
