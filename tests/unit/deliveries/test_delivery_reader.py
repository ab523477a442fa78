"""Deliveries as fan-out reads them: each event within its bounds, and the losses that go first."""

import json

import pytest

from bot.deliveries.inbox import StoredDelivery
from bot.deliveries.payload import read_events
from bot.events.event_bounds import EVENT_RACES_MAX, EVENT_RUNNERS_MAX, KEPT_ID_MAX, LONGEST_TEXT
from bot.fanout.delivery_reader import DeliveryReader, urgent_of
from tests.clock import DAY, START
from tests.rows import over

ASCOT = {"course": "Ascot", "date": DAY, "region": "GB"}


def result(race_id="rc_1", **race):
    runners = [{"position": 1, "horse": "Blue Moon"}]
    return {"event": "result.received", "race": {"race_id": race_id, "runners": runners, **ASCOT} | race}


def abandonment(race_id="rc_1", **race):
    return {"event": "race.abandoned", "race": {"race_id": race_id, **ASCOT} | race, "reason": "frost"}


def meeting(*races, **card):
    return {"event": "meeting.abandoned", "meeting": {"meeting_id": "mt_1", **ASCOT} | card, "races": list(races)}


def read(*payloads):
    """The deliveries, numbered from 1, each with an event of the delivery."""
    bodies = [payload if isinstance(payload, bytes) else json.dumps(payload).encode() for payload in payloads]
    stored = [StoredDelivery(number, "", None, body, START, 0) for number, body in enumerate(bodies, start=1)]
    return DeliveryReader(read_events).read_each(stored)


LONG = "x" * 200_000
BEYOND = {
    "races by number": (meeting(*[1] * 200), f"more than {EVENT_RACES_MAX} races"),
    "races of one title": (meeting(*[{"title": "Same"}] * 200), f"more than {EVENT_RACES_MAX} races"),
    "length of titles": (meeting(*[{"title": LONG}] * EVENT_RACES_MAX), "too long"),
    "length of the course": (meeting(*[{"number": n} for n in range(EVENT_RACES_MAX)], course=LONG), "too long"),
    "length of an id": (meeting(meeting_id=LONG), f"more than {KEPT_ID_MAX} characters"),
    "runners": (
        meeting(*[{"title": "T", "runners": [f"H{n}" for n in range(250)]}] * 20),
        f"more than {EVENT_RUNNERS_MAX} runners",
    ),
    "length of the region": (abandonment(region=LONG), f"more than {KEPT_ID_MAX} characters"),
}


@pytest.mark.parametrize(("payload", "because"), BEYOND.values(), ids=BEYOND)
def test_event_beyond_the_bounds_is_in_plain_form(payload, because):
    ((_, event),) = read(payload)
    assert because in event.unreadable_because
    assert event.kind == payload["event"]
    assert (event.races, event.race.runners) == ((), ())
    assert len(event.race.course.name) <= LONGEST_TEXT + 1


def test_event_within_the_bounds_is_whole():
    ((_, event),) = read(meeting(*[{"title": f"Race {number}"} for number in range(EVENT_RACES_MAX)]))
    assert (event.unreadable_because, len(event.races)) == (None, EVENT_RACES_MAX)


NO_ID = {"race_id": None}
BEFORE_A_LOSS = {
    "another race": (result("rc_8"), abandonment(), [2]),
    "another place": (result("rc_8", course="York"), meeting(), [2]),
    "another day": (result("rc_8", date="2026-01-01"), meeting(), [2]),
    "its own race": (result(), abandonment(), [1, 2]),
    "a race of its meeting": (result(), meeting({"race_id": "rc_1"}), [1, 2]),
    "a race of its place": (result(), meeting(), [1, 2]),
    "a race of no place": (result(course=None), meeting(), [1, 2]),
    "a race without an id": (result(**NO_ID), abandonment(), [1, 2]),
    "unreadable": (b"{}", meeting(), [1, 2]),
    "a race beside the loss": (result("rc_8"), [result("rc_8", going="Soft"), abandonment()], [1, 2, 2]),
}


@over(("earlier", "lost", "first"), BEFORE_A_LOSS.values(), ids=BEFORE_A_LOSS)
def test_loss_goes_first_with_the_earlier_news_that_it_must_not_overtake(earlier, lost, first):
    """Else an abandonment would wait until another event is stored for a thousand channels."""
    assert [delivery.inbox_id for delivery, _ in urgent_of(read(earlier, lost))] == first
