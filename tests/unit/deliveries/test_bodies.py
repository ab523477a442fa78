"""Bodies of several events, each with its place and day, and the laws of every payload."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event

from hypothesis import example, given
from hypothesis import strategies as st

from bot.deliveries.found_event import is_named
from bot.deliveries.inbox import StoredDelivery
from bot.deliveries.payload import TOO_MANY, Payload, read_events, read_payload
from bot.events.event import EventKind
from bot.events.event_bounds import EVENT_RACES_MAX, EVENT_RUNNERS_MAX, KEPT_ID_MAX, LONGEST_TEXT
from bot.events.facts import changes_between
from bot.events.races import OffTime, Race
from bot.events.reading.race_record import read_race
from bot.fanout.delivery_reader import DeliveryReader, urgent_of
from tests.clock import DAY, START
from tests.rows import over
from tests.world import shuffled


def as_body(payload):
    return json.dumps(payload).encode("utf-8", "surrogatepass")


ABANDONED, RESULT = {"event": "race.abandoned", "race_id": "rc_1"}, {"event": "result.received", "race_id": "rc_2"}


@over(
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


def test_races_of_an_abandonment_are_keys_of_the_delivery_as_far_as_a_message_tells_them():
    def keys(count):
        lost = {"event": "meeting.abandoned", "meeting_id": "m_1", "races": [f"rc_{number}" for number in range(count)]}
        return Payload(as_body([lost, RESULT])).further_keys

    assert len(keys(EVENT_RACES_MAX)) == EVENT_RACES_MAX + 1
    assert keys(EVENT_RACES_MAX + 1) == ["result.received:rc_2"]


@over(
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


@over(
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


# Laws of every payload: nothing raises, keys agree, and shape, order and attempt make no difference


WORDS = [
    *("event", "type", "name", "data", "payload", "attributes", "race", "meeting", "meetings", "course", "venue"),
    *(
        "id",
        "race_id",
        "raceId",
        "meeting_id",
        "races",
        "runners",
        "results",
        "placings",
        "winner",
        "horse",
        "position",
    ),
    *("date", "race_date", "off", "off_at", "time", "status", "region", "reason", "occurred_at", "version", "number"),
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(
        [
            *(kind.value for kind in EventKind),
            "14:30",
            "2025-06-17",
            "2025-06-17T14:30:00+01:00",
            "cr_1",
            "\ud800",
            "\x00",
            "1",
            "²",
        ]
    )
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(st.characters(), max_size=5), inner, max_size=6)
    ),
    max_leaves=30,
)
RACING = st.dictionaries(st.sampled_from(WORDS), JSON, max_size=8)


@given(st.binary(max_size=200))
@example(b'{"event":"race.abandoned","race_id":"\xff"}')
def test_any_bytes_are_an_event_and_its_identity(body):
    assert Payload(body).identity[0] == read_payload(body).key


def test_reading_of_a_payload_waits_for_no_other():
    """The loop reads a small payload while a thread reads a large payload: kills `cached_property` of Python 3.11."""
    begun, is_other_read = Event(), Event()
    waited = []

    class Large(bytes):
        def strip(self, *_):
            begun.set()
            waited.append(is_other_read.wait(10))
            return self

    with ThreadPoolExecutor() as threads:
        large = threads.submit(lambda: Payload(Large(b'{"event":"race.abandoned"}')).events)
        assert begun.wait(10)
        assert Payload(b'{"event":"result.received"}').events
        is_other_read.set()
    assert (len(large.result()), waited) == (1, [True])


@given(JSON | RACING)
@example({"event": "RESULTRECEIVED"})
def test_any_json_is_an_event_that_can_be_stored(payload):
    body = as_body(payload)
    event = read_payload(body)
    assert Payload(body).identity == (event.key, event.name)
    names_race = bool(event.races) or is_named(event.race)
    is_unread = event.kind is None or not names_race or event.unreadable_because == TOO_MANY
    assert is_unread == (event.unreadable_because is not None)
    assert len(event.key) < 300
    assert "\x00" not in event.model_dump_json()
    assert type(event).model_validate_json(event.model_dump_json()) == event
    assert changes_between(event, event, received_at=datetime(2026, 11, 20, tzinfo=UTC)) == ()


@given(RACING)
def test_any_record_is_a_race(record):
    race = read_race(record)
    assert race.off.off_at is None or race.off.off_at.utcoffset() is not None
    race.placed()


@given(RACING.map(lambda fields: {"event": "race.abandoned", "race_id": "rc_1", **fields}), st.randoms(), st.booleans())
def test_key_order_and_white_space_change_nothing(payload, random, indented):
    body, other = as_body(payload), json.dumps(shuffled(payload, random), indent=2 if indented else None).encode()
    event, again = read_payload(body), read_payload(other)
    if ":sha256:" not in event.key and event.kind:
        assert again == event


# Deliveries as fan-out reads them: each event within the bounds; losses go first


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


@over(("payload", "because"), BEYOND.values(), ids=BEYOND)
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
