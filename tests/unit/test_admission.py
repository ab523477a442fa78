"""How many deliveries at a time: the places of the queue, and how many fan-out reads for a transaction."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.deliveries.inbox import StoredDelivery
from bot.errors import QueueFull
from bot.events.event import EventKind, RacingEvent
from bot.events.event_bounds import EVENT_RACES_MAX
from bot.events.races import Race
from bot.fanout.delivery_reader import DELIVERIES_PER_COMMIT, RACES_PER_COMMIT, DeliveryReader
from bot.receiver.admission import Admission


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


# No delivery is stored while a transaction runs


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ALONE = RacingEvent(key="result.received:rc_1", kind=EventKind.RESULT_RECEIVED)
MEETING = RacingEvent(key="meeting.abandoned:mt_1", kind=EventKind.MEETING_ABANDONED, races=(Race(),) * EVENT_RACES_MAX)
MEETINGS_MAX = RACES_PER_COMMIT // (1 + EVENT_RACES_MAX) + 1


@pytest.mark.parametrize(
    ("events", "taken"),
    [((ALONE,), DELIVERIES_PER_COMMIT), ((ALONE,) * 30, 1), ((MEETING,), MEETINGS_MAX), ((MEETING,) * 30, 1)],
    ids=["races", "lists of races", "meetings", "lists of meetings"],
)
def test_deliveries_are_read_until_they_fill_a_commit(events, taken):
    reader = DeliveryReader(lambda _body: events)
    received = [NOON + timedelta(seconds=number) for number in range(2 * DELIVERIES_PER_COMMIT)]
    waiting = [StoredDelivery(number, "", None, b"{}", at, 0) for number, at in enumerate(received)]
    read = reader.read_some(reversed(waiting))
    assert [delivery.inbox_id for delivery, _ in read[:: len(events)]] == list(range(taken))
    assert len(read) == taken * len(events)
