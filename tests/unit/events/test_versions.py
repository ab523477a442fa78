"""What two versions of a result differ in, what rings, and what stays known of the version before."""

import pytest

from bot.events.facts import POSITION_FACT, brings_placings
from bot.events.merge import completed
from tests.unit.events.versions import between, placed, read, settled


def known_after(old, new):
    """The horses with their positions, or the races, that are known after both versions."""
    known = completed(new, old)
    if known.races:
        return " ".join(race.title or str(race.race_id) for race in known.races)
    return " ".join(f"{one.horse}:{one.position}" if one.position else str(one.horse) for one in known.race.runners)


def position(horse, before, now, *, rung=True):
    return (POSITION_FACT, horse, before, now, rung)


def positions(changes):
    """The changes of "B 2→1!, A -→PU": A was without a position, and B rings."""
    for change in changes.split(", ") if changes else []:
        horse, _, places = change.partition(" ")
        before, now = (None if place == "-" else place for place in places.rstrip("!").split("→"))
        yield position(horse, before, now, rung=change.endswith("!"))


ALPHA_IRE = settled({"horse": "Alpha's (IRE)", "number": 3, "position": 1})
ALPHA, BRAVO = {"horse": "Alpha", "position": 1}, {"horse": "Bravo", "position": 2}
BY_NUMBER = settled({"number": 4, "position": 1}, {"number": 7, "position": 2})
TWO_ALPHAS = [{"horse": "Alpha", "number": number, "position": number} for number in (1, 2)]
# The placings before and now, the changes, and what is known after both where that is told.
PLACINGS = {
    "swapped": ("A 1, B 2", "A 2, B 1", "B 2→1!, A 1→2!", "B:1 A:2"),
    "another winner": ("A 1", "C 1", "C -→1!, A 1→-!", "A C:1"),
    "dead heat": ("A 1", "A 1, B 1", "A 1→1=, B -→1=!", "A:1= B:1="),
    "disqualified": ("A 1, B 2", "A DSQ, B 2", "A 1→DSQ!", "A:DSQ B:2"),
    "loses its place": ("A 1, B 2", "A, B 1", "B 2→1!, A 1→-!", "A B:1"),
    "no longer told": ("A 1", "A", "", "A:1"),
    "first placings": ("A", "A 1", "", "A:1"),
    "first winner where others had places": ("A, B 2, C 3", "A 1", "A -→1!", "A:1 B:2 C:3"),
    "more placings": ("A 1", "A 1, B 2, C 3", "B -→2, C -→3", "A:1 B:2 C:3"),
    "one more pulled up": ("A 1, B PU", "A 1, B PU, C PU", "C -→PU", "A:1 B:PU C:PU"),
    "fell": ("A 1, B PU", "A 1, B F", "B PU→F", "A:1 B:F"),
    "a shared place": ("A 1", "A 1=", "A 1→1=", "A:1="),
    "places written otherwise": ("A 1, B P.U.", "A 1st, B PU", "", None),
    "a place that another horse has now": ("A 1, B 2, C 3", "B 1", None, "B:1 A C:3"),
    "a dead heat, then the other without a place": ("A 1=, B 1=, C 3", "A 1, B, C 3", "", "A:1= B:1= C:3"),
    "a dead heat, then the first alone": ("A 1=, B 1=, C 3", "A 1", "", "A:1= B:1= C:3"),
}


@pytest.mark.parametrize(("old", "new", "changes", "known"), PLACINGS.values(), ids=PLACINGS)
def test_placings_of_two_versions(old, new, changes, known):
    before, now = placed(old), placed(new)
    if changes is not None:
        assert sorted(between(before, now), key=str) == sorted(positions(changes), key=str)
    if known is not None:
        assert sorted(known_after(before, now).split()) == sorted(known.split())


RESULTS = {
    "a dead heat, then the winner alone": (
        placed("Alpha 1=, Bravo 1=, Cee 3"),
        read("result.received", race={"race_id": "rc_1", "winner": "Alpha"}),
        [],
        "Alpha:1= Bravo:1= Cee:3",
    ),
    "words in another letter case": (
        placed("A 1", going="Good", status="Official"),
        placed("A 1", going="good"),
        [("race.going", None, "Good", "good", False)],
        "A:1",
    ),
    "price and jockey": (
        settled(ALPHA | {"sp": "7/2", "jockey": "R Moore"}),
        settled(ALPHA | {"sp": "99/1", "jockey": "W Buick"}),
        [
            ("runner.jockey", "Alpha", "R Moore", "W Buick", False),
            ("runner.starting_price", "Alpha", "7/2", "99/1", False),
        ],
        "Alpha:1",
    ),
    "letter case of a name, and the mark of a favourite": (
        settled(ALPHA | {"sp": "7/2"}),
        settled(ALPHA | {"horse": "ALPHA", "sp": "7/2JF"}),
        [],
        "ALPHA:1",
    ),
    "country and apostrophe of a name": (
        ALPHA_IRE,
        settled({"horse": "Alphas", "position": 1}, BRAVO),
        [position("Bravo", None, "2", rung=False)],
        "Alphas:1 Bravo:2",
    ),
    "a winner of another name under the same number": (
        settled(ALPHA | {"number": 3}),
        settled(ALPHA | {"horse": "Bravo", "number": 3}),
        [("runner.horse", "Bravo", "Alpha", "Bravo", True)],
        "Bravo:1",
    ),
    "runners known by number alone": (BY_NUMBER, settled(ALPHA, BRAVO), None, "Alpha:1 Bravo:2"),
    "horses of one name": (settled(*TWO_ALPHAS), settled(*reversed(TWO_ALPHAS)), [], "Alpha:1 Alpha:2"),
}


@pytest.mark.parametrize(("old", "new", "changes", "known"), RESULTS.values(), ids=RESULTS)
def test_two_versions_of_a_result(old, new, changes, known):
    if changes is not None:
        assert sorted(between(old, new), key=str) == sorted(changes, key=str)
    assert sorted(known_after(old, new).split()) == sorted(known.split())


@pytest.mark.parametrize(
    ("before", "now", "rung"),
    [
        *((None, "Under inquiry", [True]), ("Official", "Void", [True]), ("Void", "Official", [True])),
        *((None, "Official", []), ("Weighed In", "weighed_in", []), ("Result", "Resulted", [])),
        *(("Result", "RESULT", []), ("Void", "VOID", [])),
    ],
)
def test_status_rings_where_it_says_something_else(before, now, rung):
    assert [change[-1] for change in between(placed("A 1", status=before), placed(status=now))] == rung


VOIDED, FOG = {"status": "Void", "reason": "fog"}, {"status": "Abandoned", "reason": "fog"}
MARKED_LOST = {"abandoned": True, "reason": "fog"}
NOTHING = (None, None, None)
LOST_AND_RUN = {
    "void, then placed": (
        placed("A 1", **VOIDED),
        placed("A 1"),
        [("race.status", "Void", "Result")],
        NOTHING,
    ),
    "void, then run": (
        placed("A 1", **VOIDED),
        placed(status="Official"),
        [("race.status", "Void", "Official")],
        ("Official", None, None),
    ),
    "void, and a detail": (
        placed(**VOIDED),
        placed(going="Soft"),
        [("race.going", None, "Soft")],
        ("Void", None, "fog"),
    ),
    "lost, then placed": (placed(**FOG), placed("A 1"), [("race.status", "Abandoned", "Result")], NOTHING),
    "lost, then run": (
        placed(**FOG),
        placed("A 1", status="Result"),
        [("race.status", "Abandoned", "Result")],
        ("Result", None, None),
    ),
    "marked, then placed": (
        placed(**MARKED_LOST),
        placed("A 1"),
        [("race.abandoned", "yes", "no")],
        NOTHING,
    ),
    "provisional, then placed": (
        settled(provisional_winner="A"),
        placed("A 1"),
        [("race.status", "Provisional", "Result")],
        NOTHING,
    ),
    "lost, and a horse without a place": (placed(**FOG), placed("A"), [], ("Abandoned", True, "fog")),
}


@pytest.mark.parametrize(("old", "new", "changes", "known"), LOST_AND_RUN.values(), ids=LOST_AND_RUN)
def test_placings_after_a_loss_are_the_newest_word(old, new, changes, known):
    found = [(field, was, now) for field, _, was, now, _ in between(old, new) if field.startswith("race.")]
    race = completed(new, old).race
    assert found == changes
    assert (race.status, race.abandoned or None, race.reason) == known


@pytest.mark.parametrize(
    ("old", "new", "are_first"),
    [
        (placed("A"), placed("A 1"), True),
        (placed("A 1"), placed("A 2"), False),
        (settled({"horse": "A"}, {"horse": "Z", "non_runner": True}), placed("A 1"), True),
    ],
)
def test_first_placings_are_news_by_themselves(old, new, are_first):
    assert brings_placings(old, new) is are_first


def test_beaten_distance_and_reason_stay_with_the_same_position():
    first = settled(
        {"horse": "A", "position": 1},
        {"horse": "B", "position": 2, "beaten": "nk"},
        {"horse": "C", "position": "DSQ", "position_reason": "Weighed in light"},
    )
    kept = completed(placed("A 1, B 2, C DSQ", going="Soft"), first).race.runners
    assert [(one.beaten, one.position_reason) for one in kept] == [
        (None, None),
        ("nk", None),
        (None, "Weighed in light"),
    ]


def test_plain_status_takes_no_place_back():
    assert known_after(placed("A 1, B PU"), settled({"horse": "A", "status": "Runner"}, {"horse": "B"})) == "A:1 B:PU"
