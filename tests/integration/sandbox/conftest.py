"""The stand-ins by themselves, and the demo."""

from collections.abc import Iterator

import pytest

from tests.clock import real_clock


@pytest.fixture
def real_time() -> Iterator[None]:
    """The real time: Bolt goes by no other clock, and neither does a bot that the demo starts."""
    with real_clock():
        yield
