"""The declaration of what each kind of event tells: every field is told or noise, and no version says a thing twice."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.deliveries.payload import read_payload
from bot.events.event import EventKind
from bot.events.facts import POSITION_FACT, Change, changes_between
from bot.events.kinds import CARD, RUNNER, Noise, ToldField
from bot.events.merge import completed
from tests.unit.events.versions import DECLARATIONS, EVENTS, MODELS, NO_VALUE, NOW, TODAY, event_with

DECLARED = [
    (kind, path)
    for kind, declared in DECLARATIONS.items()
    for path in declared
    if path not in {RUNNER, CARD} and path.partition(".")[2] not in NO_VALUE
]


@pytest.mark.parametrize("kind", EventKind)
def test_declaration_has_every_field_of_every_model(kind):
    wanted = {f"{level}.{field}" for level, model in MODELS.items() for field in model.model_fields}
    assert set(DECLARATIONS[kind]) == wanted | {RUNNER, CARD}
    assert all(entry.words if isinstance(entry, ToldField) else entry.because for entry in DECLARATIONS[kind].values())


@pytest.mark.parametrize(("kind", "path"), DECLARED)
def test_each_field_is_told_or_noise(kind, path):
    old, new = event_with(kind, path), event_with(kind, path, changed=True)
    found = changes_between(old, new, received_at=NOW)
    if isinstance(DECLARATIONS[kind][path], Noise):
        assert path not in {change.field for change in found}
    else:
        assert path in {change.field for change in found}
        assert all(change.words for change in found)


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


RESULT = {
    "event": "result.received",
    "attempt": 1,
    "sent_at": "2026-11-20T14:40:00Z",
    "meta": {"data_as_of": "2026-11-20T14:39:00Z", "request_id": "rq_1"},
    "race": {
        "race_id": "rc_1",
        "meeting_id": "mt_1",
        "region": "GB",
        "course": {"course_id": "cr_1", "name": "Ascot", "country": "England"},
        "date": TODAY,
        "off_time": "14:30",
        "title": "Novices' Hurdle",
        "number": "3",
        "race_class": "2",
        "race_type": "Hurdle",
        "distance": "2m",
        "going": "Good",
        "surface": "Turf",
        "status": "Result",
        "field_size": 9,
        "winning_time": "2m 3.4s",
        "runners": [
            {
                "horse": f"Horse {number}",
                "position": number,
                "number": f"{number + 10}",
                "draw": f"{number + 20}",
                "jockey": "R Moore",
                "trainer": "A O'Brien",
                "sp": "7/2",
                "official_rating": "90",
                "beaten_distance": "1L",
                "reason": "carried wide",
            }
            for number in (1, 2, 3)
        ],
    },
}
NOISE = {
    ("attempt",),
    ("sent_at",),
    ("meta", "data_as_of"),
    ("meta", "request_id"),
    ("race", "meeting_id"),
    ("race", "course", "course_id"),
    ("race", "course", "country"),
    ("race", "number"),
}


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


@pytest.mark.parametrize("path", list(leaves(RESULT)), ids=str)
def test_any_field_of_a_payload_that_changes_is_told_or_noise(path):
    old, new = (read_payload(json.dumps(body).encode()) for body in (RESULT, changed(path)))
    if path in NOISE:
        assert changes_between(old, new, received_at=NOW) == ()
    elif path in {("event",), ("race", "race_id")}:
        assert new.key != old.key
    else:
        assert changes_between(old, new, received_at=NOW)


def test_change_is_stored_and_read_back():
    change = Change(field=POSITION_FACT, of="A", before="1", now=None, rings=True)
    assert Change.model_validate_json(change.model_dump_json(exclude_defaults=True)) == change
