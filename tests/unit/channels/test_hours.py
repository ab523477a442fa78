"""Quiet hours, and the hours of digests and cards, by the clock of any zone, also where the clock changes."""

from datetime import UTC, datetime

from bot.channels.conditions.choices import quiet_until
from bot.channels.filters import ChannelFilter, chosen_by, kept_until
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Race
from tests.rows import over

BASE = ChannelFilter(region="GB", topics=frozenset(Topic))


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


def hours(*quiet, zone=None):
    return BASE.model_copy(update={"quiet": quiet, "zone": (zone,) if zone else ()})


@over(
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
NIGHTS = {"quiet": ("22:00-07:00",)}
QUIET = BASE.model_copy(update=NIGHTS)


def test_results_and_cards_wait_but_losses_and_unread_deliveries_do_not():
    waiting = {kind for kind in EventKind if kept([QUIET], event(kind), NIGHT) is not None}
    assert waiting == {EventKind.RESULT_RECEIVED, EventKind.RACECARD_PUBLISHED}
    assert kept([QUIET], event(status="void"), NIGHT) is None
    assert kept([QUIET], RacingEvent(key="k", kind=None), NIGHT) is None


def test_earliest_filter_that_takes_the_event_decides():
    ends_at_six, of_ireland = hours("22:00-06:00"), BASE.model_copy(update={"region": "IRE"})
    assert kept([QUIET, ends_at_six, of_ireland], event(), NIGHT) == at("2026-11-21T06:00")
    assert kept([QUIET, BASE], event(), NIGHT) is None
    assert kept([of_ireland], event(), NIGHT) is None


LONDON = {"digest": ("18:00",), "zone": ("Europe/London",)}
TWO_DIGESTS = {"digest": ("18:00", "13:00")}
NIGHTLY = {"digest": ("23:00",)} | NIGHTS
AT_SIX = {"digest": ("18:00",)} | NIGHTS


# The receipt, the moment of fan-out where another, and the end of the wait.
@over(
    ("choices", "received", "now", "until"),
    [
        (LONDON, "2026-11-20T17:59", None, "2026-11-20T18:00"),
        (LONDON, "2026-11-20T18:00", None, "2026-11-21T18:00"),
        # The last day of winter time, and the first of summer time; and the other way round.
        (LONDON, "2026-03-28T17:59", None, "2026-03-28T18:00"),
        (LONDON, "2026-03-28T18:00", None, "2026-03-29T17:00"),
        (LONDON, "2026-10-24T17:00", None, "2026-10-25T18:00"),
        (TWO_DIGESTS, "2026-11-20T12:00", None, "2026-11-20T13:00"),
        (TWO_DIGESTS, "2026-11-20T13:30", None, "2026-11-20T18:00"),
        (NIGHTLY, "2026-11-20T12:00", None, "2026-11-21T07:00"),
        # The hour came while the delivery waited for fan-out: the result is due, with the digest.
        (AT_SIX, "2026-11-20T17:59", "2026-11-20T18:10", "2026-11-20T18:00"),
        (AT_SIX, "2026-11-20T18:01", "2026-11-20T18:10", "2026-11-21T18:00"),
        (AT_SIX, "2026-11-20T17:59", "2026-11-20T23:00", "2026-11-21T07:00"),
        # Quiet hours count at the receipt and at fan-out.
        (NIGHTS, "2026-11-21T06:59", "2026-11-21T07:10", "2026-11-21T07:00"),
        (NIGHTS, "2026-11-20T21:59", "2026-11-20T22:10", "2026-11-21T07:00"),
        (NIGHTS, "2026-11-20T21:50", "2026-11-20T21:55", None),
        (NIGHTS, "2026-11-20T21:59", "2026-11-21T08:00", None),
    ],
)
def test_result_waits_for_the_next_digest_and_the_end_of_quiet_hours(choices, received, now, until):
    chosen = BASE.model_copy(update=choices)
    assert kept_until([chosen], event(), at(received), at(now or received)) == (at(until) if until else None)


@over(
    ("race_date", "received", "until"),
    [
        ("2026-11-21", "2026-11-20T10:00", "2026-11-20T19:00"),
        ("2026-11-25", "2026-11-20T10:00", "2026-11-24T19:00"),
        ("2026-11-21", "2026-11-20T19:00", None),
        *((race_date, "2026-11-20T10:00", None) for race_date in ("2026-11-20", "21 Nov", None, "0001-01-01")),
    ],
)
def test_card_waits_for_the_eve_and_for_no_digest_and_a_late_card_does_not_wait(race_date, received, until):
    chosen, digest = (BASE.model_copy(update=choice) for choice in ({"cards": ("19:00",)}, LONDON))
    card = event(EventKind.RACECARD_PUBLISHED, race_date=race_date)
    assert kept([chosen], card, at(received)) == (at(until) if until else None)
    assert kept([digest], card, at(received)) is None


def test_filter_with_the_earliest_moment_says_why_an_event_waited():
    daily = BASE.model_copy(update={"region": "*", "digest": ("18:00",)})
    assert chosen_by([daily, QUIET], event(), NIGHT) == QUIET
    assert chosen_by([QUIET.model_copy(update={"region": "IRE"}), daily], event(), NIGHT) is daily
    assert chosen_by([], event(), NIGHT) is None
