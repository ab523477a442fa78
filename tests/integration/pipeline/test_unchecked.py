"""Filters that were stored unchecked: what they take until the check, and what their channels get by it, once."""

import asyncio

import pytest

from bot.channels import mutes, subscriptions
from bot.channels.filters import ChannelFilter, Meeting
from bot.db.tables import SubscriptionState
from bot.deliveries import inbox
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.fanout.unchecked_filters import check_filters
from bot.racedata import reference_store
from bot.racedata.reference_store import KnownCourse
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.racing_day import abandonment, meeting, result, tell
from tests.integration.pipeline.steps import write
from tests.notice_levels import BEGINNINGS, NOTE

COURSES = [
    KnownCourse(course_id="cr_asc", name="Ascot", shortcode="ASC", region="GB"),
    KnownCourse(course_id="cr_aus", name="Ascot", region="AUS"),
    KnownCourse(course_id="cr_bath", name="Bath", shortcode="BTH", region="GB"),
]
ASCOT = Course(course_id="cr_asc", name="Ascot")
RESULTS, ABANDONMENTS = frozenset({Topic.RESULTS}), frozenset({Topic.ABANDONMENTS})
RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}


async def subscribe(pipeline, channel_id, region, topics=DEFAULT_TOPICS, courses=()):
    named = {"courses": tuple(Course(name=name) for name in courses)} if courses else {}
    await pipeline.subscribe(channel_id, region, topics, unchecked_since=pipeline.clock(), **named)


async def service_is_back(pipeline, *, courses=COURSES):
    def keep(session):
        reference_store.put_regions(session, ["AUS", "GB", "IRE"], pipeline.clock())
        if courses:
            reference_store.put_courses(session, courses, pipeline.clock())

    await write(pipeline, keep)


async def check(pipeline, times=1):
    for _ in range(times):
        assert await write(pipeline, check_filters, pipeline.notices, pipeline.clock())
        await pipeline.post_all()


async def service_is_back_and_checked(pipeline):
    """Twice, because a second check adds nothing."""
    await service_is_back(pipeline)
    await check(pipeline, 2)


async def filters(pipeline, channel_id="CGB"):
    rows = await pipeline.database.read(lambda session: subscriptions.of_channel(session, channel_id))
    return [subscriptions.read_filter(row) for row in rows]


def racing(pipeline, channel_id="CGB"):
    """The word with which each message on races begins, in the order of letters."""
    return sorted(text.split(":")[0] for text in pipeline.texts(channel_id) if not text.startswith(BEGINNINGS))


def notices(pipeline, channel_id="CGB"):
    return [text for text in pipeline.texts(channel_id) if text.startswith(BEGINNINGS)]


A, R = "ABANDONED", "Result"
CARD = {"race_id": "rc_1", "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"}
TWO = [result("rc_1"), result("rc_2", course="Bath")]
OF_ALL = [abandonment("rc_1"), result("rc_2"), result("rc_3"), result("rc_4", region="IRE")]
OF_MEETING = [meeting("rc_1", "rc_2"), abandonment("rc_1"), abandonment("rc_3", course="Bath")]

TYPED = {
    # As typed, deliveries, and what is told: until the check, in the end, and by the notice.
    "letter case": ("gb", [], OF_ALL, [A], [A, R, R], "the subscription is to GB now"),
    "right": ("GB", [], [result()], [R], [R], ""),
    "meeting and its races": ("gb", [], OF_MEETING, [A, A], [A, A], "the subscription is to GB now"),
    "two versions": ("gb", [], [result(), result(**RED_FIRST)], [], [R], "follows now, late: 1 message."),
    "course in small letters": ("GB", ["ascot"], TWO, [], [R], "so the subscription is to GB, Ascot now"),
    "course in capitals": ("GB", ["ASCOT"], TWO, [], [R], "so the subscription is to GB, Ascot now"),
    "course by its id": ("GB", ["CR_ASC"], TWO, [], [R], "so the subscription is to GB, Ascot now"),
    "course by its code": ("GB", ["asc"], TWO, [], [R], "so the subscription is to GB, Ascot now"),
    "right course": ("GB", ["Ascot"], TWO, [R], [R], ""),
    "no such course": ("gb", ["Nowhere"], TWO, [], [], "names the course Nowhere, but the data service publishes no"),
    "part of a country": ("England", [], [result()], [], [], "Did you mean GB?"),
    "no such region": ("ZZ", [], [result()], [], [], "ZZ"),
    "country": ("Great Britain", [], [result()], [], [R], "the subscription is to GB now"),
}


@pytest.mark.parametrize(("region", "courses", "came", "at_once", "told", "said"), TYPED.values(), ids=TYPED)
async def test_typed_words_are_mended_and_what_was_missed_follows_once(  # noqa: PLR0917  a row
    pipeline, region, courses, came, at_once, told, said
):
    await subscribe(pipeline, "CGB", region, courses=courses)
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, *came)
    assert racing(pipeline) == at_once
    await check(pipeline)
    assert racing(pipeline) == at_once
    others = pipeline.texts("CALL")
    await service_is_back_and_checked(pipeline)
    await tell(pipeline, *came)
    assert racing(pipeline) == told
    assert [said in text for text in notices(pipeline)] == [True] * bool(said)
    assert pipeline.texts("CALL") == others
    (chosen,) = await filters(pipeline)
    mended = region if "Did you" in said or said == region else "GB"
    assert (chosen.region, chosen.unchecked_since) == (mended, None)
    assert chosen.courses == tuple(Course(name=name) if name == "Nowhere" else ASCOT for name in courses)
    assert len(pipeline.texts("CADMIN")) == bool(said)


@pytest.mark.parametrize("typed", ["IRL", "irl", "Ireland"])
async def test_another_name_of_a_region_is_mended_and_gets_what_came(pipeline, typed):
    await subscribe(pipeline, "CIRE", typed)
    await tell(pipeline, abandonment("rc_1", region="IRE", course="Naas"), result("rc_2"))
    await service_is_back_and_checked(pipeline)
    await tell(pipeline, abandonment("rc_3", region="IRE", course="Cork"))
    assert [one.region for one in await filters(pipeline, "CIRE")] == ["IRE"]
    assert racing(pipeline, "CIRE") == [A, A]
    (said,) = notices(pipeline, "CIRE")
    assert f"subscribed to {typed} while I could not check that" in said


@pytest.mark.parametrize("words", ["Great Britain", "gb", "GBR"])
@pytest.mark.parametrize("typed", ["GB", "gb", "Great Britain"])
async def test_region_of_an_event_in_other_words_is_read_anew_once_the_list_is_there(pipeline, words, typed):
    """Of a region that nobody can read yet the abandonment is posted at once, the result by the check."""
    await subscribe(pipeline, "CGB", typed)
    await subscribe(pipeline, "CIRE", "IRE")
    await tell(pipeline, abandonment("rc_1", region=words), result("rc_2", region=words))
    assert racing(pipeline)[0] == A
    await service_is_back(pipeline)
    await check(pipeline)
    assert racing(pipeline) == [A, R]
    await tell(pipeline, result("rc_3", region=words))
    assert "Result: Ascot 14:30 (GB)" in pipeline.texts("CGB")[-1]
    assert "Result" not in racing(pipeline, "CIRE")


@pytest.mark.parametrize(
    ("event", "at_once"),
    [
        (result("rc_1", region="gb"), []),
        (result("rc_1", region="Gb"), []),
        (result("rc_1", course="Bath", region=None), []),
        (abandonment("rc_1", course="Nowhere", region="Great Britain"), [A]),
    ],
    ids=["gb", "Gb", "no region", "unknown words"],
)
async def test_event_whose_region_could_not_be_read_is_posted_at_the_latest_after_the_check(pipeline, event, at_once):
    await subscribe(pipeline, "CGB", "GB")
    await tell(pipeline, event, result("rc_2", region="IRE"))
    assert racing(pipeline) == at_once
    await service_is_back_and_checked(pipeline)
    assert len(racing(pipeline)) == 1
    await tell(pipeline, event)
    assert len(racing(pipeline)) == 1


@on_both
async def test_result_without_a_region_is_posted_once_the_courses_tell_the_region(pipeline):
    await subscribe(pipeline, "CGB", "GB")
    await tell(pipeline, result("rc_1", course="Bath", region=None))
    await service_is_back_and_checked(pipeline)
    assert racing(pipeline) == [R]


async def test_what_came_before_the_subscription_is_not_posted(pipeline):
    await tell(pipeline, result("rc_1"), result("rc_2"))
    pipeline.clock.forward(1)
    await subscribe(pipeline, "CGB", "gb")
    await service_is_back_and_checked(pipeline)
    (said,) = pipeline.texts("CGB")
    assert "follows now" not in said


async def test_course_stays_unchecked_until_there_is_a_list_of_courses(pipeline):
    await subscribe(pipeline, "CGB", "gb", courses=["ascot"])
    await service_is_back(pipeline, courses=())
    await check(pipeline, 2)
    (chosen,) = await filters(pipeline)
    assert (chosen.region, chosen.unchecked_since is None, pipeline.texts("CGB")) == ("GB", False, [])
    await tell(pipeline, result("rc_1"), abandonment("rc_2"))
    await service_is_back_and_checked(pipeline)
    assert racing(pipeline) == [A, R]
    (told,) = notices(pipeline)
    assert told.startswith(f"{NOTE}This channel was subscribed to gb, ascot while I could not check that.")
    assert "so the subscription is to GB, Ascot now" in told
    assert "follows now, late: 1 message." in told
    assert [one.unchecked_since for one in await filters(pipeline)] == [None]


async def test_channel_with_the_region_already_is_told_of_everything_at_once(pipeline):
    await subscribe(pipeline, "CGB", "gb", courses=["ascot"])
    await pipeline.subscribe("CGB", "GB", ABANDONMENTS)
    await service_is_back(pipeline, courses=())
    await check(pipeline)
    assert pipeline.texts("CGB") == []
    await service_is_back_and_checked(pipeline)
    (told,) = pipeline.texts("CGB")
    assert "subscribed to gb, ascot" in told
    assert "The two are one now" in told
    assert [one.region for one in await filters(pipeline)] == ["GB"]


async def test_missed_results_of_a_muted_meeting_stay_muted(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    ascot = Meeting(course=Course(name="Ascot"), race_date=DAY)
    await write(pipeline, mutes.mute, "CGB", ascot, "UALICE", pipeline.clock())
    await tell(pipeline, *TWO)
    await service_is_back_and_checked(pipeline)
    assert racing(pipeline) == [R]


async def test_channel_that_waits_for_the_bot_misses_nothing_meanwhile(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await write(pipeline, subscriptions.set_state, "CGB", SubscriptionState.WAITING, pipeline.clock())
    await tell(pipeline, result("rc_1"))
    pipeline.clock.forward(1)
    await check(pipeline)
    await write(pipeline, subscriptions.reopen, "CGB", pipeline.clock())
    await tell(pipeline, result("rc_2"))
    await service_is_back_and_checked(pipeline)
    assert "follows now, late: 1 message." in notices(pipeline)[0]
    assert racing(pipeline) == [R]


async def test_racecard_that_was_missed_is_posted_where_asked_for_and_its_lateness_is_said(pipeline):
    await subscribe(pipeline, "CGB", "gb", frozenset(Topic))
    await tell(pipeline, {"event": "racecard.published", "race": CARD}, result("rc_2"))
    pipeline.clock.forward(25 * 60 + 5)
    await service_is_back_and_checked(pipeline)
    assert racing(pipeline) == ["Racecard", R]
    assert ["25 min late" in text for text in pipeline.texts("CGB") if text.startswith(R)] == [True]


async def test_missed_result_of_an_abandoned_race_says_so(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await tell(pipeline, result("rc_1"), abandonment("rc_1"), result("rc_1", **RED_FIRST))
    await service_is_back_and_checked(pipeline)
    _, said = [text for text in pipeline.texts("CGB") if not text.startswith(BEGINNINGS)]
    assert "Red Sky" in said
    assert "abandoned" in said


async def test_what_changes_after_a_late_post_is_told_as_ever(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await tell(pipeline, result("rc_1"), result("rc_1", **RED_FIRST))
    await service_is_back_and_checked(pipeline)
    await tell(pipeline, result("rc_1", placings=("Blue Moon", "Red Sky", "Third Time")))
    _, first, second = pipeline.texts("CGB")
    assert "1 Red Sky, 2 Blue Moon" in first
    assert second.startswith("Two versions disagree: ")
    assert "1 Blue Moon, 2 Red Sky, 3 Third Time" in second


async def test_region_typed_again_before_the_check_gets_what_came(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await tell(pipeline, result("rc_1"))
    await service_is_back(pipeline)
    pipeline.clock.forward(1)
    await pipeline.subscribe("CGB", "GB")
    await check(pipeline, 2)
    assert [one.region for one in await filters(pipeline)] == ["GB"]
    assert racing(pipeline) == [R]
    (said,) = notices(pipeline)
    assert "had a subscription to GB already. The two are one now" in said


@pytest.mark.parametrize("regions", [("GB", "gb"), ("gb", "GB"), ("gb", "Gb")])
async def test_region_in_two_letter_cases_is_one_subscription_that_takes_both(pipeline, regions):
    for region, topics in zip(regions, (RESULTS, ABANDONMENTS), strict=True):
        await subscribe(pipeline, "CGB", region, topics)
        pipeline.clock.forward(1)
    await tell(pipeline, abandonment("rc_1"), result("rc_2"))
    await service_is_back_and_checked(pipeline)
    await tell(pipeline, abandonment("rc_3"), result("rc_4"))
    (chosen,) = await filters(pipeline)
    assert (chosen.region, chosen.topics, chosen.unchecked_since) == ("GB", RESULTS | ABANDONMENTS, None)
    assert racing(pipeline) == [A, A, R, R]


async def test_joined_subscription_whose_courses_are_unchecked_misses_nothing(pipeline):
    await subscribe(pipeline, "CGB", "gb", courses=["ascot"])
    pipeline.clock.forward(1)
    await subscribe(pipeline, "CGB", "GB", courses=["bath"])
    await tell(pipeline, *TWO, result("rc_3", course="York"))
    await service_is_back(pipeline, courses=())
    await check(pipeline)
    assert racing(pipeline) == []
    await service_is_back_and_checked(pipeline)
    assert [one.region for one in await filters(pipeline)] == ["GB"]
    assert racing(pipeline) == [R, R]


@pytest.mark.parametrize("region", ["ZZ", "gb"])
async def test_each_channel_is_told_of_its_own_wrong_region(pipeline, region):
    await subscribe(pipeline, "CGB", region)
    await service_is_back(pipeline)
    await check(pipeline)
    await write(pipeline, subscriptions.remove, "CGB")
    pipeline.clock.forward(1)
    for channel_id in ("CIRE", "CGB"):
        await subscribe(pipeline, channel_id, region)
    await check(pipeline, 2)
    assert [len(pipeline.texts(channel_id)) for channel_id in ("CGB", "CIRE")] == [2, 1]
    assert region in pipeline.texts("CIRE")[0]


async def test_words_that_are_unchecked_once_more_are_told_of_once_more(pipeline):
    for number in range(2):
        await subscribe(pipeline, "CGB", "GB", courses=["ascot"])
        await tell(pipeline, result(f"rc_{number}"))
        await service_is_back(pipeline)
        await check(pipeline)
        pipeline.clock.forward(1)
    assert (len(notices(pipeline)), racing(pipeline)) == (2, [R, R])


@on_both
async def test_replicas_that_check_at_the_same_time_post_once_and_miss_nothing(make_pipeline):
    pipelines = [make_pipeline() for _ in range(3)]
    first = pipelines[0]
    await subscribe(first, "CGB", "gb")
    await tell(first, *(result(f"rc_{number}") for number in range(5)))
    await service_is_back(first)
    for number in range(5, 10):
        await first.deliver(result(f"rc_{number}"))

    async def run(pipeline):
        for _ in range(5):
            await asyncio.gather(
                pipeline.fanout.turn(), write(pipeline, check_filters, pipeline.notices, pipeline.clock())
            )

    await asyncio.gather(*map(run, pipelines))
    first.clock.forward(1)
    await check(first)
    assert (racing(first), len(notices(first))) == ([R] * 10, 1)


@on_both
async def test_filters_are_not_checked_while_a_replica_fans_out(pipeline, monkeypatch):
    await subscribe(pipeline, "CGB", "gb")
    await service_is_back(pipeline)
    monkeypatch.setattr(inbox, "take_turn", lambda _session, _clock: None)
    assert await write(pipeline, check_filters, pipeline.notices, pipeline.clock()) is False
    assert [one.region for one in await filters(pipeline)] == ["gb"]


def test_filter_of_a_version_before_is_read_as_checked():
    stored = ChannelFilter(region="GB", topics=DEFAULT_TOPICS).model_dump(mode="json")
    del stored["unchecked_since"]
    assert ChannelFilter.model_validate(stored).unchecked_since is None
