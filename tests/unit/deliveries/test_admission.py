"""The bounded queue by itself: places that are taken, given back and refused."""

import pytest

from bot.deliveries.admission import Admission
from bot.errors import QueueFull


def test_queue_that_is_full_refuses_until_a_place_is_given_back():
    admission = Admission(lambda: 0.0, limit=2)
    with admission.admitted():
        with admission.admitted(), pytest.raises(QueueFull, match="2 deliveries are waiting"):
            admission.check()
        admission.check()


def test_place_is_given_back_where_the_work_fails():
    admission = Admission(lambda: 0.0, limit=1)
    with pytest.raises(ZeroDivisionError), admission.admitted():
        raise ZeroDivisionError
    admission.check()


def test_refusals_share_a_log_line_each_second():
    moments = iter((0.0, 0.2, 0.9, 1.1))
    admission = Admission(monotonic=lambda: next(moments))
    assert [admission.refusals_to_log() for _ in range(4)] == [1, 0, 0, 3]
