"""The journal: the bodies of signed deliveries, on disk before the answer, in the order of receipt.

On SQLite a file beside the database's file, so that nothing which the bot writes delays a delivery; on PostgreSQL a
table of the same database. The receiver appends, and the bot reads on from its place. Free of SQLAlchemy: the receiver
stays small.
"""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from bot.db.postgresql import CONNECTION, conninfo
from bot.db.sqlite_file import SqliteFile
from bot.errors import StorageUnavailable, reason_of

LOCKED_S = 1.0
"""Wait for another process's lock: a delivery is answered within two seconds."""

STORE_WITHIN_S = 1.5
"""The service waits for the answer a couple of seconds (Interface, Events 5)."""

JOURNAL_PROOF_S = 10.0
"""Seconds for which a written row proves that a delivery can be stored."""

FORGET_AT_ONCE = 200

BYTES_AT_ONCE = 1024 * 1024
"""Of bodies: a parsed body takes several times as much memory."""

MENDS_MAX = 10
"""Mends of a process: a disk that goes on damaging the file would fill up with copies."""

_FIELDS = "number, sha256, reference, received_at, body"

_INSERT = "INSERT INTO journal (sha256, reference, received_at, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"

_PROOF = ("", "", 2**62, b"")
"""A letter on the file's last pages: the next letter needs the same pages."""

JOURNAL_GONE = "the file of the journal was removed or replaced: put the file back, or restart the bot"

_SCHEMA = "PRAGMA schema_version"

_BY_HASH = "FROM journal INDEXED BY sqlite_autoindex_journal_1"

_MOMENT = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_LOCK = 7_228_464_117
"""PostgreSQL's advisory lock: rows become visible in the order of their numbers, with several receivers too."""

_SQLITE = """
    CREATE TABLE IF NOT EXISTS journal (
        number INTEGER PRIMARY KEY,
        sha256 TEXT NOT NULL UNIQUE,
        reference TEXT NOT NULL,
        received_at INTEGER NOT NULL,
        body BLOB NOT NULL
    );
    CREATE INDEX IF NOT EXISTS ix_journal_received_at ON journal (received_at)
"""
_POSTGRESQL = (
    _SQLITE.replace("number INTEGER PRIMARY KEY,", "number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,", 1)
    .replace("received_at INTEGER", "received_at BIGINT")
    .replace("BLOB", "BYTEA")
)


class _Damaged(StorageUnavailable):
    """SQLite's file is damaged: the driver's error is then of the class DatabaseError itself."""


class Letter(NamedTuple):
    """A signed body. `reference`: of the request, `req-…`."""

    sha256: str
    reference: str
    received_at: datetime
    body: bytes


class JournalPlace(NamedTuple):
    """How far the journal is read. The hash tells another journal, with the same number, from this journal."""

    number: int
    sha256: str


Run = Callable[..., Any]

T = TypeVar("T")


class Journal:
    """Blocking calls, one at a time. Each raises StorageUnavailable: nobody knows whether the call was done."""

    def __init__(self, url: str, monotonic: Callable[[], float]) -> None:
        self.url = url
        self.file = journal_file(url)
        self.durable = True
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._connection: Any = None
        self._kept = SqliteFile(self.file, JOURNAL_GONE) if self.file else None
        self._proved_s: float | None = None
        self._mends = 0
        self._schema: tuple[int] | None = None

    def append(self, letters: Sequence[Letter]) -> list[bool]:
        """Commit the letters together. False for a body that the journal has already."""
        rows = [(one.sha256, one.reference, _number(one.received_at), one.body) for one in letters]
        return self._done(lambda run: [run(_INSERT, *row).rowcount == 1 for row in rows], writes=True)

    def after(self, place: JournalPlace | None, limit: int) -> tuple[JournalPlace | None, list[tuple[int, Letter]]]:
        """The place, None unless the journal has the place's row, and the following letters by number.

        The letter that reaches BYTES_AT_ONCE is the last.
        """
        following = "FROM journal WHERE number > ? ORDER BY number LIMIT ?"

        def read(run: Run) -> tuple[JournalPlace | None, list[tuple[int, Letter]]]:
            known = _known(run, place)
            since = known.number if known else 0
            sizes = [size for (size,) in run(f"SELECT COALESCE(LENGTH(body), 0) {following}", since, limit)]
            count = 1 + sum(size < BYTES_AT_ONCE for size in accumulate(sizes))
            letters = list(map(_letter, run(f"SELECT {_FIELDS} {following}", since, min(count, limit))))
            if self._kept:
                _check_gaps(run, since, letters)
            return known, letters

        return self._done(read)

    def waiting(self, place: JournalPlace | None) -> tuple[int, datetime | None]:
        """The number of letters after the place, and the receipt of the first letter."""
        with self._transaction() as run:
            known = _known(run, place)
            statement = "SELECT COUNT(*), MIN(received_at) FROM journal WHERE number > ?"
            count, first = run(statement, known.number if known else 0).fetchone()
        return count, None if first is None else _moment(first)

    def forget(self, before: datetime, place: JournalPlace) -> int:
        """Drop letters that were received earlier and read. Returns the count of a batch.

        The place's letter stays, and a journal without that letter keeps all.
        """
        forgotten = (
            "DELETE FROM journal WHERE number IN (SELECT number FROM journal WHERE received_at < ? AND number < ? "
            "AND EXISTS (SELECT 1 FROM journal WHERE number = ? AND sha256 = ?) ORDER BY received_at LIMIT ?)"
        )
        which = (_number(before), place.number, *place, FORGET_AT_ONCE)
        return int(self._done(lambda run: run(forgotten, *which).rowcount, writes=True))

    def prove(self) -> None:
        """Raise StorageUnavailable unless a letter could be stored now.

        Stores and drops a letter every JOURNAL_PROOF_S.
        """
        now_s = self._monotonic()
        fresh = self._proved_s is not None and now_s - self._proved_s < JOURNAL_PROOF_S

        def store_and_drop(run: Run) -> None:
            run(_INSERT, *_PROOF)
            run("DELETE FROM journal WHERE sha256 = ?", _PROOF[0])

        self._done((lambda _run: None) if fresh else store_and_drop, writes=True)
        if not fresh:
            self._proved_s = now_s

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _done(self, work: Callable[[Run], T], *, writes: bool = False) -> T:
        """The work's result. After a damaged page the letters are stored anew, and the work is done again."""
        try:
            with self._transaction(writes=writes) as run:
                return work(run)
        except _Damaged:
            schema = self._schema
            if self._mends >= MENDS_MAX:
                raise
        with self._transaction(writes=True) as run, closing(sqlite3.connect(f"{self.file}")) as reader:
            # Another process may have stored the letters anew.
            is_ours = run(_SCHEMA).fetchone() == schema
            if is_ours:
                _mend(run, reader.execute)
            done = work(run)
        # Counted once stored: a mend that found no room on the disk is tried again.
        self._mends += is_ours
        return done

    @contextmanager
    def _transaction(self, *, writes: bool = False) -> Iterator[Run]:
        with self._lock:
            try:
                run = self._begin(writes=writes)
                yield run
                self._commit(run)
            except StorageUnavailable:
                self._let_go()
                raise
            except Exception as error:
                # A connection that was opened while the file was read-only stays read-only.
                self._let_go()
                if type(error).__module__.partition(".")[0] not in {"sqlite3", "psycopg"}:
                    raise
                is_damage = type(error) is sqlite3.DatabaseError
                raise (_Damaged if is_damage else StorageUnavailable)(reason_of(error)) from error

    def _begin(self, *, writes: bool) -> Run:
        if self._kept:
            self._kept.check()
        if self._connection is None:
            self._connection = self._connect()
        execute = self._connection.execute
        if self._kept:
            execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            return lambda statement, *values: execute(statement, values)
        try:
            execute("BEGIN")
        except Exception:
            if not self._connection.closed:
                raise
            # PostgreSQL was restarted since the last transaction.
            self._connection = self._connect()
            execute = self._connection.execute
            execute("BEGIN")
        if writes:
            execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        return lambda statement, *values: execute(statement.replace("?", "%s"), values)

    def _commit(self, run: Run) -> None:
        run("COMMIT")
        if self._kept:
            self._kept.check()
            self._kept.note_commit()

    def _connect(self) -> Any:
        if self._kept is None:
            connection = connect_postgresql(self.url, autocommit=True)
            # DDL takes locks, and rights that the user may lack, also where the tables are there.
            if connection.execute("SELECT to_regclass('journal')").fetchone() == (None,):
                with connection.transaction():
                    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
                    connection.execute(_POSTGRESQL)
            return connection
        self._kept.make()
        connection = sqlite3.connect(f"{self.file}", timeout=LOCKED_S, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'FULL' if self.durable else 'OFF'}")
        connection.executescript(_SQLITE)
        self._schema = connection.execute(_SCHEMA).fetchone()
        self._kept.note_opened()
        return connection

    def _let_go(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
        self._connection = self._proved_s = None
        if self._kept:
            self._kept.let_go()


def journal_file(url: str) -> Path | None:
    """`racing-bot.deliveries.db` beside `racing-bot.db`; None on PostgreSQL."""
    scheme, _, name = url.partition(":///")
    return beside(Path(unquote(name))) if scheme == "sqlite" else None


def beside(database: Path) -> Path:
    return database.with_name(f"{database.stem}.deliveries{database.suffix}")


def connect_postgresql(url: str, **how: Any) -> Any:
    import psycopg  # noqa: PLC0415  only where PostgreSQL is the database

    return psycopg.connect(conninfo(url), **CONNECTION, **how)


def _known(run: Run, place: JournalPlace | None) -> JournalPlace | None:
    """The place, if the journal has the letter of the place; else None."""
    found = place and run("SELECT number FROM journal WHERE sha256 = ?", place.sha256).fetchone()
    return place if place and found == (place.number,) else None


def _mend(run: Run, read: Run) -> None:
    """Store the letters anew, in another table. The damaged table stays in the file.

    `read` uses another connection, because a damaged page would end the transaction. The body of a damaged letter is
    replaced by a sentence, so the letter is told as an unreadable delivery.
    """
    log = logging.getLogger(__name__)
    (tables,) = run("SELECT COUNT(*) FROM sqlite_schema").fetchone()
    damaged = f"journal_damaged_{tables}"
    run(f"ALTER TABLE journal RENAME TO {damaged}")
    for statement in _SQLITE.replace("ix_journal", f"ix_since_{damaged}").split(";"):
        run(statement)
    log.error("The journal is damaged. The letters are stored anew. The table %s keeps the damaged pages.", damaged)
    # The index has the hash of each letter, and is on other pages than the letters.
    listed = [*_rows(read, f"SELECT number, sha256 {_BY_HASH}")]
    if None in listed:
        ordered = "SELECT number, NULL FROM journal ORDER BY"
        for order in ("number", "number DESC", "received_at", "received_at DESC"):
            listed += _rows(read, f"{ordered} {order}")
    hashes = dict(filter(None, reversed(listed)))
    only = "FROM journal WHERE number = ?"
    # A damaged letter gets the receipt of the letter before; the first letter the present time.
    (received_at,) = read("SELECT strftime('%s', 'now') * 1000000").fetchone()
    # The index and all orders may lack a damaged letter. A number without a letter has neither row nor damage.
    for number in range(min(hashes, default=1), max(hashes, default=0) + 1):
        rows = [*_rows(read, f"SELECT {_FIELDS} {only}", number)]
        if not rows and number not in hashes:
            continue
        row = rows[0] if rows else None
        if row is None or None in row:
            words = f"Letter {number} of the journal can't be read: the file is damaged."
            log.error(words)
            row = number, hashes.get(number) or f"damaged-{number}", f"journal-{number}", received_at, words.encode()
        received_at = row[3]
        run("INSERT INTO journal VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", *row)


def _rows(read: Run, statement: str, *values: object) -> Iterator[Any]:
    """The readable rows up to the first damaged page, and None in place of the page."""
    try:
        yield from read(statement, values)
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:
            raise
        yield None


def _letter(row: Sequence[Any]) -> tuple[int, Letter]:
    """Raises sqlite3.DatabaseError for a damaged row: the row lacks values."""
    if None in row:
        raise sqlite3.DatabaseError("a letter is damaged")
    number, sha256, reference, received_at, body = row
    return number, Letter(sha256, reference, _moment(received_at), bytes(body))


def _check_gaps(run: Run, since: int, letters: Sequence[tuple[int, Letter]]) -> None:
    """Raise sqlite3.DatabaseError if the index has further letters. Repeated bodies leave gaps in the numbers too."""
    if letters and (last := letters[-1][0]) - since != len(letters):
        counted = run(f"SELECT COUNT(*) {_BY_HASH} WHERE number > ? AND number <= ?", since, last).fetchone()
        if counted != (len(letters),):
            raise sqlite3.DatabaseError("letters are damaged")


def _number(moment: datetime) -> int:
    return (moment - _EPOCH) // _MOMENT


def _moment(number: int) -> datetime:
    return _EPOCH + number * _MOMENT
