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


def test_each_worker_begins_with_a_long_test_and_has_a_file_of_bots_whole():
    long = [(number, "slow", True) for number in range(2)]
    bots = [(number, f"file {number // 3}", False) for number in range(12, 24)]
    rest = [(number, None, False) for number in range(30, 48)]
    ordered = in_order([*rest, *bots, *long], 2)
    pieces = ordered[:16], ordered[16:]
    for piece in pieces:
        assert piece[0] in long
        assert len({file for _, file, _ in piece[1:7]}) == 2
        assert all(file is None for _, file, _ in piece[7:])
