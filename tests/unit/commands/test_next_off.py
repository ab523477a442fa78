"""The answers of `/racing next`.

After a wanted change, write the words anew and read the diff:
UPDATE_SNAPSHOTS=1 pytest -n 0 tests/unit/commands/test_next_off.py
"""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.racedata.day_card import Coverage
from bot.slack.messages.answers.day_answer import DayQuestion
from bot.slack.messages.answers.races_of_day import coming, next_off
from tests.unit.commands.cards import (
    FIELD,
    NOW,
    RACE_OFF,
    TODAY,
    TOMORROW,
    WINNER,
    lost_meeting,
    make_card,
    make_race,
    timed,
)
from tests.unit.kept_text import as_read, check

KEPT = Path(__file__).parent / "answers.txt"
FROST = {"abandoned": True, "reason": "Frost"}


def at(clock, course="Ascot", **fields):
    """A race with the moment of its off, on the day of NOW (noon)."""
    hour, minute = map(int, clock.split(":"))
    return timed(make_race(clock, course, **fields), hour, minute)


NEXT = {
    "by moment, the abandoned named above": [
        make_card(
            [
                at("11:55"),
                at("12:40", title="Hurdle", field_size=7),
                at("12:05", "Naas", region="IRE"),
                at("12:10", **FROST),
                at("15:30", "Naas", region="IRE"),
            ],
            [RACE_OFF],
            region=None,
        )
    ],
    "five at most": [make_card([at(f"{hour}:00") for hour in range(13, 20)])],
    "tomorrow's after today's": [
        make_card([at("23:00")]),
        make_card([at("23:30").model_copy(update={"race_date": "2026-11-21"})], day=TOMORROW),
    ],
    "tomorrow's abandonments last": [
        make_card([at("23:00")], [RACE_OFF]),
        make_card([], [lost_meeting("Bath")], day=TOMORROW),
    ],
    "tomorrow not read whole": [
        make_card([at("23:00")]),
        make_card([], day=TODAY - timedelta(days=1), coverage=Coverage.PARTIAL),
        make_card([], day=TOMORROW, coverage=Coverage.UNREAD),
    ],
    "without a time zone": [
        make_card([make_race("11:00"), make_race("12:30", runners=WINNER), make_race("13:00"), at("14:00", "Bath")])
    ],
    "none": [make_card([at("11:00", runners=FIELD)])],
}


@pytest.mark.parametrize("name", NEXT)
def test_next_races_read_as_kept(name):
    check(KEPT, f"Next: {name}", as_read(next_off(NEXT[name], "next GB", DayQuestion(NOW))))


@pytest.mark.parametrize(
    ("race", "is_coming"),
    [
        (at("12:01"), True),
        (at("12:00"), True),
        (at("11:56"), True),
        (at("11:55"), False),
        (at("12:01", status="void"), False),
        (at("12:01", runners=WINNER), False),
        (at("12:01", **FROST), False),
        (make_race("09:00"), True),
    ],
)
def test_race_is_to_come(race, is_coming):
    assert [one.race.off for _, one in coming([make_card([race])], NOW)] == [race.off] * is_coming


def test_race_without_a_moment_is_to_come_on_its_day_alone():
    assert coming([make_card([make_race("13:00")], day=TOMORROW)], NOW) == []


def test_race_with_a_moment_is_to_come_before_a_walkover():
    card = make_card([at("13:00"), at("13:30", status="Walkover", runners=WINNER), at("14:00")])
    assert [one.race.off.text for _, one in coming([card], NOW)] == ["13:00", "14:00"]
