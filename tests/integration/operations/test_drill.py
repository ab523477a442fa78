"""Drills from the command to the channels, over real databases and Slack's stand-in; time is the test's own."""

import asyncio
import json
import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from bot.channels import subscriptions
from bot.db import named_values
from bot.db.tables import ChannelQueue, SubscriptionState
from bot.deliveries import inbox
from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import Topic
from bot.fanout import drill_records as kept_drills
from bot.operations.drill_run import OVER, AddressAnswer, Drills, Problem, Stop
from bot.outbox import ledger, message_store, traffic
from bot.outbox.channel_closing import close_channel, pause_channel
from bot.outbox.ledger import LedgerOutcome
from bot.slack.messages.answers.drill_report import drill_report
from sandbox.slack import failures
from tests.databases import on_both
from tests.notice_levels import WARNING

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
            token=secrets.token_hex,
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
        return await self.drills.begin("UALICE", only_channel)

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


async def change(pipeline, work):
    return await pipeline.database.write(work)


async def begun_minutes_ago(pipeline, kept):
    """Let a drill be two minutes old: on PostgreSQL the database's own clock counts, and no test moves that clock."""
    earlier = kept.model_copy(update={"begun_at": kept.begun_at - 2 * kept_drills.DRILLS_APART})
    await change(
        pipeline,
        lambda session: named_values.put(
            session, kept_drills.DRILL_STATE, earlier.model_dump(mode="json"), earlier.begun_at
        ),
    )


async def test_drill_comes_to_the_channels_that_take_abandonments_and_to_no_other(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CIRE", "IRE", topics=frozenset({Topic.RESULTS}))
    await pipeline.subscribe("CALL", "*", topics=frozenset({Topic.ABANDONMENTS}))
    report = await stage.drill()
    assert report.stop is Stop.TOLD
    assert {one.channel_id: one.outcome for one in report.told} == {
        "CGB": LedgerOutcome.SENT,
        "CALL": LedgerOutcome.SENT,
    }
    for channel in ("CGB", "CALL"):
        (text,) = pipeline.texts(channel)
        assert text.startswith("DRILL: ")
        assert "ABANDON" not in text.upper()
    assert pipeline.texts("CIRE") == []
    words = said(report)
    assert "all 2 channels got the message" in words
    assert "s after the beginning" in words
    assert "took the delivery after 0.1 s" in words


async def test_drill_here_comes_to_one_channel_even_without_a_subscription(stage):
    await stage.pipeline.subscribe("CGB", "GB")
    report = await stage.drill("CIRE")
    assert [one.channel_id for one in report.told] == ["CIRE"]
    assert len(stage.pipeline.texts("CIRE")) == 1
    assert stage.pipeline.texts("CGB") == []


async def test_drill_in_a_paused_channel_says_so_and_never_comes_late(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    await change(pipeline, lambda session: pause_channel(session, "CGB", None, pipeline.clock()))
    report = await stage.drill()
    paused = next(one for one in report.told if one.channel_id == "CGB")
    assert (paused.outcome, paused.is_held, paused.why) == (LedgerOutcome.WAITING, True, "the channel is paused")
    assert "/racing resume" in said(report)
    assert "1 of 2 channels got the message" in said(report)
    await change(pipeline, lambda session: pipeline.reopening.resume(session, "CGB", pipeline.clock()))
    await pipeline.post_all()
    assert pipeline.texts("CGB") == []
    (version,) = (await stage.trace(report.kept)).versions
    assert {one.channel_id: one.why for one in version.told} == {"CGB": OVER, "CALL": None}


async def test_drill_in_a_closed_channel_says_how_to_open_the_channel(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    await change(
        pipeline, lambda session: close_channel(session, pipeline.notices, "CGB", "is_archived", pipeline.clock())
    )
    report = await stage.drill()
    assert report.told[0].is_held
    assert "unarchive the channel" in said(report)


async def test_drill_finds_a_channel_that_closed_unnoticed(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.channels["CGB"].is_archived = True
    report = await stage.drill()
    assert report.told[0].is_held
    assert "is_archived" in said(report)
    assert any("CGB" in text for text in pipeline.texts("CADMIN"))


async def test_mute_holds_no_drill_back(stage):
    """A mute is of a meeting's results and racecards; no abandonment is muted."""
    await stage.pipeline.subscribe("CGB", "GB", topics=frozenset(Topic))
    assert (await stage.drill()).told[0].outcome is LedgerOutcome.SENT


async def test_channel_that_waits_for_the_bot_is_named_with_what_invites_the_bot(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CNEW", "GB")
    await change(
        pipeline,
        lambda session: subscriptions.set_state(session, "CNEW", SubscriptionState.WAITING, pipeline.clock()),
    )
    report = await stage.drill()
    assert list(report.uninvited) == ["CNEW"]
    assert "/invite @racing-bot" in said(report)


async def test_without_any_channel_the_report_says_how_to_subscribe_one(stage):
    report = await stage.drill()
    assert report.told == []
    assert "/racing subscribe GB" in said(report)


async def test_silent_slack_ends_the_drill_and_what_waits_is_withdrawn(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    pipeline.slack.script("chat.postMessage", [failures.slack_error("service_unavailable")] * 500)
    report = await stage.drill()
    assert report.told[0].outcome is LedgerOutcome.WAITING
    assert not report.told[0].is_held
    assert "withdrawn" in said(report)
    assert (await pipeline.database.read(message_store.count_by_state)) == {}
    pipeline.slack.script("chat.postMessage", [])
    pipeline.clock.forward(3600)
    await pipeline.post_all()
    assert pipeline.texts("CGB") == []


@on_both
async def test_endpoint_that_did_not_answer_is_said_with_what_mends_it(stage):
    await stage.pipeline.subscribe("CGB", "GB")
    stage.problem, stage.arrives = Problem("Nothing listens.", "Start the proxy."), False
    report = await stage.drill()
    assert report.stop is Stop.NOT_DELIVERED
    words = said(report)
    assert "Nothing listens." in words
    assert "Start the proxy." in words


async def test_delivery_whose_answer_was_lost_rings_nobody_afterwards(stage):
    await stage.pipeline.subscribe("CGB", "GB")
    stage.problem = Problem("The connection broke off.", "See the proxy's log.")
    await stage.drill()
    await stage.pipeline.post_all()
    assert stage.pipeline.texts("CGB") == []


async def test_another_bot_at_the_address_is_found_out(stage):
    stage.arrives = False
    report = await stage.drill()
    assert report.stop is Stop.NOT_STORED
    assert "another bot" in said(report)


async def test_fanout_that_stands_still_is_found_out_and_rings_nobody_afterwards(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    stage.fans_out = False
    report = await stage.drill()
    assert report.stop is Stop.NOT_FANNED_OUT
    assert "Fan-out did not come" in said(report)
    await pipeline.post_all()
    assert pipeline.texts("CGB") == []


@on_both
async def test_one_drill_a_minute_by_all_replicas_together(make_pipeline):
    one, other = Stage(make_pipeline()), Stage(make_pipeline())
    kept = await asyncio.gather(one.begin(), other.begin())
    assert sum(each is not None for each in kept) == 1
    latest = await one.drills.latest()
    assert latest is not None
    assert latest in kept

    await begun_minutes_ago(one.pipeline, latest)
    assert await other.begin() is not None


async def test_end_of_an_earlier_drill_leaves_the_latest_open(stage):
    earlier = await stage.begin()
    await begun_minutes_ago(stage.pipeline, earlier)
    latest = await stage.begin()
    await stage.drills.end(earlier)
    assert await stage.drills.latest() == latest
    await stage.drills.end(latest)
    assert (await stage.drills.latest()).is_over


@pytest.mark.parametrize("begun", [False, True], ids=["never begun", "another begun"])
async def test_signed_drill_that_nobody_began_tells_no_channel_and_admins_once(stage, begun):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    if begun:
        assert await stage.begin()
    for _ in range(2):
        await pipeline.deliver(drill_mark.body_of(secrets.token_hex(8)))
    await pipeline.post_all()
    assert pipeline.texts("CGB") == pipeline.texts("CALL") == []
    (told,) = pipeline.texts("CADMIN")
    assert told.startswith(f"{WARNING}A signed drill came (inbox-")
    assert "did not begin" in told


async def test_earlier_drill_that_was_fanned_out_late_alarms_nobody(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    late = await stage.begin()
    await begun_minutes_ago(pipeline, late)
    assert await stage.begin() is not None
    await pipeline.deliver(drill_mark.body_of(late.drill.drill_id))
    await pipeline.post_all()
    assert pipeline.texts("CGB") == pipeline.texts("CADMIN") == []


async def test_replay_of_a_drill_rings_nobody(stage):
    await stage.pipeline.subscribe("CGB", "GB")
    report = await stage.drill()
    assert await stage.pipeline.deliver(stage.bodies[0]) is False
    await stage.pipeline.post_all()
    assert len(stage.pipeline.texts("CGB")) == 1
    assert report.stop is Stop.TOLD


@on_both
async def test_drill_stands_in_the_ledger_and_in_no_list(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    report = await stage.drill()
    (version,) = (await stage.trace(report.kept)).versions
    assert (version.kind, version.race_id, version.posts) == ("drill", None, 1)

    def last(session):
        rows = subscriptions.of_channel(session, "CGB")
        return subscriptions.last_posts(session, "CGB", [subscriptions.read_filter(row) for row in rows])

    assert await pipeline.database.read(last) == [None]


async def test_drill_is_in_no_figure_of_the_status(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    report = await stage.drill()
    since = report.kept.begun_at - timedelta(hours=1)
    assert len(pipeline.texts("CGB")) == 1
    assert (await pipeline.database.read(lambda session: traffic.sent_since(session, since))).posts == 0
    assert await pipeline.database.read(lambda session: inbox.count_received(session, since)) == {}


async def test_drill_is_counted_by_no_metric(make_pipeline):
    stage = Stage(make_pipeline())
    counted: list[str] = []
    stage.pipeline.poster.on_outcome = counted.append
    await stage.pipeline.subscribe("CGB", "GB")
    await stage.drill()
    assert len(stage.pipeline.texts("CGB")) == 1
    assert counted == []


async def test_drill_rings_nobody_by_a_mention_of_the_channel(stage):
    await stage.pipeline.subscribe("CGB", "GB", mentions=("here", "UALICE"))
    await stage.drill()
    assert "<!here>" not in json.dumps([one.blocks for one in stage.pipeline.slack.messages("CGB")])


async def test_abandonment_goes_before_a_drill_that_waits(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    far = pipeline.clock() + timedelta(days=1)
    await change(pipeline, lambda session: message_store.make_queues(session, ["CGB"]))
    await change(pipeline, lambda session: session.execute(update(ChannelQueue).values(next_free_at=far)))
    kept = await stage.begin()
    await pipeline.deliver(drill_mark.body_of(kept.drill.drill_id))
    await pipeline.fanout.run_once()
    await pipeline.deliver({"event": "race.abandoned", "race": {"race_id": "rc_1", "region": "GB", "course": "Ascot"}})
    await pipeline.fanout.run_once()
    await change(
        pipeline, lambda session: session.execute(update(ChannelQueue).values(next_free_at=message_store.ALWAYS))
    )
    await pipeline.post_all()
    assert [text.split(":")[0] for text in pipeline.texts("CGB")] == ["ABANDONED", "DRILL"]


async def test_drill_of_a_process_that_died_is_ended_by_the_job(stage):
    pipeline = stage.pipeline
    await pipeline.subscribe("CGB", "GB")
    await change(pipeline, lambda session: pause_channel(session, "CGB", None, pipeline.clock()))
    kept = await stage.begin()
    await stage.deliver(drill_mark.body_of(kept.drill.drill_id))
    await pipeline.fanout.run_once()
    assert await stage.drills.end_left_over() is False
    stage.pipeline.clock.forward(kept_drills.DRILL_LASTS.total_seconds() + 1)
    assert await stage.drills.end_left_over() is True
    assert await stage.drills.end_left_over() is False
    assert (await pipeline.database.read(message_store.count_by_state)) == {}


def test_only_the_bots_own_bytes_are_a_drill():
    drill_id = secrets.token_hex(8)
    body = drill_mark.body_of(drill_id)
    assert drill_mark.read_body(body) == drill_id
    for other in (body + b"\n", body.replace(b":", b": "), body.replace(b"racing-bot.drill", b"race.abandoned")):
        assert drill_mark.read_body(other) is None
    assert Drill(drill_id=drill_id).begun_by is None
