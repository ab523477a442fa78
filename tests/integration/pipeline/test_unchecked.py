"""Filters that were stored unchecked: what they take until the check, and what their channels get by it, once."""

import asyncio
from datetime import timedelta

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
from tests.notice_levels import BEGINNINGS, NOTE, without_level

COURSES = [
    KnownCourse(course_id="cr_asc", name="Ascot", shortcode="ASC", region="GB"),
    KnownCourse(course_id="cr_aus", name="Ascot", region="AUS"),
    KnownCourse(course_id="cr_bath", name="Bath", shortcode="BTH", region="GB"),
]


async def subscribe(pipeline, channel_id, region, topics=DEFAULT_TOPICS, **courses):
    await pipeline.subscribe(channel_id, region, topics, unchecked_since=pipeline.clock(), **courses)


async def service_is_back(pipeline, *, courses=COURSES):
    def keep(session):
        reference_store.put_regions(session, ["AUS", "GB", "IRE"], pipeline.clock())
        if courses:
            reference_store.put_courses(session, courses, pipeline.clock())

    await pipeline.database.write(keep)


async def check(pipeline):
    def work(session):
        return check_filters(session, pipeline.notices, pipeline.clock())

    assert await pipeline.database.write(work)
    await pipeline.post_all()


async def filters(pipeline, channel_id):
    rows = await pipeline.database.read(lambda session: subscriptions.of_channel(session, channel_id))
    return [subscriptions.read_filter(row) for row in rows]


def beginnings(pipeline, channel_id):
    return [without_level(text).split(":")[0].split(" ")[0] for text in pipeline.texts(channel_id)]


def racing(pipeline, channel_id):
    """What the channel was told of races, without words on the subscription."""
    return [text for text in pipeline.texts(channel_id) if not text.startswith(BEGINNINGS)]


async def test_what_was_missed_is_posted_once_whatever_is_done_again(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, abandonment("rc_1"), result("rc_2"), result("rc_3"), result("rc_4", region="IRE"))
    assert beginnings(pipeline, "CGB") == ["ABANDONED"]
    await check(pipeline)
    assert beginnings(pipeline, "CGB") == ["ABANDONED"]
    await service_is_back(pipeline)
    for _ in range(3):
        await check(pipeline)
    assert beginnings(pipeline, "CGB") == ["ABANDONED", "This", "Result", "Result"]
    assert "the subscription is to GB now" in pipeline.texts("CGB")[1]
    assert "follows now, late: 2 messages." in pipeline.texts("CGB")[1]
    assert [one.unchecked_since for one in await filters(pipeline, "CGB")] == [None]
    # The same again, and others that had them from the first: nothing more.
    await tell(pipeline, result("rc_2"), abandonment("rc_1"))
    assert len(pipeline.texts("CGB")) == 4
    assert len(pipeline.texts("CALL")) == 4


async def test_right_words_are_checked_without_a_word(pipeline):
    await subscribe(pipeline, "CGB", "GB")
    await tell(pipeline, result("rc_1"))
    await service_is_back(pipeline)
    await check(pipeline)
    assert beginnings(pipeline, "CGB") == ["Result"]
    assert pipeline.texts("CADMIN") == []
    assert [one.unchecked_since for one in await filters(pipeline, "CGB")] == [None]


async def test_what_came_before_the_subscription_is_not_posted(pipeline):
    await tell(pipeline, result("rc_1"), result("rc_2"))
    pipeline.clock.forward(1)
    await subscribe(pipeline, "CGB", "gb")
    await service_is_back(pipeline)
    await check(pipeline)
    assert beginnings(pipeline, "CGB") == ["This"]
    assert "follows now" not in pipeline.texts("CGB")[0]


@pytest.mark.parametrize("typed", ["ascot", "ASCOT", "CR_ASC", "asc", "Ascot"])
async def test_course_in_another_letter_case_is_mended_and_told_of(pipeline, typed):
    await subscribe(pipeline, "CGB", "GB", courses=(Course(name=typed),))
    await tell(pipeline, result("rc_1"), result("rc_2", course="Bath"))
    before = beginnings(pipeline, "CGB")
    await service_is_back(pipeline)
    await check(pipeline)
    (chosen,) = await filters(pipeline, "CGB")
    assert chosen.courses == (Course(course_id="cr_asc", name="Ascot"),)
    assert [text for text in beginnings(pipeline, "CGB") if text == "Result"] == ["Result"]
    assert before == (["Result"] if typed == "Ascot" else [])


async def test_course_that_is_not_published_is_told_once_and_stays(pipeline):
    await subscribe(pipeline, "CGB", "gb", courses=(Course(name="Nowhere"),))
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    (told,) = pipeline.texts("CGB")
    assert "names the course Nowhere, but the data service publishes no such course" in told
    (chosen,) = await filters(pipeline, "CGB")
    assert (chosen.region, chosen.courses, chosen.unchecked_since) == ("GB", (Course(name="Nowhere"),), None)


async def test_course_stays_unchecked_until_there_is_a_list_of_courses(pipeline):
    await subscribe(pipeline, "CGB", "gb", courses=(Course(name="ascot"),))
    await service_is_back(pipeline, courses=())
    await check(pipeline)
    (chosen,) = await filters(pipeline, "CGB")
    assert chosen.region == "GB"
    assert chosen.unchecked_since is not None
    await tell(pipeline, result("rc_1"), abandonment("rc_2"))
    await service_is_back(pipeline)
    await check(pipeline)
    assert sorted(beginnings(pipeline, "CGB"))[:2] == ["ABANDONED", "Result"]
    assert [one.unchecked_since for one in await filters(pipeline, "CGB")] == [None]


@pytest.mark.parametrize("region", ["gb", "Great Britain"])
async def test_channel_is_told_of_its_region_and_courses_at_once(pipeline, region):
    """The list of courses may come after the list of regions."""
    await subscribe(pipeline, "CGB", region, courses=(Course(name="ascot"),))
    await tell(pipeline, result("rc_1"))
    await service_is_back(pipeline, courses=())
    for _ in range(2):
        await check(pipeline)
    assert pipeline.texts("CGB") == []
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    (told,) = [text for text in pipeline.texts("CGB") if not text.startswith("Result")]
    assert told.startswith(f"{NOTE}This channel was subscribed to {region}, ascot while I could not check that.")
    assert "so the subscription is to GB, Ascot now" in told
    assert "follows now, late: 1 message." in told
    assert len(racing(pipeline, "CGB")) == 1


async def test_channel_with_the_region_already_is_told_of_everything_at_once(pipeline):
    await subscribe(pipeline, "CGB", "gb", courses=(Course(name="ascot"),))
    await pipeline.subscribe("CGB", "GB", frozenset({Topic.ABANDONMENTS}))
    await service_is_back(pipeline, courses=())
    await check(pipeline)
    assert pipeline.texts("CGB") == []
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    (told,) = pipeline.texts("CGB")
    assert "subscribed to gb, ascot" in told
    assert "The two are one now" in told
    assert [one.region for one in await filters(pipeline, "CGB")] == ["GB"]


async def test_part_of_a_country_is_asked_about_and_not_widened(pipeline):
    await subscribe(pipeline, "CGB", "England")
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    (told,) = pipeline.texts("CGB")
    assert "Did you mean GB?" in told
    assert [one.region for one in await filters(pipeline, "CGB")] == ["England"]


async def test_missed_results_of_a_muted_meeting_stay_muted(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    ascot = Meeting(course=Course(name="Ascot"), race_date=DAY)
    await pipeline.database.write(lambda session: mutes.mute(session, "CGB", ascot, "UALICE", pipeline.clock()))
    await tell(pipeline, result("rc_1"), result("rc_2", course="Bath"))
    await service_is_back(pipeline)
    await check(pipeline)
    assert beginnings(pipeline, "CGB").count("Result") == 1


async def test_abandonments_of_a_meeting_and_its_races_are_told_once(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await tell(pipeline, meeting("rc_1", "rc_2"), abandonment("rc_1"), abandonment("rc_3", course="Bath"))
    before = pipeline.texts("CGB")
    assert beginnings(pipeline, "CGB") == ["ABANDONED", "ABANDONED"]
    await service_is_back(pipeline)
    await check(pipeline)
    assert [text for text in pipeline.texts("CGB") if text.startswith("ABANDONED")] == before


async def test_channel_that_waits_for_the_bot_misses_nothing_meanwhile(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await pipeline.database.write(
        lambda session: subscriptions.set_state(session, "CGB", SubscriptionState.WAITING, pipeline.clock())
    )
    await tell(pipeline, result("rc_1"))
    pipeline.clock.forward(1)
    await check(pipeline)
    await pipeline.database.write(lambda session: subscriptions.reopen(session, "CGB", pipeline.clock()))
    await tell(pipeline, result("rc_2"))
    await service_is_back(pipeline)
    await check(pipeline)
    assert "follows now, late: 1 message." in pipeline.texts("CGB")[0]
    assert beginnings(pipeline, "CGB") == ["This", "Result"]


async def test_racecards_that_were_missed_are_posted_where_they_were_asked_for(pipeline):
    await subscribe(pipeline, "CGB", "gb", frozenset(Topic))
    race = {"race_id": "rc_1", "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"}
    await tell(pipeline, {"event": "racecard.published", "race": race})
    await service_is_back(pipeline)
    await check(pipeline)
    assert "Racecard" in beginnings(pipeline, "CGB")


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
        def work(session):
            return check_filters(session, pipeline.notices, pipeline.clock())

        for _ in range(5):
            await asyncio.gather(pipeline.fanout.turn(), pipeline.database.write(work))

    await asyncio.gather(*map(run, pipelines))
    first.clock.forward(1)
    await check(first)
    assert beginnings(first, "CGB").count("Result") == 10
    assert beginnings(first, "CGB").count("This") == 1


@on_both
async def test_filters_are_not_checked_while_a_replica_fans_out(pipeline, monkeypatch):
    await subscribe(pipeline, "CGB", "gb")
    await service_is_back(pipeline)
    monkeypatch.setattr(inbox, "take_turn", lambda _session, _clock: None)

    def work(session):
        return check_filters(session, pipeline.notices, pipeline.clock())

    assert await pipeline.database.write(work) is False
    assert [one.region for one in await filters(pipeline, "CGB")] == ["gb"]


def test_filter_of_a_version_before_is_read_as_checked():
    stored = ChannelFilter(region="GB", topics=DEFAULT_TOPICS).model_dump(mode="json")
    del stored["unchecked_since"]
    assert ChannelFilter.model_validate(stored).unchecked_since is None


async def test_lateness_of_what_was_missed_is_said(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await pipeline.deliver(result("rc_1"))
    await pipeline.post_all()
    pipeline.clock.forward(timedelta(minutes=25, seconds=5).total_seconds())
    await service_is_back(pipeline)
    await check(pipeline)
    (text,) = [text for text in pipeline.texts("CGB") if text.startswith("Result")]
    assert "25 min late" in text


RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}


@pytest.mark.parametrize("region", ["Gb", "GB"])
async def test_missed_result_is_posted_in_its_newest_version_and_once(pipeline, region):
    await subscribe(pipeline, "CGB", "gb")
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, result("rc_1", region=region), result("rc_1", region=region, **RED_FIRST))
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    await tell(pipeline, result("rc_1", region=region, **RED_FIRST))
    (told,) = racing(pipeline, "CGB")
    assert told.startswith("Result: ")
    assert "1 Red Sky, 2 Blue Moon" in told
    assert len(racing(pipeline, "CALL")) == 2


async def test_what_changes_after_a_late_post_is_told_as_ever(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await tell(pipeline, result("rc_1"), result("rc_1", **RED_FIRST))
    await service_is_back(pipeline)
    await check(pipeline)
    await tell(pipeline, result("rc_1", placings=("Blue Moon", "Red Sky", "Third Time")))
    first, second = racing(pipeline, "CGB")
    assert second.startswith("Two versions disagree: ")
    assert "1 Blue Moon, 2 Red Sky, 3 Third Time" in second
    assert "1 Red Sky, 2 Blue Moon" in first


async def test_missed_result_of_an_abandoned_race_says_so(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await tell(pipeline, result("rc_1"), abandonment("rc_1"), result("rc_1", **RED_FIRST))
    await service_is_back(pipeline)
    await check(pipeline)
    said = racing(pipeline, "CGB")
    assert len(said) == 2
    assert "Red Sky" in said[1]
    assert "abandoned" in said[1]


@pytest.mark.parametrize("region", ["gb", "Gb"])
async def test_event_whose_region_was_in_another_letter_case_is_posted_after_the_check(pipeline, region):
    await subscribe(pipeline, "CGB", "GB")
    await tell(pipeline, result("rc_1", region=region), result("rc_2", region="IRE"))
    assert racing(pipeline, "CGB") == []
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    assert len(racing(pipeline, "CGB")) == 1
    await tell(pipeline, result("rc_1", region=region), result("rc_3", region=region))
    assert len(racing(pipeline, "CGB")) == 2


async def test_abandonment_whose_region_is_in_unknown_words_is_posted_at_the_latest_after_the_check(pipeline):
    await subscribe(pipeline, "CGB", "GB")
    await tell(pipeline, abandonment("rc_1", course="Nowhere", region="Great Britain"))
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    assert len(racing(pipeline, "CGB")) == 1


@on_both
async def test_result_without_a_region_is_posted_once_the_courses_tell_the_region(pipeline):
    await subscribe(pipeline, "CGB", "GB")
    await tell(pipeline, result("rc_1", course="Bath", region=None))
    assert racing(pipeline, "CGB") == []
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    assert len(racing(pipeline, "CGB")) == 1


async def test_region_typed_again_before_the_check_gets_what_came(pipeline):
    await subscribe(pipeline, "CGB", "gb")
    await tell(pipeline, result("rc_1"))
    await service_is_back(pipeline)
    pipeline.clock.forward(1)
    await pipeline.subscribe("CGB", "GB")
    for _ in range(2):
        await check(pipeline)
    assert [one.region for one in await filters(pipeline, "CGB")] == ["GB"]
    assert len(racing(pipeline, "CGB")) == 1
    (said,) = [text for text in pipeline.texts("CGB") if text.startswith(BEGINNINGS)]
    assert "had a subscription to GB already. The two are one now" in said


@pytest.mark.parametrize("regions", [("GB", "gb"), ("gb", "GB"), ("gb", "Gb")])
async def test_region_in_two_letter_cases_is_one_subscription_that_takes_both(pipeline, regions):
    results, abandonments = frozenset({Topic.RESULTS}), frozenset({Topic.ABANDONMENTS})
    first, second = regions
    await subscribe(pipeline, "CGB", first, results)
    pipeline.clock.forward(1)
    await subscribe(pipeline, "CGB", second, abandonments)
    await tell(pipeline, abandonment("rc_1"), result("rc_2"))
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    await tell(pipeline, abandonment("rc_3"), result("rc_4"))
    (chosen,) = await filters(pipeline, "CGB")
    assert (chosen.region, chosen.topics, chosen.unchecked_since) == ("GB", results | abandonments, None)
    told = sorted(text.split()[0].rstrip(":") for text in racing(pipeline, "CGB"))
    assert told == ["ABANDONED", "ABANDONED", "Result", "Result"]


async def test_joined_subscription_whose_courses_are_unchecked_misses_nothing(pipeline):
    await subscribe(pipeline, "CGB", "gb", courses=(Course(name="ascot"),))
    pipeline.clock.forward(1)
    await subscribe(pipeline, "CGB", "GB", courses=(Course(name="bath"),))
    await tell(pipeline, result("rc_1"), result("rc_2", course="Bath"), result("rc_3", course="York"))
    await service_is_back(pipeline, courses=())
    await check(pipeline)
    assert racing(pipeline, "CGB") == []
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    assert [one.region for one in await filters(pipeline, "CGB")] == ["GB"]
    assert len(racing(pipeline, "CGB")) == 2


@pytest.mark.parametrize("typed", ["IRL", "irl", "Ireland"])
async def test_another_name_of_a_region_is_mended_and_gets_what_came(pipeline, typed):
    await subscribe(pipeline, "CIRE", typed)
    await tell(pipeline, abandonment("rc_1", region="IRE", course="Naas"), result("rc_2"))
    await service_is_back(pipeline)
    for _ in range(2):
        await check(pipeline)
    await tell(pipeline, abandonment("rc_3", region="IRE", course="Cork"))
    assert [one.region for one in await filters(pipeline, "CIRE")] == ["IRE"]
    assert [text.split(":")[0] for text in racing(pipeline, "CIRE")] == ["ABANDONED", "ABANDONED"]
    assert f"subscribed to {typed} while I could not check that" in " ".join(pipeline.texts("CIRE"))


@pytest.mark.parametrize("region", ["ZZ", "gb"])
async def test_each_channel_is_told_of_its_own_wrong_region(pipeline, region):
    await subscribe(pipeline, "CGB", region)
    await service_is_back(pipeline)
    await check(pipeline)
    await pipeline.database.write(lambda session: subscriptions.remove(session, "CGB"))
    pipeline.clock.forward(1)
    for channel_id in ("CIRE", "CGB"):
        await subscribe(pipeline, channel_id, region)
    for _ in range(2):
        await check(pipeline)
    assert [len(pipeline.texts(channel_id)) for channel_id in ("CGB", "CIRE")] == [2, 1]
    assert region in pipeline.texts("CIRE")[0]


async def test_words_that_are_unchecked_once_more_are_told_of_once_more(pipeline):
    for number in range(2):
        await subscribe(pipeline, "CGB", "GB", courses=(Course(name="ascot"),))
        await tell(pipeline, result(f"rc_{number}"))
        await service_is_back(pipeline)
        await check(pipeline)
        pipeline.clock.forward(1)
    assert sum(text.startswith(BEGINNINGS) for text in pipeline.texts("CGB")) == 2
    assert len(racing(pipeline, "CGB")) == 2


@pytest.mark.parametrize("words", ["Great Britain", "gb", "GBR"])
@pytest.mark.parametrize("typed", ["GB", "gb", "Great Britain"])
async def test_region_in_other_words_is_read_anew_once_the_list_is_there(pipeline, words, typed):
    """Of a region that nobody can read yet the abandonment is posted at once, the result by the check."""
    await subscribe(pipeline, "CGB", typed)
    await subscribe(pipeline, "CIRE", "IRE")
    await tell(pipeline, abandonment("rc_1", region=words), result("rc_2", region=words))
    assert beginnings(pipeline, "CGB")[0] == "ABANDONED"
    await service_is_back(pipeline)
    await check(pipeline)
    assert sorted(text for text in beginnings(pipeline, "CGB") if text not in {"This", "What"}) == [
        "ABANDONED",
        "Result",
    ]
    await tell(pipeline, result("rc_3", region=words))
    assert "Result: Ascot 14:30 (GB)" in pipeline.texts("CGB")[-1]
    assert "Result" not in beginnings(pipeline, "CIRE")
