from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from bot.events.races import OffTime
from bot.slack.messages.alerts.alert_context import MessageContext, minutes_late
from bot.slack.messages.kit.times import in_readers_zone, off_for_readers, off_text, utc_clock

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def minutes(count):
    return timedelta(minutes=count)


def late(*, now, received=NOON, had_at=None):
    return minutes_late(MessageContext(received_at=received, now=now, late_after_s=600, had_at=had_at))


def test_off_time_shows_as_published():
    assert off_text(OffTime(text="2:30")) == "2:30"
    assert off_for_readers(OffTime(text="2:30")) == "2:30"


def test_off_time_with_an_offset_shows_in_the_readers_zone_too():
    off = OffTime(text="13:00", off_at=NOON)
    assert off_text(off) == "13:00"
    assert off_for_readers(off) == "13:00 (your clock: <!date^1795176000^{time}|12:00 UTC>)"


LONDON, PARIS = ZoneInfo("Europe/London"), ZoneInfo("Europe/Paris")


@pytest.mark.parametrize(
    ("text", "zone", "is_left_out"),
    [
        ("13:00", PARIS, True),
        ("1:00 pm", PARIS, True),
        ("13:00", LONDON, False),
        ("1:00", PARIS, False),
        ("after racing", PARIS, False),
        ("13:00", None, False),
    ],
)
def test_readers_clock_is_left_out_only_where_it_is_known_to_show_the_published_time(text, zone, is_left_out):
    shown = off_for_readers(OffTime(text=text, off_at=NOON), zone)
    assert shown == (text if is_left_out else f"{text} (your clock: <!date^1795176000^{{time}}|12:00 UTC>)")


def test_readers_clock_holds_at_the_end_of_the_calendar():
    last = OffTime(text="23:00", off_at=datetime.max.replace(microsecond=0, tzinfo=UTC))
    assert "your clock" in (off_for_readers(last, PARIS) or "")


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


def test_lateness_is_measured_from_when_the_service_had_the_event():
    assert late(now=NOON, had_at=NOON - minutes(42)) == 42


def test_lateness_is_measured_from_receipt_where_nothing_else_came():
    assert late(now=NOON + minutes(11)) == 11


def test_lateness_is_never_negative_and_little_is_not_worth_a_word():
    assert late(now=NOON - minutes(60)) is None
    assert late(now=NOON, had_at=NOON + minutes(60)) is None
    assert late(now=NOON + minutes(10)) is None
