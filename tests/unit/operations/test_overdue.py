"""In every time zone of a race's date and time, no race counts as long past too early."""

from datetime import UTC, date, datetime, time, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from bot.events.races import OffTime, Race
from bot.operations.overdue import LONG_PAST, is_long_past, surely_began_after
from tests.rows import over

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
