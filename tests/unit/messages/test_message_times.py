from datetime import UTC, datetime, timedelta, timezone

import pytest

from bot.domain.events import EventKind, RacingEvent
from bot.domain.races import OffTime, Race
from bot.slack.messages.context import MessageContext
from bot.slack.messages.times import in_readers_zone, minutes_late, off_for_readers, off_text, utc_clock

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def minutes(count):
    return timedelta(minutes=count)


def late(*, now, received=NOON, occurred=None, off=None):
    event = RacingEvent(
        key="k", kind=EventKind.RACE_ABANDONED, occurred_at=occurred, race=Race(off=OffTime(off_at=off))
    )
    return minutes_late(event, MessageContext(received_at=received, now=now, late_after_s=600))


def test_off_time_shows_as_published():
    assert off_text(OffTime(text="2:30")) == "2:30"
    assert off_for_readers(OffTime(text="2:30")) == "2:30"


def test_off_time_with_an_offset_shows_in_the_readers_zone_too():
    off = OffTime(text="13:00", off_at=NOON)
    assert off_text(off) == "13:00"
    assert off_for_readers(off) == "13:00 (your clock: <!date^1795176000^{time}|12:00 UTC>)"


def test_off_time_known_only_as_a_moment_shows_in_utc():
    assert off_text(OffTime(off_at=NOON)) == "12:00 UTC"
    assert off_for_readers(OffTime(off_at=NOON)) == in_readers_zone(NOON)


def test_off_time_that_did_not_come_is_none():
    assert off_text(OffTime(text="  ")) is None
    assert off_for_readers(OffTime()) is None


@pytest.mark.parametrize("hours", [-14, 0, 14])
def test_clock_holds_at_both_ends_of_the_calendar(hours):
    zone = timezone(timedelta(hours=hours))
    for moment in (datetime.min.replace(tzinfo=zone), datetime.max.replace(microsecond=0, tzinfo=zone)):
        assert utc_clock(moment, seconds=True).endswith(" UTC")


def test_lateness_is_measured_from_the_events_own_time():
    assert late(now=NOON, occurred=NOON - minutes(42), off=NOON - minutes(90)) == 42


def test_lateness_is_measured_from_the_off_time_where_the_event_has_none():
    assert late(now=NOON, off=NOON - minutes(20)) == 20


def test_lateness_is_measured_from_receipt_where_nothing_else_came():
    assert late(now=NOON + minutes(11)) == 11


def test_race_abandoned_in_advance_is_not_late_from_its_off():
    assert late(now=NOON, off=NOON + minutes(180)) is None
    assert late(now=NOON + minutes(200), off=NOON + minutes(180)) == 200


def test_lateness_is_never_negative_and_little_is_not_worth_a_word():
    assert late(now=NOON - minutes(60)) is None
    assert late(now=NOON, occurred=NOON + minutes(60)) is None
    assert late(now=NOON + minutes(10)) is None


def test_time_without_an_offset_counts_as_none():
    assert late(now=NOON, occurred=datetime(2026, 11, 20, 1)) is None  # noqa: DTZ001 - it is what is tested
