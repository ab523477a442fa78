"""Digests at an hour and cards on the eve, also where the channel is paused or closed meanwhile."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bot.channels import subscriptions
from bot.channels.conditions.choices import MEETINGS
from bot.db.tables import WatchKind
from bot.events.event import Topic
from bot.outbox import message_store
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.pause_commands import MUTE_BUTTON, UNMUTE_BUTTON
from bot.slack.commands.present_subscriptions import UNSUBSCRIBE_COMMAND
from tests.clock import START
from tests.databases import on_both
from tests.integration.pipeline.steps import (
    KEEP_HOURS,
    LEFT,
    abandonment,
    at_the_hour,
    card,
    card_of,
    expire,
    hour,
    meeting,
    pause,
    reopen,
    result,
    resume,
    tell,
    tell_due,
    traced,
    wait,
    watch,
    write,
)
from tests.integration.pipeline.stories import Story, chooses, does, goes_on, is_stored, passes, play, rows, so_far

EVERY = frozenset(Topic)
LEFT_S, HOUR_S, DAY_S = LEFT.total_seconds(), 3_600, 86_400
RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}
YORK = result("rc_3", course="York")
TWO = [result("rc_1"), result("rc_2", course="York")]
IRISH = {"region": "IRE", "course": "Cork"}
TOMORROW, LATER = (f"{START + timedelta(days=days):%Y-%m-%d}" for days in (1, 3))


async def eve(pipeline):
    """A card is told four days before the eve of its meeting, on which the channel gets cards together."""
    at = pipeline.clock() + timedelta(days=4) + LEFT
    await pipeline.subscribe("CGB", "GB", EVERY, digest=(hour(pipeline),), cards=(f"{at:%H:%M}",))
    await tell(pipeline, card_of(f"{at + timedelta(days=1):%Y-%m-%d}"))


eve.channels = {"CGB"}  # type: ignore[attr-defined]


async def hour_falls_into_a_pause(pipeline):
    await pause(pipeline)
    await wait(pipeline, LEFT_S + HOUR_S)
    assert await tell_due(pipeline) == 0
    await resume(pipeline)


async def closed_channel_refuses(pipeline):
    await pipeline.slack.archive("CGB")
    assert await at_the_hour(pipeline) == 1
    assert await tell_due(pipeline) == 0
    await pipeline.slack.unarchive("CGB")
    await reopen(pipeline)


async def makes_the_digest(pipeline):
    """The digest waits for the poster."""
    assert await write(pipeline, pipeline.reopening.tell_due, pipeline.clock) == 1


async def makes_a_summary(pipeline):
    await write(pipeline, pipeline.reopening.resume, "CGB", pipeline.clock())


async def everybody_may(_user_id, _channel_id):
    """Anybody may change anything."""


def typed(command, text):
    """A person types the command in the channel."""

    async def do(pipeline):
        desk: Any = SimpleNamespace(
            database=pipeline.database,
            people=SimpleNamespace(check_may_change=everybody_may),
            settings=SimpleNamespace(announce_changes=False),
            clock=pipeline.clock,
        )
        await command.commit(desk, Invocation(text, "CGB", "UALICE", "ref-1", None))

    return do


def is_withdrawn(why, versions):
    """So many versions of rc_2 are traced as not posted, for this reason."""

    async def do(pipeline):
        told = [one for version in (await traced(pipeline, "rc_2")).versions for one in version.told]
        assert [(str(one.outcome), one.why) for one in told] == [("not posted", why)] * versions

    return do


def ridden(jockey):
    return result(placings=(), runners=[{"position": 1, "horse": "Blue Moon", "jockey": jockey}])


def unsubscribes(text):
    return typed(UNSUBSCRIBE_COMMAND, text)


UNUSUAL = {"Bath": "Delayed", "Wells": "Under review"}
DIGEST, NOTHING = chooses("digest"), so_far(CGB=[])
ONCE, NONE_DUE = does(tell_due, gives=1), does(tell_due, gives=0)
STORIES = {
    "received before the hour, fanned out after": Story(
        *(DIGEST, result("rc_1"), goes_on(LEFT_S - 120), is_stored(TWO[1]), goes_on(600), passes(0), NOTHING, ONCE),
        CGB=["^Results digest. 2 results. Ascot"],
    ),
    "jockey who is watched": Story(
        *(DIGEST, does(watch, "CGB", "Anna Best", kind=WatchKind.JOCKEY), ridden("Tom Else"), at_the_hour),
        ridden("Anna Best"),
        CGB=["", "+Anna Best"],
    ),
    "winner that a live message has shown": Story(
        *(chooses("digest", show=(MEETINGS,)), abandonment("rc_2", off_time="15:05"), result("rc_1"), YORK),
        *(result("rc_1", placings=("Blue Moon", "Grey Dawn")), so_far(CGB=["", "+Blue Moon"])),
        *(result("rc_1", **RED_FIRST), result("rc_3", course="York", **RED_FIRST)),
        *(so_far(CGB=["", "+Red Sky", "~2", "~2", "^Two versions disagree: Ascot 14:30"]), at_the_hour),
        CGB=["", "", "~2", "~2", "", "^Results digest. 1 result. York 14:30"],
    ),
    "status of races that were not run": Story(
        *(DIGEST, result("rc_1", status="Inquiry"), result("rc_2", course="York", status="Provisional")),
        *(result(f"rc_{course}", course=course, status=said, placings=()) for course, said in UNUSUAL.items()),
        at_the_hour,
        CGB=["Status: Inquiry | Status: Provisional | Status: Delayed | Status: Under review | !result in"],
    ),
    "cards on the eve": Story(
        *(chooses("cards"), card_of(TOMORROW, "Ascot", "mt_Ascot"), card_of(TOMORROW, "York", "mt_York")),
        *(card_of(LATER, "Bath", "mt_Bath"), result("rc_7"), so_far(CGB=["^Result"])),
        *(meeting(meeting_id="mt_York", course="York", date=TOMORROW), so_far(CGB=["", "^ABANDONED: York"])),
        *(at_the_hour, so_far(CGB=["", "", "^Racecard digest. 2 racecards. Ascot | ; York | ABANDONED | !Bath"])),
        *(does(wait, 2 * DAY_S), tell_due),
        CGB=["", "", "", "^Racecard: Bath"],
    ),
    "short pause before the eve": Story(
        *(eve, does(wait, KEEP_HOURS * HOUR_S + HOUR_S), pause, does(expire, gives=0), does(wait, 1_800), resume),
        *(NOTHING, does(wait, 2 * DAY_S), ONCE),
        CGB=["^Racecard"],
    ),
    "age counts from the hour": Story(
        *(DIGEST, result("rc_1"), pause, does(wait, LEFT_S + HOUR_S - 100), does(expire, 1, gives=0)),
        *(does(wait, 200), does(expire, 1, gives=1), resume, NONE_DUE),
        waiting={"dead_letter": 1},
        CGB=["1 message had waited too long and will not be posted"],
    ),
    "long pause": Story(
        *(DIGEST, pause),
        *(
            step
            for day in range(8)
            for step in (
                *(result(f"rc_{day}_{course}", course=f"{course} {day}") for course in ("York", "Bath")),
                *(does(wait, DAY_S), NONE_DUE, expire),
            )
        ),
        *(resume, NONE_DUE),
        waiting={"dead_letter": 10},
        CGB=[
            "^This channel was paused. 6 results came meanwhile | 10 messages had waited too long | !York 4 | +York 5"
        ],
    ),
    **{
        happens.__name__: Story(DIGEST, *TWO, happens, ONCE, CGB=["^Results digest. "])
        for happens in (hour_falls_into_a_pause, closed_channel_refuses)
    },
    "pause stops the digest": Story(
        *(DIGEST, *TWO, does(wait, LEFT_S), makes_the_digest, pause, does(expire, 1, gives=0), resume, ONCE),
        CGB=["^Results digest. "],
    ),
    "eve, while digests and summaries are taken back": Story(
        *(eve, *TWO, does(wait, LEFT_S), makes_the_digest, pause, does(wait, 4 * HOUR_S), makes_a_summary, pause),
        *(resume, tell_due, so_far(CGB=["^This channel was paused. 2 results"])),
        *(does(wait, 4 * DAY_S - 4 * HOUR_S - 60), NONE_DUE, does(wait, 120), ONCE),
        CGB=["", "^Racecard"],
    ),
    # The correction of a withdrawn result is no news in the channel.
    "region unsubscribed": Story(
        *(DIGEST, chooses("digest", "IRE"), result(), result("rc_2", **IRISH), result("rc_2", going="Soft", **IRISH)),
        *(unsubscribes("IRE"), NONE_DUE, is_withdrawn("the channel unsubscribed while it waited", 2)),
        *(does(at_the_hour, gives=1), so_far(waiting={}), result("rc_2", **RED_FIRST, **IRISH)),
        CGB=["^Results digest. 1 result. Ascot"],
    ),
    "digest unsubscribed": Story(
        DIGEST, *TWO, unsubscribes("GB digest"), ONCE, CGB=["^The wait is over. 2 results came meanwhile. Ascot"]
    ),
    "topic unsubscribed": Story(
        *(chooses("digest", quiet=("00:00-23:59",)), result(), card(), unsubscribes("GB results")),
        *(does(wait, DAY_S), tell_due),
        CGB=["^Racecard: York"],
    ),
    "everything unsubscribed, and watched": Story(
        *(DIGEST, does(watch, "CGB", "Nobody"), *TWO, unsubscribes("all"), does(at_the_hour, gives=0)), CGB=[]
    ),
    "unsubscribed, and taken by another filter": Story(
        *(DIGEST, chooses("digest", "*"), result(), result("rc_2", **IRISH), unsubscribes("GB")),
        does(at_the_hour, gives=1),
        CGB=["2 results"],
    ),
    "meeting muted since": Story(
        *(DIGEST, result(), result("rc_2", off_time="15:00"), YORK, typed(MUTE_BUTTON, "result.received:rc_1")),
        *(result(going="Soft"), abandonment("rc_4", off_time="16:00"), so_far(CGB=["^ABANDONED"])),
        *(typed(UNMUTE_BUTTON, "1"), does(at_the_hour, gives=1)),
        is_withdrawn("the channel muted the meeting while it waited", 1),
        CGB=["", "^Results digest. 1 result. York"],
    ),
}


@rows(STORIES, "region unsubscribed")
async def test_digest(pipeline, story):
    await play(pipeline, story)


@pytest.fixture
async def daily(pipeline):
    await DIGEST(pipeline)
    return pipeline


@on_both
async def test_waiting_results_are_known_with_their_hour_until_the_digest_is_told(daily):
    def waiting():
        return daily.database.read(lambda session: message_store.waiting_in(session, "CGB"))

    await tell(daily, *TWO, YORK | {"attempt": 2}, result("rc_1", placings=("Green Field",)))
    (until,) = set(await waiting())
    assert len(await waiting()) == 3
    assert f"{until:%H:%M}" == hour(daily)
    assert await at_the_hour(daily) == 1
    assert await waiting() == []


async def test_digest_is_the_last_post_of_the_subscription_whose_results_it_tells(daily):
    await daily.subscribe("CGB", "IRE", EVERY, digest=(hour(daily),))

    def last(session):
        filters = [subscriptions.read_filter(row) for row in subscriptions.of_channel(session, "CGB")]
        return subscriptions.last_posts(session, "CGB", filters), subscriptions.last_post_at(session, "CGB")

    await tell(daily, *TWO)
    assert await daily.database.read(last) == ([None, None], None)
    await at_the_hour(daily)
    (digest,) = daily.slack.messages("CGB")
    (of_gb, of_ire), at = await daily.database.read(last)
    assert (of_gb.message_ts, of_gb.sent_at, of_ire) == (digest.ts, at, None)
    # A later small change is in no post.
    await tell(daily, result("rc_1", winning_time="1m 2s"), result("rc_1", winning_time="1m 3s"))
    (of_gb, _), _ = await daily.database.read(last)
    assert of_gb.message_ts == digest.ts
