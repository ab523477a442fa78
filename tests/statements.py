"""The list of statements: in a run of the whole suite, each statement of the bot on SQLite runs on PostgreSQL too."""

import os
import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine import Compiled
from sqlalchemy.engine.default import DefaultDialect

from bot.db.engine import Database

ROOT = Path(__file__).parent.parent
OURS = tuple(f"{ROOT / folder}{os.sep}" for folder in ("bot", "bench", "sandbox", "tests"))
OF_THE_BOT, OF_MIGRATIONS = (f"{ROOT / folder}{os.sep}" for folder in ("bot", "bot/db/migrations"))
COUNTED = re.compile(r"(WITH|SELECT|INSERT|UPDATE|DELETE)\b")
PARTLY = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")

TWINS = re.compile(r"\bjulianday\(|\bsqlite_master\b")
"""Words of statements that the bot has in other words for PostgreSQL."""

SAME = (
    (r"\s+", " "),
    (r"(\S+) COLLATE \"C\" ILIKE\b", r"\1 LIKE"),
    (r"__\[POSTCOMPILE_\w+\]|:[a-zA-Z_]\w*|-?\b\d+(?= AS )", "?"),
    (r"\b([a-z]\w*)_\d+\b", r"\1"),
    # Rows of an INSERT, words of a course, courses of a day: as many as there are.
    (r"(\([?, ]+\))(?:, \1)+", r"\1"),
    (r"\(?(\(\S+ LIKE \?\))(?: OR \1)*\)?", r"\1"),
    (r"(\S+ = \? AND \(\S+ LIKE \?\))(?: OR \1)+", r"\1"),
)
"""Different words of the same statement: pattern and common words."""


class _BothCompiler(PGCompiler):
    """Reads the ON CONFLICT of both dialects."""

    _on_conflict_target = SQLiteCompiler._on_conflict_target


class _BothDialect(PGDialect):
    statement_compiler = _BothCompiler


_BOTH = _BothDialect(paramstyle="named")


def shapes(compiled: Compiled) -> Iterator[str]:
    """The statement in words that say nothing of database, values, and their number.

    A statement put together from parts is taken apart: each SELECT of a UNION and each column of an UPDATE is a shape.
    """
    assert compiled.statement is not None
    columns = getattr(compiled, "column_keys", None)
    text = str(compiled.statement.compile(dialect=_BOTH, column_keys=columns))
    for pattern, common in SAME:
        text = re.sub(pattern, common, text)
    # SQLAlchemy's ORM orders RETURNING by the hashes of the process.
    text = re.sub(r"(?<= RETURNING ).*", lambda columns: ", ".join(sorted(columns[0].split(", "))), text)
    for part in re.split(r" UNION(?: ALL)? ", text):
        update = re.fullmatch(r"(UPDATE \w+ SET )(\w+=\?(?:, \w+=\?)*)( WHERE .*)", part)
        yield from (update[1] + column + update[3] for column in update[2].split(", ")) if update else [part]


def _is_of_the_bot() -> bool:
    """Whether the nearest caller that is no library is the bot, and no test or measure."""
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(None))
    nearest = next((file for file in files if file.startswith(OURS) and file != __file__), "")
    return nearest.startswith(OF_THE_BOT) and not nearest.startswith(OF_MIGRATIONS)


class Ledger:
    """A plugin of pytest. `ran`: the database's name → shape → a test that ran the statement."""

    def __init__(self) -> None:
        self.ran: dict[str, dict[str, str]] = {"sqlite": {}, "postgresql": {}}
        self._noted: set[tuple[str, str]] = set()
        self._told: dict[str, str] = {}
        self._patched = pytest.MonkeyPatch()
        # No listener: with one, SQLAlchemy looks for listeners of each kind at each statement.
        for name in ("do_execute", "do_executemany"):
            self._patched.setattr(DefaultDialect, name, self._noting(getattr(DefaultDialect, name)))

    def close(self) -> None:
        self._patched.undo()

    def _noting(self, execute: Any) -> Any:
        def noting(dialect: Any, cursor: Any, sql: str, values: Any, context: Any = None) -> None:
            self._note(dialect.name, context and context.compiled)
            execute(dialect, cursor, sql, values, context)

        return noting

    def _note(self, database: str, compiled: Compiled | None) -> None:
        if compiled is None or (key := (database, compiled.string)) in self._noted:
            return
        if not COUNTED.match(compiled.string) or not _is_of_the_bot():
            return
        self._noted.add(key)
        test = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")
        for shape in shapes(compiled):
            self.ran[key[0]].setdefault(shape, test)

    def missing(self) -> dict[str, str]:
        """The statements run by SQLite alone."""
        ran = self.ran["sqlite"].items()
        return {shape: test for shape, test in ran if shape not in self.ran["postgresql"] and not TWINS.search(shape)}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for name, shapes_of_worker in getattr(node, "workeroutput", {}).get("statements", {}).items():
            self.ran[name] = shapes_of_worker | self.ran[name]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["statements"] = self.ran
        elif session.exitstatus == pytest.ExitCode.OK and is_whole(session.config) and self.ran["postgresql"]:
            self._told = self.missing()
            session.exitstatus = pytest.ExitCode.TESTS_FAILED if self._told else pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._told:
            terminalreporter.section("statements that SQLite has run, and PostgreSQL has not", red=True)
        for shape, test in self._told.items():
            terminalreporter.line(f"{test}\n    {shape}")


def is_whole(config: pytest.Config) -> bool:
    """Whether every test of the suite was asked for."""
    is_default = config.args_source is pytest.Config.ArgsSource.TESTPATHS and "-m" not in config.invocation_params.args
    return is_default and not any(config.getoption(name, None) for name in PARTLY)


# The statements of a part of the bot on SQLite, and the indexes used


Noted = tuple[str, Any]


@contextmanager
def noted(database: Database) -> Iterator[list[Noted]]:
    """The reading statements of the block, with their values; BEGIN stands before each transaction."""
    statements: list[Noted] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, _context: Any, _many: bool) -> None:
        statements.append((statement, values))

    def note_begin(_connection: Any) -> None:
        statements.append(("BEGIN", ()))

    listeners = (("before_cursor_execute", note), ("begin", note_begin))
    for name, listener in listeners:
        event.listen(database._reader, name, listener)
    try:
        yield statements
    finally:
        for name, listener in listeners:
            event.remove(database._reader, name, listener)


def plans_of(database: Database, statements: Iterable[Noted]) -> list[str]:
    plans: list[str] = []
    with database.writer.connect() as connection:
        for statement, values in statements:
            plans += [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
    return plans
