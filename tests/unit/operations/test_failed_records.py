"""A record of a failed delivery, in whatever shape: its event, the body to be stored, and our endpoint's answer."""

import hashlib
import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bot.deliveries.payload import read_payload
from bot.events.event import EventKind
from bot.events.races import OffTime, Race
from bot.operations.overdue import LONG_PAST, is_long_past, surely_began_after
from bot.operations.repair.failed_record import EndpointAnswer, name_of, read_record
from tests.rows import Answers, over

ROWS = Path(__file__).with_name("failed_records.yaml")
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
TRIED = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
AT = "2026-11-21T14:00:00+00:00"
RACE = {"race_id": "rc_1", "course": "Ascot", "date": "2026-11-21", "off_time": "14:30"}
PAYLOAD = {"event": "race.abandoned", "race": RACE, "reason": "Frozen track"}
REFUSED = '{"error": "not stored; send it again"}'


def read(record):
    return read_record(record, read_payload, NOW)


def sha256(payload):
    return hashlib.sha256(json.dumps(payload).encode()).hexdigest()


@over(("record", "tried"), Answers(ROWS, "with a payload"))
def test_payload_is_found_wherever_the_record_has_it(record, tried):
    found = read(record)
    assert found.has_payload
    assert (found.event.key, found.event.reason) == ("race.abandoned:rc_1", "Frozen track")
    assert sha256(PAYLOAD) in found.digests
    assert tried == "at any time" or found.event.first_attempt_at == found.tried_at == TRIED


def test_payload_with_a_time_of_its_own_is_stored_as_it_is():
    payload = PAYLOAD | {"occurred_at": "2026-11-21T13:59:00Z"}
    found = read({"created_at": AT, "payload": json.dumps(payload)})
    assert found.body == json.dumps(payload).encode()
    assert found.event.first_attempt_at is None


def test_payload_without_an_event_has_the_record_s():
    found = read({"event": "result.received", "data": {"race": RACE | {"runners": [{"position": 1, "horse": "A"}]}}})
    assert found.has_payload
    assert (found.event.key, found.event.race.placed()[0].horse) == ("result.received:rc_1", "A")


@over(("record", "key"), Answers(ROWS, "without a payload"))
def test_record_without_a_payload_says_its_event_and_ids(record, key):
    found = read(record | {"created_at": AT, "status": "failed", "attempts": 9, "error": "timeout"})
    assert found.event.key == key
    assert found.event.race.status is None
    assert found.event.reason is None


def test_what_changes_in_a_record_changes_nothing_in_the_stored_body():
    record = {"id": "dl_1", "event": "race.abandoned", "race_id": "rc_1", "created_at": AT}
    later = record | {"attempts": 9, "status": "failed", "last_attempt_at": "2026-11-22T11:00:00Z", "duration_ms": 12}
    assert read(record).body == read(later).body


@over("more", [{"created_at": AT}, {"subscription": {"id": "s_1", "event": "race.abandoned"}}])
def test_two_abandonments_that_say_nothing_of_their_races_are_two(more):
    first, second = ({"id": one, "event": "race.abandoned", **more} for one in ("dl_1", "dl_2"))
    assert read(first).event.key != read(second).event.key
    assert read(first).event.key == read(first | {"attempts": 3}).event.key
    assert not read(first).says_where


@over("name", ["created_at", "created", "first_attempt_at", "at", "sent_at"])
def test_time_of_a_record_says_how_late_its_event_is(name):
    assert read({"id": 1, "event": "race.abandoned", "race_id": "rc_1", name: AT}).event.first_attempt_at == TRIED


def test_off_time_is_no_time_of_the_delivery():
    record = {"id": 1, "event": "race.abandoned", "race": RACE | {"off_at": "2026-11-21T09:00:00Z"}, "created_at": AT}
    assert read(record).tried_at == TRIED
    del record["created_at"]
    assert read(record).tried_at is None


def test_first_attempt_of_a_list_is_the_time_and_the_last_one_the_answer():
    tries = [
        {"at": AT, "status_code": 401, "body": '{"error": "the signature matches no active secret"}'},
        {"at": "2026-11-22T11:00:00Z", "status_code": 503, "body": REFUSED},
    ]
    found = read({"id": 1, "event": "race.abandoned", "race_id": "rc_1", "attempts": tries})
    assert found.tried_at == TRIED
    assert found.answered == EndpointAnswer(503, "not stored; send it again")
    assert found.answered.told == "503 (not stored; send it again)"


@over(("record", "told"), Answers(ROWS, "answers"))
def test_answer_of_our_endpoint_is_read_and_a_long_answer_is_cut(record, told):
    bare = {"event": "race.abandoned", "race_id": "rc_1"}
    assert read({**bare, "status": "failed", **record}).answered.told == told
    assert len(read({**bare, "error": "x" * 900}).answered.words) == 101


@over(("record", "name"), Answers(ROWS, "of another shape"))
def test_record_of_another_shape_is_not_read_and_has_a_name_for_admins(record, name):
    assert read(record) is None
    assert (name_of(record), name_of({})) == (name, "without an id")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from([*EventKind]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(["event", "payload", "body", "attempts", "response", "created_at", "race_id", "sent", "status"])


@given(st.dictionaries(NAMES | st.text(max_size=10), ANYTHING, max_size=6))
def test_no_record_raises_and_what_is_read_is_stored_under_the_key_of_its_body(record):
    found = read(record)
    if found is not None:
        assert found.event.key == read_payload(found.body).key
        assert found.sha256 in found.digests


# In every time zone of a race's date and time, no race counts as long past too early

SECOND = timedelta(seconds=1)
ZONES = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
DAYS = st.dates(date(2020, 1, 2), date(2090, 1, 1))


@given(DAYS, st.times(), ZONES, ZONES)
def test_no_zone_makes_a_race_long_past_before_it_is(day, clock, zone, zone_of_the_text):
    """The date is of one zone, the published time may be of another."""
    off_at = datetime.combine(day, clock, zone)
    race = Race(race_date=day.isoformat(), off=OffTime(text=f"{off_at.astimezone(zone_of_the_text):%H:%M}"))
    assert not is_long_past(race, off_at + LONG_PAST - SECOND)
    assert not surely_began_after(race, off_at)


@given(DAYS)
def test_race_without_an_offset_is_long_past_three_hours_after_its_day_has_ended_everywhere(day):
    race = Race(race_date=day.isoformat(), off=OffTime(text="14:30"))
    ended = datetime.combine(day, time(12), UTC) + timedelta(days=1)
    assert not is_long_past(race, ended + LONG_PAST - SECOND)
    assert is_long_past(race, ended + LONG_PAST)
    begun = datetime.combine(day, time(10), UTC) - timedelta(days=1)
    assert surely_began_after(race, begun - SECOND)
    assert not surely_began_after(race, begun)


@given(DAYS, st.times(), ZONES, st.booleans())
def test_race_with_an_offset_is_long_past_to_the_second(day, clock, zone, is_dated):
    off_at = datetime.combine(day, clock, zone)
    race = Race(race_date=day.isoformat() if is_dated else None, off=OffTime(text="14:30", off_at=off_at))
    assert not is_long_past(race, off_at + LONG_PAST - SECOND)
    assert is_long_past(race, off_at + LONG_PAST)
    assert surely_began_after(race, off_at - SECOND)


@over("race_date", [None, "soon", "2026-13-01"])
def test_race_of_no_readable_day_is_never_long_past(race_date):
    race = Race(race_date=race_date, off=OffTime(text="14:30"))
    assert not is_long_past(race, datetime(2999, 1, 1, tzinfo=UTC))
    assert not surely_began_after(race, datetime(1999, 1, 1, tzinfo=UTC))


def test_instant_of_another_day_is_no_off_time_of_the_race():
    race = Race(race_date="2026-11-20", off=OffTime(off_at=datetime(2016, 11, 20, 14, 30, tzinfo=UTC)))
    assert not is_long_past(race, datetime(2026, 11, 21, 14, 59, tzinfo=UTC))
    assert is_long_past(race, datetime(2026, 11, 21, 15, tzinfo=UTC))
