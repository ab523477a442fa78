"""Answers are kept for short texts: a few deliveries must not fill the memory."""

import tracemalloc

import pytest

from bot.events.kept_answers import LONGEST_KEPT, kept
from bot.events.race_state import state_in
from bot.events.races import OffTime, finishing_position, is_non_runner, is_shared
from bot.events.watched import name_key

LONG = 1_000_000


def test_answer_for_a_short_text_is_kept_and_for_a_long_text_is_not():
    asked = []

    @kept(10)
    def length(text: str | None) -> int:
        asked.append(text)
        return len(text or "")

    short, long = "x" * LONGEST_KEPT, "x" * (LONGEST_KEPT + 1)
    assert [length(text) for text in (short, short, long, long, None, None)] == [100, 100, 101, 101, 0, 0]
    assert asked == [short, long, long, None]


@pytest.mark.parametrize(
    "read",
    [finishing_position, is_shared, is_non_runner, state_in, name_key, lambda text: OffTime(text=text).minute_of_day],
    ids=["position", "shared", "non-runner", "state", "name", "off time"],
)
def test_no_reader_keeps_a_long_text(read):
    read("x" * LONG)
    tracemalloc.start()
    try:
        read("y" * LONG)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < LONG / 2
