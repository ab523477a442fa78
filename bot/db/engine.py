"""The database behind two calls: `write` and `read`.

Waiting units of work share one transaction, and one fsync. After an error all are rolled back, and each runs again in a
separate transaction: a unit may run twice, and is committed once. `Threads` says where units run.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Engine,
    Executable,
    Table,
    UpdateBase,
    create_engine,
    event,
    exc,
    func,
    inspect,
    literal_column,
    select,
)
from sqlalchemy.engine import URL, make_url
from sqlmodel import Session, SQLModel, col

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

from bot.addresses import shown_database
from bot.clock import Clock
from bot.db.postgresql import CONNECTION, conninfo
from bot.db.sqlite_file import SqliteFile
from bot.db.threads import READERS, Threads, WorkUnit
from bot.errors import LockTaken, StorageUnavailable, reason_of

T = TypeVar("T")
Row = TypeVar("Row", bound=SQLModel)
Work = Callable[[Session], T]

BUSY_S = 1.0
"""SQLite's wait for another process's lock: a delivery is answered within two seconds."""

TOOL_BUSY_S = 5.0
"""BUSY_S of commands: a busy bot frees the lock only now and then."""

LOCK_PATIENCE_S = 1.0
"""Wait for another replica's lock: Slack's users wait three seconds."""

LOCK_AGAIN_S = 0.02
"""The first pause; each further pause is twice as long."""

FAR = timedelta(minutes=15)
"""No wait is so long: a moment further ahead was written before somebody set the clock back."""

PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    # Long savepoints and large sorts would need a temporary file, and perhaps no folder allows files.
    "temp_store=MEMORY",
)

STATEMENTS_KEPT = 32
"""Prepared statements of a SQLite connection, of 24 to 160 KiB each. Each length of a list is another statement."""

VALUES_PER_STATEMENT = 250
"""Well below the most values of a statement: 32,766 in SQLite, 65,535 in PostgreSQL."""

SYNCHRONOUS = {True: "FULL", False: "NORMAL"}
"""SQLite's `synchronous`, by `SqliteFile.syncs`."""

_UNAVAILABLE = (
    exc.OperationalError,
    exc.InterfaceError,
    exc.InternalError,
    exc.TimeoutError,
    # Raised by statements after a broken statement: the transaction is dead.
    exc.PendingRollbackError,
    exc.ResourceClosedError,
)

_OF_ONE_UNIT = ("40P01", "55P03")
"""PostgreSQL: deadlock, lock timeout."""

FILE_GONE = "the database's file was removed or replaced: put the file back, or restart the bot"
"""For strangers too: no path."""

_NO_SUCH_TABLE = ("42P01", "42703")
"""PostgreSQL: missing table, missing column; the schema is not current yet."""


class Repeatable(partial[T]):
    """Work that a power cut may undo, so that SQLite's commit need not wait for the disk.

    After the loss of a commit, intake reads the journal again, and a post without an outcome is looked up.
    """


def is_unavailable(error: BaseException) -> bool:
    """False for bugs of ours."""
    if isinstance(error, exc.ProgrammingError):
        return getattr(error.orig, "sqlstate", None) in _NO_SUCH_TABLE
    return isinstance(error, _UNAVAILABLE) or is_damage(error)


def is_damage(error: BaseException) -> bool:
    """True if SQLite's file is damaged or no database: the error is then of this very class."""
    return type(error) is exc.DatabaseError


class Database:
    """Connects at the first call; `close` finishes waiting work. `busy_s`: SQLite's wait for another process's lock.

    `writer`: for migrations, and for tools without an event loop.
    """

    def __init__(self, url: str, *, busy_s: float = BUSY_S, runner: Threads | None = None) -> None:
        self._runner = runner or Threads()
        self.address = url
        self.url = _engine_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.file = _file_of(self.url)
        self._kept = SqliteFile(self.file, FILE_GONE) if self.file else None
        self.writer = _make_engine(url, writes=True, busy_s=busy_s, kept=self._kept)
        self._reader = _make_engine(url, writes=False, busy_s=busy_s, kept=self._kept)
        self.failed_writes = 0

    def __repr__(self) -> str:
        return f"Database({self.shown!r})"

    @property
    def shown(self) -> str:
        """The address without secrets."""
        return shown_database(self.url)

    def check_file(self) -> None:
        """Raise StorageUnavailable if SQLite's file or its log was removed or replaced."""
        if self._kept:
            self._kept.check()

    def reopen(self) -> None:
        """Take the file for a new file. Before the schema is current, nothing is lost with the former file."""
        self._let_go()
        if self._kept:
            self._kept.take_anew()

    def _let_go(self) -> None:
        """While a connection of SQLite is open that found the files read-only, every new connection is read-only."""
        if self._kept:
            self._kept.let_go()
        self.writer.dispose()
        self._reader.dispose()

    async def write(self, work: Work[T]) -> T:
        """Commit `work`, and return the result.

        Raises StorageUnavailable (nobody knows whether the work was committed), QueueFull, or the error of `work`
        (nothing was stored). After LockTaken, `work` runs again for LOCK_PATIENCE_S at most.
        """
        time = asyncio.get_running_loop().time
        again_s, give_up_at = LOCK_AGAIN_S, time() + LOCK_PATIENCE_S
        while True:
            try:
                result: T = await self._runner.write(work, self._commit_together)
            except LockTaken:
                if time() >= give_up_at:
                    raise
            else:
                return result
            await asyncio.sleep(again_s)
            again_s *= 2

    async def read(self, work: Work[T]) -> T:
        """Raises StorageUnavailable."""
        return await self._runner.read(partial(self._read, work))

    async def read_for_alerts(self, work: Work[T]) -> T:
        """As `read`, by a separate thread: no alert waits for a long read of a command."""
        return await self._runner.read_for_alerts(partial(self._read, work))

    async def read_beside(self, read: Callable[[], T]) -> T:
        """The result of a blocking read of another file, by the threads of `read`."""
        return await self._runner.read(read)

    async def close(self) -> None:
        await self._runner.close(self._let_go)

    def _read(self, work: Work[T]) -> T:
        self.check_file()
        pool = self._reader.pool
        try:
            with Session(self._reader, expire_on_commit=False) as session:
                return _result_of(work, session)
        except exc.SQLAlchemyError as error:
            if not is_unavailable(error):
                raise
            raise StorageUnavailable(reason_of(error)) from error
        finally:
            if pool is not self._reader.pool:
                # Let go during the read: nothing else closes the connection that came back.
                pool.dispose()

    def _commit_together(self, batch: Sequence[WorkUnit]) -> None:
        try:
            self._commit(batch)
        except BaseException as error:  # noqa: BLE001  the thread must live on, and callers must hear of the error
            if len(batch) > 1 and (not is_unavailable(error) or _is_of_one_unit(error)):
                for unit in batch:
                    self._commit_together([unit])
                return
            if is_unavailable(error):
                self.failed_writes += 1
                error = StorageUnavailable(reason_of(error))
                if self.is_sqlite:
                    self._let_go()
            for unit in batch:
                unit.done.set_exception(error)
            return
        for unit in batch:
            unit.done.set_result(unit.result)

    def _commit(self, batch: Sequence[WorkUnit]) -> None:
        self.check_file()
        if self._kept:
            self._kept.syncs = not all(isinstance(unit.work, Repeatable) for unit in batch)
        with self.writer.begin() as connection:
            for unit in batch:
                # The next unit reads the database, not this unit's objects.
                with Session(connection, expire_on_commit=False) as session:
                    unit.result = _result_of(unit.work, session)
                    session.flush()
        if self._kept:
            self._kept.check()
            self._kept.note_commit()


def _result_of(work: Work[T], session: Session) -> T:
    """A StopIteration becomes a RuntimeError: asyncio takes no StopIteration, and the caller would wait for ever."""
    try:
        return work(session)
    except StopIteration as error:
        raise RuntimeError("StopIteration of a unit of work") from error


def _is_of_one_unit(error: BaseException) -> bool:
    """Only a unit that reads a damaged page meets the damage."""
    return is_damage(error) or getattr(getattr(error, "orig", None), "sqlstate", None) in _OF_ONE_UNIT


def affected(session: Session, statement: UpdateBase, values: Mapping[str, object] | None = None) -> int:
    """The count of touched rows. `values` are for a kept statement of `table_of`."""
    result = session.execute(statement) if values is None else session.connection().execute(statement, dict(values))
    assert isinstance(result, CursorResult)
    return result.rowcount


def table_of(model: type[SQLModel]) -> Table:
    """Statements on a table pass by the session's bookkeeping of objects, and cost a third."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


def is_one_of(column: Any, words: Iterable[str]) -> ColumnElement[bool]:
    """For fixed words, as literals. A partial index needs its own words.

    SQLAlchemy writes a statement with a list of parameters anew at each call.
    """
    return col(column).in_([literal_column(f"'{word}'") for word in words])


def in_parts(values: Iterable[T], most: int = VALUES_PER_STATEMENT) -> Iterator[list[T]]:
    """The values in order, in lists of `most`."""
    left = iter(values)
    while some := list(islice(left, most)):
        yield some


def dialect_of(session: Session) -> str:
    return session.get_bind().dialect.name


def database_now(session: Session, clock: Clock) -> datetime:
    """The clock of leases: PostgreSQL's, so that replicas agree on holders; on SQLite the clock of the process."""
    if dialect_of(session) == "sqlite":
        return clock()
    moment: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return moment.astimezone(UTC)


def as_read(model: type[Row], **values: object) -> Row:
    """The row as if read from the database. SQLModel's constructor takes twenty times as long."""
    make, defaults = _blank(model)
    row: Row = make()
    vars(row).update(defaults | values)
    return row


@cache
def _blank(model: type[SQLModel]) -> tuple[Callable[[], Any], dict[str, object]]:
    defaults = {name: field.default for name, field in model.model_fields.items() if not field.is_required()}
    return inspect(model).class_manager.new_instance, defaults


def insert_once(session: Session, model: type[SQLModel], *returning: str) -> Executable:
    """Leaves a row that exists. `returning`: of a new row. A driver's row count of an INSERT is unreliable."""
    return _insert_once(dialect_of(session), model, returning)


def upsert(session: Session, model: type[SQLModel]) -> Executable:
    """Overwrites the whole of a row that exists."""
    return _upsert(dialect_of(session), model)


@cache
def _insert_once(dialect: str, model: type[SQLModel], returning: tuple[str, ...]) -> Executable:
    """Cached: SQLAlchemy takes a while to build a statement."""
    once = insert_into(dialect, model).on_conflict_do_nothing()
    return once.returning(*(table_of(model).c[name] for name in returning)) if returning else once


@cache
def _upsert(dialect: str, model: type[SQLModel]) -> Executable:
    statement, columns = insert_into(dialect, model), table_of(model).c
    anew = {one.name: statement.excluded[one.name] for one in columns if not one.primary_key}
    return statement.on_conflict_do_update(index_elements=[one.name for one in columns if one.primary_key], set_=anew)


def put_where(session: Session, model: type[SQLModel], where: ColumnElement[bool], **row: Any) -> bool:
    """Insert the row, or overwrite the row that exists where `where` holds. One statement decides between replicas.

    False if nothing was written.
    """
    statement = insert_into(dialect_of(session), model).values(**row)
    keys = [one.name for one in table_of(model).primary_key]
    anew = {name: statement.excluded[name] for name in row if name not in keys}
    statement = statement.on_conflict_do_update(index_elements=keys, set_=anew, where=where)
    return session.execute(statement.returning(*table_of(model).primary_key)).first() is not None


def insert_into(dialect: str, table: type[SQLModel]) -> "postgresql.Insert | sqlite.Insert":
    # By name, so that an unused dialect is not loaded.
    module: Any = import_module(f"sqlalchemy.dialects.{dialect}")
    insert: postgresql.Insert | sqlite.Insert = module.insert(table)
    return insert


def _engine_url(url: str) -> URL:
    parsed = make_url(url)
    return parsed.set(drivername="postgresql+psycopg") if parsed.drivername.startswith("postgres") else parsed


def _file_of(url: URL) -> Path | None:
    """None for PostgreSQL, for a database in memory, and for a name that is an address."""
    name = url.database if url.get_backend_name() == "sqlite" else None
    return Path(name) if name and not name.startswith((":memory:", "file:")) else None


def _make_engine(address: str, *, writes: bool, busy_s: float, kept: SqliteFile | None) -> Engine:
    """Every statement of a reading transaction sees the database of the transaction's first statement."""
    connections = 1 if writes else READERS + 1
    if not address.startswith("sqlite"):
        engine = create_engine(
            "postgresql+psycopg://",
            isolation_level="READ COMMITTED" if writes else "REPEATABLE READ",
            pool_size=connections,
            max_overflow=0,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args=CONNECTION,
        )

        @event.listens_for(engine, "do_connect")
        def _go_by_library(_dialect: Any, _record: Any, arguments: list[Any], _options: Any) -> None:
            # PostgreSQL's library alone reads the address, as for the journal.
            arguments[:] = [conninfo(address)]

        return engine

    def connect(*where: Any, **how: Any) -> sqlite3.Connection:
        if kept:
            kept.make()
        connection = sqlite3.Connection(*where, **how)
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if kept:
            kept.note_opened()
        return connection

    def begin(dbapi_connection: Any) -> None:
        if writes and kept:
            dbapi_connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[kept.syncs]}")
        # The driver's own BEGIN comes too late, at the first write.
        dbapi_connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    how = {"timeout": busy_s, "check_same_thread": False, "isolation_level": None, "factory": connect}
    how |= {"cached_statements": STATEMENTS_KEPT}
    engine = create_engine(address, pool_size=connections, max_overflow=0, hide_parameters=True, connect_args=how)
    # No listener: with one, SQLAlchemy looks for listeners of each kind at each statement.
    engine.dialect.do_begin = begin  # type: ignore[method-assign]  # of this engine alone
    return engine
