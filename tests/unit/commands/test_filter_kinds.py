"""Every kind of condition, by the table: said, stored, written to a file, merged, edited in the form, taken away."""

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from bot.channels import subscriptions
from bot.channels.conditions.race_conditions import RaceClassCondition
from bot.channels.conditions.table import BY_FIELD, CONDITIONS
from bot.channels.filters import CHECKED, ChannelFilter, joint, without
from bot.errors import CommandError
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race
from bot.operations.subscription_file import as_data, as_json, as_yaml, read
from bot.slack.messages.answers.filter_words import in_words
from tests.rows import over
from tests.unit.commands.town import BATH, FFOS_LAS

BASE = ChannelFilter(region="GB", topics=frozenset({Topic.RESULTS, Topic.ABANDONMENTS}))


def based(**changes):
    return BASE.model_copy(update=changes)


@dataclass(frozen=True)
class Sample:
    """A value of a kind; the words that `unsubscribe` takes, of which `after` is left; None where nobody types so.

    `left_out` are fields of a race whose abandonment the value leaves out; None where the value leaves out no race.
    """

    value: Any
    ends: str | None
    after: Any
    taken: dict[str, Any]
    left_out: dict[str, Any] | None


OPTIONAL = {condition.field for condition in CONDITIONS if not condition.is_needed} - {"mentions"}
"""Blocks missing in an older version's form."""

YORK = Course(course_id="cr_york", name="York")

SAMPLES = {
    "region": Sample("IRE", "IRE", None, {"region": "IRE"}, {"region": "AUS"}),
    "topics": Sample(frozenset(Topic), "racecards", BASE.topics, {}, None),
    "courses": Sample((BATH, FFOS_LAS), "course:Bath", (FFOS_LAS,), {"course": BATH}, {"course": YORK}),
    "not_courses": Sample((BATH, FFOS_LAS), "-course:Bath", (FFOS_LAS,), {"course": YORK}, {"course": BATH}),
    "classes": Sample(("Class 1", "Group 1"), "class:1", ("Group 1",), {"race_class": "1"}, {"race_class": "4"}),
    "codes": Sample(
        ("flat", "aw"), "code:flat", ("aw",), {"race_type": "Flat"}, {"race_type": "Hurdle", "surface": "Turf"}
    ),
    "mentions": Sample(("U1", "here"), None, ("here",), {}, None),
    "digest": Sample(("12:00", "18:00"), "digest:12:00", ("18:00",), {}, None),
    "cards": Sample(("18:00", "19:00"), "cards:18", ("19:00",), {}, None),
    "quiet": Sample(("22:00-07:00", "12:00-13:00"), "quiet:12-13", ("22:00-07:00",), {}, None),
    "zone": Sample(("Europe/London",), "zone", (), {}, None),
    "show": Sample(("meetings",), "show", (), {}, None),
    "ack": Sample(("10m",), "ack", (), {}, None),
    "escalate": Sample(("U1", "C9"), "escalate:U1", ("C9",), {}, None),
}

KINDS = [condition.field for condition in CONDITIONS]
EVERY_KIND, IN_A_CHANNEL = over("field", KINDS), pytest.mark.parametrize("field", KINDS)
TYPED_KINDS = pytest.mark.parametrize("field", [name for name, one in SAMPLES.items() if one.ends and name != "region"])


def sample(field):
    needed = frozenset({BY_FIELD[field].topic} - {None})
    return based(**{"topics": BASE.topics | needed, field: SAMPLES[field].value})


def test_every_field_of_a_filter_is_of_one_kind_with_a_view_and_a_sample():
    fields = sorted(set(ChannelFilter.model_fields) - CHECKED)
    assert fields == sorted(condition.field for condition in CONDITIONS)
    assert fields == sorted(SAMPLES)


def test_no_two_kinds_share_a_key_of_the_file_or_a_name_to_type():
    assert len({condition.file_key for condition in CONDITIONS}) == len(CONDITIONS)
    names = [condition.typed_as for condition in CONDITIONS if condition.typed_as]
    assert len(set(names)) == len(names)


@EVERY_KIND
def test_kind_changes_the_words_and_the_fingerprint_and_a_narrowing_kind_names_its_values(field):
    chosen, condition = sample(field), BY_FIELD[field]
    assert chosen.fingerprint() != BASE.fingerprint()
    assert in_words(chosen) != in_words(BASE)
    if condition.is_narrowing:
        assert condition.plural
        assert condition.named(chosen)
        assert condition.named(chosen) in in_words(chosen)
        assert condition.typed(chosen)[0].startswith(condition.typed_as)


def abandonment(**race):
    return RacingEvent(key="k", kind=EventKind.RACE_ABANDONED, race=Race(**{"region": "GB"} | race))


@EVERY_KIND
def test_kind_takes_its_own_races_and_hides_no_abandonment_that_lacks_the_field(field):
    chosen, (taken, left_out) = sample(field), (SAMPLES[field].taken, SAMPLES[field].left_out)
    assert chosen.matches(abandonment(**taken))
    assert chosen.matches(abandonment(region=chosen.region))
    assert chosen.matches(abandonment(region=None))
    assert left_out is None or not chosen.matches(abandonment(**left_out))


@EVERY_KIND
def test_kind_is_compared_and_merged(field):
    """A kind that hides races, and is no exclusion, says so by `is_narrowing`: its last value ends the subscription."""
    chosen, hides = sample(field), SAMPLES[field].left_out is not None
    assert BY_FIELD[field].is_narrowing is (hides and field not in {"region", "not_courses"})
    assert chosen.covers(chosen)
    assert not (chosen.covers(BASE) and BASE.covers(chosen))
    both = joint(chosen, BASE)
    assert both.covers(chosen)
    assert both.covers(based(region=chosen.region))


@EVERY_KIND
def test_kind_survives_storage_and_the_file(field):
    chosen = sample(field)
    assert ChannelFilter.model_validate_json(chosen.model_dump_json()) == chosen
    for text in (as_yaml(as_data([("C1", chosen)])), as_json(as_data([("C1", chosen)]))):
        assert read(text).subscriptions == [("C1", chosen)]


def test_filter_stored_before_race_classes_is_read():
    stored = '{"region":"GB","topics":["results"],"courses":[],"not_courses":[],"mentions":[]}'
    assert ChannelFilter.model_validate_json(stored) == based(topics=frozenset({Topic.RESULTS}))


async def stored(channel):
    def read(session):
        return {row.region: from_json(row.filter) for row in subscriptions.of_channel(session, "C1")}

    return await channel.desk.database.read(read)


async def test_field_of_a_newer_version_survives_every_change_of_a_subscription(channel):
    """In a rolling upgrade an older replica rewrites the filter of a newer replica."""
    newer = {"going_of_a_later_version": ["soft"]}
    await channel.stores(BASE)

    def write(session):
        (row,) = subscriptions.of_channel(session, "C1")
        row.filter = to_json(from_json(row.filter) | newer).decode()
        session.add(row)

    await channel.desk.database.write(write)
    await channel.types("GB -course:Bath")
    await channel.ends("GB abandonments")
    await channel.saves(await channel.opens("GB"), {"topics": ["racecards"]})
    assert await stored(channel) == {"GB": (await channel.receives())["GB"].model_dump(mode="json") | newer}
    await channel.saves(await channel.opens("GB"), {"regions": ["IRE"], "not_courses": []})
    assert await stored(channel) == {"IRE": (await channel.receives())["IRE"].model_dump(mode="json") | newer}


@IN_A_CHANNEL
async def test_kind_survives_a_subscribe_of_something_else(channel, field):
    chosen = sample(field)
    await channel.stores(chosen)
    for words in ("GB -course:Goodwood", "AUS racecards"):
        await channel.types(words)
    after = (await channel.receives())[chosen.region]
    condition = BY_FIELD[field]
    assert set(condition.of(after)) >= set(condition.of(chosen))


@IN_A_CHANNEL
async def test_form_of_an_older_version_leaves_the_kind_as_it_was(channel, field):
    chosen = sample(field)
    await channel.stores(chosen)
    view = await channel.opens(chosen.region)
    there = [block for block in view["blocks"] if block.get("block_id") not in OPTIONAL]
    await channel.saves({**view, "blocks": there})
    assert await channel.receives() == {chosen.region: chosen}


@TYPED_KINDS
async def test_unsubscribe_of_the_kind_takes_away_what_it_names_and_nothing_else(channel, field):
    chosen, other = sample(field), based(region="IRE")
    await channel.stores(chosen, other)
    await channel.ends(SAMPLES[field].ends)
    assert await channel.receives() == {"GB": chosen.model_copy(update={field: SAMPLES[field].after}), "IRE": other}


@TYPED_KINDS
@pytest.mark.parametrize("where", ["", "GB ", "all "])
async def test_unsubscribe_of_the_kind_ends_nothing_where_no_subscription_names_it(channel, field, where):
    there = {"GB": BASE, "IRE": based(region="IRE")}
    await channel.stores(*there.values())
    with pytest.raises(CommandError, match=r"so nothing was changed|already left out|names the course"):
        await channel.ends(f"{where}{SAMPLES[field].ends}")
    assert await channel.receives() == there


@pytest.mark.parametrize("field", [condition.field for condition in CONDITIONS if condition.topic])
async def test_choice_ends_with_the_topic_that_it_is_about(channel, field):
    chosen, topic = sample(field), BY_FIELD[field].topic
    await channel.stores(chosen)
    await channel.ends(f"GB {topic}")
    after = {"GB": BASE.model_copy(update={"topics": chosen.topics - {topic}})}
    assert await channel.receives() == after
    # An older version has kept the choice.
    await channel.stores(after["GB"].model_copy(update={field: SAMPLES[field].value}))
    assert await channel.receives() == after
    await channel.types(f"GB {topic}")
    assert (await channel.receives())["GB"].topics == chosen.topics
    assert not BY_FIELD[field].of((await channel.receives())["GB"])


NARROWING_KINDS = pytest.mark.parametrize("field", [one.field for one in CONDITIONS if one.is_narrowing])


@NARROWING_KINDS
async def test_new_events_neither_widen_nor_narrow_the_kind_unasked(channel, field):
    await channel.stores(sample(field))
    with pytest.raises(CommandError, match="All events of a subscription"):
        await channel.types("GB racecards")
    assert await channel.receives() == {"GB": sample(field)}


async def test_lines_of_a_refusal_take_the_present_values_or_all_and_work(channel):
    there = sample("courses").model_copy(update={"classes": SAMPLES["classes"].value})
    for number, races in enumerate((there, BASE)):
        await channel.stores(there)
        with pytest.raises(CommandError, match="All events of a subscription") as caught:
            await channel.types("GB racecards")
        await channel.types(list(caught.value.lines.values())[number].removeprefix("subscribe "))
        assert await channel.receives() == {"GB": races.model_copy(update={"topics": frozenset(Topic)})}


@NARROWING_KINDS
async def test_value_beside_all_values_is_told_and_narrows_nothing(channel, field):
    await channel.stores(BASE)
    told = await channel.types(f"GB {SAMPLES[field].ends}")
    assert told.notes
    assert not told.is_news
    assert await channel.receives() == {"GB": BASE}


async def test_unsubscribe_of_a_region_ends_that_region_alone_and_the_form_takes_mentions_away(channel):
    await channel.stores(sample("mentions"), sample("region"))
    await channel.ends("IRE")
    assert await channel.receives() == {"GB": sample("mentions")}
    await channel.saves(await channel.opens("GB"), {"people": []})
    assert (await channel.receives())["GB"].mentions == ("here",)


def test_filter_without_its_only_course_or_race_class_is_at_an_end():
    for field in ("courses", "classes", "topics"):
        words: Any = {"courses": ["Bath", "Ffos Las"], "classes": ["1", "group 1"], "topics": list(Topic)}[field]
        assert without(sample(field), {field: words}) is None
    assert without(sample("not_courses"), {"not_courses": ["Bath", "Ffos Las"]}) == BASE


# Race classes

QUIET = based(quiet=("22:00-07:00",), zone=("Europe/London",))
OF_CLASS_1 = based(classes=("Class 1", "Group 1"), topics=frozenset(Topic))


def race(kind=EventKind.RESULT_RECEIVED, race_class=None):
    return RacingEvent(key="k", kind=kind, race=Race(region="GB", race_class=race_class))


LOST = {EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED}


@over(
    ("published", "kinds"),
    [
        *((text, {*EventKind}) for text in ("1", "Class 1", "CLASS_1", "Class1", "01", "group 1", None, "", "-")),
        *((text, {EventKind.MEETING_ABANDONED}) for text in ("2", "Class 11", "Group 2")),
        # A class of no known shape hides no abandonment.
        *((text, LOST) for text in ("N/A", "None", "0", "Unclassified", "1.0", "Class 1 (Premier)", "Premier", "G1")),
    ],
)
def test_race_class_is_matched_after_folding_and_an_unknown_class_is_told(published, kinds):
    assert {kind for kind in EventKind if OF_CLASS_1.matches(race(kind, published))} == kinds


@over(
    ("typed", "taken"),
    [
        *(("G1", ["Group 1", "Grade 1", "G1"]), ("group", ["Group 1", "Group 2"])),
        *((grade, ["Grade 1"]) for grade in ("graded", "Grade")),
    ],
)
def test_g1_is_group_1_and_grade_1_and_the_word_alone_takes_every_group_or_grade(typed, taken):
    chosen = based(classes=(typed,))
    published = ["Group 1", "Grade 1", "G1", "Group 2", "Class 1"]
    assert [one for one in published if chosen.matches(race(race_class=one))] == taken


CLASSES = [("group", "Group 1"), ("G1", "Grade 1"), ("graded", "grade 2")]


@over(("wide", "narrow"), [*((based(classes=(one,)), based(classes=(of,))) for one, of in CLASSES), (BASE, QUIET)])
def test_class_that_takes_others_too_and_hours_without_quiet_cover_more(wide, narrow):
    assert wide.covers(narrow)
    assert not narrow.covers(wide)


@over(
    ("typed", "unlisted"),
    [
        ("class 3+", []),
        ("black type", ["Listed", "group", "graded"]),
        ("listed", ["listed"]),
        ("class 9", ["Class 9"]),
        ("class 9+", ["Class 7", "Class 8", "Class 9", "Listed", "group", "graded"]),
    ],
)
def test_best_classes_that_no_list_has_are_refused_alone_and_not_beside_a_listed_class(typed, unlisted):
    kind = BY_FIELD["classes"]
    assert isinstance(kind, RaceClassCondition)
    assert kind.unlisted(kind.values_of(typed), [f"Class {number}" for number in range(1, 7)]) == unlisted


# Codes of racing


@over(
    ("race", "codes"),
    [
        ({"race_type": "Flat", "surface": "Turf"}, "flat"),
        ({"race_type": "Flat", "surface": "All Weather"}, "flat aw"),
        ({"race_type": "Flat", "course": Course(name="Dundalk (AW)"), "surface": "Polytrack"}, "flat aw"),
        ({"race_type": "Handicap Hurdle", "surface": "Turf"}, "jumps"),
        ({"race_type": "N.H. Flat", "surface": "Turf"}, "jumps"),
        ({"race_type": "STEEPLECHASE", "surface": "Grass"}, "jumps"),
        ({"race_type": "Bumper", "surface": "Tapeta"}, "jumps aw"),
        ({"race_type": "Flat"}, "flat aw"),
        ({"race_type": "Harness", "surface": "Sand"}, "flat jumps aw"),
        ({"surface": "Dirt"}, "flat jumps"),
        ({}, "flat jumps aw"),
    ],
)
def test_code_takes_its_races_and_races_that_do_not_say_their_code(race, codes):
    event = abandonment(**race)
    takes = {code: based(codes=(code,)).matches(event) for code in ("flat", "jumps", "aw")}
    assert [code for code, taken in takes.items() if taken] == codes.split()


JUMPS = based(codes=("jumps",), topics=frozenset(Topic))


@over(
    ("chosen", "field", "taken", "left"),
    [(OF_CLASS_1, "race_class", "1", "4"), (JUMPS, "race_type", "Chase", "Flat")],
)
def test_card_comes_for_one_race_and_a_meeting_is_told_abandoned_for_any(chosen, field, taken, left):
    one, other = (Race(region="GB", **{field: value}) for value in (taken, left))
    card = RacingEvent(key="k", kind=EventKind.RACECARD_PUBLISHED, race=Race(region="GB"), races=(other, one))
    assert chosen.matches(card)
    assert not chosen.matches(card.model_copy(update={"races": (other, other)}))
    assert chosen.matches(RacingEvent(key="k", kind=EventKind.MEETING_ABANDONED, race=other))


# Quiet hours


def test_joint_filter_is_quiet_where_both_were():
    assert joint(QUIET, QUIET) == QUIET
    assert joint(QUIET, BASE).quiet == joint(BASE, QUIET).quiet == ()
