"""The order in which the tests are handed to workers."""

from hypothesis import given
from hypothesis import strategies as st

from tests.spread import spread

TESTS = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), max_size=60).map(
    lambda drawn: [
        (number, f"file {file}" if runs_bot else None, is_long)
        for number, (file, runs_bot, is_long) in enumerate(sorted(drawn))
    ]
)


def in_order(tests, workers):
    return spread(tests, workers, is_long=lambda test: test[2], bot_of=lambda test: test[1])


@given(TESTS, st.integers(1, 6))
def test_every_test_is_run_once(tests, workers):
    assert sorted(in_order(tests, workers), key=lambda test: test[0]) == tests


def test_each_worker_begins_with_a_long_test_and_every_second_worker_has_whole_files_of_bots():
    long = [(number, "slow", True) for number in range(4)]
    bots = [(number, f"file {number // 3}", False) for number in range(12, 24)]
    rest = [(number, None, False) for number in range(30, 78)]
    ordered = in_order([*rest, *bots, *long], 4)
    pieces = [ordered[first : first + 16] for first in range(0, 64, 16)]
    assert all(piece[0] in long for piece in pieces)
    for piece in pieces[1::2]:
        assert all(file is None for _, file, _ in piece[1:])
    for piece in pieces[::2]:
        assert len({file for _, file, _ in piece[1:7]}) == 2
        assert all(file is None for _, file, _ in piece[7:])
