"""What a channel receives after several people subscribed it, typed and by the form; with a real database."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.channels import subscriptions
from bot.channels.filters import ChannelFilter
from bot.db.engine import Database
from bot.errors import CommandError, FieldsWrong, SlackUnreached
from bot.events.event import DEFAULT_TOPICS, EventKind, RacingEvent, Topic
from bot.events.races import Course, Race
from bot.racedata import reference_store as rows
from bot.racedata.reference_book import ReferenceBook
from bot.racedata.reference_store import KnownCourse
from bot.slack.commands import subscribe, unsubscribe
from bot.slack.commands.error_answers import explain, retyped
from bot.slack.commands.form_submission import submit
from bot.slack.commands.invocation import Invocation
from bot.slack.forms.subscribe_form import FormOf, read_form, subscribe_form
from bot.slack.messages.conditions.condition_view import PublishedChoices
from sandbox.slack import modals

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
COURSES = [
    KnownCourse(course_id="cr_1", name="Ascot", region="GB"),
    KnownCourse(course_id="cr_2", name="Ascot", region="AUS"),
    KnownCourse(course_id="cr_3", name="Bath", region="GB"),
    KnownCourse(course_id="cr_4", name="Ffos Las", region="GB"),
    KnownCourse(course_id="cr_5", name="Curragh", region="IRE"),
    KnownCourse(course_id="cr_6", name="Goodwood", region="GB"),
]
BATH, FFOS_LAS = (Course(course_id=one.course_id, name=one.name) for one in COURSES[2:4])


@dataclass
class Channel:
    """A channel whose people type, and fill in forms; what it receives is in the database."""

    database: Database
    desk: Any
    known: PublishedChoices = field(default_factory=lambda: PublishedChoices(("AUS", "GB", "IRE"), courses=True))

    async def types(self, words):
        return await subscribe.commit(self.desk, self._invocation(words))

    async def ends(self, words):
        return await unsubscribe.commit(self.desk, self._invocation(words))

    async def refuses(self, words, command="subscribe"):
        """What is told of words, and what each button would type."""
        do = self.types if command == "subscribe" else self.ends
        with pytest.raises(CommandError) as caught:
            await do(words)
        lines = [retyped(f"{command} {words}", right) or "" for right in caught.value.offers.values()]
        return str(caught.value), [line.removeprefix(f"{command} ") for line in lines]

    async def receives(self):
        read = await self.database.read(lambda session: subscriptions.of_channel(session, "C1"))
        return {row.region: subscriptions.read_filter(row) for row in read}

    async def opens(self, region=None):
        """The form of a subscription, or of a new one."""
        chosen = (await self.receives())[region] if region else None
        was = chosen.fingerprint() if chosen else None
        return subscribe_form(FormOf(channel_id="C1", editing=region, was=was), chosen, self.known)

    async def saves(self, view, values=None):
        form, submitted = read_form({**view, "state": {"values": modals.filled_in(view, values or {})}})
        return await submit(self.desk, self._invocation(""), form, submitted)

    @staticmethod
    def _invocation(words):
        return Invocation(text=words, channel_id="C1", user_id="U1", reference="cmd-1")


async def allow(_user_id, _channel_id):
    return None


async def unreached(method, *_args, **_more):
    """Whether the bot is in the channel is none of these tests' concern."""
    raise SlackUnreached(method, "no_connection")


async def channel_in(database):
    """The channel, with the lists of regions and courses as they are kept."""
    nobody: Any = None
    book = ReferenceBook(database, nobody, lambda: NOW)
    # The lists are as they are kept: nothing is to be asked for.
    book._refreshed_at = NOW
    await database.write(lambda session: rows.put_regions(session, ["AUS", "FR", "GB", "IRE"], NOW))
    await database.write(lambda session: rows.put_courses(session, COURSES, NOW))
    desk = SimpleNamespace(
        settings=SimpleNamespace(announce_changes=True),
        database=database,
        reference=book,
        people=SimpleNamespace(check_may_change=allow),
        slack=SimpleNamespace(call=unreached),
        clock=lambda: NOW,
        wake=asyncio.Event(),
    )
    return Channel(database, desk)


@pytest.fixture
async def channel(database):
    return await channel_in(database)


def names(courses):
    return [one.name for one in courses]


def lost_at(course):
    return RacingEvent(key="k", kind=EventKind.MEETING_ABANDONED, race=Race(region="GB", course=course))


async def test_naming_a_course_lifts_its_exclusion(channel):
    await channel.types("GB -course:Bath -course:Goodwood")
    added = await channel.types("GB course:Bath")
    assert added.notes == ("No longer left out from GB: Bath.",)
    chosen = (await channel.receives())["GB"]
    assert (chosen.courses, names(chosen.not_courses)) == ((), ["Goodwood"])
    assert chosen.matches(lost_at(BATH))


async def test_leaving_a_course_out_ends_its_inclusion_but_not_the_last_one(channel):
    await channel.types("GB course:Bath course:Goodwood")
    await channel.types("GB -course:Bath")
    assert names((await channel.receives())["GB"].courses) == ["Goodwood"]
    told, _ = await channel.refuses("GB -course:Goodwood")
    assert "nothing would be left" in told
    assert names((await channel.receives())["GB"].courses) == ["Goodwood"]


async def test_kinds_are_added_for_the_courses_that_there_are_only_where_one_is_named(channel):
    await channel.types('GB results course:"Ffos Las"')
    with pytest.raises(CommandError, match="this channel receives results of Ffos Las alone") as caught:
        await channel.types("GB IRE racecards")
    assert (caught.value.edits, set(await channel.receives())) == ("GB", {"GB"})
    right = 'GB racecards course:"Ffos Las"'
    assert "racecards of all courses can't be added, so nothing was changed." in str(caught.value)
    assert f"/racing subscribe {right} would add racecards of Ffos Las." in str(caught.value)
    await channel.types(right)
    added = await channel.types("GB racecards")
    assert added.notes == ("Its courses from GB stay as they were: Edit in /racing list changes them.",)
    chosen = (await channel.receives())["GB"]
    assert (chosen.topics, names(chosen.courses)) == ({Topic.RESULTS, Topic.RACECARDS}, ["Ffos Las"])


async def test_naming_a_course_never_widens_what_takes_all_courses(channel):
    await channel.types("GB abandonments")
    before = await channel.receives()
    for words in ("GB course:Bath results", "course:Bath results", "GB course:Bath"):
        with pytest.raises(CommandError, match="receives abandonments of all courses") as caught:
            await channel.types(words)
        assert caught.value.edits == "GB"
        assert "results of Bath alone can't be added" in str(caught.value)
        assert "/racing subscribe GB results would add results of all courses." in str(caught.value)
        buttons = explain(caught.value, "cmd-1", f"subscribe {words}").blocks[-1]["elements"]
        assert [(one["text"]["text"], one["value"]) for one in buttons] == [("Edit GB", "GB")]
    assert await channel.receives() == before
    await channel.types("GB course:Bath abandonments")
    await channel.types("GB results")
    assert (await channel.receives())["GB"].topics == DEFAULT_TOPICS


async def test_courses_without_a_region_go_to_their_own_and_not_to_all(channel):
    await channel.types("all abandonments")
    await channel.types('course:"Ffos Las" course:Curragh results')
    receives = await channel.receives()
    assert {region: (chosen.topics, names(chosen.courses)) for region, chosen in receives.items()} == {
        "*": ({Topic.ABANDONMENTS}, []),
        "GB": ({Topic.RESULTS}, ["Ffos Las"]),
        "IRE": ({Topic.RESULTS}, ["Curragh"]),
    }


async def test_course_whose_region_is_not_known_goes_to_all_regions(channel):
    nowhere = KnownCourse(course_id="cr_9", name="Nowhere")
    unlisted = KnownCourse(course_id="cr_10", name="Unlisted", region="XX")
    await channel.database.write(lambda session: rows.put_courses(session, [*COURSES, nowhere, unlisted], NOW))
    await channel.types("course:Nowhere course:Bath")
    await channel.types("course:Unlisted")
    assert {region: names(chosen.courses) for region, chosen in (await channel.receives()).items()} == {
        "*": ["Nowhere", "Bath", "Unlisted"]
    }


async def test_region_by_itself_is_meant_with_all_its_courses_and_that_is_said(channel):
    await channel.types("GB results course:Bath -course:Goodwood")
    added = await channel.types("GB")
    assert added.notes == ("It takes all courses from GB now, not Bath alone.", "Still left out from GB: Goodwood.")
    chosen = (await channel.receives())["GB"]
    assert (chosen.topics, chosen.courses, names(chosen.not_courses)) == (DEFAULT_TOPICS, (), ["Goodwood"])


async def test_all_courses_stay_where_one_is_named(channel):
    await channel.types("GB")
    added = await channel.types("GB course:Bath")
    assert "still does" in added.notes[0]
    assert (await channel.receives())["GB"].courses == ()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("GB course:Goodwood -course:Goodwood", "among the only courses, and left out too"),
        ("GB IRE course:Bath", "Bath is not in IRE, so nothing from there would arrive"),
        ("IRE course:Bath", "Bath is a course of GB, not of IRE"),
        ("GB -course:Curragh", "Curragh is a course of IRE, not of GB. /racing subscribe IRE -course:"),
        ("course:", "Nothing follows"),
        ("GB course:", "Nothing follows"),
    ],
)
async def test_filter_that_can_never_match_is_refused_when_typed(channel, words, told):
    assert told in (await channel.refuses(words))[0]
    assert await channel.receives() == {}


async def test_lines_that_are_said_to_be_right_are_read_as_one_region(channel):
    south = KnownCourse(course_id="cr_8", name="Royal Randwick", region="New South Wales")
    await channel.database.write(lambda session: rows.put_regions(session, ["GB", "New South Wales"], NOW))
    await channel.database.write(lambda session: rows.put_courses(session, [*COURSES, south], NOW))
    told, _ = await channel.refuses('GB course:"Royal Randwick"')
    assert '/racing subscribe "New South Wales" course:"Royal Randwick" would be right' in told
    told, _ = await channel.refuses('GB "New South Wales" course:Bath')
    assert '/racing subscribe "New South Wales" takes all courses' in told
    await channel.types('"New South Wales"')
    told, _ = await channel.refuses("", "unsubscribe")
    assert 'For example /racing unsubscribe "New South Wales", or /racing unsubscribe all for every one' in told
    told, _ = await channel.refuses('all, "New South Wales"', "unsubscribe")
    assert told.endswith('or /racing unsubscribe "New South Wales".')


async def test_word_for_every_subscription_is_not_said_to_end_that_to_all_regions(channel):
    await channel.types("all course:Bath")
    told, _ = await channel.refuses("all -course:Bath")
    assert "From all regions this channel receives only Bath" in told
    assert "Remove in /racing list ends it." in told
    told, _ = await channel.refuses("", "unsubscribe")
    assert "For example /racing unsubscribe all for every one of them." in told


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


def option(value):
    return {"text": {"type": "plain_text", "text": value}, "value": value}


@pytest.mark.parametrize("field", ["courses", "not_courses"])
async def test_courses_of_each_region_go_into_that_ones_filter(channel, field):
    word = "course:" if field == "courses" else "-course:"
    await channel.types(f"GB IRE {word}Bath {word}Curragh")
    receives = await channel.receives()
    taken = {region: names(getattr(chosen, field)) for region, chosen in receives.items()}
    assert taken == {"GB": ["Bath"], "IRE": ["Curragh"]}
    await channel.saves(await channel.opens("GB"))
    assert await channel.receives() == receives


async def test_region_beside_all_is_said_not_to_be_used(channel):
    stored = await channel.types("all and GB")
    assert stored.notes == ("All regions take in GB, so nothing was subscribed for GB alone.",)
    assert set(await channel.receives()) == {"*"}
    stored = await channel.saves(await channel.opens(), {"regions": ["*", "IRE"]})
    assert "All regions take in IRE, so" in stored.notes[-1]
    assert (await channel.types("all")).notes == ()


async def test_only_the_button_is_said_to_end_that_to_all_regions_alone(channel):
    await channel.types("all")
    told, _ = await channel.refuses("", "unsubscribe")
    assert told.endswith("/racing unsubscribe all for every one of them.")
    await channel.types("GB")
    told, _ = await channel.refuses("", "unsubscribe")
    assert told.endswith("Remove in /racing list ends that to all regions alone.")


async def test_ended_and_changed_subscriptions_are_counted_each_as_what_it_is(channel):
    await channel.types("GB IRE")
    await channel.types("AUS results")
    ended = await channel.ends("results")
    assert (ended.ended, ended.changed) == (1, 2)


async def test_unsubscribing_all_and_a_region_ends_neither_and_all_of_a_region_ends_the_region(channel):
    await channel.types("GB IRE")
    told, _ = await channel.refuses("GB, all", "unsubscribe")
    assert '"all" is every subscription of this channel (GB, IRE), and you named GB too' in told
    assert set(await channel.receives()) == {"GB", "IRE"}
    await channel.ends("all results")
    assert {chosen.topics for chosen in (await channel.receives()).values()} == {frozenset({Topic.ABANDONMENTS})}
    await channel.ends("all GB")
    assert set(await channel.receives()) == {"IRE"}


@pytest.mark.parametrize(("words", "course_id"), [("GB course:Ascot", "cr_1"), ("course:Ascot AUS", "cr_2")])
async def test_course_whose_name_is_shared_is_the_one_of_the_region(channel, words, course_id):
    await channel.types(words)
    (chosen,) = (await channel.receives()).values()
    assert [one.course_id for one in chosen.courses] == [course_id]


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


async def test_form_keeps_the_courses_that_its_menu_can_not_hold(channel, database):
    many = tuple(Course(course_id=f"x{number}", name=f"Course {number}") for number in range(130))
    chosen = ChannelFilter(region="GB", topics=DEFAULT_TOPICS, not_courses=(*many, Course(name="x" * 151)))

    def save(session):
        subscriptions.save(session, "C1", chosen, user_id="U1", now=NOW)

    await database.write(save)
    view = await channel.opens("GB")
    assert "Course 129" in str(view["blocks"])
    await channel.saves(view)
    assert set((await channel.receives())["GB"].not_courses) == set(chosen.not_courses)


async def test_form_that_clears_its_courses_clears_them(channel):
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


def test_fingerprint_is_the_same_in_every_process():
    chosen = ChannelFilter(region="GB", topics=frozenset(Topic), courses=(BATH,), mentions=("U1",))
    assert chosen.fingerprint() == "7602a38ea0c40dd0"
    assert chosen.model_copy(update={"courses": (FFOS_LAS,)}).fingerprint() != chosen.fingerprint()


@pytest.mark.parametrize(
    ("words", "told", "right"),
    [
        ("GB reslts", "Did you mean results?", "GB results"),
        ("GB goodwod", "Did you mean Goodwood?", "GB course:Goodwood"),
        ("results ffos la GB", "Did you mean Ffos Las?", 'results course:"Ffos Las" GB'),
        ("course:'Ffos La' GB", "Did you mean Ffos Las?", 'course:"Ffos Las" GB'),
        ('course: "Ffos La" GB', "Did you mean Ffos Las?", 'course:"Ffos Las" GB'),
        ("course: Goodwod GB", "Did you mean Goodwood?", "course: Goodwood GB"),
        ("GB IRE course:Bath course:Curagh", "Did you mean Curragh?", "GB IRE course:Bath course:Curragh"),
    ],
)
async def test_mistyped_words_are_offered_as_the_whole_right_command(channel, words, told, right):
    said, lines = await channel.refuses(words)
    assert told in said
    assert lines == [right]
    await channel.types(lines[0])
    assert await channel.receives()


async def test_unsubscribe_offers_what_was_meant(channel):
    await channel.types("GB IRE")
    told, lines = await channel.refuses("gbb reslts", "unsubscribe")
    assert lines == []
    nearest = 'Did you mean GB for "gbb", results for "reslts"?'
    assert told == f"This channel has no subscription to gbb, reslts. {nearest} It has: GB, IRE."
    told, lines = await channel.refuses("GB reslts", "unsubscribe")
    assert lines == ["GB results"]
    assert told == "This channel has no subscription to reslts. Did you mean results? It has: GB, IRE."
    await channel.ends(lines[0])
    assert (await channel.receives())["GB"].topics == {Topic.ABANDONMENTS}


@pytest.mark.parametrize("words", ["nonsense", "race", "courses"])
async def test_unsubscribe_takes_a_word_that_is_only_somewhat_alike_for_none(channel, words):
    await channel.types("GB IRE")
    told, lines = await channel.refuses(words, "unsubscribe")
    assert lines == []
    assert told == f"This channel has no subscription to {words}. It has: GB, IRE."
