"""The differences of two versions of a result, ringing changes, and values kept from the version before."""

from hypothesis import given
from hypothesis import strategies as st

from bot.events.event import EventKind, RacingEvent
from bot.events.facts import POSITION_FACT, brings_placings
from bot.events.meeting_parts import is_part_of, own_reason, results_denied, says_all_of
from bot.events.merge import completed, declared_size, filled_in, filled_in_from_meeting
from bot.events.races import Course, OffTime, Race, Runner
from tests.rows import over
from tests.unit.events.versions import between, placed, read, settled


def known_after(old, new):
    """The horses with positions, or the races, known after both versions."""
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
# The placings before and now, the changes, and perhaps the placings known after both.
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


@over(("old", "new", "changes", "known"), PLACINGS.values(), ids=PLACINGS)
def test_placings_of_two_versions(old, new, changes, known):
    before, now = placed(old), placed(new)
    if changes is not None:
        assert sorted(between(before, now), key=str) == sorted(positions(changes), key=str)
    if known is not None:
        assert sorted(known_after(before, now).split()) == sorted(known.split())


ONE_WINNER = read("result.received", race={"race_id": "rc_1", "winner": "Alpha"})
WITH_JOCKEY, ANOTHER = settled(ALPHA | {"jockey": "R Moore"}), settled(ALPHA | {"jockey": "W Buick"})
PRICED, REPRICED, FAVOURITE = (settled(ALPHA | {"sp": sp}) for sp in ("7/2", "99/1", "7/2JF"))
ALPHAS_AND_BRAVO = settled({"horse": "Alphas", "position": 1}, BRAVO)
ALPHA_OF_3, BRAVO_OF_3 = (settled({"horse": horse, "number": 3, "position": 1}) for horse in ("Alpha", "Bravo"))
GOOD = placed("A 1", going="Good", status="Official")
RESULTS = {
    "a dead heat, then the winner alone": (
        placed("Alpha 1=, Bravo 1=, Cee 3"),
        ONE_WINNER,
        [],
        "Alpha:1= Bravo:1= Cee:3",
    ),
    "words in another case": (GOOD, placed("A 1", going="good"), [("race.going", None, "Good", "good", False)], "A:1"),
    "jockey": (WITH_JOCKEY, ANOTHER, [("runner.jockey", "Alpha", "R Moore", "W Buick", False)], "Alpha:1"),
    "price": (PRICED, REPRICED, [("runner.starting_price", "Alpha", "7/2", "99/1", False)], "Alpha:1"),
    "the mark of a favourite": (PRICED, FAVOURITE, [], "Alpha:1"),
    "letter case of a name": (settled(ALPHA), settled(ALPHA | {"horse": "ALPHA"}), [], "ALPHA:1"),
    "country of a name": (ALPHA_IRE, ALPHAS_AND_BRAVO, [position("Bravo", None, "2", rung=False)], "Alphas:1 Bravo:2"),
    "a winner's other name": (ALPHA_OF_3, BRAVO_OF_3, [("runner.horse", "Bravo", "Alpha", "Bravo", True)], "Bravo:1"),
    "runners known by number alone": (BY_NUMBER, settled(ALPHA, BRAVO), None, "Alpha:1 Bravo:2"),
    "horses of one name": (settled(*TWO_ALPHAS), settled(*reversed(TWO_ALPHAS)), [], "Alpha:1 Alpha:2"),
}


@over(("old", "new", "changes", "known"), RESULTS.values(), ids=RESULTS)
def test_two_versions_of_a_result(old, new, changes, known):
    if changes is not None:
        assert sorted(between(old, new), key=str) == sorted(changes, key=str)
    assert sorted(known_after(old, new).split()) == sorted(known.split())


@over(
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
MARKED_LOST, PROVISIONAL = {"abandoned": True, "reason": "fog"}, settled(provisional_winner="A")
NOTHING, OFFICIAL, RESULT = (None, None, None), ("Official", None, None), ("Result", None, None)
VOID_THEN_RUN, LOST_THEN_RUN = [("race.status", "Void", "Official")], [("race.status", "Abandoned", "Result")]
LOST_AND_RUN = {
    "void, then placed": (placed("A 1", **VOIDED), placed("A 1"), [("race.status", "Void", "Result")], NOTHING),
    "void, then run": (placed("A 1", **VOIDED), placed(status="Official"), VOID_THEN_RUN, OFFICIAL),
    "a detail": (placed(**VOIDED), placed(going="Soft"), [("race.going", None, "Soft")], ("Void", None, "fog")),
    "lost, then placed": (placed(**FOG), placed("A 1"), LOST_THEN_RUN, NOTHING),
    "lost, then run": (placed(**FOG), placed("A 1", status="Result"), LOST_THEN_RUN, RESULT),
    "marked, then placed": (placed(**MARKED_LOST), placed("A 1"), [("race.abandoned", "yes", "no")], NOTHING),
    "provisional": (PROVISIONAL, placed("A 1"), [("race.status", "Provisional", "Result")], NOTHING),
    "lost, and a horse without a place": (placed(**FOG), placed("A"), [], ("Abandoned", True, "fog")),
}


@over(("old", "new", "changes", "known"), LOST_AND_RUN.values(), ids=LOST_AND_RUN)
def test_placings_after_a_loss_are_the_newest_word(old, new, changes, known):
    found = [(field, was, now) for field, _, was, now, _ in between(old, new) if field.startswith("race.")]
    race = completed(new, old).race
    assert found == changes
    assert (race.status, race.abandoned or None, race.reason) == known


@over(
    ("old", "new", "are_first"),
    [
        (placed("A"), placed("A 1"), True),
        (placed("A 1"), placed("A 2"), False),
        (settled({"horse": "A"}, {"horse": "Z", "non_runner": True}), placed("A 1"), True),
    ],
)
def test_first_placings_are_news_by_themselves(old, new, are_first):
    assert brings_placings(old, new) is are_first


def test_beaten_distance_and_reason_stay_with_a_position_and_a_plain_status_keeps_the_place():
    first = settled(
        {"horse": "A", "position": 1},
        {"horse": "B", "position": 2, "beaten": "nk"},
        {"horse": "C", "position": "DSQ", "position_reason": "light"},
    )
    kept = completed(placed("A 1, B 2, C DSQ", going="Soft"), first).race.runners
    assert [(one.beaten, one.position_reason) for one in kept] == [(None, None), ("nk", None), (None, "light")]

    assert known_after(placed("A 1, B PU"), settled({"horse": "A", "status": "Runner"}, {"horse": "B"})) == "A:1 B:PU"


# The races of abandoned meetings, and values left by a later version


ASCOT = Race(course=Course(name="Ascot"), race_date="2026-11-20", region="GB")


def meeting(*races, reason=None, **card):
    race = ASCOT.model_copy(update=card)
    return RacingEvent(key="m", kind=EventKind.MEETING_ABANDONED, race=race, races=races, reason=reason)


def lost(reason=None, **race):
    event_race = ASCOT.model_copy(update=race)
    return RacingEvent(key="r", kind=EventKind.RACE_ABANDONED, race=event_race, reason=reason)


NAMED = Race(race_id="rc_1")


@over(
    ("race", "card", "is_part"),
    [
        (lost(race_id="rc_1", meeting_id="mt_2", race_date=None), meeting(NAMED, meeting_id="mt_1"), True),
        (lost(race_id="rc_9", meeting_id="mt_1"), meeting(NAMED, meeting_id="mt_1"), True),
        (lost(race_id="rc_9"), meeting(NAMED), False),
        (lost(), meeting(NAMED), True),
        (lost(race_id="rc_9"), meeting(Race(off=OffTime(text="14:30"))), True),
        (lost(meeting_id="mt_1"), meeting(), True),
        (lost(meeting_id="mt_1"), meeting(meeting_id="mt_2"), False),
        (lost(race_date=None), meeting(race_date=None), False),
        (lost(race_date="2026-11-21"), meeting(), False),
        (lost(course=Course()), meeting(course=Course()), False),
        (lost(course=Course(name="ASCOT")), meeting(), True),
        (lost(course=Course(course_id="cr_1", name="Ascot (AW)")), meeting(course=Course(course_id="cr_1")), True),
        (lost(course=Course(course_id="cr_1", name="A")), meeting(course=Course(course_id="cr_2", name="A")), False),
        (lost(region="AUS"), meeting(), False),
        (lost(region=None), meeting(), True),
    ],
)
def test_race_is_part_of_a_meeting_by_the_best_that_was_sent(race, card, is_part):
    assert is_part_of(race, card) is is_part
    # A racecard is part of a meeting with a race of the card.
    published = RacingEvent(key="c", kind=EventKind.RACECARD_PUBLISHED, races=(Race(race_id="rc_2"), NAMED))
    assert is_part_of(published, meeting(NAMED))
    assert not is_part_of(published, meeting(Race(race_id="rc_3")))


def test_meeting_that_says_a_race_is_lost_denies_its_result_though_it_names_other_ids():
    off = OffTime(text="14:30")
    race = ASCOT.model_copy(update={"race_id": "rc_9", "off": off})
    run = RacingEvent(key="r", kind=EventKind.RESULT_RECEIVED, race=race)
    said_lost = meeting(NAMED, Race(off=off, abandoned=True))
    assert results_denied(said_lost, [run]) == [run]


def test_meeting_says_all_of_a_named_race_without_a_reason():
    assert says_all_of(meeting(NAMED, reason="Frost"), lost(race_id="rc_1", reason="frost "))
    assert says_all_of(meeting(NAMED, reason="Frost"), lost(race_id="rc_1"))
    assert not says_all_of(meeting(NAMED, reason="Frost"), lost(race_id="rc_1", reason="fog"))
    assert not says_all_of(meeting(reason="Frost"), lost(reason="frost"))
    assert own_reason("fog", meeting(reason="frost")) == "fog"


def result(**race):
    return RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=ASCOT.model_copy(update=race))


def test_later_version_keeps_fields_of_the_earlier_but_neither_another_course_nor_the_age_of_data():
    earlier = result(going="Good", runners=(Runner(horse="A", position="1"),), off=OffTime(text="14:30"))
    later = result(going="Soft", runners=(Runner(horse="A"),), course=Course(course_id="cr_1"))
    race = completed(later, earlier).race
    assert (race.going, race.off.text, race.course) == ("Soft", "14:30", Course(course_id="cr_1", name="Ascot"))
    assert race.runners == earlier.race.runners
    at_one, at_another = result(course=Course(course_id="cr_1", name="Ascot")), result(course=Course(course_id="cr_2"))
    assert completed(at_another, at_one).race.course == Course(course_id="cr_2")
    earlier = result().model_copy(update={"sequence": 4, "data_as_of": "then"})
    assert completed(result(), earlier) == result().model_copy(update={"sequence": 4})


def test_races_that_either_version_names_are_named_once():
    earlier = meeting(Race(race_id="rc_1", title="First"), Race(off=OffTime(text="14:30")), reason="frost")
    later = meeting(Race(race_id="rc_1"), Race(race_id="rc_2", off=OffTime(text="14:30")), Race(race_id="rc_3"))
    named = completed(later, earlier)
    assert [race.race_id for race in named.races] == ["rc_1", "rc_2", "rc_3"]
    assert named.races[0].title == "First"
    assert named.reason == "frost"


NAMES = st.none() | st.sampled_from(["a", "b", "c"])
RACES = st.lists(
    st.builds(Race, race_id=NAMES, off=st.builds(OffTime, text=NAMES), number=NAMES, title=NAMES), max_size=4
)


@given(RACES, RACES)
def test_no_race_is_lost_by_a_later_version(earlier, later):
    named = completed(meeting(*later), meeting(*earlier)).races
    for race in (*earlier, *later):
        ids = {one.race_id for one in named}
        assert race.race_id is None or race.race_id in ids
    assert len(named) >= max(len(earlier) if not later else 0, len(later))
    # The same version again names no more races.
    assert len(completed(meeting(*later), meeting(*later)).races) == len(later)


def test_race_is_filled_in_where_its_delivery_left_out_and_says_so():
    known = ASCOT.model_copy(
        update={"title": "Cup", "off": OffTime(text="14:30"), "status": "declared", "reason": "fog"}
    )
    race = filled_in(Race(race_id="rc_1", title="Plate"), known, kind=EventKind.RESULT_RECEIVED)
    assert (race.title, race.off.text, race.region, race.course.name) == ("Plate", "14:30", "GB", "Ascot")
    assert race.from_book == ("course.name", "off", "race_date", "region")
    # Only a race's own events tell the outcome.
    assert (race.status, race.reason) == (None, None)
    assert filled_in(Race(), known, kind=EventKind.RACE_ABANDONED).reason == "fog"
    # A course of another name is not filled in.
    race = Race(course=Course(course_id="cr_2"))
    assert filled_in(race, Race(course=Course(course_id="cr_1", name="Ascot"))).course == race.course


@over(
    ("horses", "published", "size"),
    [
        ("A, B", None, 2),
        ("A, B, C NR", None, 2),
        # The published number counts the non-runner.
        ("A, B, C NR", 3, 2),
        # Another horse may be withdrawn.
        ("A, B, C Reserve", None, 3),
        ("A, B, C NR", 9, 9),
        ("A 1, B 2", None, None),
        ("", None, None),
    ],
)
def test_size_of_a_declared_field_counts_no_non_runner_of_a_whole_list(horses, published, size):
    named = [dict(zip(("horse", "position"), one.split(" "), strict=False)) for one in horses.split(", ") if one]
    assert declared_size(Race(runners=tuple(Runner(**one) for one in named), field_size=published)) == size


def test_filled_in_values_are_no_facts_and_go_again():
    said = RacingEvent(key="k", kind=EventKind.RESULT_RECEIVED, race=Race(race_id="rc_1", going="Soft"))
    filled = said.model_copy(update={"race": filled_in(said.race, ASCOT, kind=said.kind)})
    assert filled.race.course.name == "Ascot"
    assert filled.as_delivered() == said
    assert RacingEvent.model_validate_json(filled.model_dump_json(exclude_defaults=True)) == filled


def test_race_takes_from_its_meeting_what_all_races_have_in_common_but_not_the_meetings_id():
    races = (ASCOT.model_copy(update={"meeting_id": "mt_1"}), ASCOT.model_copy(update={"race_date": "2026-11-21"}))
    race = filled_in_from_meeting(Race(race_id="rc_1"), races, is_meeting=False)
    assert (race.meeting_id, race.race_date, race.course.name) == (None, None, "Ascot")
    assert filled_in_from_meeting(Race(), races, is_meeting=True).meeting_id == "mt_1"
