"""A live message's lines: of more races than a message has room for, of a meeting without a result, and of reasons."""

import json
import re

from bot.channels.filters import Meeting
from bot.deliveries.payload import read_events
from bot.events.races import Course, OffTime, Race
from bot.outbox.live_meetings import LiveMeeting
from bot.racedata.day_card import outcomes_of
from bot.slack.messages.answers.outcome_words import live_meeting
from tests.clock import DAY, START
from tests.rows import over
from tests.unit.messages.kept_values import LIVE

WORDY = "The Very Long Stakes " * 10


def delivered(event, number, off, **said):
    place = {"race_id": f"rc_{number}", "course": "Ascot", "date": DAY, "region": "GB", "off_time": off, "title": WORDY}
    race = place | {name: said.pop(name) for name in ("runners", "status") if name in said}
    (read,) = read_events(json.dumps({"event": event, "race": race} | said).encode())
    return read


def won(number, off):
    runners = [{"position": 1, "horse": "H" * 60}, {"position": 2, "horse": "Red Sky"}]
    return delivered("result.received", number, off, runners=runners)


def lost(number, off="13:00"):
    return delivered("race.abandoned", number, off)


def meeting_lost():
    meeting = {"meeting_id": "mt_1", "course": "Ascot", "date": DAY, "region": "GB"}
    (read,) = read_events(json.dumps({"event": "meeting.abandoned", "meeting": meeting}).encode())
    return read


def lines(*told, is_whole=True, book=()):
    meeting = Meeting(course=Course(name="Ascot"), race_date=DAY, region="GB")
    shown = live_meeting(LiveMeeting(LIVE, meeting, outcomes_of(book, told, "GB", None), is_whole), START)
    return [line for block in shown.blocks for line in block["text"]["text"].split("\n")]


def test_long_card_shows_every_race():
    run = [won(number, f"12:{number}") for number in range(10, 26)]
    lost = [delivered("race.abandoned", number, f"12:{number}", reason="frost " * 30) for number in range(26, 30)]
    shown = lines(*run, *lost)
    assert len([line for line in shown if line[:1].isdecimal()]) == 20
    assert sum("ABANDONED*, frost" in line for line in shown) == 4


def test_card_that_is_too_long_cuts_no_race_with_a_mark_and_counts_what_is_cut():
    shown = lines(
        *(won(minute, f"12:{minute}") for minute in range(10, 60)),
        *(won(100 + minute, f"11:{minute}") for minute in range(10, 60)),
        *(won(200 + minute, f"10:{minute}") for minute in range(10, 60)),
        *(delivered("race.abandoned", number, f"15:{number - 50}") for number in range(60, 70)),
        delivered("race.abandoned", 59, "12:59"),
        delivered("result.received", 90, "16:00", status="void"),
    )
    _, *races, cut, _ = shown
    marked = ["12:59", *(f"15:{minute}" for minute in range(10, 20)), "16:00"]
    times = [re.search(r"1\d:\d\d", line) for line in races]
    assert [time and time[0] for time in times[: len(marked)]] == marked
    assert not any(word in line for line in races[len(marked) :] for word in ("ABANDONED", "CONFLICT", "VOID"))
    assert cut == f"and {161 - len(races)} more"


IN_THREAD = "Results are in the thread."


@over(
    ("told", "is_whole", "has_results"),
    [
        *(([lost(1)], True, False), ([lost(1)], False, True), ([lost(1), meeting_lost()], False, False)),
        *(([meeting_lost()], False, False), ([], False, True), ([won(1, "13:00"), meeting_lost()], True, True)),
        *(([lost(1), won(2, "14:00")], True, True), ([lost(1), won(1, "13:00")], True, True)),
        ([lost(1), delivered("result.received", 2, "14:00", status="void")], True, True),
    ],
)
def test_results_are_pointed_at_only_where_a_race_has_one_or_may_have_one(told, is_whole, has_results):
    assert any(IN_THREAD in line for line in lines(*told, is_whole=is_whole)) is has_results


def at(shown, off):
    (line,) = [line for line in shown if line.startswith(off)]
    return line


def meeting_of(*numbers, reason):
    card = {"meeting_id": "mt_1", "course": "Ascot", "date": DAY, "region": "GB"}
    races = [{"race_id": f"rc_{number}"} for number in numbers]
    (read,) = read_events(json.dumps({"event": "meeting.abandoned", "meeting": card, "races": races} | reason).encode())
    return read


GONE, CONFLICT = (
    "\N{OCTAGONAL SIGN} *ABANDONED*",
    "\N{WARNING SIGN}\N{VARIATION SELECTOR-16} *CONFLICT*: reported abandoned",
)


@over("order", [1, -1])
def test_reason_of_the_race_comes_before_the_reason_of_the_meeting_and_a_results_reason_is_none(order):
    told = [
        delivered("race.abandoned", 1, "13:00", reason="frost"),
        *(won(3, "14:00"), lost(3, "14:00")),
        delivered("result.received", 4, "15:00", runners=[{"position": 1, "horse": "A"}], reason="photo finish"),
        lost(4, "15:00"),
        meeting_of(1, 2, 3, reason={"reason": "flooded"}),
    ]
    shown = lines(*told[::order])
    assert f"{GONE}, frost" in at(shown, "13:00")
    assert f"{CONFLICT} (flooded) and as run" in at(shown, "14:00")
    assert "photo finish" not in str(shown)
    assert any(f"{GONE}, flooded" in line for line in shown)


def test_no_race_is_next_where_a_settled_race_has_no_moment():
    """The day has begun in some time zone, so nothing is certain of later races either."""
    times = enumerate(("13:30", "14:30", "17:30"), start=1)
    card = [Race(race_id=f"rc_{number}", race_date=DAY, off=OffTime(text=off)) for number, off in times]
    shown = lines(won(4, "17:00"), book=card)
    assert ["no result yet" in at(shown, off) for off in ("13:30", "14:30", "17:30")] == [True] * 3
    assert not any(words in line for line in shown for words in ("off next", "to come"))
