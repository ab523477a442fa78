"""Bodies of several events: each event with its place and day, and no more events than a delivery may have."""

import json

import pytest

from bot.deliveries.payload import TOO_MANY, Payload, read_events
from bot.events.event import EventKind
from bot.events.races import OffTime, Race

DAY = "2026-11-20"


def as_body(payload):
    return json.dumps(payload).encode()


ABANDONED, RESULT = {"event": "race.abandoned", "race_id": "rc_1"}, {"event": "result.received", "race_id": "rc_2"}


@pytest.mark.parametrize(
    "body",
    [
        [ABANDONED, RESULT],
        {"events": [ABANDONED], "messages": [RESULT, "a word"], "links": [{"rel": "next"}]},
        {"meta": {"count": 2}, "data": [ABANDONED, RESULT]},
        {"event": "batch", "payload": {"items": [ABANDONED, RESULT]}},
        {"race.abandoned": {"race_id": "rc_1"}, "result.received": [{"race_id": "rc_2"}]},
        {"events": {"RACE_ABANDONED": [{"race_id": "rc_1"}], "RESULT_RECEIVED": [{"race_id": "rc_2"}]}},
        {"meetings": [{"course": "York", "events": [ABANDONED]}, {"course": "Bath", "events": [RESULT]}]},
    ],
)
def test_each_event_of_a_body_is_an_event(body):
    assert [event.key for event in read_events(as_body(body))] == ["race.abandoned:rc_1", "result.received:rc_2"]
    assert Payload(as_body(body)).further_keys == ["result.received:rc_2"]


@pytest.mark.parametrize(
    ("beside", "own", "told"),
    [
        ({"region": "GB", "course": "York", "date": DAY, "meeting_id": "m_1"}, {}, ("GB", "York", DAY, "m_1")),
        ({"meeting": {"id": "m_1", "name": "York", "date": DAY, "region": "GB"}}, {}, ("GB", "York", DAY, "m_1")),
        ({"data": {"course": {"name": "York", "region": "GB"}, "date": DAY}}, {}, ("GB", "York", DAY, None)),
        ({"region": "GB", "date": DAY}, {"course": "Bath"}, ("GB", "Bath", DAY, None)),
        ({"region": "GB", "date": DAY}, {"region": "IE", "date": "2026-11-21"}, ("IE", None, "2026-11-21", None)),
        ({"region": "GB", "course": "York", "meeting_id": "m_1"}, {"course": "Naas"}, (None, "Naas", None, None)),
        ({"region": "GB", "course": "York", "meeting_id": "m_1"}, {"meeting_id": "m_2"}, (None, None, None, "m_2")),
        ({"off": "", "winner": "", "date": f"{DAY}T09:00Z", "name": "Evening batch"}, {}, (None, None, None, None)),
    ],
)
def test_place_and_day_beside_a_batch_are_of_each_event_that_names_no_others(beside, own, told):
    outcome = {"status": "Abandoned", "reason": "Fog", "winner": "Alpha", "off": "13:00", "going": "Heavy"}
    batch = {"type": "batch", **outcome, **beside, "events": [RESULT | own, ABANDONED | own]}
    for event, races in zip(read_events(as_body(batch)), ("rc_2", "rc_1"), strict=True):
        race = event.race
        assert (race.region, race.course.name, race.race_date, race.meeting_id) == told
        assert (race.race_id, race.status, race.off, race.runners, race.going) == (races, None, OffTime(), (), None)
        assert (event.reason, event.key) == (None, f"{event.kind}:{races}")


def test_abandonment_of_a_batch_is_hidden_by_no_unknown_event_and_names_the_body():
    """A result's delivery waits for a turn; an abandonment waits for no turn."""
    lost, unknown = read_events(as_body({"events": [ABANDONED, {"event": "price.moved"}]}))
    assert (lost.key, unknown.kind) == ("race.abandoned:rc_1", None)
    later = {"event": "race.abandoned", "race_id": "rc_2", "region": "GB", "course": "York"}
    payload = Payload(as_body([{"event": "result.received", "race_id": "rc_1", "course": "Ascot"}, later]))
    assert (payload.identity, payload.region) == (("race.abandoned:rc_2", "race.abandoned"), "GB")


def test_a_longer_list_than_events_are_made_of_is_one_event_with_its_races():
    (event,) = read_events(as_body({"event": "race.abandoned", "race_ids": [f"rc_{number}" for number in range(31)]}))
    assert len(event.races) == 31
    assert event.unreadable_because == TOO_MANY


@pytest.mark.parametrize(
    "body",
    [
        [{**ABANDONED, "race_id": f"rc_{number}", "course": "Ascot", "date": DAY} for number in range(31)],
        [{"event": "result.received"}] * 5 + [{"event": "race.abandoned", "race_id": "rc_1"}] * 26,
        [{"event": "race.abandoned", "race_ids": [f"rc_{n}_{m}" for m in range(16)]} for n in range(2)],
    ],
    ids=["abandonments", "results first", "lists in a list"],
)
def test_more_events_than_a_delivery_may_have_are_one_abandonment_of_no_place(body):
    """Told in each channel that takes abandonments: some of the events may be the channel's."""
    (event,) = read_events(as_body(body))
    assert (event.kind, event.unreadable_because) == (EventKind.RACE_ABANDONED, TOO_MANY)
    assert event.race == Race(abandoned=True)
    assert Payload(as_body(body)).identity == (event.key, event.name)


def test_cards_in_a_list_are_no_more_events_than_a_delivery_may_have():
    towns = ["Ascot", "York", "Bath", "Ayr"]
    card = {"event": "racecard.published", "races": [{"race_id": f"rc_{town}", "course": town} for town in towns]}
    assert [len(read_events(as_body([card] * count))) for count in (1, 7, 8)] == [4, 28, 8]


def test_card_of_several_meetings_is_an_event_for_each():
    meetings = [
        {"course": "Ascot", "races": [{"race_id": "rc_1"}]},
        {"course": "York", "region": "GB", "races": [{"race_id": "rc_2"}]},
    ]
    events = read_events(as_body({"event": "racecard.published", "date": "2025-06-18", "meetings": meetings}))
    races = [race for event in events for race in event.races]
    assert [event.race.course.name for event in events] == ["Ascot", "York"]
    named = [(race.race_id, race.course.name, race.region, race.race_date) for race in races]
    assert named == [("rc_1", "Ascot", None, "2025-06-18"), ("rc_2", "York", "GB", "2025-06-18")]
