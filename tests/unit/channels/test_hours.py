"""Quiet hours, and the hours of digests and cards, by the clock of any zone, also where the clock changes."""

from datetime import UTC, datetime

import pytest

from bot.channels.conditions.choices import quiet_until
from bot.channels.filters import ChannelFilter
from bot.channels.hours import chosen_by, kept_until
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Race

BASE = ChannelFilter(region="GB", topics=frozenset(Topic))


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


def hours(*quiet, zone=None):
    return BASE.model_copy(update={"quiet": quiet, "zone": (zone,) if zone else ()})


@pytest.mark.parametrize(
    ("quiet", "zone", "now", "until"),
    [
        (["22:00-07:00"], None, "2026-11-20T21:59:59", None),
        (["22:00-07:00"], None, "2026-11-20T22:00", "2026-11-21T07:00"),
        (["22:00-07:00"], None, "2026-11-21T06:59:59", "2026-11-21T07:00"),
        (["22:00-07:00"], None, "2026-11-21T07:00", None),
        (["12:00-13:00"], None, "2026-11-20T12:30", "2026-11-20T13:00"),
        (["22:00-02:00", "02:00-07:00"], None, "2026-11-20T23:00", "2026-11-21T07:00"),
        (["22:00-07:00"], "America/New_York", "2026-11-20T12:00", None),
        (["22:00-07:00"], "America/New_York", "2026-11-20T11:00", "2026-11-20T12:00"),
        # In London the clock goes on to 2:00 at 1:00 UTC, and back to 1:00 at 1:00 UTC.
        (["22:00-07:00"], "Europe/London", "2026-03-28T23:00", "2026-03-29T06:00"),
        (["22:00-07:00"], "Europe/London", "2026-10-24T22:00", "2026-10-25T07:00"),
        (["00:30-01:30"], "Europe/London", "2026-03-29T00:45", "2026-03-29T01:30"),
        (["00:30-01:30"], "Europe/London", "2026-10-25T00:15", "2026-10-25T00:30"),
        (["00:30-01:30"], "Europe/London", "2026-10-25T01:15", None),
        # What can't be read is not heeded: the event is told.
        (["22:00-07:00"], "Nowhere/Land", "2026-11-20T23:00", None),
        (["late"], None, "2026-11-20T23:00", None),
    ],
)
def test_quiet_hours_end_by_their_own_clock(quiet, zone, now, until):
    assert quiet_until(hours(*quiet, zone=zone), at(now)) == (at(until) if until else None)


def event(kind=EventKind.RESULT_RECEIVED, **race):
    return RacingEvent(key="k", kind=kind, race=Race(region="GB", **race))


def kept(filters, event, received_at):
    """By a fan-out at the moment of receipt."""
    return kept_until(filters, event, received_at, received_at)


NIGHT = at("2026-11-20T23:00")
QUIET = hours("22:00-07:00")


@pytest.mark.parametrize("kind", list(EventKind))
def test_results_and_cards_wait_and_abandonments_do_not(kind):
    waits = kind in {EventKind.RESULT_RECEIVED, EventKind.RACECARD_PUBLISHED}
    assert (kept([QUIET], event(kind), NIGHT) is not None) is waits


def test_void_result_and_delivery_that_can_not_be_read_do_not_wait():
    assert kept([QUIET], event(status="void"), NIGHT) is None
    assert kept([QUIET], RacingEvent(key="k", kind=None), NIGHT) is None


def test_earliest_filter_that_takes_the_event_decides():
    ends_at_six, of_ireland = hours("22:00-06:00"), BASE.model_copy(update={"region": "IRE"})
    assert kept([QUIET, ends_at_six, of_ireland], event(), NIGHT) == at("2026-11-21T06:00")
    assert kept([QUIET, BASE], event(), NIGHT) is None
    assert kept([of_ireland], event(), NIGHT) is None


LONDON = "Europe/London"


@pytest.mark.parametrize(
    ("now", "at_six"),
    [
        ("2026-11-20T17:59", "2026-11-20T18:00"),
        ("2026-11-20T18:00", "2026-11-21T18:00"),
        # The last day of winter time, and the first of summer time; and the other way round.
        ("2026-03-28T17:59", "2026-03-28T18:00"),
        ("2026-03-28T18:00", "2026-03-29T17:00"),
        ("2026-10-24T17:00", "2026-10-25T18:00"),
    ],
)
def test_result_waits_for_the_next_hour_of_the_digest(now, at_six):
    chosen = BASE.model_copy(update={"digest": ("18:00",), "zone": (LONDON,)})
    assert kept([chosen], event(), at(now)) == at(at_six)
    assert kept([chosen], event(EventKind.RACECARD_PUBLISHED), at(now)) is None


def test_earliest_of_several_digests_counts():
    chosen = BASE.model_copy(update={"digest": ("18:00", "13:00")})
    assert kept([chosen], event(), at("2026-11-20T12:00")) == at("2026-11-20T13:00")
    assert kept([chosen], event(), at("2026-11-20T13:30")) == at("2026-11-20T18:00")


@pytest.mark.parametrize(
    ("race_date", "now", "until"),
    [
        ("2026-11-21", "2026-11-20T10:00", "2026-11-20T19:00"),
        ("2026-11-25", "2026-11-20T10:00", "2026-11-24T19:00"),
        ("2026-11-21", "2026-11-20T19:00", None),
        ("2026-11-20", "2026-11-20T10:00", None),
        ("21 Nov", "2026-11-20T10:00", None),
        (None, "2026-11-20T10:00", None),
        ("0001-01-01", "2026-11-20T10:00", None),
    ],
)
def test_card_waits_for_the_eve_and_a_late_card_does_not_wait(race_date, now, until):
    chosen = BASE.model_copy(update={"cards": ("19:00",)})
    card = event(EventKind.RACECARD_PUBLISHED, race_date=race_date)
    assert kept([chosen], card, at(now)) == (at(until) if until else None)


def test_digest_within_quiet_hours_comes_at_their_end():
    chosen = BASE.model_copy(update={"digest": ("23:00",), "quiet": ("22:00-07:00",)})
    assert kept([chosen], event(), at("2026-11-20T12:00")) == at("2026-11-21T07:00")


@pytest.mark.parametrize(
    ("received", "now", "until"),
    [
        # The hour came while the delivery waited for fan-out: the result is due, with the digest.
        ("2026-11-20T17:59", "2026-11-20T18:10", "2026-11-20T18:00"),
        ("2026-11-20T18:01", "2026-11-20T18:10", "2026-11-21T18:00"),
        ("2026-11-20T17:59", "2026-11-20T23:00", "2026-11-21T07:00"),
    ],
)
def test_hour_of_a_digest_follows_from_the_receipt(received, now, until):
    chosen = QUIET.model_copy(update={"digest": ("18:00",)})
    assert kept_until([chosen], event(), at(received), at(now)) == at(until)


@pytest.mark.parametrize(
    ("received", "now", "until"),
    [
        ("2026-11-21T06:59", "2026-11-21T07:10", "2026-11-21T07:00"),
        ("2026-11-20T21:59", "2026-11-20T22:10", "2026-11-21T07:00"),
        ("2026-11-20T21:50", "2026-11-20T21:55", None),
        ("2026-11-20T21:59", "2026-11-21T08:00", None),
    ],
)
def test_quiet_hours_count_at_the_receipt_and_at_fan_out(received, now, until):
    assert kept_until([QUIET], event(), at(received), at(now)) == (at(until) if until else None)


def test_filter_with_the_earliest_moment_says_why_an_event_waited():
    daily = BASE.model_copy(update={"region": "*", "digest": ("18:00",)})
    assert chosen_by([daily, QUIET], event(), NIGHT) == QUIET
    assert chosen_by([QUIET.model_copy(update={"region": "IRE"}), daily], event(), NIGHT) is daily
    assert chosen_by([], event(), NIGHT) is None
