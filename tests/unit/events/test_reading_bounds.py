"""How much is read of one payload: more than any meeting or race has, and no more than a database can be asked."""

import json

import pytest

from bot.deliveries.payload import read_payload
from bot.events.reading.json_values import LONGEST_READ
from bot.events.reading.race_list import MOST_RACES
from bot.events.reading.runner_list import MOST_RUNNERS

DAY = {"course": "Ascot", "date": "2026-11-20", "region": "GB"}


def read(payload):
    return read_payload(json.dumps(payload).encode())


def test_races_of_one_payload_are_bounded_and_the_first_are_kept():
    ids = [f"rc_{number}" for number in range(MOST_RACES + 1)]
    meeting = {"event": "meeting.abandoned", "meeting": {"meeting_id": "mt_1", **DAY}, "races": ids}
    assert [race.race_id for race in read(meeting).races] == ids[:MOST_RACES]


def test_races_of_many_meetings_are_bounded_together():
    meetings = [{"meeting_id": f"mt_{number}", "races": ["rc_1", "rc_2"], **DAY} for number in range(MOST_RACES)]
    assert len(read({"event": "racecard.published", "meetings": meetings}).races) == MOST_RACES


def test_runners_of_one_race_are_bounded_and_the_first_are_kept():
    runners = [{"position": place, "horse": f"Horse {place}"} for place in range(1, MOST_RUNNERS + 2)]
    others = [{"horse": f"Other {number}"} for number in range(MOST_RUNNERS)]
    result = {"event": "result.received", "race": {"race_id": "rc_1", "runners": runners, "declared": others, **DAY}}
    named = read(result).race.runners
    assert len(named) == MOST_RUNNERS
    assert named[0].horse == "Horse 1"


@pytest.mark.parametrize("order", ["finishing_order", "winner", "first", "results", "non_runners"])
def test_horses_of_an_order_are_bounded(order):
    names = [f"Horse {number}" for number in range(MOST_RUNNERS + 1)]
    for listed in (names, [names, names[::-1]]):
        assert (
            len(read({"event": "result.received", "race": {"race_id": "rc_1", order: listed}}).race.runners)
            <= MOST_RUNNERS
        )


def test_long_text_is_cut_off():
    text = "Frost " * LONGEST_READ
    lost = read({"event": "race.abandoned", "race": {"race_id": "rc_1", "reason": text, "off": text, "winner": text}})
    assert lost.reason == text[:LONGEST_READ].strip()
