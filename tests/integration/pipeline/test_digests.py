"""Digests at an hour and cards on the eve, also where the channel is paused or closed meanwhile."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from bot.channels import subscriptions
from bot.channels.conditions.choices import MEETINGS
from bot.db.tables import WatchKind
from bot.events.event import Topic
from bot.outbox import message_store
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.pause_commands import MUTE_BUTTON, UNMUTE_BUTTON
from bot.slack.commands.unsubscribe import UNSUBSCRIBE_COMMAND
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
    kinds,
    meeting,
    pause,
    reopen,
    result,
    resume,
    shown,
    tell,
    tell_due,
    traced,
    wait,
    watch,
    write,
)

EVERY = frozenset(Topic)
LEFT_S, HOUR_S, DAY_S = LEFT.total_seconds(), 3_600, 86_400
RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}
YORK = result("rc_3", course="York")
TWO = [result("rc_1"), result("rc_2", course="York")]


@pytest.fixture
async def daily(pipeline):
    await pipeline.subscribe("CGB", "GB", EVERY, digest=(hour(pipeline),))
    return pipeline


@pytest.fixture
async def eve(pipeline):
    """The channel gets cards together four days on, on the eve of a meeting that is told now."""
    at = pipeline.clock() + timedelta(days=4) + LEFT
    await pipeline.subscribe("CGB", "GB", EVERY, digest=(hour(pipeline),), cards=(f"{at:%H:%M}",))
    await tell(pipeline, card_of(f"{at + timedelta(days=1):%Y-%m-%d}"))
    return pipeline


async def test_result_received_before_the_hour_and_fanned_out_after_is_in_the_digest_of_that_hour(daily):
    await tell(daily, result("rc_1"))
    daily.clock.forward(LEFT_S - 120)
    # Stored and answered. Then the process dies.
    await daily.deliver(result("rc_2", course="York"))
    daily.clock.forward(600)
    await daily.post_all()
    assert daily.texts("CGB") == []
    assert await tell_due(daily) == 1
    (text,) = daily.texts("CGB")
    assert text.startswith("Results digest. 2 results. Ascot")


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


async def test_change_that_names_a_watched_jockey_is_told_although_a_digest_told_the_result(daily):
    await watch(daily, "CGB", "Anna Best", kind=WatchKind.JOCKEY)

    def ridden(jockey):
        return result(placings=(), runners=[{"position": 1, "horse": "Blue Moon", "jockey": jockey}])

    await tell(daily, ridden("Tom Else"))
    await at_the_hour(daily)
    await tell(daily, ridden("Anna Best"))
    _, told = daily.slack.messages("CGB")
    assert "Anna Best" in shown(told)


async def test_winner_that_a_live_message_has_shown_is_corrected_at_once(pipeline):
    await pipeline.subscribe("CGB", "GB", EVERY, digest=(hour(pipeline),), show=(MEETINGS,))
    await tell(pipeline, abandonment("rc_2", off_time="15:05"), result("rc_1"), YORK)
    live = next(one for one in pipeline.slack.messages("CGB") if "Blue Moon" in shown(one))
    assert len(pipeline.texts("CGB")) == 2
    await tell(pipeline, result("rc_1", placings=("Blue Moon", "Grey Dawn")))
    assert len(pipeline.texts("CGB")) == 2
    await tell(pipeline, result("rc_1", **RED_FIRST), result("rc_3", course="York", **RED_FIRST))
    corrected = pipeline.slack.messages("CGB")[-1]
    assert corrected.text.startswith("Two versions disagree: Ascot 14:30")
    assert corrected.thread_ts is None
    assert "Red Sky" in shown(next(one for one in pipeline.slack.messages("CGB") if one.ts == live.ts))
    await at_the_hour(pipeline)
    assert pipeline.texts("CGB")[-1].startswith("Results digest. 1 result. York 14:30")


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


async def test_digest_says_the_status_of_a_race_that_was_not_run(daily):
    unusual = {"York": "Provisional", "Bath": "Delayed", "Wells": "Under review"}
    more = {course: {"status": status, "placings": ()} for course, status in unusual.items()}
    more["York"].pop("placings")
    others = [result(f"rc_{course}", course=course, **said) for course, said in more.items()]
    await tell(daily, result("rc_1", status="Inquiry"), *others)
    await at_the_hour(daily)
    (digest,) = daily.slack.messages("CGB")
    assert ["Status: " in line for line in digest.text.split("; ")] == [True] * 4
    assert "result in" not in shown(digest)


async def test_cards_come_together_on_the_eve_with_the_abandonments_since(pipeline):
    tomorrow, later = (f"{pipeline.clock() + LEFT + timedelta(days=days):%Y-%m-%d}" for days in (1, 3))
    await pipeline.subscribe("CGB", "GB", EVERY, cards=(hour(pipeline),))
    days = {"Ascot": tomorrow, "York": tomorrow, "Bath": later}
    await tell(pipeline, *(card_of(date, course, f"mt_{course}") for course, date in days.items()), result("rc_7"))
    assert kinds(pipeline) == ["Result"]
    await tell(pipeline, meeting(meeting_id="mt_York", course="York", date=tomorrow))
    assert pipeline.texts("CGB")[1].startswith("ABANDONED: York")
    await at_the_hour(pipeline)
    cards = pipeline.slack.messages("CGB")[2]
    assert cards.text.startswith("Racecard digest. 2 racecards. Ascot")
    assert ["ABANDONED" in line for line in cards.text.split("; ")] == [False, True]
    assert "Bath" not in shown(cards)
    await wait(pipeline, 2 * DAY_S)
    await tell_due(pipeline)
    assert pipeline.texts("CGB")[3].startswith("Racecard: Bath")


async def test_card_that_waits_for_its_eve_is_not_given_up_by_a_short_pause(eve):
    await wait(eve, KEEP_HOURS * HOUR_S + HOUR_S)
    await pause(eve)
    assert await expire(eve) == 0
    await wait(eve, 1_800)
    await resume(eve)
    assert eve.texts("CGB") == []
    await wait(eve, 2 * DAY_S)
    assert await tell_due(eve) == 1
    assert kinds(eve) == ["Racecard"]


async def test_age_of_a_message_for_an_hour_counts_from_the_hour(daily):
    await tell(daily, result("rc_1"))
    await pause(daily)
    await wait(daily, LEFT_S + HOUR_S - 100)
    assert await expire(daily, 1) == 0
    await wait(daily, 200)
    assert await expire(daily, 1) == 1
    await resume(daily)
    assert await tell_due(daily) == 0
    (text,) = daily.texts("CGB")
    assert text.endswith("1 message had waited too long and will not be posted")


async def test_long_pause_ends_with_one_summary_and_gives_up_old_results(daily):
    await pause(daily)
    for day in range(8):
        await tell(daily, *(result(f"rc_{day}_{course}", course=f"{course} {day}") for course in ("York", "Bath")))
        await wait(daily, DAY_S)
        assert await tell_due(daily) == 0
        await expire(daily)
    await resume(daily)
    assert await tell_due(daily) == 0
    (summary,) = daily.slack.messages("CGB")
    assert summary.text.startswith("This channel was paused. 6 results came meanwhile")
    assert "10 messages had waited too long" in summary.text
    assert ["York 4" in shown(summary), "York 5" in shown(summary)] == [False, True]


async def hour_falls_into_a_pause(daily):
    await pause(daily)
    await wait(daily, LEFT_S + HOUR_S)
    assert await tell_due(daily) == 0
    await resume(daily)


async def closed_channel_refuses(daily):
    await daily.slack.archive("CGB")
    assert await at_the_hour(daily) == 1
    assert await tell_due(daily) == 0
    await daily.slack.unarchive("CGB")
    await reopen(daily)


async def pause_stops(daily):
    await wait(daily, LEFT_S)
    assert await write(daily, daily.reopening.tell_due, daily.clock) == 1
    await pause(daily)
    assert await expire(daily, 1) == 0
    await resume(daily)


@pytest.mark.parametrize("happens", [hour_falls_into_a_pause, closed_channel_refuses, pause_stops])
async def test_digest_comes_as_a_digest_once_the_channel_is_back(daily, happens):
    await tell(daily, *TWO)
    await happens(daily)
    assert await tell_due(daily) == 1
    assert [text.split(". ")[0] for text in daily.texts("CGB")] == ["Results digest"]


async def test_card_waits_for_its_eve_while_digests_and_summaries_of_a_pause_are_made_and_taken_back(eve):
    await tell(eve, *TWO)
    await wait(eve, LEFT_S)
    assert await write(eve, eve.reopening.tell_due, eve.clock) == 1
    await pause(eve)
    await wait(eve, 4 * HOUR_S)
    await write(eve, eve.reopening.resume, "CGB", eve.clock())
    await pause(eve)
    await resume(eve)
    await tell_due(eve)
    (text,) = eve.texts("CGB")
    assert text.startswith("This channel was paused. 2 results")
    await wait(eve, 4 * DAY_S - 4 * HOUR_S - 60)
    assert await tell_due(eve) == 0
    await wait(eve, 120)
    assert await tell_due(eve) == 1
    assert kinds(eve)[-1] == "Racecard"


# Waiting messages no longer wanted: unsubscribed, or of a muted meeting


IRISH = {"region": "IRE", "course": "Cork"}


async def everybody_may(_user_id, _channel_id):
    """Anybody may change anything."""


class Digest:
    """A channel with a digest, and what people type there."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        self.desk = SimpleNamespace(
            database=pipeline.database,
            people=SimpleNamespace(check_may_change=everybody_may),
            settings=SimpleNamespace(announce_changes=False),
            clock=pipeline.clock,
        )

    async def of(self, *regions, **hours):
        for region in regions:
            await self.pipeline.subscribe("CGB", region, frozenset(Topic), digest=(hour(self.pipeline),), **hours)

    async def typed(self, command, text):
        return await command(self.desk, Invocation(text, "CGB", "UALICE", "ref-1", None))

    async def withdrawn(self, race_id):
        found = await traced(self.pipeline, race_id)
        return [(str(told.outcome), told.why) for version in found.versions for told in version.told]


@pytest.fixture
def digest(pipeline):
    return Digest(pipeline)


@on_both
async def test_unsubscribed_region_is_not_in_the_digest(pipeline, digest):
    await digest.of("GB", "IRE")
    await tell(pipeline, result(), result("rc_2", **IRISH), result("rc_2", going="Soft", **IRISH))
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "IRE")
    assert await tell_due(pipeline) == 0
    assert await digest.withdrawn("rc_2") == [("not posted", "the channel unsubscribed while it waited")] * 2
    assert await at_the_hour(pipeline) == 1
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Results digest. 1 result. Ascot")
    assert await pipeline.waiting() == {}
    # A correction of a withdrawn result is no news here.
    await tell(pipeline, result("rc_2", placings=("Red Sky", "Blue Moon"), **IRISH))
    assert len(pipeline.texts("CGB")) == 1


async def test_results_of_a_digest_that_the_channel_ended_come_in_a_summary_that_names_no_quiet_hours(pipeline, digest):
    await digest.of("GB")
    await tell(pipeline, *TWO)
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "GB digest")
    assert await tell_due(pipeline) == 1
    (text,) = pipeline.texts("CGB")
    assert text.startswith("The wait is over. 2 results came meanwhile. Ascot")


async def test_unsubscribed_topic_is_withdrawn_and_the_other_topic_waits_on(pipeline, digest):
    await digest.of("GB", quiet=("00:00-23:59",))
    await tell(pipeline, result(), card())
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "GB results")
    await wait(pipeline, 24 * 3_600)
    await tell_due(pipeline)
    (text,) = pipeline.texts("CGB")
    assert text.startswith("Racecard: York")


async def test_nothing_of_a_channel_that_unsubscribed_from_everything_is_told_though_it_watches(pipeline, digest):
    await digest.of("GB")
    await watch(pipeline, "CGB", "Nobody")
    await tell(pipeline, result(), result("rc_2", course="York"))
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "all")
    assert await at_the_hour(pipeline) == 0
    assert pipeline.texts("CGB") == []


async def test_result_that_another_filter_takes_waits_by_that_filter(pipeline, digest):
    await digest.of("GB", "*")
    await tell(pipeline, result(), result("rc_2", **IRISH))
    await digest.typed(UNSUBSCRIBE_COMMAND.commit, "GB")
    assert await at_the_hour(pipeline) == 1
    assert "2 results" in pipeline.texts("CGB")[0]


@on_both
async def test_result_of_a_meeting_muted_since_is_not_in_the_digest(pipeline, digest):
    await digest.of("GB")
    await tell(pipeline, result(), result("rc_2", off_time="15:00"), result("rc_3", course="York"))
    _, number, _ = await digest.typed(MUTE_BUTTON.commit, "result.received:rc_1")
    await tell(pipeline, result(going="Soft"), abandonment("rc_4", off_time="16:00"))
    assert kinds(pipeline) == ["ABANDONED"]
    await digest.typed(UNMUTE_BUTTON.commit, str(number))
    assert await at_the_hour(pipeline) == 1
    assert pipeline.texts("CGB")[1].startswith("Results digest. 1 result. York")
    assert await digest.withdrawn("rc_2") == [("not posted", "the channel muted the meeting while it waited")]
