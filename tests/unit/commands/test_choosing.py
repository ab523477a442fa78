"""A channel's events after several people subscribed the channel, by typed lines and by the form."""

import pytest
from structlog.testing import capture_logs

from bot.channels.filters import ChannelFilter, without_abandonments
from bot.db.tables import MutedMeetingRow
from bot.errors import CommandError, FieldsWrong
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.racedata import lexicon as rows
from bot.racedata.client.records import KnownCourse
from bot.slack.commands.error_answers import explain
from bot.slack.forms.form_fields import PublishedChoices
from bot.slack.messages.answers.subscription_answers import Unsubscribed, abandonments_buttons, unsubscribed
from tests.unit.commands.town import COURSES, NOW, buttons, option


async def test_naming_a_course_never_widens_what_takes_all_courses(channel):
    await channel.types("GB abandonments")
    before = await channel.receives()
    for words in ("GB course:Bath results", "course:Bath results", "GB course:Bath"):
        with pytest.raises(CommandError, match="receives abandonments of all courses") as caught:
            await channel.types(words)
        assert caught.value.edits == "GB"
        explained = explain(caught.value, "cmd-1")
        assert {label: one["value"] for label, one in buttons(explained).items()} == {"Edit GB": "GB"}
    assert await channel.receives() == before
    await channel.types("GB course:Bath abandonments")
    await channel.types("GB results")
    assert (await channel.receives())["GB"].topics == DEFAULT_TOPICS


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


async def test_region_beside_all_is_said_not_to_be_used(channel):
    stored = await channel.saves(await channel.opens(), {"regions": ["*", "IRE"]})
    assert "All regions take in IRE, so" in stored.notes[-1]
    assert not (await channel.types("all")).notes


async def test_ended_and_changed_subscriptions_are_counted_each_as_what_it_is(channel):
    await channel.types("GB IRE")
    await channel.types("AUS results")
    ended = await channel.ends("results")
    assert (ended.ended, ended.changed) == (1, 2)


async def test_form_keeps_the_courses_that_it_has_no_field_for(channel):
    await channel.types("GB course:Bath course:Goodwood")
    await channel.types("IRE -course:Curragh")
    before = await channel.receives()
    channel.known = PublishedChoices(None, courses=False)
    for region in ("GB", "IRE"):
        view = await channel.opens(region)
        assert "leaves them" in str(view["blocks"])
        await channel.saves(view)
    assert await channel.receives() == before


async def test_form_keeps_the_courses_that_its_menu_can_not_hold(channel):
    many = tuple(Course(course_id=f"x{number}", name=f"Course {number}") for number in range(130))
    chosen = ChannelFilter(region="GB", topics=DEFAULT_TOPICS, not_courses=(*many, Course(name="x" * 151)))
    await channel.stores(chosen)
    view = await channel.opens("GB")
    assert "Course 129" in str(view["blocks"])
    await channel.saves(view)
    assert set((await channel.receives())["GB"].not_courses) == set(chosen.not_courses)


async def test_form_with_cleared_courses_clears_the_stored_courses(channel):
    await channel.types("GB course:Bath")
    await channel.saves(await channel.opens("GB"), {"courses": []})
    assert (await channel.receives())["GB"].courses == ()


@pytest.mark.parametrize("meanwhile", ["types GB racecards", "types GB -course:Bath", "ends GB", "ends GB results"])
async def test_stale_form_is_refused(channel, meanwhile):
    await channel.types("GB")
    view = await channel.opens("GB")
    does, words = meanwhile.split(" ", 1)
    await getattr(channel, does)(words)
    before = await channel.receives()
    for values in ({}, {"regions": ["IRE"]}):
        with pytest.raises(FieldsWrong, match="Somebody has changed or ended") as caught:
            await channel.saves(view, values)
        assert set(caught.value.errors) == {"regions"}
    assert await channel.receives() == before


async def test_form_is_not_stale_because_of_another_subscription(channel):
    await channel.types("GB")
    view = await channel.opens("GB")
    await channel.types("IRE")
    await channel.saves(view, {"topics": ["results"]})
    assert (await channel.receives())["GB"].topics == {Topic.RESULTS}


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
        (["subscribe GB results", "subscribe IRE", "unsubscribe all"], ["Undo GB", "Undo IRE"]),
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
