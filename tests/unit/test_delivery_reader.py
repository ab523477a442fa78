"""How many deliveries fan-out reads for a transaction: no delivery is stored while a transaction runs."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.deliveries.inbox import StoredDelivery
from bot.events.event import EventKind, RacingEvent
from bot.events.event_bounds import EVENT_RACES_MAX
from bot.events.races import Race
from bot.fanout.delivery_reader import DELIVERIES_PER_COMMIT, RACES_PER_COMMIT, DeliveryReader

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
