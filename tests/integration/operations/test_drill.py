"""Drills from the command to the channels, over real databases and Slack's stand-in; time is the test's own."""

import asyncio
import json
import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import update

from bot.channels import subscriptions
from bot.db.tables import ChannelQueue, SubscriptionState
from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import Topic
from bot.events.races import Race
from bot.fanout import drills
from bot.operations.drill_run import OVER, Drills, Stop
from bot.operations.public_url import AddressAnswer, Problem
from bot.operations.status_figures import read_status
from bot.outbox import ledger, message_store
from bot.outbox.ledger import LedgerOutcome
from bot.slack.messages.answers.trace_answer import drill_report
from sandbox.slack import failures
from tests.databases import first_on_both, on_both
from tests.integration.conftest import Moment
from tests.integration.pipeline.steps import close, fan_out, pause, resume, run_job, wait, write
from tests.said import WARNING, level_of

APART_S = 2 * drills.DRILLS_APART.total_seconds()
FINE = AddressAnswer("https://bot.example.com/webhooks/racing", 0.1)


def link(channel, ts):
    return f"https://x.slack.com/{channel}/{ts}"


def said(report):
    message = drill_report(report, link, "racing-bot")
    assert len(message.blocks) <= 50
    return message.text + json.dumps(message.blocks)


@dataclass
class Stage:
    """Drills on a pipeline: what is delivered arrives at the inbox, and each pause posts what is due."""

    pipeline: Any
    posts: bool = True
    fans_out: bool = True
    problem: Problem | None = None
    arrives: bool = True
    seconds: float = 0.0
    bodies: list[bytes] = field(default_factory=list)

    def __post_init__(self):
        pipeline = self.pipeline
        self.drills = Drills(
            pipeline.database, self.deliver, pipeline.clock, asyncio.Event(), monotonic=lambda: self.seconds,
            pause=self.pass_time,
        )  # fmt: skip

    async def deliver(self, body):
        self.bodies.append(body)
        if self.arrives:
            await self.pipeline.deliver(body)
        return AddressAnswer(FINE.address, FINE.took_s, self.problem)

    async def pass_time(self, seconds):
        self.seconds += seconds
        if not self.fans_out:
            return
        await (self.pipeline.post_all() if self.posts else self.pipeline.fanout.run_once())

    async def begin(self, only_channel=None):
        self.pipeline.clock.catch_up()
        drill = Drill(drill_id=secrets.token_hex(8), begun_by="UALICE", only_channel=only_channel)
        return await self.pipeline.database.write(partial(self.drills.begin, drill=drill))

    async def latest(self):
        return await self.pipeline.database.read(drills.latest)

    async def drill(self, only_channel=None):
        kept = await self.begin(only_channel)
        assert kept is not None
        return await self.drills.run(kept)

    async def trace(self, kept):
        key = drill_mark.key_of(kept.drill.drill_id)
        return await self.pipeline.database.read(lambda session: ledger.trace(session, key, self.pipeline.clock()))


@pytest.fixture
def stage(pipeline):
    return Stage(pipeline)


async def test_drill_comes_to_the_channels_that_take_abandonments_or_to_the_one_that_is_named(stage, gb):
    await gb.subscribe("CIRE", "IRE", topics=frozenset({Topic.RESULTS}))
    await gb.subscribe("CALL", "*", topics=frozenset({Topic.ABANDONMENTS}))
    report = await stage.drill()
    assert report.stop is Stop.TOLD
    assert {one.channel_id: one.outcome for one in report.told} == dict.fromkeys(("CGB", "CALL"), LedgerOutcome.SENT)
    for channel in ("CGB", "CALL"):
        (text,) = gb.texts(channel)
        assert text.startswith("DRILL: ")
        assert "ABANDON" not in text.upper()
    assert gb.texts("CIRE") == []
    words = said(report)
    for told in ("all 2 channels got the message", "s after the beginning", "took the delivery after 0.1 s"):
        assert told in words
    await wait(gb, APART_S)
    here = await stage.drill("CIRE")
    assert [one.channel_id for one in here.told] == ["CIRE"]
    assert [len(gb.texts(channel)) for channel in ("CIRE", "CGB")] == [1, 1]


async def test_drill_in_a_paused_channel_says_so_and_never_comes_late(stage, gb):
    await gb.subscribe("CALL", "*")
    await pause(gb)
    report = await stage.drill()
    paused = next(one for one in report.told if one.channel_id == "CGB")
    assert (paused.outcome, paused.is_held, paused.why) == (LedgerOutcome.WAITING, True, "the channel is paused")
    assert stage.seconds < 5, "nobody waits for a channel that is held"
    assert "/racing resume" in said(report)
    assert "1 of 2 channels got the message" in said(report)
    await resume(gb)
    assert gb.texts("CGB") == []
    (version,) = (await stage.trace(report.kept)).versions
    assert {one.channel_id: one.why for one in version.told} == {"CGB": OVER, "CALL": None}


@pytest.mark.parametrize("is_known", [True, False])
async def test_drill_in_a_closed_channel_says_how_to_open_the_channel(stage, gb, is_known):
    gb.slack.channels["CGB"].is_archived = True
    if is_known:
        await close(gb)
    report = await stage.drill()
    assert report.told[0].is_held
    assert ("unarchive the channel" if is_known else "is_archived") in said(report)
    assert any("CGB" in text for text in gb.texts("CADMIN"))


async def test_channels_without_the_bot_are_named_with_what_brings_the_bot(stage, pipeline):
    report = await stage.drill()
    assert report.told == []
    assert "/racing subscribe GB" in said(report)
    await wait(pipeline, APART_S)
    await pipeline.subscribe("CNEW", "GB")
    await write(pipeline, subscriptions.set_state, "CNEW", SubscriptionState.WAITING, pipeline.clock())
    report = await stage.drill()
    assert list(report.uninvited) == ["CNEW"]
    assert "/invite @racing-bot" in said(report)


async def test_silent_slack_ends_the_drill_and_what_waits_is_withdrawn(stage, gb):
    gb.slack.script("chat.postMessage", [failures.slack_error("service_unavailable")] * 500)
    report = await stage.drill()
    assert (report.told[0].outcome, report.told[0].is_held) == (LedgerOutcome.WAITING, False)
    assert "withdrawn" in said(report)
    assert await gb.waiting() == {}
    gb.slack.script("chat.postMessage", [])
    gb.clock.forward(3600)
    await gb.post_all()
    assert gb.texts("CGB") == []


BREAKS_OFF = Problem("The connection broke off.", "See the proxy's log.")
STOPS = [
    ({"problem": BREAKS_OFF, "arrives": False}, Stop.NOT_DELIVERED, (BREAKS_OFF.told, BREAKS_OFF.mend)),
    ({"problem": BREAKS_OFF}, Stop.NOT_DELIVERED, (BREAKS_OFF.told,)),
    ({"arrives": False}, Stop.NOT_STORED, ("another bot",)),
    ({"fans_out": False}, Stop.NOT_FANNED_OUT, ("Fan-out did not come",)),
]


@pytest.mark.parametrize(("database", "trouble"), first_on_both(STOPS), indirect=["database"])
async def test_drill_that_is_stopped_says_where_and_rings_nobody_afterwards(stage, trouble):
    changes, stop, words = trouble
    await stage.pipeline.subscribe("CGB", "GB")
    vars(stage).update(changes)
    report = await stage.drill()
    assert report.stop is stop
    assert [one for one in words if one not in said(report)] == []
    await stage.pipeline.post_all()
    assert stage.pipeline.texts("CGB") == []


@on_both
async def test_one_drill_a_minute_by_all_replicas_together(make_pipeline):
    clock = Moment()
    one, other = (Stage(make_pipeline(clock=clock)) for _ in range(2))
    kept = await asyncio.gather(one.begin(), other.begin())
    assert sum(each is not None for each in kept) == 1
    latest = await one.latest()
    assert latest is not None
    assert latest in kept
    await wait(one.pipeline, APART_S)
    assert await other.begin() is not None


async def test_end_of_an_earlier_drill_leaves_the_latest_open(stage):
    earlier = await stage.begin()
    await wait(stage.pipeline, APART_S)
    latest = await stage.begin()
    await stage.drills.end(earlier)
    assert await stage.latest() == latest
    await stage.drills.end(latest)
    assert (await stage.latest()).is_over


@pytest.mark.parametrize("begun", [False, True], ids=["never begun", "another begun"])
async def test_signed_drill_that_nobody_began_tells_no_channel_and_admins_once(stage, gb, begun):
    if begun:
        assert await stage.begin()
    for _ in range(2):
        await gb.deliver(drill_mark.body_of(secrets.token_hex(8)))
    await gb.post_all()
    (told,) = gb.texts("CADMIN")
    assert (gb.texts("CGB"), level_of(told)) == ([], WARNING)
    assert "did not begin" in told


async def test_earlier_drill_that_was_fanned_out_late_and_a_replay_ring_and_alarm_nobody(stage, gb):
    late = await stage.begin()
    await wait(gb, APART_S)
    report = await stage.drill()
    assert await gb.deliver(drill_mark.body_of(late.drill.drill_id))
    assert await gb.deliver(stage.bodies[0]) is False
    await gb.post_all()
    assert report.stop is Stop.TOLD
    assert (len(gb.texts("CGB")), gb.texts("CADMIN")) == (1, [])


@on_both
async def test_drill_stands_in_the_ledger_and_in_no_list_figure_metric_or_mention(stage):
    pipeline, counted = stage.pipeline, list[str]()
    pipeline.poster.on_outcome = counted.append
    await pipeline.subscribe("CGB", "GB", mentions=("here", "UALICE"))
    report = await stage.drill()
    (version,) = (await stage.trace(report.kept)).versions
    assert (version.row.kind, version.race, version.row.posts) == ("drill", Race(), 1)

    def last(session):
        rows = subscriptions.of_channel(session, "CGB")
        return subscriptions.last_posts(session, "CGB", [subscriptions.read_filter(row) for row in rows])

    assert await pipeline.database.read(last) == [None]
    status = await pipeline.database.read(lambda session: read_status(session, pipeline.clock, ()))
    assert (status.deliveries, status.sent.posts, counted) == ({}, 0, [])
    (message,) = pipeline.slack.messages("CGB")
    assert "<!here>" not in json.dumps(message.blocks)


async def test_abandonment_goes_before_a_drill_that_waits(stage, gb):
    far = gb.clock() + timedelta(days=1)
    await write(gb, message_store.make_queues, ["CGB"])
    await write(gb, lambda session: session.execute(update(ChannelQueue).values(next_free_at=far)))
    kept = await stage.begin()
    await fan_out(gb, drill_mark.body_of(kept.drill.drill_id))
    await fan_out(gb, {"event": "race.abandoned", "race": {"race_id": "rc_1", "region": "GB", "course": "Ascot"}})
    await write(gb, lambda session: session.execute(update(ChannelQueue).values(next_free_at=message_store.ALWAYS)))
    await gb.post_all()
    assert [text.split(":")[0] for text in gb.texts("CGB")] == ["ABANDONED", "DRILL"]


async def test_drill_of_a_process_that_died_is_ended_by_the_job(stage, gb):
    await pause(gb)
    kept = await stage.begin()
    await stage.deliver(drill_mark.body_of(kept.drill.drill_id))
    await gb.fanout.run_once()
    job = stage.drills.job
    assert await run_job(job, gb.database) is False
    gb.clock.forward(drills.DRILL_LASTS.total_seconds() + 1)
    assert await run_job(job, gb.database) is True
    assert await run_job(job, gb.database) is False
    assert await gb.waiting() == {}


def test_only_the_bots_own_bytes_are_a_drill():
    drill_id = secrets.token_hex(8)
    body = drill_mark.body_of(drill_id)
    assert drill_mark.read_body(body) == drill_id
    for other in (body + b"\n", body.replace(b":", b": "), body.replace(b"racing-bot.drill", b"race.abandoned")):
        assert drill_mark.read_body(other) is None
    assert Drill(drill_id=drill_id).begun_by is None
