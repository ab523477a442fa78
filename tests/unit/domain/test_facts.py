"""The declaration of what each kind of event tells, and what two versions of an event differ in."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.events import EventKind, RacingEvent
from bot.domain.facts import (
    CARD,
    DECLARATIONS,
    FEW_MINUTES,
    MODELS,
    POSITION,
    RUNNER,
    Change,
    Noise,
    Told,
    brings_placings,
    changes_between,
)
from bot.domain.merging import completed
from bot.domain.races import Course, OffTime, Race, Runner
from bot.webhooks.payload import read_payload

TODAY = "2026-11-20"

ONE = {
    bool: (False, True),
    int: (8, 9),
    datetime: (datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC)),
}
NO_VALUE = {"key", "kind", "course", "race", "races", "runners", "from_book", "races_from_book", "in_parts"}
"""Fields that name the event, or that are compared part by part."""

DECLARED = [
    (kind, path)
    for kind, declared in DECLARATIONS.items()
    for path in declared
    if path not in {RUNNER, CARD} and path.partition(".")[2] not in NO_VALUE
]


def result_of(*placings, **fields):
    runners = tuple(Runner(horse=horse, position=position) for horse, position in placings)
    return RacingEvent(key="result.received:rc_1", kind=EventKind.RESULT_RECEIVED, race=Race(runners=runners, **fields))


def card(*races, kind=EventKind.RACECARD_PUBLISHED, **fields):
    return RacingEvent(key="k", kind=kind, race=Race(race_date=TODAY, **fields), races=races)


def between(old, new, today=TODAY):
    return [(one.field, one.of, one.before, one.now, one.rings) for one in changes_between(old, new, today=today)]


def rings(old, new, today=TODAY):
    return any(change.rings for change in changes_between(old, new, today=today))


@pytest.mark.parametrize("kind", EventKind)
def test_declaration_has_every_field_of_every_model(kind):
    wanted = {f"{level}.{field}" for level, model in MODELS.items() for field in model.model_fields}
    assert set(DECLARATIONS[kind]) == wanted | {RUNNER, CARD}
    assert all(entry.words if isinstance(entry, Told) else entry.because for entry in DECLARATIONS[kind].values())


def values_of(level, changed):
    """A value for each plain field of a level's model; another one for the field `changed`."""
    values: dict[str, object] = {}
    for name, field in MODELS[level].model_fields.items():
        first, second = next(
            (ONE[kind] for kind in ONE if kind.__name__ in str(field.annotation)), (name, f"new {name}")
        )
        values[name] = second if name == changed else first
    if "off" in values:
        values["off"] = OffTime(text="14:45" if changed == "off" else "14:30")
    if level == RUNNER:
        values["horse"] = "GOLDEN MELODY" if changed == "horse" else "Golden Melody"
    return {name: value for name, value in values.items() if name not in NO_VALUE}


def event_with(kind, level, changed):
    """An event of which one level has all its values."""
    values = values_of(level, changed)
    parts = {
        "event": values,
        "course": {"race": Race(course=Course(**values))} if level == "course" else {},
        "race": {"race": Race(**values)} if level == "race" else {},
        RUNNER: {"race": Race(runners=(Runner(**values),))} if level == RUNNER else {},
        CARD: {"races": (Race(**values), Race(title="Other"))} if level == CARD else {},
    }
    return RacingEvent(**{"key": "k", "kind": kind} | parts[level])


@pytest.mark.parametrize(("kind", "path"), DECLARED)
def test_each_field_is_told_or_noise(kind, path):
    level, _, field = path.partition(".")
    old, new = event_with(kind, level, None), event_with(kind, level, field)
    found = changes_between(old, new, today=TODAY)
    if isinstance(DECLARATIONS[kind][path], Noise):
        assert path not in {change.field for change in found}
    else:
        assert path in {change.field for change in found}
        assert all(change.words for change in found)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ((("A", "1"), ("B", "2")), (("A", "2"), ("B", "1")), {"A": ("1", "2"), "B": ("2", "1")}),
        ((("A", "1"),), (("C", "1"),), {"C": (None, "1"), "A": ("1", None)}),
        ((("A", "1"),), (("A", "1"), ("B", "1")), {"B": (None, "1")}),
        ((("A", "1"), ("B", "2")), (("A", "DSQ"), ("B", "2")), {"A": ("1", "DSQ")}),
        ((("A", "1"), ("B", "2")), (("A", None), ("B", "1")), {"A": ("1", None), "B": ("2", "1")}),
        ((("A", "1"),), (("A", None),), {}),
        ((), (("A", "1"),), {}),
    ],
    ids=[
        "swapped",
        "another winner",
        "dead heat",
        "disqualified",
        "loses its place",
        "no longer told",
        "first placings",
    ],
)
def test_changed_placings_ring(old, new, changes):
    found = [one for one in changes_between(result_of(*old), result_of(*new), today=TODAY) if one.field == POSITION]
    assert {one.of: (one.before, one.now) for one in found} == changes
    assert all(one.rings for one in found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((("A", "1"),), (("A", "1"), ("B", "2"), ("C", "3"))),
        ((("A", "1"), ("B", "PU")), (("A", "1"), ("B", "PU"), ("C", "PU"))),
        ((("A", "1"), ("B", "PU")), (("A", "1"), ("B", "F"))),
        ((("A", "1"),), (("A", "1="),)),
    ],
    ids=["more placings", "one more pulled up", "fell, not pulled up", "written otherwise"],
)
def test_placings_that_take_no_place_are_told_and_do_not_ring(old, new):
    assert between(result_of(*old), result_of(*new))
    assert not rings(result_of(*old), result_of(*new))


def test_first_placings_are_news_by_themselves():
    assert brings_placings(result_of(), result_of(("A", "1")))
    assert not brings_placings(result_of(("A", "1")), result_of(("A", "2")))


def test_words_are_kept_as_published_and_a_change_of_case_is_told_without_ringing():
    old, new = result_of(("A", "1"), going="Good", status="Official"), result_of(("A", "1"), going="good")
    assert between(old, new) == [("race.going", None, "Good", "good", False)]
    assert not rings(result_of(status="Result"), result_of(status="RESULT"))
    assert rings(result_of(status="Result"), result_of(status="Void"))


def test_price_and_jockey_of_a_runner_are_told_with_its_name():
    old = RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=_race(starting_price="7/2", jockey="R Moore"))
    new = RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=_race(starting_price="99/1", jockey="W Buick"))
    assert between(old, new) == [
        ("runner.jockey", "Golden Melody", "R Moore", "W Buick", False),
        ("runner.starting_price", "Golden Melody", "7/2", "99/1", False),
    ]


def _race(**runner):
    return Race(runners=(Runner(horse="Golden Melody", position="1", **runner),))


@pytest.mark.parametrize(
    ("before", "now", "date", "rung"),
    [
        ("11:30", "11:45", TODAY, True),
        ("11:30", "11:35", TODAY, False),
        ("11:30", "11:45", "2026-11-21", False),
        ("half past", "later", TODAY, True),
    ],
)
def test_race_of_today_that_moves_by_more_than_a_few_minutes_rings(before, now, date, rung):
    old, new = (
        RacingEvent(
            key="k",
            kind=EventKind.RACECARD_PUBLISHED,
            race=Race(race_date=date),
            races=(Race(title="A", off=OffTime(text=off)), Race(title="B", off=OffTime(text="15:00"))),
        )
        for off in (before, now)
    )
    assert between(old, new) == [("card.off", f"{before} A", before, now, rung)]
    assert FEW_MINUTES == 5


def test_one_time_written_in_two_ways_is_no_change():
    moment = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)
    old, new = (result_of(off=OffTime(text=text, off_at=moment)) for text in ("14:30", "2:30pm"))
    assert between(old, new) == []


def test_race_or_runner_that_is_off_a_card_is_told_and_gone():
    first = Race(title="A", off=OffTime(text="11:30"), runners=(Runner(horse="X"), Runner(horse="Y")))
    old, new = card(first, Race(title="B")), card(first.model_copy(update={"runners": (Runner(horse="X"),)}))
    assert between(old, new) == [
        (RUNNER, "Y in the 11:30 A", "named", None, False),
        (CARD, "B", "named", None, True),
    ]
    kept = completed(new, old)
    assert [race.title for race in kept.races] == ["A"]
    assert [runner.horse for runner in kept.races[0].runners] == ["X"]
    assert between(kept, new) == []


def test_list_of_other_races_is_a_further_part_and_takes_none_away():
    old, new = card(Race(title="A")), card(Race(title="B"))
    assert between(old, new) == [(CARD, "B", None, "named", False)]
    assert [race.title for race in completed(new, old).races] == ["B", "A"]


def test_race_that_a_meeting_no_longer_names_stays_lost():
    old = card(Race(title="A"), Race(title="B"), kind=EventKind.MEETING_ABANDONED)
    new = card(Race(title="A"), kind=EventKind.MEETING_ABANDONED)
    assert between(old, new) == []
    assert [race.title for race in completed(new, old).races] == ["A", "B"]


def test_place_that_another_horse_has_now_is_nobody_elses():
    old, new = result_of(("A", "1"), ("B", "2"), ("C", "3")), result_of(("B", "1"))
    placed = {runner.horse: runner.position for runner in completed(new, old).race.runners}
    assert placed == {"B": "1", "A": None, "C": "3"}


RUNNERS = st.lists(
    st.builds(
        Runner,
        horse=st.sampled_from(["A", "B", "C", "D"]),
        position=st.none() | st.sampled_from(["1", "2", "3", "PU"]),
        starting_price=st.none() | st.sampled_from(["7/2", "99/1"]),
    ),
    max_size=4,
    unique_by=lambda runner: runner.horse,
).map(tuple)
RESULTS = st.builds(
    lambda runners, going: RacingEvent(
        key="k", kind=EventKind.RESULT_RECEIVED, race=Race(runners=runners, going=going)
    ),
    RUNNERS,
    st.none() | st.sampled_from(["Good", "Soft"]),
)


@given(RESULTS, RESULTS)
def test_version_that_was_told_says_nothing_new_again(old, new):
    known = completed(new, old)
    assert changes_between(known, new, today=TODAY) == ()
    assert completed(new, known) == known


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
NOISE = {("attempt",), ("sent_at",), ("meta", "data_as_of"), ("meta", "request_id")}


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
        assert changes_between(old, new, today=TODAY) == ()
    elif path in {("event",), ("race", "race_id")}:
        assert new.key != old.key
    else:
        assert changes_between(old, new, today=TODAY)


def test_change_is_stored_and_read_back():
    change = Change(field=POSITION, of="A", before="1", now=None, rings=True)
    assert Change.model_validate_json(change.model_dump_json(exclude_defaults=True)) == change


LISTS = st.lists(st.integers(1, 5), unique=True, max_size=5)


def of_card(numbers, declared):
    runners = tuple(Runner(horse=f"Horse {number}") for number in declared)
    return card(*(Race(race_id=f"rc_{number}", title=f"Title {number}", runners=runners) for number in numbers))


@given(st.lists(st.tuples(LISTS, LISTS), min_size=2, max_size=5))
def test_card_that_is_delivered_again_says_nothing_anew(cards):
    known = of_card(*cards[0])
    for numbers, declared in cards[1:]:
        delivered = of_card(numbers, declared)
        known = completed(delivered, known)
        assert changes_between(known, delivered, today=TODAY) == ()


def test_parts_of_a_card_take_nothing_away_until_one_delivery_names_all():
    one, two, whole = of_card([1, 2], ()), of_card([3, 4], ()), of_card([1, 2, 3, 4], ())
    known = completed(two, one)
    for part in (one, two, of_card([2], ())):
        assert changes_between(known, part, today=TODAY) == ()
        known = completed(part, known)
        assert len(known.races) == 4
    known = completed(whole, known)
    assert [change.of for change in changes_between(known, of_card([1, 2, 3], ()), today=TODAY)] == ["Title 4"]


def test_delivery_of_one_race_of_a_card_is_about_that_race():
    known = of_card([1, 2, 3, 4], ())
    moved = card(Race(race_id="rc_3", title="Title 3", off=OffTime(text="13:10")))
    assert [change.field for change in changes_between(known, moved, today=TODAY)] == ["card.off"]
    assert len(completed(moved, known).races) == 4
