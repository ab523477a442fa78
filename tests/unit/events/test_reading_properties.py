"""What holds of every record: names, order, depth and unknown neighbours change nothing in what is read."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.deliveries.payload import read_payload
from bot.events.reading.race_record import read_race
from tests.unit.field_order import shuffled

NAMES_OF = {
    "race_id": ("race_id", "raceId", "race_uid"),
    "region": ("region", "region_code", "jurisdiction"),
    "course": ("course", "courseName", "venue", "racecourse"),
    "date": ("date", "race_date", "raceDay"),
    "off": ("scheduled_time", "scheduledOff", "advertised_start", "planned_start_time"),
    "title": ("race_name", "raceTitle"),
    "number": ("race_number", "raceNo"),
    "going": ("going", "going_description", "trackCondition"),
    "runners": ("runners", "results", "starters", "finishers"),
    "horse": ("horse", "horse_name", "name", "runnerName"),
    "cloth": ("number", "cloth_number", "saddlecloth"),
    "place": ("position", "pos", "finish_position", "placing", "place"),
}
"""A fact: names under which public services publish the fact. The names of a place are of one standing."""

WORDS = ("Plum", "Thistle", "Lantern", "Heron", "Cobalt", "Fiddle", "Acorn", "Marsh")
UNKNOWN_VALUES: tuple[object, ...] = (0, 1, 3, True, False, None, "Ayr", "15:10", "void", "1", {"qzx": 2}, [], {})
SEEDS = st.integers(0, 2**32).map(Random)
"""A seed chooses facts, names and neighbours: to draw each by itself takes Hypothesis many times as long."""


WRAPPERS = {
    "bare": lambda race: race,
    "race": lambda race: {"race": race},
    "data": lambda race: {"data": race},
    "payload and race": lambda race: {"payload": {"race": race}},
    "data and attributes": lambda race: {"data": {"type": "race", "attributes": race}},
    "data of data": lambda race: {"data": {"data": race}},
    "list of one": lambda race: {"data": [race]},
    "races of one": lambda race: {"data": {"races": [race]}},
}


def facts_of(random):
    """A race, with the horses in the order of their places."""
    return {
        "race_id": f"rc_{random.randint(1000, 9999)}",
        "region": random.choice(["GB", "IE", "HK"]),
        "course": random.choice(["Thirsk", "Sha Tin", "Saint-Cloud"]),
        "date": random.choice(["2026-11-20", "2026-02-28"]),
        "off": random.choice(["14:37", "20:05", "13:00"]),
        "title": random.choice(["Larch Stakes", "Maiden Plate"]),
        "number": str(random.randint(1, 12)),
        "going": random.choice(["Good to Soft", "Heavy"]),
        "horses": [f"{word} {random.choice(WORDS)}" for word in random.sample(WORDS, random.randint(2, 5))],
    }


def unknown(random):
    names = ["".join(random.choices("qxzj", k=random.randint(3, 6))) for _ in range(random.randint(0, 3))]
    return {name: random.choice(UNKNOWN_VALUES) for name in names}


def published(facts, random, *, times=1):
    """A race with names chosen for its facts; each fact under so many names."""

    def said(fact, value):
        return dict.fromkeys(random.sample(NAMES_OF[fact], times), value)

    runners = [
        {**said("horse", horse), **said("cloth", place + 3), **said("place", place), **unknown(random)}
        for place, horse in enumerate(facts["horses"], start=1)
    ]
    race = unknown(random) | said("runners", runners)
    for fact, value in facts.items():
        race |= said(fact, value) if fact != "horses" else {}
    return race


def read(body):
    return read_payload(json.dumps({"event": "result.received", **body}).encode()).race


def told(race):
    return {
        "race_id": race.race_id,
        "region": race.region,
        "course": race.course.name,
        "date": race.race_date,
        "off": race.off.text,
        "title": race.title,
        "number": race.number,
        "going": race.going,
        "horses": [runner.horse for runner in race.placed()],
    }


@pytest.mark.parametrize("wrapper", WRAPPERS)
@given(random=SEEDS)
def test_names_order_depth_and_unknown_fields_change_nothing(wrapper, random):
    facts = facts_of(random)
    body = shuffled(WRAPPERS[wrapper](published(facts, random)) | unknown(random), random)
    race = read(body)
    assert told(race) == facts, body
    assert [runner.number for runner in race.placed()] == [str(n + 4) for n in range(len(facts["horses"]))], body


@given(random=SEEDS)
def test_record_of_the_list_is_read_as_a_delivery_is(random):
    record = shuffled(published(facts_of(random), random), random)
    assert read_race(record) == read({"data": record}), record


@given(random=SEEDS)
def test_fact_said_twice_is_told_once(random):
    facts = facts_of(random)
    body = shuffled({"data": published(facts, random, times=2)}, random)
    race = read(body)
    assert told(race) == facts, body
    assert len(race.runners) == len(facts["horses"]), body


CONTRADICTIONS = {
    "two winners": lambda one, other: {"winner": one, "winning_horse": other},
    "winner and order": lambda one, other: {"winner": one, "finishing_order": [other, one]},
    "two orders": lambda one, other: {"finishing_order": [one, other], "placings": [other, one]},
    "two lists": lambda one, other: {
        "runners": [{"horse": one, "position": 1}, {"horse": other, "position": 2}],
        "results": [{"horse": other, "position": 1}, {"horse": one, "position": 2}],
    },
    "two places": lambda one, other: {
        "runners": [{"horse": one, "position": 1, "pos": 2}, {"horse": other, "position": 2, "pos": 1}]
    },
}


@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
@given(random=SEEDS)
def test_winners_of_one_standing_are_told_as_contradicting(contradiction, random):
    one, other = random.sample(WORDS, 2)
    body = shuffled({"data": {"race_id": "rc_1", **CONTRADICTIONS[contradiction](one, other)}}, random)
    race = read(body)
    assert race.disputed, body
    assert {one, other} <= set(race.disputed.replace(":", "").split()), body
    assert [runner for runner in race.runners if runner.finishing_position == 1] == [], body


@given(random=SEEDS)
def test_states_of_one_standing_are_told_as_contradicting(random):
    names = random.sample(["status", "race_status", "state", "raceStage"], 2)
    states = random.sample([random.choice(["ABANDONED", "Cancelled"]), random.choice(["Result", "Weighed In"])], 2)
    body = {"data": {"race_id": "rc_1", **dict(zip(names, states, strict=True))}}
    race = read(body)
    assert race.abandoned, body
    assert race.is_settled, body


@given(random=SEEDS)
def test_times_of_one_standing_are_told_as_contradicting(random):
    times = ["14:37", "14:52"]
    body = {"data": {"race_id": "rc_1", **dict(zip(random.sample(NAMES_OF["off"], 2), times, strict=True))}}
    assert sorted((read(body).off.text or "").split(" or ")) == times, body
