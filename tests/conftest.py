"""What every tier shares."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import OwnPostgres, own_postgres


def pytest_terminal_summary(terminalreporter):
    """Print what soaks have counted; the workers that run them have no terminal."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for figures in (text for name, text in report.user_properties if name == "soak"):
                terminalreporter.section(f"{report.nodeid}: {outcome}", sep="-")
                terminalreporter.line(figures)


@pytest.fixture(scope="session")
def own_server() -> Iterator[OwnPostgres]:
    """A real PostgreSQL, started from a package; skipped where there is none for this system."""
    # Not in pytest's folder, which another run of pytest closes to the server's user.
    with tempfile.TemporaryDirectory(prefix="racing-bot-postgres-") as folder, own_postgres(Path(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server(own_server: OwnPostgres) -> str:
    """The address of that PostgreSQL."""
    return own_server.address
