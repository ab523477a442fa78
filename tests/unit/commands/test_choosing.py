"""A channel's events after several people subscribed the channel, by typed lines and by the form; the form itself."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter, without_abandonments
from bot.db.tables import MutedMeetingRow
from bot.errors import CommandError, FieldsWrong
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.racedata import lexicon as rows
from bot.racedata.client.records import KnownCourse
from bot.racedata.lexicon import Lexicon
from bot.slack.messages.answers.subscription_answers import Unsubscribed, abandonments_buttons, unsubscribed
from bot.slack.subscribe_form import FormOf, read_form, subscribe_form
from sandbox.slack import modals
from sandbox.slack.block_rules import view_problems
from tests.logged import capture_logs
from tests.unit.commands.town import COURSES, NOW, buttons, option


async def test_course_whose_region_is_not_known_goes_to_all_regions(channel):
    nowhere = KnownCourse(course_id="cr_99", name="Nowhere")
    unlisted = KnownCourse(course_id="cr_98", name="Unlisted", region="XX")
    courses = [*COURSES, nowhere, unlisted]
    await channel.desk.database.write(lambda session: rows.COURSES.put(session, courses, NOW))
    await channel.types("course:Nowhere course:Bath")
    await channel.types("course:Unlisted")
    (everywhere,) = (await channel.receives()).values()
    assert (everywhere.region, [one.name for one in everywhere.courses]) == ("*", ["Nowhere", "Bath", "Unlisted"])


@pytest.mark.parametrize(
    ("values", "name", "told"),
    [
        ({"courses": ["cr_6"], "not_courses": ["cr_6"]}, "not_courses", "left out too"),
        ({"regions": ["GB", "IRE"], "courses": ["cr_3"]}, "courses", "Bath is not in IRE"),
        ({"regions": ["IRE"], "courses": ["cr_3"]}, "courses", "Bath is a course of GB"),
        ({"regions": ["GB"], "not_courses": ["cr_5"]}, "not_courses", "Curragh is a course of IRE"),
    ],
)
async def test_filter_that_can_never_match_is_refused_in_the_form(channel, values, name, told):
    chosen = {"regions": ["GB"]} | {
        field: [option(one) for one in some] if "courses" in field else some for field, some in values.items()
    }
    with pytest.raises(FieldsWrong) as caught:
        await channel.saves(await channel.opens(), chosen)
    assert told in caught.value.errors[name]


@pytest.mark.parametrize("field", ["courses", "not_courses"])
async def test_courses_of_each_region_go_into_that_ones_filter(channel, field):
    word = "course:" if field == "courses" else "-course:"
    await channel.types(f"GB IRE {word}Bath {word}Curragh")
    receives = await channel.receives()
    taken = {region: [one.name for one in getattr(chosen, field)] for region, chosen in receives.items()}
    assert taken == {"GB": ["Bath"], "IRE": ["Curragh"]}
    await channel.saves(await channel.opens("GB"))
    assert await channel.receives() == receives


async def test_ended_and_changed_subscriptions_are_counted_and_a_region_beside_all_is_said_not_to_be_used(channel):
    stored = await channel.saves(await channel.opens(), {"regions": ["*", "IRE"]})
    assert "All regions take in IRE, so" in stored.notes[-1]
    assert not (await channel.types("all")).notes
    await channel.ends("all")
    await channel.types("GB IRE")
    await channel.types("AUS results")
    ended = await channel.ends("results")
    assert (ended.ended, ended.changed) == (1, 2)


async def test_form_of_a_new_subscription_leaves_out_no_race_unsaid(channel):
    await channel.types("course:Bath jumps")
    before = await channel.receives()
    with pytest.raises(CommandError, match=r"York, all codes of racing\. Edit in /racing list changes"):
        await channel.saves(await channel.opens(), {"regions": ["GB"], "courses": [option("cr_7")]})
    assert await channel.receives() == before
    await channel.saves(await channel.opens(), {"regions": ["GB"]})
    assert (await channel.receives())["GB"].codes == ()


async def test_form_keeps_the_courses_that_it_has_no_field_for(channel):
    await channel.types("GB course:Bath course:Goodwood")
    await channel.types("IRE -course:Curragh")
    before = await channel.receives()
    listed, channel.known = channel.known, Lexicon()
    for region in ("GB", "IRE"):
        view = await channel.opens(region)
        assert "leaves them" in str(view["blocks"])
        await channel.saves(view)
    assert await channel.receives() == before
    # With a list, an emptied field of the form ends the courses.
    channel.known = listed
    await channel.saves(await channel.opens("GB"), {"courses": []})
    assert (await channel.receives())["GB"].courses == ()


async def test_form_keeps_the_courses_that_its_menu_can_not_hold(channel):
    many = tuple(Course(course_id=f"x{number}", name=f"Course {number}") for number in range(130))
    chosen = ChannelFilter(region="GB", topics=DEFAULT_TOPICS, not_courses=(*many, Course(name="x" * 151)))
    await channel.stores(chosen)
    view = await channel.opens("GB")
    assert "Course 129" in str(view["blocks"])
    await channel.saves(view)
    assert set((await channel.receives())["GB"].not_courses) == set(chosen.not_courses)


@pytest.mark.parametrize("meanwhile", ["types GB racecards", "types GB -course:Bath", "ends GB", "ends GB results"])
async def test_form_is_stale_after_a_change_of_its_own_subscription_alone(channel, meanwhile):
    await channel.types("GB")
    view = await channel.opens("GB")
    await channel.types("IRE")
    await channel.saves(view, {"topics": ["results", "abandonments"]})
    view = await channel.opens("GB")
    does, words = meanwhile.split(" ", 1)
    await getattr(channel, does)(words)
    before = await channel.receives()
    for values in ({}, {"regions": ["IRE"]}):
        with pytest.raises(FieldsWrong, match="Somebody has changed or ended") as caught:
            await channel.saves(view, values)
        assert set(caught.value.errors) == {"regions"}
    assert await channel.receives() == before


@pytest.mark.parametrize(
    ("lines", "lacking"),
    [
        (["subscribe GB results"], ["GB"]),
        (["subscribe GB", "unsubscribe GB abandonments"], ["GB"]),
        (["subscribe GB", "unsubscribe GB"], ["GB"]),
        (["subscribe GB IRE", "don't send me anything from IRE"], ["IRE"]),
        (["subscribe GB abandonments York", "don't send me abandonments"], ["GB"]),
        (["subscribe all", "subscribe GB", "unsubscribe GB"], []),
        (["subscribe all abandonments", "subscribe GB results"], []),
        (["subscribe GB results York"], ["GB"]),
        (["subscribe GB"], []),
    ],
)
async def test_abandonments_that_will_not_come_are_said_and_a_button_adds_them(town, lines, lacking):
    here = await town.here(*lines[:-1])
    done = await town.types(here, lines[-1])
    every = await town.filters(here)
    without = done.lacking if isinstance(done, Unsubscribed) else without_abandonments(done.filters, every)
    assert [one.region for one in without] == lacking
    for button in abandonments_buttons(without):
        assert button["text"]["text"] == "Add abandonments"
        await town.types(here, button["value"])
    assert all("abandonments" in words for words in await town.receives(here) if lacking)


@pytest.mark.parametrize(
    ("lines", "labels"),
    [
        (["subscribe GB IRE results abandonments racecards", "turn everything off"], ["Undo"]),
        (["subscribe GB results", "subscribe IRE", "unsubscribe all"], ["Undo: GB", "Undo: IRE"]),
        (["subscribe GB results", "subscribe all", "unsubscribe all"], ["Undo: all regions", "Undo: GB"]),
        (["subscribe GB", "subscribe all", "unsubscribe all"], ["Undo: all regions", "Undo: GB"]),
        (["subscribe all course:York class 1 quiet 22-7 zone:UTC ack:5m escalate:U2", "unsubscribe all"], ["Undo"]),
        (["subscribe GB racecards cards:19:00", "unsubscribe GB racecards"], ["Undo"]),
        (["subscribe GB results racecards cards:19:00", "unsubscribe GB racecards"], ["Undo"]),
        (["subscribe GB York Bath digest:18:00 show:meetings", "remove Bath"], ["Undo"]),
        (["subscribe GB -York", "unsubscribe -York"], ["Undo"]),
        (["subscribe GB ack:5m escalate:U2", "unsubscribe ack"], ["Undo"]),
    ],
)
async def test_undo_brings_back_what_an_end_took(town, lines, labels):
    here = await town.here(*lines[:-1])
    before = await town.filters(here)
    there = buttons(unsubscribed(await town.types(here, lines[-1])))
    assert await town.filters(here) != before
    assert [label for label in there if label != "Add abandonments"] == labels
    for label in labels:
        await town.types(here, there[label]["value"])
    assert await town.filters(here) == before


def test_undo_says_that_mentions_are_not_brought_back():
    was = ChannelFilter(region="GB", topics=DEFAULT_TOPICS, mentions=("U1",), digest=("18:00",))
    done = unsubscribed(Unsubscribed(1, 0, [], was=[was]))
    assert done.text.endswith("Undo brings back all but the mentions.")
    # Hours without a zone were in UTC.
    assert buttons(done)["Undo"]["value"] == "subscribe GB results abandonments digest:18:00 zone:UTC"


async def test_mute_that_cant_be_read_hinders_no_other_mute(town):
    here = await town.here()
    spoilt = MutedMeetingRow(channel_id=here.channel_id, meeting="{", muted_by="U1", muted_at=NOW)
    await town.desk.database.write(lambda session: session.add(spoilt))
    with capture_logs():
        muted, *_ = await town.types(here, "mute York")
    assert muted.course.name == "York"


# The form of subscriptions: within Slack's limits whatever the service publishes, and read back as filled in


NEW = FormOf(channel_id="C1")
KNOWN = Lexicon(("GB", "IRE"), COURSES)

NAMES = st.text(max_size=90) | st.sampled_from(["<!channel>", "&" * 400, "🐎" * 200, "GB", ALL_REGIONS, " ", "\u202e"])
REGIONS = st.lists(NAMES, unique=True, max_size=5)
SOME_COURSES = st.lists(st.builds(Course, course_id=st.none() | NAMES, name=st.none() | NAMES), max_size=5, unique=True)
MENTIONS = st.lists(st.sampled_from(["U1", "W2", "S3", HERE]), unique=True).map(tuple)
FILTERS = st.builds(
    ChannelFilter,
    region=NAMES,
    topics=st.frozensets(st.sampled_from(Topic)),
    courses=SOME_COURSES.map(tuple),
    not_courses=SOME_COURSES.map(tuple),
    mentions=MENTIONS,
)


def submitted(view, values):
    """The read values of a view filled in by a person."""
    return read_form({**view, "state": {"values": modals.filled_in(view, values)}})


CODES = tuple(f"R{number}" for number in range(1_500))
PEOPLE = tuple(f"U{number}" for number in range(40))
LONG_FILTER = ChannelFilter(
    region="GB",
    topics=frozenset(Topic),
    courses=tuple(Course(course_id=f"cr_{number}", name="&" * 10_000) for number in range(150)),
    mentions=(*PEOPLE, HERE, "S7"),
    escalate=(*PEOPLE, "C1", "S7"),
)


@given(st.none() | FILTERS, st.builds(Lexicon, REGIONS, st.sampled_from([(), COURSES])), st.just(()))
@example(None, Lexicon(CODES, COURSES), ())
@example(LONG_FILTER, Lexicon(CODES, COURSES), ())
@example(LONG_FILTER, Lexicon(), CODES[:120])
def test_slack_takes_the_form_with_any_contents(chosen, known, regions):
    view = subscribe_form(FormOf(channel_id="C1", editing=chosen.region if chosen else None), chosen, known, regions)
    assert view_problems(view, "modal") == []
    assert len(json.dumps(view)) < 250_000
    for element in (block.get("element", {}) for block in view["blocks"]):
        assert len(element.get("initial_value", "")) <= element.get("max_length", 3_000)
        initial = [element[name] for name in element if name.startswith("initial_") and name != "initial_value"]
        assert all(len(chosen) <= element.get("max_selected_items", 100) for chosen in initial)


def test_form_is_read_as_it_was_filled_in():
    view = subscribe_form(NEW, None, KNOWN)
    values = {"regions": ["GB", "IRE"], "not_courses": [option("cr_2")], "people": ["U1"], "groups": [option(HERE)]}
    form, found = submitted(view, values)
    assert form == NEW
    assert (found["region"], found["topics"]) == (("GB", "IRE"), DEFAULT_TOPICS)
    assert (found["courses"], found["not_courses"], found["mentions"]) == ((), ("cr_2",), ("U1", HERE))


@given(st.sampled_from(["GB", "IRE", ALL_REGIONS, "GONE"]), st.frozensets(st.sampled_from(Topic), min_size=1), MENTIONS)
def test_edited_subscription_without_a_change_stays(region, topics, mentions):
    ascot = Course(course_id="cr_1", name="Ascot")
    chosen = ChannelFilter(region=region, topics=topics, courses=(ascot,), mentions=mentions)
    form, found = submitted(subscribe_form(FormOf(channel_id="C1", editing=region), chosen, KNOWN), {})
    assert form.editing == region
    assert (found["region"], found["topics"], found["courses"]) == ((region,), topics, ("cr_1",))
    assert set(found["mentions"]) == set(mentions)


@pytest.mark.parametrize(
    ("filled", "stored", "wrong"),
    [
        ({"classes": "1, group 1; Class 1"}, {"classes": ("Class 1", "group 1")}, {"classes": "--"}),
        ({"classes": "Group 1, 2, 4-5"}, {"classes": ("Group 1", "Group 2", "Group 4", "Group 5")}, {"classes": "--"}),
        (
            {"quiet": "22-7, 12:00-13:00"},
            {"quiet": ("22:00-07:00", "12:00-13:00"), "zone": ("Europe/Paris",)},
            {"quiet": "late"},
        ),
        ({"zone": "london"}, {"zone": ("Europe/London",)}, {"zone": "Londn"}),
    ],
)
async def test_form_takes_refuses_and_clears_typed_values(channel, filled, stored, wrong):
    chosen = ChannelFilter(region="GB", topics=DEFAULT_TOPICS)
    await channel.saves(await channel.opens(), {"regions": ["GB"], **filled})
    assert await channel.receives() == {"GB": chosen.model_copy(update=stored)}
    with pytest.raises(CommandError, match=r"is no time zone|are no quiet hours|is no race class"):
        await channel.saves(await channel.opens("GB"), wrong)
    await channel.saves(await channel.opens("GB"), dict.fromkeys(stored, ""))
    assert await channel.receives() == {"GB": chosen}


@given(st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=3))
def test_form_without_a_list_takes_typed_regions_and_reads_values_of_any_shape(values):
    view = subscribe_form(NEW, None, Lexicon())
    assert "have not been read yet" in view["blocks"][0]["text"]["text"]
    for typed, regions in (("GB, IRE", ("GB", "IRE")), ("ALL", (ALL_REGIONS,)), ("GB GB", ("GB",))):
        assert submitted(view, {"regions": typed})[1]["region"] == regions
    _, found = read_form(
        {"private_metadata": NEW.model_dump_json(), "state": {"values": {"regions": {"regions": values}}}}
    )
    assert not found["topics"]
