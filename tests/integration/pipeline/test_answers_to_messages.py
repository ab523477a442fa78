"""Slack's answers to a message's call: the further calls, the channel, the waiting messages, the notices."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import product
from secrets import token_hex
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from bot.channels import subscriptions
from bot.db.engine import database_now
from bot.db.tables import EventVersion, OutboxMessage, Reason
from bot.outbox import channel_queues, pace
from bot.outbox.claim_outcomes import GivenUp, NotSent, Posted
from bot.outbox.message import Call, Sender
from bot.outbox.pace import Pace
from bot.settings import DoubtfulPosts
from sandbox.slack import failures
from sandbox.slack.failures import Failure, http_error, rate_limited, slack_error
from tests.clock import now, set_ahead
from tests.databases import first_on_both, on_both
from tests.integration.conftest import TOKEN, Moment
from tests.integration.pipeline import steps
from tests.integration.pipeline.steps import (
    abandonment,
    fail,
    fan_out,
    meeting,
    result,
    shown,
    step,
    tell,
    turns,
    wait,
    write,
)
from tests.logged import capture_logs
from tests.said import URGENT

FAILS, TAKEN, LIMITED = http_error(503), http_error(503).accepted(), rate_limited(9)
DEAD, UNKNOWN, NO_BLOCKS = slack_error("token_revoked"), slack_error("never_heard_of_it"), slack_error("invalid_blocks")
ARCHIVED, NO_SCOPE, TOO_LONG = slack_error("is_archived"), slack_error("missing_scope"), slack_error("msg_too_long")

DOUBT = {0: "post", 5: ""}
"""The first turn after the call's deadline finds that the history may lag."""

SIX_LOOKS = {15: "look", 20: "look", 30: "look", 50: "look", 90: "look", 150: "look post"}


@dataclass(frozen=True)
class Case:
    """Slack's failures; then the calls by second, the messages, the waiting messages, and the notices to admins."""

    asked: dict[Any, str]
    post: list[Failure]
    look: Any = ()
    choice: DoubtfulPosts = DoubtfulPosts.REPEAT
    stand: int = 1
    waiting: str = ""
    told: str = ""
    in_words: bool = False
    repeated: bool = False
    """The last message says "may be a repeat"."""


HOLD = DoubtfulPosts.HOLD


CASES = {
    "limited": Case({0: "post", 7: "post"}, [rate_limited(7)]),
    "token dead": Case({0: "post", 60: "post"}, [DEAD]),
    "blocks refused": Case({0: "post post post"}, [NO_BLOCKS] * 2, in_words=True),
    "unknown": Case({0: "post", 1: "post"}, [UNKNOWN]),
    # Notices to admins are posts too, and so is a subscriber's notice of a closed channel. Further words and codes:
    # tests/unit/outbox/test_claim_sender.py
    "unknown six times": Case(
        dict.fromkeys([0, 1, 3, 8, 18], "post") | {48: "post post"},
        [UNKNOWN] * 6,
        stand=0,
        waiting="dead_letter",
        told="never_heard_of_it",
    ),
    "closed": Case({0: "post post post"}, [ARCHIVED], stand=0, waiting="queued", told="no longer lets me post"),
    "taken": Case(DOUBT | {15: "look"}, [TAKEN]),
    "not there": Case(DOUBT | {15: "look", 20: "look post"}, [FAILS]),
    "six looks": Case(DOUBT | SIX_LOOKS, [FAILS], FAILS, repeated=True),
    "look limited": Case(DOUBT | {15: "look", 24: "look", 29: "look post"}, [FAILS], [LIMITED]),
    "token dead at the look": Case(DOUBT | {15: "look", 75: "look", 80: "look post"}, [FAILS], [DEAD]),
    "no scope": Case(DOUBT | {15: "look post"}, [TAKEN], NO_SCOPE, stand=2, repeated=True),
    "hold, no scope": Case(
        DOUBT | {15: "look post"}, [TAKEN], NO_SCOPE, HOLD, waiting="dead_letter", told="I can't look"
    ),
    "hold, failed looks": Case(DOUBT | SIX_LOOKS | {150: "look", 210: "look"}, [TAKEN], [FAILS] * 6, HOLD),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_message_whose_call_fails(make_pipeline, case):
    pipeline = make_pipeline(doubtful=case.choice)
    await pipeline.subscribe("CGB", "GB")
    fail(pipeline, post=case.post, look=case.look or [])
    await pipeline.deliver(result())
    assert await turns(pipeline, 400) == case.asked
    messages = pipeline.slack.messages("CGB")
    repeats = ["may be a repeat" in shown(one) for one in messages]
    assert repeats == [False] * (case.stand - case.repeated) + [True] * case.repeated
    assert all(bool(one.blocks) != case.in_words for one in messages)
    assert await pipeline.waiting() == ({case.waiting: 1} if case.waiting else {})
    assert [case.told in text for text in pipeline.texts("CADMIN")] == [True] * bool(case.told)
    await tell(pipeline, result("rc_2"))
    assert len(pipeline.texts("CGB")) == case.stand + (case.waiting != "queued")


@pytest.mark.parametrize(
    ("failure", "held"),
    [(rate_limited(7), {"chat.postMessage": "ratelimited"}), (DEAD, {"*": "chat.postMessage: token_revoked"})],
    ids=["limited", "token dead"],
)
async def test_call_or_every_call_is_held_for_all_channels_and_no_message_is_lost(gb, failure, held):
    await gb.subscribe("CALL", "*")
    fail(gb, post=failure)
    await tell(gb, result())
    assert (await gb.holds(), await gb.waiting()) == (held, {"queued": 2})
    fail(gb, post=[])
    await turns(gb, 60)
    assert len(gb.texts("CGB")) == len(gb.texts("CALL")) == 1
    assert gb.texts("CADMIN") == []


@pytest.mark.parametrize(
    ("failures", "asked"),
    [
        ([], {0: "post", 1: "post", 2: "post"}),
        # The last of the first turn is the notice to admins.
        ([TOO_LONG] * 3, {0: "post post post post", 1: "post", 2: "post"}),
        ([NO_BLOCKS] * 2, {0: "post post post", 1: "post", 2: "post"}),
        ([TAKEN], DOUBT | {15: "look", 16: "post", 17: "post"}),
    ],
    ids=["taken", "given up", "in words", "found"],
)
async def test_channel_gets_a_message_a_second(make_pipeline, failures, asked):
    pipeline = make_pipeline(pace=Pace())
    await pipeline.subscribe("CGB", "GB")
    fail(pipeline, post=failures)
    for number in range(3):
        await pipeline.deliver(result(f"rc_{number}"))
    assert await turns(pipeline, 60) == asked


async def test_message_waits_for_no_edit_of_its_channel(make_pipeline):
    pipeline = make_pipeline(pace=Pace())
    await pipeline.subscribe("CGB", "GB")
    for payload, asked in ((result(), "post"), (result(going="Soft"), "edit"), (result("rc_2"), "post")):
        await pipeline.deliver(payload)
        assert await turns(pipeline, 1 if asked == "post" else 0) == {0: asked}


@pytest.mark.parametrize("messages", [1, 2, 3])
async def test_poster_is_woken_after_a_message_if_more_wait_in_the_channel(gb, messages):
    for number in range(messages):
        await gb.deliver(result(f"rc_{number}"))
    while await gb.fanout.run_once():
        continue
    for number in range(messages):
        gb.poster.wake.clear()
        await step(gb)
        assert gb.poster.wake.is_set() is (number < messages - 1)


async def test_shorter_wait_does_not_end_a_longer_one(pipeline):
    now = pipeline.clock()
    for seconds in (60, 5):
        until = now + timedelta(seconds=seconds)
        await write(pipeline, pace.hold_call, call=Call.POST, until=until, reason="429")
    until_30 = now + timedelta(seconds=30)
    assert await pipeline.database.read(partial(pace.reasons_of_holds, now=until_30)) == {Call.POST: "429"}


async def claim(pipeline):
    def work(session):
        now = database_now(session, pipeline.clock)
        return channel_queues.claim(session, now, token=token_hex(8), limit=5, allowed={})

    return await write(pipeline, work)


@on_both
async def test_worker_that_lost_its_lease_changes_nothing(gb):
    await fan_out(gb, result())
    (lost,) = await claim(gb)
    assert await claim(gb) == []
    await wait(gb, 10)
    (taken_over,) = await claim(gb)
    assert taken_over.in_doubt
    now = gb.clock()
    for late in (Posted(lost, "1.1", 0), NotSent(lost, "late"), GivenUp(lost, Reason.REFUSED, "late")):
        assert not await write(gb, lambda session, late=late: late.record(gb.poster.recording(session, now)))
    assert await gb.waiting() == {"in_doubt": 1}


POISON = "Poison Park"


@dataclass
class Stumbling:
    """A sender that fails by a bug of ours on messages with the word POISON."""

    sender: Sender
    calls: list[bool] = field(default_factory=list)
    """True for each failed call with blocks."""

    async def post(self, channel_id, message, sending):
        if POISON in message.text:
            self.calls.append(bool(message.blocks))
            raise AttributeError
        return await self.sender.post(channel_id, message, sending)

    async def find(self, channel_id, search):
        return await self.sender.find(channel_id, search)


async def test_message_that_is_always_doubtful_is_sent_plainly_then_given_up(gb):
    await gb.subscribe("CIRE", "IRE")
    sender = gb.poster.claim_sender.sender = Stumbling(gb.sender)
    with capture_logs():
        await tell(gb, abandonment("rc_p", course=POISON), result("rc_behind"))
        for number in range(8):
            await tell(gb, result(f"rc_{number}", region="IRE"))
            await turns(gb, 20)
    assert sender.calls == [True] * 4 + [False] * 4
    assert (await steps.states(gb), len(gb.texts("CGB"))) == (["dead_letter", "sent"], 1)
    (told,) = gb.texts("CADMIN")
    assert told.startswith(f"{URGENT}An abandonment's message for channel <#CGB> was not posted: 8 calls")
    assert "rc_p#1@CGB" in told


async def test_outage_gives_no_message_up_and_tells_admins_once_an_hour(pipeline):
    for channel_id, region in (("CGB", "GB"), ("CIRE", "IRE")):
        await pipeline.subscribe(channel_id, region)
    await tell(pipeline, result("rc_before", region="IRE"))
    pipeline.clock.now = pipeline.clock.now.replace(minute=0)
    fail(pipeline, post=FAILS)
    await tell(pipeline, result("rc_1"), result("rc_2", region="IRE"))
    await turns(pipeline, 200)
    assert "dead_letter" not in await pipeline.waiting()
    fail(pipeline, post=[])
    await turns(pipeline, 60)
    assert await pipeline.waiting() == {}
    assert (len(pipeline.texts("CGB")), len(pipeline.texts("CIRE"))) == (1, 2)
    assert 1 <= len(pipeline.texts("CADMIN")) <= 2


async def test_stored_event_that_cant_be_read_is_told_by_its_columns_and_keeps_nobody_waiting(pipeline):
    await pipeline.subscribe("CGB", "GB", mentions=("here",))
    await pipeline.subscribe("CIRE", "IRE")
    await fan_out(
        pipeline, *(meeting("rc_9"), abandonment("rc_2", course="Kempton"), abandonment("rc_3", region="IRE"))
    )
    broken = update(EventVersion).where(col(EventVersion.region) == "GB").values(data="{}", remarks="{")
    await pipeline.database.write(lambda session: session.execute(broken))
    with capture_logs():
        await pipeline.post_all()
    assert await pipeline.waiting() == {}
    assert len(pipeline.texts("CIRE")) == 1
    assert pipeline.texts("CGB") == [
        "ABANDONED: course not given, whole meeting, Fri 20 Nov (GB) <!here>",
        "ABANDONED: course not given, time not given (GB), race rc_2 <!here>",
    ]

    def last_posts(session):
        return subscriptions.last_posts(session, "CGB", subscriptions.filters_of(session, "CGB"))

    assert len(await pipeline.database.read(last_posts)) == 1


async def test_token_that_slack_echoes_is_stored_told_and_logged_masked(gb):
    body = {"ok": False, "error": f"odd_{TOKEN}", "needed": f"chat:write {TOKEN}"}
    fail(gb, post=[Failure(name="echo", status=200, body=json.dumps(body))] * 6)
    with capture_logs() as logged:
        await gb.deliver(abandonment())
        await turns(gb, 60)

    def stored(session):
        return [(row.detail, row.content) for row in session.execute(select(OutboxMessage)).scalars()]

    everything = [logged, await gb.database.read(stored), await gb.holds(), gb.texts("CADMIN")]
    assert str(everything).count("chat.postMessage") > 2
    assert TOKEN[:10] not in str(everything)


# Clocks that differ: this machine's from Slack's, and this machine's from an earlier time


async def settle(pipeline):
    """The server's clock goes on too, and stays right."""
    for number in (1, 2, 3):
        pipeline.clock.forward(20)
        await set_ahead(pipeline.database, timedelta(seconds=20 * number))
        await pipeline.post_all()


@pytest.mark.parametrize(
    ("database", "case"), first_on_both([*product((0, 1), (-60, -11, 11, 60))]), indirect=["database"]
)
async def test_doubtful_post_is_found_however_wrong_this_machines_clock_is(make_pipeline, case):
    """On PostgreSQL leases go by the server's clock, and the clock is right."""
    posted_before, minutes = case
    pipeline = make_pipeline(clock=Moment(now() + timedelta(minutes=minutes)))
    await pipeline.subscribe("CGB", "GB")
    await tell(pipeline, *(result(f"rc_before_{number}") for number in range(posted_before)))
    fail(pipeline, post=[failures.drop_after()])
    await tell(pipeline, result())
    await settle(pipeline)
    assert len(pipeline.texts("CGB")) == posted_before + 1
    assert await pipeline.waiting() == {}


@on_both
async def test_post_that_was_looked_for_says_nothing_of_the_clocks(gb):
    """The post was written down as sent long after its ts: by that the clocks would be apart though they are not."""
    for number in (1, 2):
        fail(gb, post=[failures.drop_after()])
        await tell(gb, result(f"rc_{number}"))
        await wait(gb, 1_200)
        await turns(gb, 60)
        assert len(gb.texts("CGB")) == number


@pytest.mark.parametrize("hours", [(1, -1, 0), (0, 1, -1), (0, -1, 1)])
@on_both
async def test_post_in_doubt_after_the_clock_was_set_is_found_by_another_process(make_pipeline, gb, hours):
    """The channel's earlier post has another time, and does not tell how far Slack's clock is ahead.

    The clock is set before the earlier post, before the post in doubt, and before the look.
    """
    await wait(gb, 3_600 * hours[0])
    await tell(gb, result("rc_1"))
    await wait(gb, 3_600 * hours[1])
    fail(gb, post=[failures.drop_after()])
    await tell(gb, result("rc_2"))
    await wait(gb, 3_600 * hours[2])
    await turns(make_pipeline(clock=gb.clock), 60)
    assert len(gb.texts("CGB")) == 2
    assert await gb.waiting() == {}


@pytest.mark.parametrize("minutes", [61, 10])
async def test_clock_that_was_set_back_does_not_move_the_look_for_a_post(gb, minutes):
    await wait(gb, 60 * minutes)
    fail(gb, post=[failures.drop_after()])
    await tell(gb, result())
    await wait(gb, -60 * minutes)
    looked = [second for second, asked in (await turns(gb, 20)).items() if "look" in asked]
    assert looked == [15]
    assert len(gb.texts("CGB")) == 1
