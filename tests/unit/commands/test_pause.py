from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import CommandError
from bot.events.days import zone_of
from bot.slack.commands.pause import read_duration, read_until
from bot.slack.messages.answers.pause_answer import paused, resumed


@pytest.mark.parametrize(
    ("typed", "length"),
    [
        ("", None),
        ("30m", timedelta(minutes=30)),
        (" 2h ", timedelta(hours=2)),
        ("1d", timedelta(days=1)),
        ("1h30m", timedelta(minutes=90)),
        ("1H 30min", timedelta(minutes=90)),
        ("2d 3h", timedelta(hours=51)),
        ("2 hours", timedelta(hours=2)),
        ("2hrs", timedelta(hours=2)),
        ("90 min", timedelta(minutes=90)),
        ("90 minutes", timedelta(minutes=90)),
        ("an hour", timedelta(hours=1)),
        ("1 hour and 30 mins", timedelta(minutes=90)),
        ("1 week", timedelta(days=7)),
    ],
)
def test_pause_reads_lengths_of_time(typed, length):
    assert read_duration(typed) == length


@pytest.mark.parametrize("typed", ["soon", "2", "0m", "-2h", "366d", "99999m", "30m2h", "2h <!here>", "٢h", "1.5h"])
def test_pause_says_what_would_have_been_right(typed):
    with pytest.raises(CommandError, match="1h30m"):
        read_duration(typed)


FRIDAY = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "until"),
    [
        ("tomorrow", "2026-11-21 00:00"),
        ("18:00", "2026-11-20 18:00"),
        ("09:00", "2026-11-21 09:00"),
        ("6pm", "2026-11-20 18:00"),
        ("6.30 pm", "2026-11-20 18:30"),
        ("midnight", "2026-11-21 00:00"),
        ("Friday", "2026-11-27 00:00"),
        ("Sunday", "2026-11-22 00:00"),
        ("tomorrow 09:00", "2026-11-21 09:00"),
        ("09:00 tomorrow", "2026-11-21 09:00"),
        ("6pm on Sunday", "2026-11-22 18:00"),
        ("22 Nov", "2026-11-22 00:00"),
        ("Nov 22, 2026", "2026-11-22 00:00"),
        ("22/11/2026 18:00", "2026-11-22 18:00"),
        ("2 Jan", "2027-01-02 00:00"),
    ],
)
def test_pause_until_is_the_next_such_moment(typed, until):
    for now in (FRIDAY, FRIDAY.astimezone(zone_of("Europe/Paris"))):
        found = read_until(typed, now)
        assert (f"{found:%Y-%m-%d %H:%M}", found.tzinfo) == (until, now.tzinfo)


@pytest.mark.parametrize("typed", ["", "soon", "25:00", "today", "yesterday", "1 Nov", "22 Nov 2028", "18:00 19:00"])
def test_pause_until_what_is_no_coming_moment_is_refused(typed):
    with pytest.raises(CommandError, match="until tomorrow"):
        read_until(typed, FRIDAY)


@pytest.mark.parametrize(
    ("typed", "line"),
    [("18:00", "pause until 18:00"), ("Sunday", "pause until Sunday"), ("22 Nov", "pause until 22 Nov")],
)
def test_moment_without_until_is_offered_with_it(typed, line):
    with pytest.raises(CommandError) as caught:
        read_duration(typed)
    assert list(caught.value.lines.values()) == [line]


@given(st.text() | st.lists(st.sampled_from(["18:00", "6", "pm", "Sunday", "22", "Nov", "2026", "1/2"])).map(" ".join))
def test_pause_until_any_text_is_a_coming_moment_or_refused(typed):
    try:
        until = read_until(typed, FRIDAY)
    except CommandError:
        return
    assert FRIDAY < until <= FRIDAY + timedelta(days=365)


def test_pause_says_the_zone_in_which_it_was_read():
    until = datetime(2026, 11, 20, 17, 30, tzinfo=UTC)
    in_paris, in_utc = (paused(until, FRIDAY, 72, zone).text for zone in ("Europe/Paris", "UTC"))
    assert "That is Fri 20 Nov 18:30 in Europe/Paris, your time zone in Slack." in in_paris
    assert "That is Fri 20 Nov 17:30 UTC: I don't know your time zone." in in_utc


@given(st.text())
def test_pause_reads_any_text_or_says_that_it_can_not(typed):
    try:
        length = read_duration(typed)
    except CommandError:
        return
    assert length is None or timedelta(0) < length <= timedelta(days=365)


@pytest.mark.parametrize(
    ("waited", "dropped", "closed", "words"),
    [
        (0, 0, False, "The pause is over. No message waited."),
        (1, 0, False, "1 message waited, and is posted now, anything older than 3 hours in one summary."),
        (4, 2, False, "in one summary. 2 messages waited too long, and are not posted."),
        (4, 0, True, "4 messages waited, and are posted once Slack lets me post here."),
    ],
)
def test_end_of_a_pause_says_how_many_messages_waited(waited, dropped, closed, words):
    assert resumed(1, waited, dropped, is_closed=closed).text.endswith(words)


def test_pause_says_until_when_and_what_happens_meanwhile():
    told = paused(datetime(2026, 11, 20, 14, 30, tzinfo=UTC), FRIDAY, 72)
    for said in ("PAUSED until", "2026-11-20 14:30 UTC", "last 3 hours", "Abandonments are held too."):
        assert said in told.text
    for unsaid in ("will be dropped", "72 hours"):
        assert unsaid not in told.text
    assert buttons_of(told) == {"Resume": "resume"}
    assert "until somebody types `/racing resume`" in paused(None, FRIDAY, 72).text


def buttons_of(message):
    elements = [one for block in message.blocks if block["type"] == "actions" for one in block["elements"]]
    return {one["text"]["text"]: one["value"] for one in elements}


@pytest.mark.parametrize(("days", "is_too_long"), [(3, False), (4, True)])
def test_pause_longer_than_the_queue_is_kept_says_first_that_abandonments_are_dropped(days, is_too_long):
    text = paused(FRIDAY + timedelta(days=days), FRIDAY, 72).text
    dropped = "This is longer than 72 hours: older alerts, abandonments included, will be dropped."
    assert (dropped in text.split("When the pause is over")[0]) == is_too_long
    assert text.count("72 hours") == is_too_long
    assert paused(None, FRIDAY, 72).text.count("72 hours") == 1
    assert "If the pause is longer than 72 hours, older alerts" in paused(None, FRIDAY, 72).text


@pytest.mark.parametrize(
    ("typed", "buttons"),
    [
        ("2.30", {"14:30 today": "2026-11-20 14:30", "02:30 tomorrow": "2026-11-21 02:30"}),
        ("2:30", {"14:30 today": "2026-11-20 14:30", "02:30 tomorrow": "2026-11-21 02:30"}),
        ("tomorrow 2.30", {"02:30 tomorrow": "2026-11-21 02:30", "14:30 tomorrow": "2026-11-21 14:30"}),
        ("Sunday 9.15", {"09:15 on Sun 22 Nov": "2026-11-22 09:15", "21:15 on Sun 22 Nov": "2026-11-22 21:15"}),
    ],
)
def test_time_that_may_be_of_the_night_or_of_the_afternoon_is_asked_about(typed, buttons):
    nine = FRIDAY.replace(hour=9, minute=12)
    with pytest.raises(CommandError, match="Until when") as caught:
        read_until(typed, nine)
    assert caught.value.lines == {label: f"pause until {moment}" for label, moment in buttons.items()}
    for line in caught.value.lines.values():
        assert nine < read_until(line.removeprefix("pause until "), nine)


@pytest.mark.parametrize("typed", ["9.30", "02:30", "2.30pm", "2.30 am", "14.30"])
def test_time_with_one_meaning_is_taken(typed):
    assert read_until(typed, FRIDAY.replace(hour=9, minute=12)) > FRIDAY.replace(hour=9, minute=12)


def test_resuming_what_was_not_paused_says_so():
    assert "not paused" in resumed(0, 0, 0).text
