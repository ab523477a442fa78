"""Every kind of condition, by the table: said, stored, written to a file, merged, edited in the form, taken away."""

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from bot.channels import subscriptions
from bot.channels.conditions.table import BY_FIELD, CONDITIONS
from bot.channels.filters import CHECKED, ChannelFilter, joint, without
from bot.errors import CommandError
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race
from bot.operations.subscription_file import as_data, as_json, as_yaml, read
from bot.slack.messages.answers.change_notice import narrowed_by
from bot.slack.messages.answers.filter_words import describe, in_words
from bot.slack.messages.conditions.table import VIEWS
from tests.unit.commands.test_choosing import BATH, FFOS_LAS, NOW, channel_in

BASE = ChannelFilter(region="GB", topics=frozenset({Topic.RESULTS, Topic.ABANDONMENTS}))


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
"""Blocks that an older version's form may lack."""

YORK = Course(course_id="cr_york", name="York")

SAMPLES = {
    "region": Sample("IRE", "IRE", None, {"region": "IRE"}, {"region": "AUS"}),
    "topics": Sample(frozenset(Topic), "racecards", BASE.topics, {}, None),
    "courses": Sample((BATH, FFOS_LAS), "course:Bath", (FFOS_LAS,), {"course": BATH}, {"course": YORK}),
    "not_courses": Sample((BATH, FFOS_LAS), "-course:Bath", (FFOS_LAS,), {"course": YORK}, {"course": BATH}),
    "classes": Sample(("Class 1", "Group 1"), "class:1", ("Group 1",), {"race_class": "1"}, {"race_class": "4"}),
    "mentions": Sample(("U1", "here"), None, ("here",), {}, None),
    "digest": Sample(("12:00", "18:00"), "digest:12", ("18:00",), {}, None),
    "cards": Sample(("18:00", "19:00"), "cards:18", ("19:00",), {}, None),
    "quiet": Sample(("22:00-07:00", "12:00-13:00"), "quiet:12-13", ("22:00-07:00",), {}, None),
    "zone": Sample(("Europe/London",), "zone", (), {}, None),
    "show": Sample(("meetings",), "show", (), {}, None),
    "ack": Sample(("10m",), "ack", (), {}, None),
    "escalate": Sample(("U1", "C9"), "escalate:U1", ("C9",), {}, None),
}

EVERY_KIND = pytest.mark.parametrize("field", [condition.field for condition in CONDITIONS])
TYPED_KINDS = pytest.mark.parametrize("field", [name for name, one in SAMPLES.items() if one.ends and name != "region"])


@pytest.fixture
async def channel(database):
    return await channel_in(database)


def sample(field):
    needed = frozenset({BY_FIELD[field].topic} - {None})
    return BASE.model_copy(update={"topics": BASE.topics | needed, field: SAMPLES[field].value})


async def stores(channel, *filters):
    def save(session):
        for one in filters:
            subscriptions.save(session, "C1", one, user_id="U1", now=NOW)

    await channel.database.write(save)


def test_every_field_of_a_filter_is_of_one_kind_with_a_view_and_a_sample():
    fields = sorted(set(ChannelFilter.model_fields) - CHECKED)
    assert fields == sorted(condition.field for condition in CONDITIONS)
    assert fields == sorted(view.field for view in VIEWS)
    assert fields == sorted(SAMPLES)


def test_no_two_kinds_share_a_key_of_the_file_or_a_name_to_type():
    assert len({condition.file_key for condition in CONDITIONS}) == len(CONDITIONS)
    names = [view.typed_as for view in VIEWS if view.typed_as]
    assert len(set(names)) == len(names)


def test_narrowing_kind_has_words_for_its_values():
    for view in VIEWS:
        if view.condition.is_narrowing:
            chosen = sample(view.field)
            assert view.plural
            assert view.named(chosen)
            assert view.named(chosen) in in_words(chosen)
            assert view.example(chosen).startswith(view.typed_as)


@EVERY_KIND
def test_kind_changes_the_words_and_the_fingerprint(field):
    chosen = sample(field)
    assert chosen.fingerprint() != BASE.fingerprint()
    assert in_words(chosen) != in_words(BASE)


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
def test_kind_that_leaves_out_other_races_is_covered_by_a_filter_without_it(field):
    """A kind that hides races, and is no exclusion, says so by `is_narrowing`: its last value ends the subscription."""
    hides = SAMPLES[field].left_out is not None
    assert BY_FIELD[field].is_narrowing is (hides and field not in {"region", "not_courses"})


@EVERY_KIND
def test_kind_is_compared_and_merged(field):
    chosen = sample(field)
    assert chosen.covers(chosen)
    assert not (chosen.covers(BASE) and BASE.covers(chosen))
    both = joint(chosen, BASE)
    assert both.covers(chosen)
    assert both.covers(BASE.model_copy(update={"region": chosen.region}))


@EVERY_KIND
def test_kind_survives_storage_and_the_file(field):
    chosen = sample(field)
    assert ChannelFilter.model_validate_json(chosen.model_dump_json()) == chosen
    for text in (as_yaml(as_data([("C1", chosen)])), as_json(as_data([("C1", chosen)]))):
        assert [one.chosen for one in read(text).subscriptions] == [chosen]


def test_filter_stored_before_race_classes_is_read():
    stored = '{"region":"GB","topics":["results"],"courses":[],"not_courses":[],"mentions":[]}'
    assert ChannelFilter.model_validate_json(stored).classes == ()


async def stored(channel):
    def read(session):
        return {row.region: from_json(row.filter) for row in subscriptions.of_channel(session, "C1")}

    return await channel.database.read(read)


async def test_field_of_a_newer_version_survives_every_change_of_a_subscription(channel):
    """In a rolling upgrade an older replica rewrites what a newer replica stored."""
    newer = {"going_of_a_later_version": ["soft"]}
    await stores(channel, BASE)

    def write(session):
        (row,) = subscriptions.of_channel(session, "C1")
        row.filter = to_json(from_json(row.filter) | newer).decode()
        session.add(row)

    await channel.database.write(write)
    await channel.types("GB -course:Bath")
    await channel.ends("GB abandonments")
    await channel.saves(await channel.opens("GB"), {"topics": ["racecards"]})
    assert await stored(channel) == {"GB": (await channel.receives())["GB"].model_dump(mode="json") | newer}
    await channel.saves(await channel.opens("GB"), {"regions": ["IRE"], "not_courses": []})
    assert await stored(channel) == {"IRE": (await channel.receives())["IRE"].model_dump(mode="json") | newer}


@EVERY_KIND
async def test_kind_survives_a_subscribe_of_something_else(channel, field):
    chosen = sample(field)
    await stores(channel, chosen)
    for words in ("GB -course:Goodwood", "AUS racecards"):
        await channel.types(words)
    after = (await channel.receives())[chosen.region]
    condition = BY_FIELD[field]
    assert set(condition.of(after)) >= set(condition.of(chosen))


@EVERY_KIND
async def test_kind_survives_a_round_trip_through_the_form(channel, field):
    chosen = sample(field).model_copy(update={"topics": frozenset(Topic)})
    await stores(channel, chosen)
    await channel.saves(await channel.opens(chosen.region))
    assert await channel.receives() == {chosen.region: chosen}


@EVERY_KIND
async def test_form_of_an_older_version_leaves_the_kind_as_it_was(channel, field):
    chosen = sample(field)
    await stores(channel, chosen)
    view = await channel.opens(chosen.region)
    there = [block for block in view["blocks"] if block.get("block_id") not in OPTIONAL]
    await channel.saves({**view, "blocks": there})
    assert await channel.receives() == {chosen.region: chosen}


@TYPED_KINDS
async def test_unsubscribe_of_the_kind_takes_away_what_it_names_and_nothing_else(channel, field):
    chosen, other = sample(field), BASE.model_copy(update={"region": "IRE"})
    await stores(channel, chosen, other)
    await channel.ends(SAMPLES[field].ends)
    assert await channel.receives() == {
        "GB": chosen.model_copy(update={field: SAMPLES[field].after}),
        "IRE": other,
    }


@TYPED_KINDS
@pytest.mark.parametrize("where", ["", "GB ", "all "])
async def test_unsubscribe_of_the_kind_ends_nothing_where_no_subscription_names_it(channel, field, where):
    there = {"GB": BASE, "IRE": BASE.model_copy(update={"region": "IRE"})}
    await stores(channel, *there.values())
    with pytest.raises(CommandError, match=r"so nothing was changed|already left out|names the course"):
        await channel.ends(f"{where}{SAMPLES[field].ends}")
    assert await channel.receives() == there


@pytest.mark.parametrize("field", [condition.field for condition in CONDITIONS if condition.topic])
async def test_choice_ends_with_the_topic_that_it_is_about(channel, field):
    chosen, topic = sample(field), BY_FIELD[field].topic
    await stores(channel, chosen)
    await channel.ends(f"GB {topic}")
    after = {"GB": BASE.model_copy(update={"topics": chosen.topics - {topic}})}
    assert await channel.receives() == after
    # An older version has kept the choice.
    await stores(channel, after["GB"].model_copy(update={field: SAMPLES[field].value}))
    assert await channel.receives() == after
    await channel.types(f"GB {topic}")
    assert (await channel.receives())["GB"].topics == chosen.topics
    assert not BY_FIELD[field].of((await channel.receives())["GB"])


NARROWING_KINDS = pytest.mark.parametrize("field", [one.field for one in CONDITIONS if one.is_narrowing])


@NARROWING_KINDS
async def test_new_events_neither_widen_nor_narrow_the_kind_unasked(channel, field):
    await stores(channel, sample(field))
    with pytest.raises(CommandError, match="for all that it brings"):
        await channel.types("GB racecards")
    assert await channel.receives() == {"GB": sample(field)}


async def test_line_of_a_refusal_names_a_value_of_every_narrowing_kind_and_works(channel):
    there = sample("courses").model_copy(update={"classes": SAMPLES["classes"].value})
    await stores(channel, there)
    with pytest.raises(CommandError, match="course:Bath class:1 would add") as caught:
        await channel.types("GB racecards")
    line = str(caught.value).partition("/racing subscribe ")[2].partition(" would add")[0]
    await channel.types(line)
    assert await channel.receives() == {"GB": there.model_copy(update={"topics": frozenset(Topic)})}


@NARROWING_KINDS
async def test_value_beside_all_values_is_told_and_narrows_nothing(channel, field):
    await stores(channel, BASE)
    told = await channel.types(f"GB {SAMPLES[field].ends}")
    assert any("and still does" in note for note in told.notes)
    assert await channel.receives() == {"GB": BASE}


async def test_unsubscribe_of_a_region_ends_that_region_alone(channel):
    await stores(channel, BASE, sample("region"))
    await channel.ends("IRE")
    assert await channel.receives() == {"GB": BASE}


async def test_mentions_are_taken_away_in_the_form_alone(channel):
    await stores(channel, sample("mentions"))
    await channel.saves(await channel.opens("GB"), {"people": []})
    assert (await channel.receives())["GB"].mentions == ("here",)


def test_filter_without_its_only_course_or_race_class_is_at_an_end():
    for field in ("courses", "classes", "topics"):
        words: Any = {"courses": ["Bath", "Ffos Las"], "classes": ["1", "group 1"], "topics": list(Topic)}[field]
        assert without(sample(field), {field: words}) is None
    assert without(sample("not_courses"), {"not_courses": ["Bath", "Ffos Las"]}) == BASE


# Race classes


def race(kind=EventKind.RESULT_RECEIVED, race_class=None, races=()):
    found = Race(region="GB", course=Course(name="Ascot"), race_class=race_class)
    return RacingEvent(key="k", kind=kind, race=found, races=tuple(Race(race_class=one) for one in races))


@pytest.mark.parametrize(
    ("published", "is_taken"),
    [
        *((text, True) for text in ("1", "Class 1", "CLASS_1", "Class1", "01", "group 1", None, "", "-")),
        *((text, False) for text in ("2", "Class 11", "Group 2")),
    ],
)
@pytest.mark.parametrize("kind", list(EventKind))
def test_race_class_is_matched_after_folding_and_an_unknown_class_is_told(kind, published, is_taken):
    chosen = BASE.model_copy(update={"classes": ("Class 1", "Group 1"), "topics": frozenset(Topic)})
    assert chosen.matches(race(kind, published)) is (is_taken or kind is EventKind.MEETING_ABANDONED)


@pytest.mark.parametrize("published", ["N/A", "None", "0", "Unclassified", "1.0", "Class 1 (Premier)", "G1", "Premier"])
def test_class_of_no_known_shape_hides_no_abandonment(published):
    chosen = BASE.model_copy(update={"classes": ("Class 1", "Group 1"), "topics": frozenset(Topic)})
    assert chosen.matches(race(EventKind.RACE_ABANDONED, published))


def test_card_is_taken_for_one_of_its_races():
    chosen = BASE.model_copy(update={"classes": ("Class 1",), "topics": frozenset(Topic)})
    assert chosen.matches(race(EventKind.RACECARD_PUBLISHED, races=("4", "1")))
    assert not chosen.matches(race(EventKind.RACECARD_PUBLISHED, races=("4", "5")))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("GB class:1", "class 1 races only"),
        ("GB class 1 only", "class 1 races only"),
        ("GB and class:1 class:2", "class 1 and class 2 races only"),
        ("GB class:1,2", "class 1 and class 2 races only"),
        ('class:"Group 1" GB', "Group 1 races only"),
        ("Group 1 from GB", "Group 1 races only"),
        ("GB Class:'Class 1' class:1", "class 1 races only"),
    ],
)
async def test_race_classes_are_typed_in_any_order(channel, words, said):
    await channel.types(words)
    assert describe((await channel.receives())["GB"]) == f"results and abandonments from GB, {said}"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("GB class:", "Nothing follows"),
        ("GB class:--", "is no race class"),
        (f"GB class:{'x' * 41}", "is no race class"),
        ("GB except class:4", "can't be left out"),
        ("GB no racecards class 4", "can't be left out"),
    ],
)
async def test_words_that_are_no_race_class_are_refused(channel, words, told):
    with pytest.raises(CommandError, match=told):
        await channel.types(words)
    assert await channel.receives() == {}


async def test_race_class_without_a_region_asks_from_where_and_keeps_the_class(channel):
    with pytest.raises(CommandError) as caught:
        await channel.types("class:1")
    assert caught.value.lines["GB"] == "subscribe GB results abandonments class:1"
    await channel.types(caught.value.lines["GB"].removeprefix("subscribe "))
    assert (await channel.receives())["GB"].classes == ("Class 1",)


async def test_readings_of_a_line_keep_its_race_class(channel):
    with pytest.raises(CommandError) as caught:
        await channel.types("GB results and IRE racecards class:1")
    assert caught.value.lines
    assert all(line.endswith("class:1") for line in caught.value.lines.values())


async def test_race_class_is_added_to_race_classes_and_a_bare_region_takes_all(channel):
    await channel.types("GB class:1")
    await channel.types("GB class:2")
    assert (await channel.receives())["GB"].classes == ("Class 1", "Class 2")
    told = await channel.types("GB")
    assert told.notes == ("It takes all race classes from GB now, not class 1 and class 2 alone.",)
    assert (await channel.receives())["GB"] == BASE


async def test_race_class_narrows_no_wider_subscription_and_the_answer_says_so(channel):
    await channel.types("GB")
    told = await channel.types("GB class:1")
    assert told.notes == (
        "It received all race classes from GB, and still does: Edit in /racing list leaves some out.",
    )
    assert (await channel.receives())["GB"] == BASE


@pytest.mark.parametrize(
    ("first", "then"), [("GB results class:1", "GB racecards"), ("GB results", "GB racecards class:1")]
)
async def test_new_events_of_other_race_classes_are_refused(channel, first, then):
    await channel.types(first)
    before = await channel.receives()
    with pytest.raises(CommandError, match="has the same race classes for all"):
        await channel.types(then)
    assert await channel.receives() == before


@pytest.mark.parametrize("words", ["results class:1", "course:Bath class:1"])
async def test_unsubscribe_of_two_kinds_asks_which(channel, words):
    await stores(channel, BASE.model_copy(update={"courses": (BATH, FFOS_LAS), "classes": ("Class 1", "Class 2")}))
    before = await channel.receives()
    with pytest.raises(CommandError, match="What is to end") as caught:
        await channel.ends(words)
    assert "unsubscribe class:1" in caught.value.lines.values()
    assert await channel.receives() == before


async def test_only_race_class_ends_its_subscription_alone(channel):
    await channel.types("GB class:1")
    await channel.types("IRE")
    await channel.ends("class:1")
    assert set(await channel.receives()) == {"IRE"}


async def test_form_takes_race_classes_and_says_what_is_none(channel):
    await channel.saves(await channel.opens(), {"regions": ["GB"], "classes": "1, group 1; Class 1"})
    assert (await channel.receives())["GB"].classes == ("Class 1", "group 1")
    with pytest.raises(CommandError, match="is no race class"):
        await channel.saves(await channel.opens("GB"), {"classes": "--"})


async def test_end_of_acknowledgement_ends_with_everybody_who_is_told(channel):
    await channel.types("GB ack:10m escalate:U1")
    await channel.ends("ack")
    assert describe((await channel.receives())["GB"]) == "results and abandonments from GB"
    await channel.types("GB escalate:U1")
    await channel.ends("ack")
    assert describe((await channel.receives())["GB"]) == "results and abandonments from GB"


# Quiet hours and their zone


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("GB quiet:22:00-07:00", "quiet hours from 22:00 to 07:00 UTC"),
        ("quiet:22-7 GB zone:London", "quiet hours from 22:00 to 07:00 Europe/London"),
        ("GB quiet: 22.30–7.05 zone:'new york'", "quiet hours from 22:30 to 07:05 America/New_York"),  # noqa: RUF001
        ("GB quiet:22:00-24:00,12-13", "quiet hours from 22:00 to 00:00 and 12:00 to 13:00 UTC"),
        ("GB digest:18 zone:London", "results together at 18:00 Europe/London"),
        ("GB digest:6pm quiet:10pm-7am", "results together at 18:00 UTC, quiet hours from 22:00 to 07:00 UTC"),
        ("GB quiet 10pm to 7am", "quiet hours from 22:00 to 07:00 UTC"),
        ("GB quiet hours from 10 pm until 7.30 am", "quiet hours from 22:00 to 07:30 UTC"),
        ("GB Quiet 22:00-07:00", "quiet hours from 22:00 to 07:00 UTC"),
        ("digest at 6pm for GB", "results together at 18:00 UTC"),
        ("GB digest 6pm zone London", "results together at 18:00 Europe/London"),
        ("GB digest 6pm london", "results together at 18:00 Europe/London"),
        ("digest:6pm new york time GB", "results together at 18:00 America/New_York"),
        ("GB quiet 10pm to 7am in Paris", "quiet hours from 22:00 to 07:00 Europe/Paris"),
        ("GB ack 10 escalate <@U1|bob>", "abandonments to be acknowledged within 10 minutes, else telling U1"),
        ("GB escalate <#C9|gb-racing> ack 10", "abandonments to be acknowledged within 10 minutes, else telling C9"),
        ("GB digest: 6.30 p.m.", "results together at 18:30 UTC"),
        ("GB ack:1 hour", "abandonments to be acknowledged within 60 minutes"),
        ("GB ack:10 minutes", "abandonments to be acknowledged within 10 minutes"),
        ("GB zone:EUROPE/paris", "the clock of Europe/Paris"),
    ],
)
async def test_quiet_hours_are_typed_in_any_order(channel, words, said):
    await channel.types(words)
    assert describe((await channel.receives())["GB"]) == f"results and abandonments from GB, {said}"


async def test_hour_for_cards_asks_for_cards(channel):
    await channel.types("GB results digest:6:30,18.15")
    await channel.types("GB cards:19 zone:London")
    assert describe((await channel.receives())["GB"]) == (
        "results and racecards from GB, results together at 06:30 and 18:15 Europe/London, racecards together on the "
        "eve at 19:00 Europe/London"
    )
    await channel.ends("cards:19:00")
    await channel.ends("GB digest")
    assert describe((await channel.receives())["GB"]) == "results and racecards from GB, the clock of Europe/London"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("GB digest:noon", "is no time of day: write 18:00"),
        ("GB cards:24:30", "is no time of day: write 19:00"),
        ("GB digest:13pm", "is no time of day: write 18:00"),
        ("GB zone:GMT+2", "is an offset, and knows no summer time: write a city's zone, Europe/London for example"),
        ("GB zone:UTC-5", "is an offset"),
        ("GB digest", "digest: needs a value: write digest:18:00"),
        ("GB zone UTC+1", "is an offset"),
        ("GB digest 18:00 zone UTC+1", "is an offset"),
        ("GB zone Londn", "is no time zone: write Europe/London"),
        ("GB ack 10 escalate @bob", "@bob is no id"),
        ("GB escalate #racing-admins", "#racing-admins is no id"),
        ("GB escalate", "escalate: needs a value"),
        ("GB quiet:", "Nothing follows .quiet:.. Write quiet:22:00-07:00"),
        ("GB quiet", "quiet: needs a value: write quiet:22:00-07:00"),
        ("GB quiet:25-7", "are no quiet hours"),
        ("GB quiet:22-22", "are no quiet hours"),
        ("GB quiet:night", "are no quiet hours"),
        ("GB zone:Europe/Londn", "is no time zone: write Europe/London"),
        ("GB zone:Berln", "is no time zone: write Europe/Berlin"),
        ("GB zone:../../etc/passwd", "is no time zone"),
        ("GB no quiet:22-7", "can't be left out"),
    ],
)
async def test_words_that_are_no_hours_and_no_zone_are_refused(channel, words, told):
    with pytest.raises(CommandError, match=told):
        await channel.types(words)
    assert await channel.receives() == {}


async def test_hours_alone_add_no_topic_and_newly_typed_hours_replace_the_hours_there(channel):
    there = BASE.model_copy(update={"topics": frozenset({Topic.RESULTS}), "courses": (BATH,)})
    await stores(channel, there)
    for hours in ("22:00-07:00", "23:00-06:00"):
        await channel.types(f"GB quiet:{hours}")
        assert (await channel.receives())["GB"] == there.model_copy(update={"quiet": (hours,)})


async def test_hour_for_cards_is_typed_with_or_without_a_colon(channel):
    await channel.types("GB cards at 7pm")
    typed = (await channel.receives())["GB"]
    await channel.ends("all")
    await channel.types("GB cards:19:00")
    assert (await channel.receives())["GB"] == typed
    assert typed.cards == ("19:00",)


async def test_name_alone_takes_all_quiet_hours_away(channel):
    await stores(channel, sample("quiet"))
    await channel.ends("quiet")
    assert await channel.receives() == {"GB": BASE}


async def test_form_takes_hours_and_a_zone_and_says_what_is_none(channel):
    filled = {"regions": ["GB"], "quiet": "22-7, 12:00-13:00", "zone": "london"}
    await channel.saves(await channel.opens(), filled)
    stored = (await channel.receives())["GB"]
    assert (stored.quiet, stored.zone) == (("22:00-07:00", "12:00-13:00"), ("Europe/London",))
    for wrong in ({"quiet": "late"}, {"zone": "Londn"}):
        with pytest.raises(CommandError, match=r"is no time zone|are no quiet hours"):
            await channel.saves(await channel.opens("GB"), wrong)
    await channel.saves(await channel.opens("GB"), {"quiet": "", "zone": ""})
    assert await channel.receives() == {"GB": BASE}


def test_channel_reads_of_new_quiet_hours_and_of_another_clock():
    quiet = BASE.model_copy(update={"quiet": ("22:00-07:00",)})
    in_london = quiet.model_copy(update={"zone": ("Europe/London",)})
    assert BASE.covers(quiet)
    assert not quiet.covers(BASE)
    told = narrowed_by("U1", [BASE], [quiet]).text
    assert "set quiet hours from 22:00 to 07:00 UTC for what comes from GB here" in told
    assert "set the clock of Europe/London for what comes from GB here" in narrowed_by("U1", [quiet], [in_london]).text


def test_joint_filter_is_quiet_where_both_were():
    quiet = BASE.model_copy(update={"quiet": ("22:00-07:00",), "zone": ("Europe/London",)})
    assert joint(quiet, quiet) == quiet
    assert joint(quiet, BASE).quiet == joint(BASE, quiet).quiet == ()
