"""The declaration of what each kind of event tells: every field is told or noise, and no version says a thing twice."""

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.deliveries.payload import read_payload
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.facts import POSITION_FACT, Change, changes_between
from bot.events.kinds import CARD, RUNNER, Noise, ToldField
from bot.events.merge import completed
from bot.events.reading.race_record import read_race
from tests.rows import Answers, over
from tests.unit.events.versions import DECLARATIONS, EVENTS, MODELS, NO_VALUE, NOW, event_with
from tests.world import shuffled


@over("kind", EventKind)
def test_declaration_has_every_field_of_every_model(kind):
    wanted = {f"{level}.{field}" for level, model in MODELS.items() for field in model.model_fields}
    assert set(DECLARATIONS[kind]) == wanted | {RUNNER, CARD}
    assert all(entry.words if isinstance(entry, ToldField) else entry.because for entry in DECLARATIONS[kind].values())


def test_every_kind_has_a_topic_and_an_unread_payload_none():
    assert {RacingEvent(key="k", kind=kind).topic for kind in EventKind} == set(Topic)
    assert RacingEvent(key="k").topic is None


@over("kind", EventKind)
def test_each_field_is_told_or_noise(kind):
    for path, entry in DECLARATIONS[kind].items():
        if path in {RUNNER, CARD} or path.partition(".")[2] in NO_VALUE:
            continue
        found = changes_between(event_with(kind, path), event_with(kind, path, changed=True), received_at=NOW)
        assert (path in {change.field for change in found}) is isinstance(entry, ToldField), path
        assert isinstance(entry, Noise) or all(change.words for change in found), path


@settings(max_examples=4 * settings().max_examples)
@given(EVENTS)
def test_version_that_was_told_says_nothing_new_again(versions):
    first, old, new = versions
    known = completed(new, completed(old, first))
    assert changes_between(known, new, received_at=NOW) == ()
    assert completed(new, known) == known


@settings(max_examples=4 * settings().max_examples)
@given(EVENTS, st.randoms(use_true_random=False))
def test_order_of_a_list_says_nothing(versions, random):
    event = versions[0]
    runners, races = list(event.race.runners), list(event.races)
    random.shuffle(runners)
    random.shuffle(races)
    race = event.race.model_copy(update={"runners": tuple(runners)})
    shuffled = event.model_copy(update={"race": race, "races": tuple(races)})
    assert changes_between(event, shuffled, received_at=NOW) == ()


[(RESULT, _)] = Answers(Path(__file__).with_name("reading.yaml"), "a whole result")
NOISE = {("attempt",), ("sent_at",), ("meta", "data_as_of"), ("meta", "request_id"), ("race", "meeting_id")}
NOISE |= {("race", "course", "course_id"), ("race", "course", "country"), ("race", "number")}


def leaves(value, path=()):
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from leaves(inner, (*path, key))
    else:
        yield path


def changed(path):
    body = json.loads(json.dumps(RESULT))
    place = body
    for key in path[:-1]:
        place = place[key]
    before = place[path[-1]]
    place[path[-1]] = {"off_time": "15:05", "date": "2026-11-19"}.get(
        path[-1], before + 5 if isinstance(before, int) else f"{before}X"
    )
    return body


def test_any_field_of_a_payload_that_changes_is_told_or_noise():
    old = read_payload(json.dumps(RESULT).encode())
    for path in leaves(RESULT):
        new = read_payload(json.dumps(changed(path)).encode())
        if path in {("event",), ("race", "race_id")}:
            assert new.key != old.key, path
        else:
            assert (changes_between(old, new, received_at=NOW) == ()) is (path in NOISE), path


def test_change_is_stored_and_read_back():
    change = Change(field=POSITION_FACT, of="A", before="1", now=None, rings=True)
    assert Change.model_validate_json(change.model_dump_json(exclude_defaults=True)) == change


# Laws of every read record


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
"""A fact: names under which public services publish the fact. The names of a group have the same standing."""

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
    """A race with chosen names for its facts, each fact under several names."""

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
    said = {name: getattr(race, name) for name in ("race_id", "region", "title", "number", "going")}
    horses = [runner.horse for runner in race.placed()]
    return said | {"course": race.course.name, "date": race.race_date, "off": race.off.text, "horses": horses}


OF_THE_DELIVERY: dict[str, object] = {"attempt": 2, "retry_count": 3, "delivery_id": "dlv_1", "deliveryId": "dlv_2"}
OF_THE_DELIVERY |= {"delivered_at": "2026-11-20T12:00:00Z", "sent_at": 1_750_161_600}
OF_THE_DELIVERY["delivery"] = {"id": "dlv_3", "attempt": 2, "timestamp": 1_750_161_600}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@given(random=SEEDS)
def test_names_order_depth_attempt_and_unknown_fields_change_nothing(wrapper, random):
    facts = facts_of(random)
    race, beside = WRAPPERS[wrapper](published(facts, random)), unknown(random)
    body = shuffled({"event": "result.received", **race, **beside}, random)
    event = read_payload(json.dumps(body).encode())
    again = dict(random.sample([*OF_THE_DELIVERY.items()], 3))
    assert read_payload(json.dumps(shuffled(body | again, random)).encode()) == event
    assert (event.key, told(event.race)) == (f"result.received:{facts['race_id']}", facts), body
    numbers = [runner.number for runner in event.race.placed()]
    assert numbers == [str(n + 4) for n in range(len(facts["horses"]))], body


@given(random=SEEDS)
def test_record_of_a_list_is_read_like_a_delivery_and_a_repeated_fact_is_told_once(random):
    record = shuffled(published(facts_of(random), random), random)
    assert read_race(record) == read({"data": record}), record
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
def test_contradicting_states_and_times_of_equal_standing_are_all_told(random):
    names = random.sample(["status", "race_status", "state", "raceStage"], 2)
    states = random.sample([random.choice(["ABANDONED", "Cancelled"]), random.choice(["Result", "Weighed In"])], 2)
    body = {"data": {"race_id": "rc_1", **dict(zip(names, states, strict=True))}}
    race = read(body)
    assert race.abandoned, body
    assert race.is_settled, body
    times = ["14:37", "14:52"]
    body = {"data": {"race_id": "rc_1", **dict(zip(random.sample(NAMES_OF["off"], 2), times, strict=True))}}
    assert sorted((read(body).off.text or "").split(" or ")) == times, body
