"""Unchecked stored filters: the events taken until the check, and the channels' messages by the check, once."""

import asyncio

import pytest

from bot.channels import mutes, subscriptions
from bot.channels.filters import Meeting
from bot.db.tables import SubscriptionState
from bot.deliveries import inbox
from bot.events.event import DEFAULT_TOPICS, Topic
from bot.events.races import Course
from bot.fanout.unchecked_filters import check_filters
from bot.racedata import lexicon
from bot.racedata.client.records import KnownCourse
from tests.clock import DAY
from tests.databases import on_both
from tests.integration.pipeline.steps import abandonment, meeting, result, tell, write
from tests.integration.pipeline.stories import Story, passes, play, rows, so_far, subscribes
from tests.said import BEGINNINGS, NOTE

COURSES = [
    KnownCourse(course_id="cr_asc", name="Ascot", shortcode="ASC", region="GB"),
    KnownCourse(course_id="cr_aus", name="Ascot", region="AUS"),
    KnownCourse(course_id="cr_bath", name="Bath", shortcode="BTH", region="GB"),
]
ASCOT = Course(course_id="cr_asc", name="Ascot")
RESULTS, ABANDONMENTS = frozenset({Topic.RESULTS}), frozenset({Topic.ABANDONMENTS})
RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}
BLUE_FIRST = {"placings": ("Blue Moon", "Red Sky", "Third Time")}


async def subscribe(pipeline, channel_id, region, topics=DEFAULT_TOPICS, courses=()):
    named = {"courses": tuple(Course(name=name) for name in courses)} if courses else {}
    await pipeline.subscribe(channel_id, region, topics, unchecked_since=pipeline.clock(), **named)


async def service_is_back(pipeline, *, courses=COURSES):
    def keep(session):
        lexicon.REGIONS.put(session, ["AUS", "GB", "IRE"], pipeline.clock())
        if courses:
            lexicon.COURSES.put(session, courses, pipeline.clock())

    await write(pipeline, keep)


async def check(pipeline, times=1):
    for _ in range(times):
        assert await write(pipeline, check_filters, pipeline.notices, pipeline.clock())
        await pipeline.post_all()


async def service_is_back_and_checked(pipeline):
    """Twice, because a second check adds nothing."""
    await service_is_back(pipeline)
    await check(pipeline, 2)


async def filters_of(pipeline, channel_id="CGB"):
    rows = await pipeline.database.read(lambda session: subscriptions.of_channel(session, channel_id))
    return [subscriptions.read_filter(row) for row in rows]


def racing(pipeline, channel_id="CGB"):
    """The first word of each message on races, in the order of letters."""
    return sorted(text.split(":")[0] for text in pipeline.texts(channel_id) if not text.startswith(BEGINNINGS))


def notices(pipeline, channel_id="CGB"):
    return [text for text in pipeline.texts(channel_id) if text.startswith(BEGINNINGS)]


A, R = "ABANDONED", "Result"
CARD = {"race_id": "rc_1", "course": "Ascot", "date": DAY, "off_time": "14:30", "region": "GB"}
TWO = [result("rc_1"), result("rc_2", course="Bath")]
OF_ALL = [abandonment("rc_1"), result("rc_2"), result("rc_3"), result("rc_4", region="IRE")]
OF_MEETING = [meeting("rc_1", "rc_2"), abandonment("rc_1"), abandonment("rc_3", course="Bath")]

TYPED = {
    # The typed line, deliveries, and the told events: until the check, in the end, and by the notice.
    "letter case": ("gb", [], OF_ALL, [A], [A, R, R], "the subscription is to GB now"),
    "right": ("GB", [], [result()], [R], [R], ""),
    "meeting and its races": ("gb", [], OF_MEETING, [A, A], [A, A], "the subscription is to GB now"),
    "two versions": ("gb", [], [result(), result(**RED_FIRST)], [], [R], "posted now: 1 message."),
    "course by its code": ("GB", ["asc"], TWO, [], [R], "the subscription is to GB, Ascot now"),
    "right course": ("GB", ["Ascot"], TWO, [R], [R], ""),
    "part of a country": ("England", [], [result()], [], [], 'Did you mean "GB"?'),
    "no such course": ("gb", ["Nowhere"], TWO, [], [], "names the course Nowhere, but the data service publishes no"),
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
    (chosen,) = await filters_of(pipeline)
    assert (chosen.region, chosen.unchecked_since) == (region if "Did you" in said else "GB", None)
    assert chosen.courses == tuple(Course(name=name) if name == "Nowhere" else ASCOT for name in courses)
    assert len(pipeline.texts("CADMIN")) == bool(said)


def types(region, *topics, courses=(), channel="CGB"):
    async def do(pipeline):
        await subscribe(pipeline, channel, region, frozenset(topics) or DEFAULT_TOPICS, courses=courses)

    do.channels = {channel}  # type: ignore[attr-defined]
    return do


async def mutes_ascot(pipeline):
    ascot = Meeting(course=Course(name="Ascot"), race_date=DAY)
    await write(pipeline, mutes.mute, "CGB", ascot, "UALICE", pipeline.clock())


async def regions_are_back(pipeline):
    """The list of courses comes after the list of regions."""
    await service_is_back(pipeline, courses=())
    await check(pipeline, 2)


async def bot_is_absent(pipeline):
    await write(pipeline, subscriptions.set_state, "CGB", SubscriptionState.WAITING, pipeline.clock())


async def bot_is_back(pipeline):
    pipeline.clock.forward(1)
    await check(pipeline)
    await write(pipeline, subscriptions.reopen, "CGB", pipeline.clock())


def stored(*filters, channel="CGB"):
    """The regions of the channel's filters, each with whether it is unchecked."""

    async def do(pipeline):
        found = [(one.region, one.unchecked_since is not None) for one in await filters_of(pipeline, channel)]
        assert found == list(filters)

    return do


BACK = service_is_back_and_checked
MENDED, ONE_LATE = f"^{NOTE}This channel was subscribed to gb", "posted now: 1 message."
AT_COURSE = types("gb", courses=["ascot"])
ODD_ABANDONMENT = abandonment("rc_1", course="Nowhere", region="Great Britain")
NO_REGION = result("rc_1", course="Bath", region=None)

STORIES = {
    "came before": Story(*TWO, passes(1), types("gb"), BACK, CGB=[f"{MENDED} | !posted now"]),
    "courses later": Story(
        *(AT_COURSE, regions_are_back, stored(("GB", True)), so_far(CGB=[]), result("rc_1"), abandonment("rc_2")),
        *(BACK, stored(("GB", False))),
        CGB=["^ABANDONED", f"{MENDED}, ascot while | the subscription is to GB, Ascot now | {ONE_LATE}", "^Result"],
    ),
    "courses later, region there already": Story(
        *(AT_COURSE, subscribes("CGB", "GB", Topic.ABANDONMENTS), regions_are_back, so_far(CGB=[]), BACK),
        stored(("GB", False)),
        CGB=["subscribed to gb, ascot | The two are one now"],
    ),
    "courses later, joined": Story(
        *(AT_COURSE, passes(1), types("GB", courses=["bath"]), *TWO, result("rc_3", course="York")),
        *(regions_are_back, so_far(CGB=[]), BACK, stored(("GB", False))),
        CGB=["The two are one now", "GB, Bath, Ascot now", "^Result", "^Result"],
    ),
    "typed again before the check": Story(
        *(types("gb"), result("rc_1"), passes(1), subscribes("CGB", "GB"), BACK, stored(("GB", False))),
        CGB=["had a subscription to GB already. The two are one now", "^Result"],
    ),
    "unchecked once more": Story(
        *(types("GB", courses=["ascot"]), result("rc_1"), BACK, passes(1)),
        *(types("GB", courses=["ascot"]), result("rc_2"), BACK),
        CGB=[f"^{NOTE}", "^Result", f"^{NOTE}", "^Result"],
    ),
    "muted meeting": Story(types("gb"), mutes_ascot, *TWO, BACK, CGB=["", "^Result: Bath"]),
    "bot not in the channel": Story(
        *(types("gb"), bot_is_absent, result("rc_1"), bot_is_back, result("rc_2"), BACK),
        CGB=[f"{MENDED} | {ONE_LATE}", "^Result"],
    ),
    "late": Story(
        *(types("gb", *Topic), {"event": "racecard.published", "race": CARD}, result("rc_2"), passes(25 * 60 + 5)),
        BACK,
        CGB=["", "^Racecard", "^Result | 25 min late"],
    ),
    "abandoned race": Story(
        *(types("gb"), result("rc_1"), abandonment("rc_1"), result("rc_1", **RED_FIRST), BACK),
        CGB=["^ABANDONED", "^CONFLICT | Red Sky | abandoned", MENDED],
    ),
    "change after the late post": Story(
        *(types("gb"), result("rc_1"), result("rc_1", **RED_FIRST), BACK, result("rc_1", **BLUE_FIRST)),
        CGB=[MENDED, "1 Red Sky, 2 Blue Moon", "^Two versions disagree | 1 Blue Moon, 2 Red Sky, 3 Third Time"],
    ),
    "Ireland for IRE": Story(
        *(types("Ireland", channel="CIRE"), abandonment("rc_1", region="IRE"), result("rc_2"), BACK),
        *(abandonment("rc_3", region="IRE", course="Cork"), stored(("IRE", False), channel="CIRE")),
        CIRE=["^ABANDONED", "subscribed to Ireland while I could not check the name", "^ABANDONED"],
    ),
    # The region of the event could not be read.
    "event of gb": Story(
        *(types("GB"), result("rc_1", region="gb"), result("rc_2", region="IRE"), so_far(CGB=[]), BACK),
        *(result("rc_1", region="gb"), result("rc_3", region="gb")),
        CGB=[ONE_LATE, "^Result", "^Result"],
    ),
    # An abandonment is told at once, a result by the check.
    "event and subscription in other words": Story(
        *(types("Great Britain"), subscribes("CIRE", "IRE"), abandonment("rc_1", region="GBR")),
        *(result("rc_2", region="GBR"), so_far(CGB=["^ABANDONED"]), BACK, result("rc_3", region="GBR")),
        CGB=["", "subscribed to Great Britain", "^Result", "^Result: Ascot 14:30 (GB)"],
        CIRE=["^ABANDONED"],
    ),
    "event without a region": Story(types("GB"), NO_REGION, so_far(CGB=[]), BACK, NO_REGION, CGB=[ONE_LATE, "^Result"]),
    "event of an odd region": Story(types("GB"), ODD_ABANDONMENT, BACK, ODD_ABANDONMENT, CGB=["^ABANDONED"]),
}


@rows(STORIES)
async def test_what_was_missed_is_told_after_the_check(pipeline, story):
    await play(pipeline, story)


@pytest.mark.parametrize("regions", [("GB", "gb"), ("gb", "Gb")])
async def test_region_in_two_letter_cases_is_one_subscription_that_takes_both(pipeline, regions):
    for region, topics in zip(regions, (RESULTS, ABANDONMENTS), strict=True):
        await subscribe(pipeline, "CGB", region, topics)
        pipeline.clock.forward(1)
    await tell(pipeline, abandonment("rc_1"), result("rc_2"))
    await service_is_back_and_checked(pipeline)
    await tell(pipeline, abandonment("rc_3"), result("rc_4"))
    (chosen,) = await filters_of(pipeline)
    assert (chosen.region, chosen.topics, chosen.unchecked_since) == ("GB", RESULTS | ABANDONMENTS, None)
    assert racing(pipeline) == [A, A, R, R]


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


async def test_filters_are_not_checked_while_a_replica_fans_out(pipeline, monkeypatch):
    await subscribe(pipeline, "CGB", "gb")
    await service_is_back(pipeline)
    monkeypatch.setattr(inbox, "take_turn", lambda _session, _clock: None)
    assert await write(pipeline, check_filters, pipeline.notices, pipeline.clock()) is False
    assert [one.region for one in await filters_of(pipeline)] == ["gb"]
