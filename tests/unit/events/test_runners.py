"""Runners and their places, read from possible shapes of the service."""

from pathlib import Path

from bot.events.races import Race, Runner
from bot.events.reading.race_record import read_race
from tests.rows import Answers, over

ROWS = Path(__file__).with_name("runners.yaml")


def said(record):
    """The runners of a race, as "A=1, B": B is without a position."""
    runners = read_race(record).runners
    return ", ".join(f"{one.horse}" if one.position is None else f"{one.horse}={one.position}" for one in runners)


def runners(horses, **fields):
    """A race whose horses have the same fields."""
    return {"runners": [{"horse": horse, **fields} for horse in horses]}


def a(**fields):
    return runners("A", **fields)


def test_runner_is_read_from_objects_numbers_and_other_names():
    runner = {
        "horse": {"horse_id": "hs_1", "name": "Frankel"},
        "finishing_position": 1.0,
        "cloth_number": 4,
        "stall": "2",
        "jockey": {"jockey_name": "T Queally"},
        "trainerName": "H Cecil",
        "sp": {"fractional": "1/4", "decimal": 1.25},
        "or": 140,
    }
    (read,) = read_race({"results": [runner]}).runners
    assert (read.horse, read.position, read.number, read.draw) == ("Frankel", "1", "4", "2")
    assert (read.jockey, read.trainer, read.starting_price) == ("T Queally", "H Cecil", "1/4")
    assert read.official_rating == "140"
    (read,) = read_race({"results": [{"horse": "Frankel", "cloth_number": "04"}]}).runners
    assert read.number == "4"


@over(("runner", "price"), Answers(ROWS, "prices"))
def test_starting_price_is_a_price_with_the_mark_of_a_favourite(runner, price):
    (read,) = read_race(a(**runner)).runners
    assert read.starting_price == price


@over(
    "runner",
    [
        {"horse": {"name": "Frankel", "trainer": {"name": "H Cecil"}}, "jockey": "T Queally"},
        {"horse": {"name": "Frankel", "trainer": "H Cecil", "jockey": {"name": "T Queally"}}},
        {"runner": {"horse": {"name": "Frankel", "trainer": {"name": "H Cecil"}}, "jockey": {"name": "T Queally"}}},
        {"horse": {"runner_name": "Frankel", "jockey_name": "T Queally", "trainer_name": "H Cecil"}},
        {"horse": {"horse_name": "Frankel", "trainer": "An earlier one", "jockey": "T Queally"}, "trainer": "H Cecil"},
        {"horse": {"name": "Frankel", "trainer": "Earlier", "jockey": "T Queally"}, "trainerName": "H Cecil"},
        {
            "horse": {"name": "Frankel", "number": "UK-7"},
            "rider": {"name": "T Queally"},
            "trainer": {"name": "H Cecil"},
        },
    ],
)
def test_jockey_and_trainer_are_read_of_the_runner_or_else_of_the_horse(runner):
    assert read_race({"runners": [runner]}).runners == (Runner(horse="Frankel", jockey="T Queally", trainer="H Cecil"),)


def places(place, *positions):
    return [(position, place) for position in positions]


@over(("position", "place"), Answers(ROWS, "places"))
def test_place_is_read_however_a_dead_heat_is_written(position, place):
    assert Runner(horse="A", position=position).finishing_position == place


def test_two_horses_of_one_list_in_one_place_are_a_dead_heat():
    runners = [{"horse": "One", "position": 1}, {"horse": "Two", "position": 1}, {"horse": "Three", "position": 3}]
    race = read_race({"runners": runners})
    assert [runner.position for runner in race.runners] == ["1=", "1=", "3"]
    assert race.disputed is None


def test_placed_runners_stand_in_order_however_a_dead_heat_is_written():
    runners = [Runner(horse=horse, position=at) for horse, at in [("D", "4"), ("C", "=2"), ("B", "dh 2"), ("A", "1")]]
    assert [runner.horse for runner in Race(runners=tuple(runners)).placed()] == ["A", "C", "B", "D"]


@over(("record", "expected"), Answers(ROWS, "positions"))
def test_runners_have_a_position_only_where_one_was_published(record, expected):
    assert said(record) == expected


@over(("record", "status"), Answers(ROWS, "provisional"))
def test_places_that_are_all_provisional_are_called_so(record, status):
    race = read_race(record)
    assert (race.status, race.has_places) == (status, True)


def test_runners_of_several_lists_are_put_together():
    declared = [{"number": 4, "horse": "A", "jockey": "J"}, {"number": 7, "horse": "B"}]
    runners = read_race({"runners": declared, "finishing_order": [7, 4]}).runners
    assert [(runner.horse, runner.jockey, runner.position) for runner in runners] == [("A", "J", "2"), ("B", None, "1")]
