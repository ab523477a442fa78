"""When a request is one of too many."""

from contextlib import ExitStack

import pytest

from bot.errors import QueueFull
from bot.webhooks.crowd import LATE_S, MANY, Crowd


def crowd_of(stack, count):
    crowd = Crowd(lambda: 100.0)
    for _ in range(count):
        stack.enter_context(crowd.joined(100.0))
    return crowd


@pytest.mark.parametrize(
    ("under_way", "begun_s", "is_taken"),
    [
        (MANY, 100.0 - 2 * LATE_S, False),
        # A pause of the machine is no reason where few are under way, nor are many that are answered in time.
        (MANY - 1, 100.0 - 2 * LATE_S, True),
        (10 * MANY, 100.0 - LATE_S / 2, True),
        (10 * MANY, None, True),
    ],
)
def test_crowd_takes_all_but_who_comes_late_among_many(under_way, begun_s, is_taken):
    with ExitStack() as stack:
        crowd = crowd_of(stack, under_way)
        if is_taken:
            stack.enter_context(crowd.joined(begun_s))
        else:
            with pytest.raises(QueueFull, match="under way"):
                stack.enter_context(crowd.joined(begun_s))
    assert crowd.under_way == 0


def test_crowd_tells_of_all_that_were_turned_away_once_a_second():
    moments = iter((0.0, 0.2, 0.9, 1.1))
    crowd = Crowd(lambda: next(moments))
    assert [crowd.turned_away() for _ in range(4)] == [1, 0, 0, 3]
