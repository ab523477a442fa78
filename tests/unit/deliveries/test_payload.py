"""Events and their keys, read from possible payloads of the service."""

import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from bot.deliveries.payload import Payload, read_events, read_payload
from bot.events.event import EventKind
from tests.rows import Answers, over

ROWS = Path(__file__).with_name("payload.yaml")
NOON = datetime(2025, 6, 17, 12, tzinfo=UTC)


def as_body(payload):
    return json.dumps(payload).encode()


def read(payload):
    body = as_body(payload)
    event = read_payload(body)
    assert Payload(body).identity == (event.key, event.name)
    return event


def key_of(payload):
    return read(payload).key


@over(
    ("body", "because"),
    [
        *((empty, "The body is empty.") for empty in (b"", b" \n")),
        (b"\xff\xfe\x00", "The body is not JSON."),
        (b"event=result.received", "The body is not JSON."),
        (b'{"event": "result.received"', "The body is not JSON."),
        *((other, "The JSON is not one object.") for other in (b"3", b"NaN", b"null", b"[]")),
        (b'[{"event":"result.received"},3]', "The JSON is not one object."),
        (b"[" + b",".join([b'{"event":"result.received"}'] * 31) + b"]", "The body has more than 30 events."),
        (b"[" * 10_000 + b"]" * 10_000, "The JSON is nested too deeply."),
        (b'{"event":"result.received","data":' * 201 + b"1" + b"}" * 201, "The JSON is nested too deeply."),
        (b"{}", "The payload names no event."),
        (b'{"race_id": "rc_1"}', "The payload names no event."),
    ],
)
def test_unreadable_body_is_known_by_its_hash_and_says_why(body, because):
    event = read_payload(body)
    assert (event.key, event.kind) == (f"unreadable:{sha256(body).hexdigest()}", None)
    assert event.unreadable_because == because
    assert Payload(body).identity[0] == event.key


def test_unknown_event_keeps_its_name_and_race():
    event = read({"event": "stewards.weather_balloon.sighted", "race": {"id": "rc_1"}})
    assert (event.kind, event.name, event.race.race_id) == (None, "stewards.weather_balloon.sighted", "rc_1")
    assert event.unreadable_because == "The event stewards.weather_balloon.sighted is unknown."
    assert event.key.startswith("unreadable:")


@over(
    "body",
    [
        b'\xef\xbb\xbf{"event":"race.abandoned","race_id":"rc_1"}',
        b'[{"event":"race.abandoned","race_id":"rc_1"}]',
        b'{"batch_id":"b_1","events":[{"event":"race.abandoned","race_id":"rc_1"}]}',
        b'{"event":"race.abandoned","race_id":"rc_1","messages":[{"type":"result.received","race_id":"rc_2"}]}',
        b'{"event":"race.abandoned","race_id":"rc_1","sp":NaN,"prize":1e999,"weight":%s}' % (b"9" * 5000),
        b'{"event":"race.abandoned","race_id":"rc_2","race_id":"rc_1"}',
        rb'{"Message":"{\"type\":\"RACE_ABANDONED\",\"type\":\"webhook\",\"race_id\":\"rc_1\"}"}',
        b'{"event":"race.abandoned","race_id":" rc_1 ","title":"a\tb"}',
        b'{"event":"race.abandoned","race_id":"rc_1","course":"V\xe9lizy"}',
        '{"event":"race.abandoned","race_id":"rc_1"}'.encode("utf-16"),
    ],
    ids=[
        *("BOM", "list of one", "batch of one", "list beside", "NaN", "duplicate key", "two types in a text"),
        *("raw tab", "Latin-1", "UTF-16"),
    ],
)
def test_odd_body_is_read_all_the_same(body):
    assert read_payload(body).key == "race.abandoned:rc_1"
    assert Payload(body).identity == ("race.abandoned:rc_1", "race.abandoned")


@over(
    ("first", "last", "told"),
    [
        ("race.abandoned", "result.received", "race.abandoned"),
        ("RACE_ABANDONED", "meeting.abandoned", "meeting.abandoned"),
        ("meeting.abandoned", "race.abandoned", "meeting.abandoned"),
    ],
)
def test_event_with_two_names_is_the_greater_loss(first, last, told):
    assert read_payload(b'{"event":"%s","event":"%s","course":"York"}' % (first.encode(), last.encode())).name == told


@over(
    "name", ["result.received", "RESULT_RECEIVED", "result:received", "com.racing.result.received.v1", "resultReceived"]
)
@over(
    "envelope",
    [
        lambda name: {"event": name},
        lambda name: {"eventType": name},
        lambda name: {"event": {"name": name}},
        lambda name: {"event": {"type": name}},
        lambda name: {"type": "Hurdle", "name": "Queen Anne Stakes", "topic": name},
        lambda name: {"type": "webhook", "data": {"type": name}},
        lambda name: {"meta": {"event": name}},
    ],
)
def test_event_name_is_found_however_it_is_spelled(envelope, name):
    event = read({**envelope(name), "race_id": 7})
    assert (event.kind, event.name, event.key) == (EventKind.RESULT_RECEIVED, "result.received", "result.received:7")


@over(("payload", "race_id"), Answers(ROWS, "known by its id"))
def test_race_event_is_known_by_the_races_id(payload, race_id):
    event = read({"event": "result.received", **payload})
    assert (event.key, event.race.race_id) == (f"result.received:{race_id}", race_id)


@over(("payload", "key"), Answers(ROWS, "keys of races"))
def test_race_event_without_a_trusted_id_is_known_by_the_best_there_is(payload, key):
    assert key_of({"event": "race.abandoned", **payload}) == key


@over(("payload", "keys"), Answers(ROWS, "keys of each race"))
def test_each_race_in_the_place_of_the_race_is_an_event(payload, keys):
    events = read_events(as_body({"event": "race.abandoned", **payload}))
    assert [event.key for event in events] == [f"race.abandoned:{key}" for key in keys.split("; ")]
    assert not any(event.races for event in events)


@over(("payload", "key"), Answers(ROWS, "keys of cards"))
def test_card_event_is_known_by_race_or_meeting_or_course_and_date(payload, key):
    assert key_of(payload) == key


@over("race_id", ["x" * 201, "a\nb", "\ud800", "\u202e1"])
def test_key_shows_no_id_that_is_long_or_unprintable(race_id):
    key = key_of({"event": "race.abandoned", "race_id": race_id})
    assert key == f"race.abandoned:{sha256(race_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


@over(("payload", "races"), Answers(ROWS, "names of races"))
def test_meeting_names_its_races_with_their_common_values(payload, races):
    event = read(payload)
    assert (event.race.race_id, event.race.meeting_id, event.race.status) == (None, "m_1", "abandoned")
    assert (event.reason, event.race.abandoned) == ("Waterlogged", True)
    assert "; ".join(f"{race.race_id} {race.off.text} {race.number}" for race in event.races) == races
    assert {(race.region, race.course.name, race.race_date) for race in event.races} == {("GB", "Ascot", "2025-06-17")}


def test_event_of_one_race_takes_neither_its_runners_nor_the_other_races_of_its_card_for_races():
    runners = [{"horse": "A"}]
    event = read({"event": "racecard.published", "race_id": "rc_1", "card": runners, "runners": runners})
    assert (event.races, [runner.horse for runner in event.race.runners]) == ((), ["A"])
    meeting = {"races": [{"id": "rc_1"}, {"id": "rc_2"}]}
    assert read({"event": "result.received", "race": {"id": "rc_1"}, "meeting": meeting}).races == ()


@over(("times", "is_said"), Answers(ROWS, "occurred"))
def test_event_occurred_when_it_says_so(times, is_said):
    assert read({"event": "race.abandoned", **times}).occurred_at == (NOON if is_said else None)


@over(("payload", "is_said"), Answers(ROWS, "updated"))
def test_data_is_as_new_as_its_last_sure_update(payload, is_said):
    assert read({"event": "result.received", **payload}).updated_at == (NOON if is_said else None)


@over(("says", "before"), Answers(ROWS, "races before"))
def test_abandoned_meeting_says_how_many_races_come_before_the_loss(says, before):
    (event,) = read_events(as_body({"event": "meeting.abandoned", "meeting": {"meeting_id": "m_1", **says}}))
    assert (event.first_lost - 1 if event.first_lost else event.races_run) == before


@over(("says", "races_run"), Answers(ROWS, "races run"))
def test_races_before_the_loss_were_run_only_if_the_meeting_says_so(says, races_run):
    event = read({"event": "meeting.abandoned", "course": "York", **says})
    assert event.races_run == races_run


@over(("words", "numbers"), Answers(ROWS, "lost by number"))
def test_words_about_numbered_races_of_a_meeting_tell_of_these_alone(words, numbers):
    event = read({"event": "meeting.abandoned", "course": "York", "status": words})
    assert "; ".join(race.number for race in event.races) == numbers


@over(
    ("lost_from", "offs", "lost"),
    [
        ("14:00", ["13:30", "14:30"], 1),
        ("14:00", ["2026-06-27T13:30:00+01:00", "2026-06-27T14:30:00+01:00"], 1),
        # In summer a race of Great Britain at 13:30 UTC is at 14:30.
        ("14:00", ["2026-06-27T12:30:00Z", "2026-06-27T13:30:00Z"], 2),
        (["15:00", "14:00"], ["13:30", "14:30"], 1),
    ],
)
def test_race_before_the_first_lost_time_is_not_named_unless_its_own_time_is_in_utc(lost_from, offs, lost):
    races = [{"race_id": f"rc_{off}", "off_time": off} for off in offs]
    event = read({"event": "meeting.abandoned", "course": "York", "abandoned_from": lost_from, "races": races})
    assert [race.race_id for race in event.races] == [f"rc_{off}" for off in offs[-lost:]]


@over(("says", "reason"), Answers(ROWS, "reasons"))
def test_reason_is_told_as_published(says, reason):
    assert read({"event": "race.abandoned", "race": {"race_id": "rc_1", **says}}).reason == reason


@over(("says", "reason"), Answers(ROWS, "lost in words"))
def test_text_about_a_loss_is_told_where_no_course_is_given(says, reason):
    assert read({"event": "meeting.abandoned", "date": "2026-11-20", "region": "GB", **says}).reason == reason


@over(("says", "reason"), Answers(ROWS, "from a race on"))
def test_abandonment_that_names_no_race_says_from_which_race_on(says, reason):
    assert read({"event": "race.abandoned", "course": "York", "date": "2026-11-20", **says}).reason == reason


@over(("payload", "sequence"), Answers(ROWS, "sequences"))
def test_sequence_is_a_whole_number_of_the_event(payload, sequence):
    assert read({"event": "result.received", **payload}).sequence == sequence


def test_each_race_of_a_range_of_numbers_has_a_key_of_its_own():
    york = {"course": "York", "date": "2026-11-20", "race_number": "4-6"}
    keys = [event.key for event in read_events(as_body({"event": "race.abandoned", "data": york}))]
    assert [key.rpartition("|")[2] for key in keys] == ["race=4", "race=5", "race=6"]
