"""The declaration of what each kind of event tells, and what two versions of an event differ in."""

import json
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.deliveries.payload import read_payload
from bot.events import kinds
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import (
    CARD,
    MODELS,
    POSITION_FACT,
    RUNNER,
    Change,
    brings_placings,
    changes_between,
)
from bot.events.kinds import Noise, ToldField
from bot.events.merge import completed
from bot.events.races import FEW_MINUTES, Course, OffTime, Race, Runner, plain_name

TODAY = "2026-11-20"
NOW = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)

ONE = {
    bool: (False, True),
    int: (8, 9),
    datetime: (datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC)),
}
NO_VALUE = {
    "key",
    "off_told",
    "kind",
    "course",
    "race",
    "races",
    "runners",
    "from_book",
    "races_from_book",
    "in_parts",
} | {"drill"}
"""Fields that name the event, or that are compared part by part."""

DECLARATIONS = {kind: declared.fields for kind, declared in kinds.DECLARATIONS.items()}
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


def between(old, new):
    return [(one.field, one.of, one.before, one.now, one.rings) for one in changes_between(old, new, received_at=NOW)]


def rings(old, new):
    return any(change.rings for change in changes_between(old, new, received_at=NOW))


@pytest.mark.parametrize("kind", EventKind)
def test_declaration_has_every_field_of_every_model(kind):
    wanted = {f"{level}.{field}" for level, model in MODELS.items() for field in model.model_fields}
    assert set(DECLARATIONS[kind]) == wanted | {RUNNER, CARD}
    assert all(entry.words if isinstance(entry, ToldField) else entry.because for entry in DECLARATIONS[kind].values())


def values_of(level, changed, hidden):
    """A value for each plain field of a level's model; another one for the field `changed`, and none for `hidden`."""
    values: dict[str, object] = {}
    for name, field in MODELS[level].model_fields.items():
        first, second = next(
            (ONE[kind] for kind in ONE if kind.__name__ in str(field.annotation)), (name, f"new {name}")
        )
        values[name] = second if name == changed else first
    if level == CARD:
        values |= {"status": "Official" if changed == "status" else "status", "abandoned": changed != "abandoned"}
    if "off" in values:
        values["off"] = OffTime(text="14:45" if changed == "off" else "14:30")
    if level == RUNNER:
        values["horse"] = "GOLDEN MELODY" if changed == "horse" else "Golden Melody"
    return {name: value for name, value in values.items() if name not in NO_VALUE | {hidden}}


def event_with(kind, path, *, changed=False):
    """An event of which one level has all its values, but for the one that hides the field of this path."""
    level, _, field = path.partition(".")
    entry = DECLARATIONS[kind][path]
    values = values_of(level, field if changed else None, entry.unless if isinstance(entry, ToldField) else None)
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
    old, new = event_with(kind, path), event_with(kind, path, changed=True)
    found = changes_between(old, new, received_at=NOW)
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
    found = [
        one for one in changes_between(result_of(*old), result_of(*new), received_at=NOW) if one.field == POSITION_FACT
    ]
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
        horse=st.none() | st.sampled_from(["A", "a", "A (IRE)", "B", "C"]),
        number=st.none() | st.sampled_from(["1", "2", "3"]),
        position=st.none() | st.sampled_from(["1", "1=", "1st", "2", "3", "0", "PU", "NR"]),
        beaten=st.none() | st.sampled_from(["nk", "1L"]),
    ).filter(lambda runner: runner.horse or runner.number),
    max_size=4,
    unique_by=(
        lambda runner: plain_name(runner.horse or runner.number or "").casefold(),
        lambda runner: runner.number or runner,
    ),
).map(tuple)


def value_of(race, name):
    """The race's value where it has one; races without it are not the same for that."""
    return getattr(race, name) or race


RACES = st.builds(
    Race,
    race_id=st.none() | st.sampled_from(["rc_1", "rc_2"]),
    race_date=st.none() | st.sampled_from([TODAY, "2026-11-21"]),
    off=st.builds(OffTime, text=st.none() | st.sampled_from(["13:00", "13:04", "1:00 pm", "15:00"])),
    title=st.none() | st.sampled_from(["T", "U"]),
    number=st.none() | st.sampled_from(["1", "2"]),
    status=st.none() | st.sampled_from(["Result", "Void"]),
    abandoned=st.none() | st.booleans(),
    field_size=st.none() | st.sampled_from([8, 9]),
    runners=RUNNERS,
)
LISTS = st.lists(
    RACES,
    max_size=4,
    unique_by=tuple(partial(value_of, name=name) for name in ("race_id", "number", "title", "off")),
).map(tuple)
EVENTS = st.tuples(st.sampled_from(EventKind), *(st.tuples(RACES, LISTS) for _ in range(3))).map(
    lambda drawn: [
        RacingEvent(key="k", kind=drawn[0], race=race.model_copy(update={"race_id": "rc_1"}), races=races)
        for race, races in drawn[1:]
    ]
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS)
def test_version_that_was_told_says_nothing_new_again(versions):
    first, old, new = versions
    known = completed(new, completed(old, first))
    assert changes_between(known, new, received_at=NOW) == ()
    assert completed(new, known) == known


@settings(suppress_health_check=[HealthCheck.too_slow])
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
    ("race", "field_size"),
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


NUMBER_LISTS = st.lists(st.integers(1, 5), unique=True, max_size=5)


def of_card(numbers, declared):
    runners = tuple(Runner(horse=f"Horse {number}") for number in declared)
    return card(*(Race(race_id=f"rc_{number}", title=f"Title {number}", runners=runners) for number in numbers))


@given(st.lists(st.tuples(NUMBER_LISTS, NUMBER_LISTS), min_size=2, max_size=5))
def test_card_that_is_delivered_again_says_nothing_anew(cards):
    known = of_card(*cards[0])
    for numbers, declared in cards[1:]:
        delivered = of_card(numbers, declared)
        known = completed(delivered, known)
        assert changes_between(known, delivered, received_at=NOW) == ()


def test_parts_of_a_card_take_nothing_away_until_one_delivery_names_all():
    one, two, whole = of_card([1, 2], ()), of_card([3, 4], ()), of_card([1, 2, 3, 4], ())
    known = completed(two, one)
    for part in (one, two, of_card([2], ())):
        assert changes_between(known, part, received_at=NOW) == ()
        known = completed(part, known)
        assert len(known.races) == 4
    known = completed(whole, known)
    assert [change.of for change in changes_between(known, of_card([1, 2, 3], ()), received_at=NOW)] == ["Title 4"]


def test_delivery_of_one_race_of_a_card_is_about_that_race():
    known = of_card([1, 2, 3, 4], ())
    moved = card(Race(race_id="rc_3", title="Title 3", off=OffTime(text="13:10")))
    assert [change.field for change in changes_between(known, moved, received_at=NOW)] == ["card.off"]
    assert len(completed(moved, known).races) == 4


def read(event, **parts):
    return read_payload(json.dumps({"event": event} | parts).encode())


def settled(*runners, **race):
    return read("result.received", race={"race_id": "rc_1", "runners": list(runners)} | race)


def published(*races, date=TODAY):
    meeting = {"meeting_id": "mt_1", "course": "Ascot", "date": date, "region": "GB"}
    return read("racecard.published", meeting=meeting, races=list(races))


def told(*events):
    """The changes of each event against all that was told before."""
    known, *later = events
    said = []
    for event in later:
        said.append(between(known, event))
        known = completed(event, known) if said[-1] else known
    return said


@pytest.mark.parametrize(
    "later",
    [
        read("result.received", race={"race_id": "rc_1", "winner": "Alpha"}),
        settled({"horse": "Alpha", "position": "1"}, {"horse": "Bravo"}, {"horse": "Cee", "position": 3}),
        settled({"horse": "Alpha", "position": 1}),
    ],
    ids=["winner alone", "the other without a place", "the first alone"],
)
def test_half_of_a_dead_heat_is_not_lost_by_silence(later):
    first = settled(*({"horse": horse, "position": at} for horse, at in (("Alpha", "1="), ("Bravo", "1="), ("Cee", 3))))
    assert between(first, later) == []
    placed = {runner.horse: runner.position for runner in completed(later, first).race.runners}
    assert placed == {"Alpha": "1=", "Bravo": "1=", "Cee": "3"}


def test_first_winner_rings_where_others_had_places():
    first = result_of(("A", None), ("B", "2"), ("C", "3"))
    assert between(first, result_of(("A", "1"))) == [(POSITION_FACT, "A", None, "1", True)]


def test_non_runner_is_no_placing():
    first = settled({"horse": "A"}, {"horse": "Z", "non_runner": True})
    assert brings_placings(first, settled({"horse": "A", "position": 1}, {"horse": "Z", "non_runner": True}))


@pytest.mark.parametrize(
    ("before", "now", "rung"),
    [
        (None, "Under inquiry", True),
        (None, "Official", None),
        ("Weighed In", "weighed_in", None),
        ("Result", "Resulted", None),
        ("Official", "Void", True),
        ("Void", "Official", True),
        ("Void", "VOID", None),
    ],
)
def test_status_rings_where_it_says_something_else(before, now, rung):
    changes = between(result_of(("A", "1"), status=before), result_of(status=now))
    assert [change[-1] for change in changes] == ([] if rung is None else [rung])


def test_same_place_written_otherwise_is_no_change():
    assert between(result_of(("A", "1"), ("B", "P.U.")), result_of(("A", "1st"), ("B", "PU"))) == []


def test_country_and_apostrophe_of_a_name_tell_no_horses_apart():
    first = settled({"horse": "Alpha's (IRE)", "number": 3, "position": 1})
    later = settled({"horse": "Alphas", "position": 1}, {"horse": "Bravo", "position": 2})
    assert between(first, later) == [(POSITION_FACT, "Bravo", None, "2", False)]
    assert [runner.horse for runner in completed(later, first).race.runners] == ["Alphas", "Bravo"]


def test_winner_of_another_name_under_the_same_number_rings():
    first, later = (settled({"horse": horse, "number": 3, "position": 1}) for horse in ("Alfa", "Bravo"))
    assert between(first, later) == [("runner.horse", "Bravo", "Alfa", "Bravo", True)]
    assert len(completed(later, first).race.runners) == 1


def test_runner_known_by_number_alone_gives_way_to_the_named_one():
    first = settled({"number": 4, "position": 1}, {"number": 7, "position": 2})
    later = settled({"horse": "Alpha", "position": 1}, {"horse": "Bravo", "position": 2})
    assert [runner.horse for runner in completed(later, first).race.runners] == ["Alpha", "Bravo"]


def test_horses_of_one_name_are_told_apart_by_number():
    runners = [{"horse": "Alpha", "number": number, "position": number} for number in (1, 2)]
    assert between(settled(*runners), settled(*reversed(runners))) == []


def test_beaten_distance_and_reason_stay_with_the_same_position():
    first = settled(
        {"horse": "A", "position": 1},
        {"horse": "B", "position": 2, "beaten": "nk"},
        {"horse": "C", "position": "DSQ", "position_reason": "Weighed in light"},
    )
    later = settled(
        {"horse": "A", "position": 1}, {"horse": "B", "position": 2}, {"horse": "C", "position": "DSQ"}, going="Soft"
    )
    kept = completed(later, first).race.runners
    assert [(one.beaten, one.position_reason) for one in kept] == [
        (None, None),
        ("nk", None),
        (None, "Weighed in light"),
    ]


def race_of(number, off, **more):
    return {"race_number": number, "off_time": off} | more


PARTS = [published(*({"race_id": f"rc_{n}", "off_time": f"1{n}:00"} for n in part)) for part in ((1, 2), (3, 4))]


def test_card_in_parts_keeps_all_and_says_nothing_twice():
    one, two = PARTS
    said = told(one, two, one, two, two)
    assert [len(changes) for changes in said] == [2, 0, 0, 0]
    both = completed(two, one)
    assert len(both.races) == 4
    assert len(completed(one, both).races) == 4


def test_update_of_one_race_leaves_the_card_whole():
    card_of_six = published(*({"race_id": f"rc_{n}", "off_time": f"1{n}:00"} for n in range(6)))
    update = published({"race_id": "rc_3", "off_time": "13:10"})
    assert between(card_of_six, update) == [("card.off", "13:00", "13:00", "13:10", True)]
    assert len(completed(update, card_of_six).races) == 6


def test_update_of_one_runner_leaves_the_others_declared():
    first = published({"race_id": "rc_1", "runners": [{"horse": horse} for horse in "ABCD"]}, {"race_id": "rc_2"})
    update = published({"race_id": "rc_1", "runners": [{"horse": "B", "non_runner": True}]}, {"race_id": "rc_2"})
    assert between(first, update) == [(RUNNER, "B in the race rc_1", "named", "NR", False)]
    assert len(completed(update, first).races[0].runners) == 4


def test_whole_card_after_its_parts_can_lose_a_race_again():
    one, two = PARTS
    whole = completed(two, one)
    all_four = published(*({"race_id": f"rc_{n}", "off_time": f"1{n}:00"} for n in (1, 2, 3, 4)))
    shorter = published(*({"race_id": f"rc_{n}", "off_time": f"1{n}:00"} for n in (1, 2, 3)))
    assert between(whole, shorter) == []
    known = completed(all_four, whole)
    assert between(known, shorter) == [(CARD, "14:00", "named", None, True)]
    assert between(completed(shorter, known), shorter) == []


@pytest.mark.parametrize("titles", [("Novice Hurdle", "Gold Cup", "Bumper"), ("Maiden",) * 3])
def test_delayed_races_keep_their_own_titles_and_runners(titles):
    first = published(
        *(
            race_of(n, off, title=title, runners=[{"horse": f"H{n}"}])
            for n, (off, title) in enumerate(zip(("13:00", "13:30", "14:00"), titles, strict=True), start=1)
        )
    )
    later = published(race_of(1, "13:30"), race_of(2, "14:00"), race_of(3, "14:30"))
    assert [change[2:] for change in between(first, later)] == [
        ("13:00", "13:30", True),
        ("13:30", "14:00", True),
        ("14:00", "14:30", True),
    ]
    known = [(race.title, race.runners[0].horse) for race in completed(later, first).races]
    assert known == list(zip(titles, ("H1", "H2", "H3"), strict=True))


def test_race_of_today_elsewhere_rings_by_its_moment():
    first, later = (
        published({"race_id": "rc_1", "off_time": f"2026-11-21T{off}:00+11:00"}, {"race_id": "rc_2"}, date="2026-11-21")
        for off in ("09:30", "10:30")
    )
    assert [change[-1] for change in between(first, later)] == [True]


def test_race_rings_by_its_own_date():
    first, later = (
        published({"race_id": "rc_1", "date": TODAY, "off_time": off}, {"race_id": "rc_2"}, date=None)
        for off in ("14:30", "14:45")
    )
    assert [change[-1] for change in between(first, later)] == [True]


def test_race_that_drifts_rings_once_it_is_far_from_what_was_told():
    cards = [
        published({"race_id": "rc_1", "off_time": off}, {"race_id": "rc_2", "off_time": "16:00"})
        for off in ("11:30", "11:35", "11:40", "11:45", "11:50")
    ]
    assert [changes[0][-1] for changes in told(*cards)] == [False, True, False, True]


@pytest.mark.parametrize(("before", "now"), [(TODAY, "2026-11-28"), ("2026-11-28", TODAY)])
def test_card_that_moves_to_or_from_today_rings(before, now):
    assert rings(published({"race_id": "rc_1"}, date=before), published({"race_id": "rc_1"}, date=now))
    assert not rings(
        published({"race_id": "rc_1"}, date="2026-12-01"), published({"race_id": "rc_1"}, date="2026-12-02")
    )


def test_moment_in_the_place_of_a_text_is_shown_as_utc_and_does_not_ring():
    moment = int(datetime(2026, 11, 20, 14, 30, tzinfo=UTC).timestamp())
    first, later = (
        published({"race_id": "rc_1", "off_time": off}, {"race_id": "rc_2", "off_time": "16:00"})
        for off in ("14:30", moment)
    )
    assert between(first, later) == [("card.off", "14:30", "14:30", "14:30 UTC", False)]


def test_abandonment_on_a_card_is_taken_back_only_by_word():
    first, lost, silent, back = (
        published({"race_id": "rc_1", "off_time": "14:30"} | more, {"race_id": "rc_2", "off_time": "15:00"})
        for more in ({}, {"abandoned": True}, {"title": "T"}, {"abandoned": False})
    )
    taken, kept, again = told(first, lost, silent, back)
    assert taken == [("card.abandoned", "14:30", None, "yes", True)]
    assert [change[0] for change in kept] == ["card.title"]
    assert again == [("card.abandoned", "14:30 T", "yes", "no", True)]
    assert completed(silent, completed(lost, first)).races[0].abandoned


def test_changes_of_very_many_runners_are_counted():
    first, later = (
        published(*({"race_id": f"rc_{n}", "runners": [f"{letter}{n}x{k}" for k in range(40)]} for n in range(60)))
        for letter in "AB"
    )
    changes = changes_between(first, later, received_at=NOW)
    assert len(changes) == 100
    assert sum(1 + change.more for change in changes) == 120
    assert changes[0].of == "40 runners in the race rc_0"
