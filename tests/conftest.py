"""Shared by every tier."""

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import certifi
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

import tests.clock  # noqa: F401  before the bot: the import sets the bot's clock
from bot.db import engine
from tests.databases import OwnPostgres, own_postgres, shared_postgres
from tests.statements import Ledger

BOTS = ("tests/acceptance/", "tests/integration/walk/")


def pytest_configure(config):
    """Begin the list of statements, and set the examples of properties.

    The examples are the same in each run, or with `--hypothesis-profile=long` ever new. No example has a deadline: on a
    busy machine the time of an example says nothing.
    """
    settings.register_profile("suite", max_examples=25, deadline=None, derandomize=True)
    settings.register_profile("long", max_examples=1_000, deadline=None)
    settings.load_profile("suite")
    # Else words and numbers of all loaded modules are drawn too: other examples after each change of the code, and in
    # each order of the tests. To read the modules takes a fifth of a first collection.
    providers._get_local_constants = lambda: providers._local_constants
    config.pluginmanager.register(Ledger())
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = partial(_tell, plugin.sendevent)
    # Else each worker and each started bot compiles every module anew.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _tell(send: Callable[..., None], name: str, **what: Any) -> None:
    """Leave out reports of set-ups and ends that went well: half of a worker's reports, and nobody reads them."""
    report = what["data"] if name == "testreport" else {"when": "call"}
    if name != "logstart" and (report["when"] == "call" or report["outcome"] != "passed"):
        send(name, **what)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without garbage collection: modules and tests leave no garbage, and the looks take a fifth of the time.

    Later too the looks are rarer than by default: the default's take a thirtieth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Have each worker begin with long tests and end with short tests. A single process keeps the usual order."""
    if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
        items[:] = spread(
            items,
            workers,
            is_long=lambda item: item.get_closest_marker("long") is not None,
            bot_of=lambda item: item.nodeid.partition("::")[0] if item.nodeid.startswith(BOTS) else None,
        )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Fail the run for a skipped test where the environment has SKIPS_FAIL, as `.ci/run` sets it."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("SKIPS_FAIL") and reporter and reporter.stats.get("skipped") and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Print the counts of soaks: the workers of soaks have no terminal."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for figures in (text for name, text in report.user_properties if name == "soak"):
                terminalreporter.section(f"{report.nodeid}: {outcome}", sep="-")
                terminalreporter.line(figures)


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory) -> Iterator[None]:
    """HTTP clients know a single certificate authority: loading all takes longer than most tests; no test uses TLS."""
    file: Path = tmp_path_factory.mktemp("tls") / "authority.pem"
    first, end, _ = certifi.contents().partition("-----END CERTIFICATE-----\n")
    file.write_text(first + end)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture(scope="session", autouse=True)
def served_pragmas() -> Iterator[Sequence[str]]:
    """The bot's settings of a connection to SQLite.

    A test's connections do not wait for the disk: no test pulls the plug.
    """
    served = engine.PRAGMAS
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "PRAGMAS", (*served, "synchronous=OFF"))
        patched.setattr(engine, "SYNCHRONOUS", dict.fromkeys((True, False), "OFF"))
        # Tests run ten times as many statements as a plain day: to prepare each anew takes an eighth of the time.
        patched.setattr(engine, "STATEMENTS_KEPT", 400)
        yield served


@pytest.fixture(scope="session", autouse=True)
def statements_compiled_once() -> Iterator[None]:
    """Engines share compiled statements. Else each bot compiles each statement anew: half of a short life's time."""
    compiled: LRUCache[Any, Any] = LRUCache(4_000)
    with pytest.MonkeyPatch.context() as patched:
        # No listener: with one, SQLAlchemy looks for listeners of each kind at each statement.
        patched.setattr(Engine, "_compiled_cache", property(lambda _: compiled, lambda *_: None), raising=False)
        for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
            patched.setattr(dialect, "__eq__", lambda one, other: type(one) is type(other))
            patched.setattr(dialect, "__hash__", lambda one: hash(type(one)))
        yield


@pytest.fixture(scope="session")
def own_server() -> Iterator[OwnPostgres]:
    """A PostgreSQL that a test may restart; skipped on a system without PostgreSQL."""
    # Not in pytest's folder: another run of pytest closes the folder to the server's user.
    with tempfile.TemporaryDirectory(prefix="racing-bot-postgres-") as folder, own_postgres(Path(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server(testrun_uid: str) -> Iterator[str]:
    """The address of a real PostgreSQL, shared by all workers; skipped on a system without PostgreSQL."""
    with shared_postgres(testrun_uid) as address:
        yield address


# The order of the tests: long tests begin first, on all workers at once, and short tests fill the gaps


Item = TypeVar("Item")


def spread(
    items: list[Item], workers: int, *, is_long: Callable[[Item], bool], bot_of: Callable[[Item], str | None]
) -> list[Item]:
    """The items in a new order. xdist cuts the order into pieces of the same length, a piece for each worker.

    A piece has long tests at its beginning, then tests that run bots, then all other tests. `bot_of` names the file of
    a test that runs a bot. The tests of a file stay together, because they may share a bot. Only half of the workers
    run bots: each further worker would load the bots' modules once more.
    """
    hands: list[list[Item]] = [[] for _ in range(workers)]
    for number, item in enumerate(item for item in items if is_long(item)):
        hands[number % workers].append(item)
    short = [item for item in items if not is_long(item)]
    files = groupby((item for item in short if bot_of(item) is not None), key=bot_of)
    for those in sorted((list(those) for _, those in files), key=len, reverse=True):
        min(hands[: max(1, workers // 2)], key=len).extend(those)
    rest = iter([item for item in short if bot_of(item) is None])
    return [item for hand in _filled(hands, rest, len(items)) for item in hand]


def _filled(hands: list[list[Item]], rest: Iterator[Item], count: int) -> Iterator[list[Item]]:
    """The hands, each filled up with other tests to the length of a piece."""
    for number, hand in enumerate(hands):
        size = (count + number) // len(hands)
        yield hand + [item for _, item in zip(range(size - len(hand)), rest, strict=False)]
    yield list(rest)
