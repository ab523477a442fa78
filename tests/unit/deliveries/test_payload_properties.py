"""Laws of every payload: nothing raises, keys agree, and shape, order and attempt make no difference."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event

from hypothesis import example, given
from hypothesis import strategies as st

from bot.deliveries.found_event import is_named
from bot.deliveries.payload import TOO_MANY, Payload, read_payload
from bot.events.event import EventKind
from bot.events.facts import changes_between
from bot.events.reading.race_record import read_race
from tests.payloads import shuffled

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

NAMES = st.text("abcdefgh ", min_size=1, max_size=12).map(str.strip).filter(bool).map(lambda name: f"H {name}")
RACES = st.fixed_dictionaries(
    {
        "race_id": st.sampled_from(["rc_1", "rc_2"]),
        "region": st.sampled_from(["GB", "IRE"]),
        "course": st.sampled_from(["Ascot", "Vélizy", "Down Royal"]),
        "date": st.dates().map(lambda day: day.replace(year=2025).isoformat() if day.month != 2 else "2025-02-01"),
        "off": st.sampled_from(["14:30", "2:05"]),
        "horses": st.lists(NAMES, max_size=4, unique_by=str.casefold),
    }
)
DELIVERY = st.dictionaries(
    st.sampled_from(["attempt", "delivered_at", "sent_at", "delivery_id", "deliveryId", "retry_count", "delivery"]),
    st.integers()
    | st.just("2025-06-17T12:00:00Z")
    | st.just({"id": "dlv_1", "attempt": 2, "timestamp": 1_750_161_600}),
)


def as_body(payload):
    return json.dumps(payload).encode("utf-8", "surrogatepass")


def told(event):
    """The told facts of a result, and the facts that tell results apart."""
    race = event.race
    placings = [(runner.horse, runner.finishing_position) for runner in race.placed()]
    return event.key, race.region, race.course.name, race.off.text, placings


def flat(race):
    runners = [{"horse": horse, "position": place} for place, horse in enumerate(race["horses"], start=1)]
    return {"event": "result.received", **{name: race[name] for name in race if name != "horses"}, "runners": runners}


def nested(race):
    results = [{"horse": {"name": horse}, "pos": f"{place}"} for place, horse in enumerate(race["horses"], start=1)]
    course = {"course_id": None, "name": race["course"], "region": race["region"]}
    inner = {"id": race["race_id"], "off_time": race["off"], "result": {"runners": results}}
    return {"type": "RESULT_RECEIVED", "data": {"race": inner, "meeting": {"date": race["date"], "course": course}}}


def renamed(race):
    place = {"venueName": race["course"], "jurisdiction": {"code": race["region"]}}
    when = {"raceDate": f"{race['date']}T00:00:00Z", "postTime": race["off"]}
    attributes = {"Finishing-Order": race["horses"], **place, **when}
    return {"topic": "result:received", "payload": {"type": "race", "id": race["race_id"], "attributes": attributes}}


@given(st.binary(max_size=200))
@example(b'{"event":"race.abandoned","race_id":"\xff"}')
def test_any_bytes_are_an_event_and_its_identity(body):
    assert Payload(body).identity.key == read_payload(body).key


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


@given(RACES, DELIVERY, DELIVERY, st.sampled_from([flat, nested, renamed]))
def test_attempts_of_a_delivery_are_one_event(race, first, second, shape):
    attempts = [read_payload(as_body({**shape(race), **delivery})) for delivery in (first, second)]
    assert attempts[0] == attempts[1]


@given(RACES)
def test_shapes_of_one_race_tell_the_same(race):
    one, *others = (told(read_payload(as_body(shape(race)))) for shape in (flat, nested, renamed))
    assert one[0] == f"result.received:{race['race_id']}"
    assert one[-1] == [
        (horse, place) for place, horse in enumerate([" ".join(h.split()) for h in race["horses"]], start=1)
    ]
    assert all(other == one for other in others)


@given(RACES)
def test_shapes_without_an_id_have_one_natural_key(race):
    without = [
        json.loads(json.dumps(shape(race)).replace(f'"{race["race_id"]}"', "null")) for shape in (flat, nested, renamed)
    ]
    keys = {Payload(as_body(payload)).identity.key for payload in without}
    assert len(keys) == 1
    assert "|date=" in keys.pop()
