"""Shared by tests of the client beside a real database or service."""

import pytest

from tests.unit.racedata.scripted_service import Memory, SleepClock


@pytest.fixture
def sleep_clock():
    return SleepClock()


@pytest.fixture
def store():
    return Memory()
