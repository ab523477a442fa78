"""Events and their keys, read from possible payloads of the service."""

import json
from datetime import UTC, datetime
from hashlib import sha256

import pytest

from bot.deliveries.payload import Payload, read_events, read_payload
from bot.events.event import EventKind
from tests.rows import over

PLACED = {"course": "Ascot", "date": "2025-06-17", "off": "14:30"}
NATURAL = "course=ascot|date=2025-06-17"
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
        (b'{"race_id": ' + b"9" * 5000 + b"}", "The body is not JSON."),
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
        b'{"event":"race.abandoned","race_id":"rc_1","sp":NaN,"prize":1e999}',
        b'{"event":"race.abandoned","race_id":"rc_2","race_id":"rc_1"}',
        b'{"event":"race.abandoned","race_id":" rc_1 ","title":"a\tb"}',
        b'{"event":"race.abandoned","race_id":"rc_1","course":"V\xe9lizy"}',
        '{"event":"race.abandoned","race_id":"rc_1"}'.encode("utf-16"),
    ],
    ids=["BOM", "list of one", "batch of one", "list beside", "NaN", "duplicate key", "raw tab", "Latin-1", "UTF-16"],
)
def test_odd_body_is_read_all_the_same(body):
    assert read_payload(body).key == "race.abandoned:rc_1"
    assert Payload(body).identity == ("race.abandoned:rc_1", "race.abandoned")


@pytest.mark.parametrize(
    "name", ["result.received", "RESULT_RECEIVED", "result:received", "Result.Received", "resultReceived"]
)
@pytest.mark.parametrize(
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


@over(
    "payload",
    [
        {"race_id": "rc_1", "id": "evt_1"},
        {"data": {"raceId": "rc_1", "id": "evt_1"}},
        {"payload": {"race": {"id": "rc_1"}}},
        {"race": {"uid": "rc_1"}, "meeting": {"id": "m_1"}, "course": {"id": "cr_1"}},
        {"data": {"id": "rc_1", **PLACED}},
        {"data": {"type": "race", "id": "rc_1", "attributes": PLACED}},
        {"data": {"id": "res_1", "relationships": {"race": {"data": {"type": "race", "id": "rc_1"}}}}},
        {"race": 3, "race_id": "rc_1"},
        {"next_race": {"race_id": "rc_2"}, "wrapper": {"race": {"race_id": "rc_1"}}},
    ],
)
def test_race_event_is_known_by_the_races_id(payload):
    event = read({"event": "result.received", **payload})
    assert (event.key, event.race.race_id) == ("result.received:rc_1", "rc_1")


@over(
    ("payload", "key"),
    [
        ({"id": "evt_1", **PLACED}, f"race.abandoned:{NATURAL}|off=14:30"),
        ({"region": "GB", **PLACED}, f"race.abandoned:region=gb|{NATURAL}|off=14:30"),
        ({"race": 3, **PLACED}, f"race.abandoned:{NATURAL}|off=14:30"),
        ({"course_id": "cr_1", "off_at": "2025-06-17T14:30"}, "race.abandoned:course=cr_1|date=2025-06-17|off=14:30"),
        ({"id": "evt_1", "course": "Ascot"}, "race.abandoned:id=evt_1"),
        ({"id": "evt_1", "race_number": "R05", **PLACED, "off": None}, f"race.abandoned:{NATURAL}|race=5"),
        (
            {"meeting": {"id": "m_1"}, "race_number": 5, **PLACED, "off": None},
            f"race.abandoned:{NATURAL}|meeting=m_1|race=5",
        ),
        ({"race_number": 5, **PLACED}, f"race.abandoned:{NATURAL}|off=14:30"),
        ({"id": "evt_1", "number": 7, "winner": "Alpha", **PLACED, "off": None}, "race.abandoned:id=evt_1"),
        ({"race_id": ["rc_1"], **PLACED}, "race.abandoned:rc_1"),
        ({"data": {"id": "x_1"}, "id": "evt_1"}, "race.abandoned:id=x_1"),
        *(({"race": race}, f"race.abandoned:{race}") for race in ("rc_1a2b", 88421)),
    ],
)
def test_race_event_without_a_trusted_id_is_known_by_the_best_there_is(payload, key):
    assert key_of({"event": "race.abandoned", **payload}) == key


@over(
    ("payload", "keys"),
    [
        ({"races": [{"race_id": "rc_1"}]}, ["rc_1"]),
        ({"data": [{"race_id": "rc_1", **PLACED}, {"race_id": "rc_2", **PLACED}]}, ["rc_1", "rc_2"]),
        ({"race_ids": ["rc_1", "rc_2"]}, ["rc_1", "rc_2"]),
        ({"races": {"1": {"race_id": "rc_1"}, "2": {"race_id": "rc_2"}}}, ["rc_1", "rc_2"]),
        (PLACED | {"off": None, "races": ["14:30", "15:05"]}, [f"{NATURAL}|off=14:30", f"{NATURAL}|off=15:05"]),
        ({"race_id": "rc_1", "races": [{"race_id": "rc_1"}, {"race_id": "rc_2"}]}, ["rc_1"]),
    ],
    ids=["one", "two", "ids", "by number", "times", "neighbours on the card"],
)
def test_each_race_in_the_place_of_the_race_is_an_event(payload, keys):
    events = read_events(as_body({"event": "race.abandoned", **payload}))
    assert [event.key for event in events] == [f"race.abandoned:{key}" for key in keys]
    assert not any(event.races for event in events)


@over(
    ("payload", "key"),
    [
        ({"event": "meeting.abandoned", "meeting": {"id": 9, **PLACED}}, "meeting.abandoned:meeting=9"),
        ({"event": "meeting.abandoned", "data": {"id": "m_1", **PLACED}}, "meeting.abandoned:meeting=m_1"),
        ({"event": "meeting.abandoned", "id": "evt_1", **PLACED}, f"meeting.abandoned:{NATURAL}"),
        *(
            ({"event": "meeting.abandoned", "meeting": meeting}, f"meeting.abandoned:meeting={meeting}")
            for meeting in ("m_77", "77", 88421)
        ),
        ({"event": "meeting.abandoned", "race_id": "rc_1", "meeting_id": "m_1"}, "meeting.abandoned:rc_1"),
        ({"event": "racecard.published", "data": {"id": "rc_1", **PLACED}}, "racecard.published:rc_1"),
        ({"event": "racecard.published", **PLACED}, f"racecard.published:{NATURAL}|off=14:30"),
        ({"event": "racecard.published", **PLACED, "races": []}, f"racecard.published:{NATURAL}"),
        ({"event": "racecard.published", **PLACED, "meeting_id": "M1"}, "racecard.published:meeting=M1|off=14:30"),
        ({"event": "racecard.published", "meeting_id": "M1", "card": []}, "racecard.published:meeting=M1"),
        (
            {"event": "racecard.published", "data": {"id": "m_1", "course": "York", "races": []}},
            "racecard.published:meeting=m_1",
        ),
    ],
)
def test_card_event_is_known_by_race_or_meeting_or_course_and_date(payload, key):
    assert key_of(payload) == key


@pytest.mark.parametrize("race_id", ["x" * 201, "a\nb", "\ud800", "\u202e1"])
def test_key_shows_no_id_that_is_long_or_unprintable(race_id):
    key = key_of({"event": "race.abandoned", "race_id": race_id})
    assert key == f"race.abandoned:{sha256(race_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def test_meeting_names_its_races_with_their_common_values():
    event = read(
        {
            "event": "meeting.abandoned",
            "meeting": {"id": "m_1", "region": "GB", "status": "abandoned", **PLACED, "off": None},
            "reason": "Waterlogged",
            "races": [{"id": "rc_1", "off": "14:30"}, "rc_2", "15:05", 3, {"weather": "wet"}],
        }
    )
    assert (event.race.race_id, event.race.meeting_id, event.race.status) == (None, "m_1", "abandoned")
    assert (event.reason, event.race.abandoned) == ("Waterlogged", True)
    named = [(race.race_id, race.off.text, race.number) for race in event.races]
    assert named == [("rc_1", "14:30", None), ("rc_2", None, None), (None, "15:05", None), (None, None, "3")]
    assert {(race.region, race.course.name, race.race_date) for race in event.races} == {("GB", "Ascot", "2025-06-17")}


def test_event_of_one_race_takes_neither_its_runners_nor_the_other_races_of_its_card_for_races():
    runners = [{"horse": "A"}]
    event = read({"event": "racecard.published", "race_id": "rc_1", "card": runners, "runners": runners})
    assert (event.races, [runner.horse for runner in event.race.runners]) == ((), ["A"])
    meeting = {"races": [{"id": "rc_1"}, {"id": "rc_2"}]}
    assert read({"event": "result.received", "race": {"id": "rc_1"}, "meeting": meeting}).races == ()


@over(
    ("times", "is_said"),
    [
        ({"occurred_at": "2025-06-17T12:00:00Z"}, True),
        ({"timestamp": 1_750_161_600}, True),
        ({"createdAt": "2025-06-17T13:00:00+01:00", "race": {"created_at": "2025-01-01T00:00:00Z"}}, True),
        ({"race": {"abandoned_at": "2025-06-17T12:00:00Z"}, "created_at": "2025-06-17T12:00:09Z"}, True),
        ({"time": "2025-06-17T12:00:00Z", "data": {"race_id": "rc_1"}}, True),
        ({"occurred_at": "2025-06-17T12:00:00"}, False),
        ({"timestamp": 12}, False),
        ({"delivered_at": "2025-06-17T12:00:00Z", "delivery": {"timestamp": "2025-06-17T12:00:00Z"}}, False),
        ({"data": {"race_id": "rc_1", "created_at": "2025-06-17T12:00:00Z"}}, False),
        ({"time": "2025-06-17T12:00:00Z", "course": "Ascot"}, False),
    ],
)
def test_event_occurred_when_it_says_so(times, is_said):
    assert read({"event": "race.abandoned", **times}).occurred_at == (NOON if is_said else None)


@over(
    ("payload", "is_said"),
    [
        ({"race": {"updated_at": "2025-06-17T12:00:00Z"}}, True),
        ({"data": {"race_id": "rc_1", "lastModified": "2025-06-17T13:00:00+01:00"}}, True),
        ({"meta": {"data_as_of": "2025-06-17T12:00:00+00:00"}, "race": {"race_id": "rc_1"}}, True),
        ({"updated": 1_750_161_600, "data_as_of": "2025-06-17T09:00:00Z"}, True),
        ({"meeting": {"updated_at": "2025-06-17T11:00Z"}, "race": {"updated_at": "2025-06-17T12:00Z"}}, True),
        ({"race": {"updated_at": "2025-06-17T12:00Z"}, "sponsor": {"updated_at": "2025-06-17T13:00Z"}}, True),
        ({"race": {"race_id": "rc_1", "updated_at": "1970-01-01T00:00:00Z"}}, False),
        ({"race": {"race_id": "rc_1", "revised_time": "2025-06-17T12:00:00Z"}}, False),
        # Of a retry.
        ({"data_as_of": "2025-06-17T12:00:00Z", "delivery": {"first_attempt_at": "2025-06-17T11:00:00Z"}}, False),
    ],
)
def test_data_is_as_new_as_its_last_sure_update(payload, is_said):
    assert read({"event": "result.received", **payload}).updated_at == (NOON if is_said else None)


@over(
    ("says", "races_run"),
    [
        *(({name: True}, 0) for name in ("partial", "is_partial", "partially_abandoned", "partial_abandonment")),
        *(({name: "Partial"}, 0) for name in ("scope", "abandonment_type", "cancellation_scope")),
        *(({"status": status}, 0) for status in ("PARTIALLY_ABANDONED", ["PARTIAL", "ABANDONED"])),
        *(({name: False}, 0) for name in ("whole_meeting", "is_full_card")),
        *(({name: "Partial"}, 0) for name in ("type", "meeting_status")),
        *(({"extent": extent}, 0) for extent in ("REMAINDER", "rest_of_card", "Final race")),
        ({"races_remaining": 4, "races_total": 7}, 3),
        ({"affected": {"from": 4, "to": 7}}, 0),
        ({"reason": {"text": "Waterlogged", "detail": "after race 2"}}, 2),
        *(
            ({"note": note}, 0)
            for note in (
                *(
                    "Abandoned; first four races run",
                    "Abandoned with three races remaining",
                    "Called off before the third",
                ),
                *("Abandoned midway", "Only two of the seven races took place"),
            )
        ),
        ({"abandoned_from_race": 4}, 3),
        *(({name: 3}, 2) for name in ("from_race", "race_from", "first_race", "start_race", "effective_from_race")),
        *(({"races": said}, 2) for said in ("3 onwards", "from race 3")),
        ({"races": {"from": 3, "to": 7}}, 2),
        *(({name: {"from": "race 3"}}, 2) for name in ("abandonment", "abandoned", "cancellation")),
        *(
            ({"abandonment": extent}, run)
            for extent, run in (
                *(({"after": 2}, 2), ({"from": "15:00"}, 0), ({"type": "partial"}, 0), ({"from": 1}, None)),
                *(({"scope": "meeting"}, None), ({"from": "2025-06-17T12:00:00Z"}, None)),
            )
        ),
        *(({name: "Abandoned after race 2"}, 2) for name in ("headline", "description", "extent", "abandonment")),
        ({"abandoned_after": 3}, 3),
        ({"reason": "Abandoned after race 2, fog"}, 2),
        ({"reason": "Abandoned after three races"}, 0),
        *(({"reason": f"Abandoned after {part}"}, 2) for part in ("the second race", "the 2nd race", "race two")),
        *(({"remaining_races": races}, run) for races, run in (([4, 5], 0), (4, 0), (0, None), (None, None))),
        *(({"note": f"{part} lost to fog"}, 0) for part in ("Last four races", "Remaining races", "Rest of the card")),
        ({"races_abandoned": 4, "total_races": 7}, 3),
        *(
            ({"note": f"{part}, fog"}, 3)
            for part in (
                *("Races 4-7 abandoned", "Races 4 to 7 are cancelled", "R4, R5 and R6 lost", "ABANDONED R4-R7"),
                *("Abandoned following race 3", "Abandoned (races 4, 5 & 6)"),
            )
        ),
        ({"scope": "races 4-7"}, 3),
        ({"note": "Abandoned before race 4"}, 3),
        ({"races_completed": "3 of 7"}, 3),
        ({"abandoned_from": {"race_number": 4, "time": "15:00"}}, 3),
        *(({"note": f"Abandoned {part}"}, 0) for part in ("from 15:00", "after the 14:30", "midway through the card")),
        ({"status": "Abandoned after the third"}, 0),
        ({"abandoned_from": "15:00"}, 0),
        *(({"note": note}, None) for note in ("Abandoned after the first inspection", "Races 1-7 abandoned")),
        ({"note": "Races 1-3 run, 20-11 abandoned"}, None),
        ({"partial": False, "scope": "Full", "reason": "Frost after a cold night"}, None),
        *(({"note": note}, None) for note in ("Frost seen after Sunday races", "Last minute races are not planned")),
        *(
            ({"note": f"{part} abandoned"}, 0)
            for part in ("Remaining 3 races", "Rest of the meeting", "Remainder", "Rest of today's racing")
        ),
        *(
            ({"reason": reason}, None)
            for reason in (
                *("Ground remaining frozen", "Frost for the rest of the week", "High winds forecast from 12:00"),
                *("Snow from the 25th", "Abandoned partly due to frost", "Inspected after 07:30, unfit"),
            )
        ),
        ({"from_race": 1}, None),
    ],
)
def test_abandoned_meeting_says_how_many_races_were_run(says, races_run):
    (event,) = read_events(as_body({"event": "meeting.abandoned", "meeting": {"meeting_id": "m_1", **says}}))
    assert event.races_run == races_run


@over(
    ("says", "reason"),
    [
        ({"reasons": ["Frost", "Fog"]}, "Frost, Fog"),
        ({"reason": {"code": "FROST", "description": "Frozen ground"}}, "Frozen ground"),
        ({"reasons": [{"code": "F", "text": "Fog"}, {"code": "H", "text": "Hail"}]}, "Fog, Hail"),
        *(({name: "Fog"}, "Fog") for name in ("abandoned_comment", "abandonment_details", "cancelReason")),
        ({"reason_code": "WATERLOGGED"}, "WATERLOGGED"),
        ({"reason_code": "X4", "reason": "Fog", "status": "Abandoned"}, "Fog"),
        *(({"reason": "Fog", "status": words}, f"{words}, Fog") for words in ("Reinstated", "VOID", "Moved to York")),
        *(({"status": words}, None) for words in ("Cancelled", "Postponed", "Confirmed", "Declared")),
        ({"from_race": 4, "reason": "Fog"}, "Fog"),
        *(({"reason": nothing, "status": nothing}, None) for nothing in ("null", "None", "N/A", "-", "", None)),
        ({"is_abandoned": False, "reason": "Fog"}, "also marked as not abandoned, Fog"),
        ({"abandoned": True, "has_result": False, "settled_at": NOON.isoformat()}, None),
    ],
)
def test_reason_is_told_as_published(says, reason):
    assert read({"event": "race.abandoned", "race": {"race_id": "rc_1", **says}}).reason == reason


@over(
    ("says", "reason"),
    [
        *(({name: 4, "reason": "Fog"}, "from race 4 on, Fog") for name in ("from_race", "race_from", "first_race")),
        ({"message": "Racing abandoned after race 3"}, "from race 4 on"),
        ({"reason": "Abandoned after race 3"}, "Abandoned after race 3"),
        ({"status": "Abandoned after race 3"}, None),
        ({"abandoned_from": "14:30"}, "from 14:30 on"),
    ],
)
def test_abandonment_that_names_no_race_says_from_which_race_on(says, reason):
    assert read({"event": "race.abandoned", "course": "York", "date": "2026-11-20", **says}).reason == reason


@over(
    ("payload", "sequence"),
    [
        ({"version": 2}, 2),
        ({"data": {"revision": "3"}, "version": 1}, 1),
        ({"race": {"sequence": 4.0}}, 4),
        ({"version": "1.0"}, None),
        ({"version": True}, None),
        ({"version": 2**63}, None),
        ({"version": -1}, None),
        ({"attempt": 2, "delivery": {"sequence": 9}}, None),
    ],
)
def test_sequence_is_a_whole_number_of_the_event(payload, sequence):
    assert read({"event": "result.received", **payload}).sequence == sequence


UNTIMED_YORK = {"course": "York", "date": "2026-11-20"}


def test_each_race_of_a_range_of_numbers_has_a_key_of_its_own():
    body = json.dumps({"event": "race.abandoned", "data": {**UNTIMED_YORK, "race_number": "4-6"}}).encode()
    assert [event.key.rpartition("|")[2] for event in read_events(body)] == ["race=4", "race=5", "race=6"]
