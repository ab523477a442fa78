"""Invitations, new ids and direct messages: the subscriptions and the waiting messages afterwards."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from secrets import token_hex
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from bot.channels import subscriptions
from bot.db.tables import ChannelQueue
from bot.outbox import backlog, message_store
from bot.outbox.channel_move import move_channel
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.listeners.ways_in import UNDER_WAY_FOR, CommandListener
from bot.tasks import Tasks
from sandbox.slack import failures
from tests.clock import now
from tests.databases import first_on_both, on_both
from tests.integration.pipeline.steps import expire, fan_out, pause, posts, result, resume, tell, turns, wait, write
from tests.said import WARNING, level_of

RED_FIRST = {"placings": ("Red Sky", "Blue Moon")}


@pytest.fixture
def channels(pipeline):
    return pipeline.channel_life()


async def invite(pipeline, channels, event_id="Ev1", user=None):
    invited = {"user": user or channels.identity.bot_user_id, "channel": "CGB", "event_ts": "1.2"}
    await channels.on_joined(invited, {"event_id": event_id})
    await pipeline.post_all()


async def of_channel(pipeline, channel_id):
    return await pipeline.database.read(lambda session: subscriptions.of_channel(session, channel_id))


async def test_invitation_says_what_to_type_or_what_comes_and_again_only_for_another_invitation(pipeline, channels):
    await invite(pipeline, channels, user="UALICE")
    for event_id in ("Ev1", "Ev1", "Ev2"):
        await invite(pipeline, channels, event_id)
    assert ["/racing subscribe GB" in text for text in pipeline.texts("CGB")] == [True, True]
    await pipeline.subscribe("CGB", "GB")
    await pause(pipeline, until=pipeline.clock() + timedelta(hours=1))
    await invite(pipeline, channels, "Ev3")
    *_, text = pipeline.texts("CGB")
    assert "receives results and abandonments from GB" in text
    assert "paused" in text


@on_both
async def test_channel_of_another_id_keeps_subscriptions_queue_pause_and_edits(gb, channels):
    await tell(gb, result("rc_1"))
    until = gb.clock() + timedelta(hours=1)
    await pause(gb, until=until)
    await fan_out(gb, result("rc_2", course="Bath"))
    await gb.slack.change_id("CGB", "CNEW")
    for _ in range(2):
        await channels.on_id_changed({"old_channel_id": "CGB", "new_channel_id": "CNEW"})
    assert await of_channel(gb, "CGB") == []
    (row,) = await of_channel(gb, "CNEW")
    assert (row.state, row.paused_until) == ("paused", until)
    await gb.post_all()
    assert len(gb.texts("CNEW")) == 1
    assert await gb.database.read(partial(backlog.count_waiting, channel_id="CNEW")) == 1
    await resume(gb, "CNEW")
    await tell(gb, result("rc_1", **RED_FIRST))
    first, waited, correction = gb.texts("CNEW")
    assert "Ascot" in first
    assert "Bath" in waited
    assert correction.startswith("Two versions disagree")


async def test_move_to_an_id_that_is_known_keeps_what_was_said_last(gb):
    await gb.subscribe("CGB", "IRE")
    await gb.subscribe("CIRE", "GB", topics=frozenset({"racecards"}))
    await fan_out(gb, result())
    assert await write(gb, move_channel, "CGB", "CIRE") == 1
    rows = await of_channel(gb, "CIRE")
    assert [row.region for row in rows] == ["GB", "IRE"]
    assert subscriptions.read_filter(rows[0]).topics == {"racecards"}
    queues = await gb.database.read(lambda s: s.execute(select(col(ChannelQueue.channel_id))).scalars().all())
    assert list(queues) == ["CIRE"]
    assert [len(await posts(gb, channel_id)) for channel_id in ("CGB", "CIRE")] == [0, 1]


@pytest.mark.parametrize(
    ("database", "told"), first_on_both([("CGB",), (), ("CIRE",), ("CGB", "CIRE")]), indirect=["database"]
)
async def test_event_of_both_ids_rings_once_and_is_corrected_once(pipeline, told):
    for channel_id in ("CGB", "CIRE"):
        await pipeline.subscribe(channel_id, "GB")
    holding = {"CGB", "CIRE"}.difference(told)
    await write(pipeline, hold, holding)
    await tell(pipeline, result())
    await pipeline.slack.change_id("CGB", "CIRE")
    await write(pipeline, move_channel, "CGB", "CIRE")
    await turns(pipeline, 90)
    assert len(pipeline.texts("CIRE")) == max(1, len(told))
    await tell(pipeline, result(**RED_FIRST))
    assert len(pipeline.texts("CIRE")) == max(1, len(told)) + 1
    assert pipeline.texts("CIRE")[-1].startswith("Two versions disagree")


def hold(session, channel_ids):
    message_store.make_queues(session, ["CGB", "CIRE"])
    held = update(ChannelQueue).where(col(ChannelQueue.channel_id).in_(channel_ids))
    session.execute(held.values(next_free_at=now() + timedelta(seconds=60)))


async def test_post_under_way_while_its_channel_moves_is_found_and_not_repeated(gb, channels):
    await fan_out(gb, result())
    await gb.poster.start_due()
    await gb.slack.wait_for(lambda: len(gb.slack.messages("CGB")) == 1)
    await gb.slack.change_id("CGB", "CNEW")
    await channels.on_id_changed({"old_channel_id": "CGB", "new_channel_id": "CNEW"})
    await gb.poster.finish()
    await turns(gb, 60)
    assert len(gb.texts("CNEW")) == 1


@pytest.mark.parametrize(
    ("words", "answer"), [("hello?", "/racing subscribe"), ("tell me", "/racing tell"), ("help list", "/racing list")]
)
async def test_text_in_a_direct_message_is_a_command_line_and_answered_once(pipeline, words, answer):
    parts: Any = {"database": pipeline.database, "clock": pipeline.clock, "wake": pipeline.poster.wake}
    desk, tasks, nobody = SimpleNamespace(**parts, token=token_hex), Tasks(), SimpleNamespace()
    listener = CommandListener(CommandRunner(desk, nobody, tasks))  # type: ignore[arg-type]  # no command here needs more
    direct = pipeline.slack.direct_message("UALICE").id
    said = {"type": "message", "channel": direct, "channel_type": "im", "user": "UALICE", "text": words, "ts": "1.1"}
    others = ({"bot_id": "B0SANDBOX"}, {"subtype": "message_changed"}, {"channel_type": "channel"})
    for event_id, more in (("Ev1", {}), ("Ev1", {}), *((f"Ev{n}", other) for n, other in enumerate(others, start=2))):
        await listener.on_message(said | more, {"event_id": event_id})
        await tasks.finish(10)
    await pipeline.post_all()
    (text,) = pipeline.texts(direct)
    assert answer in text


@on_both
@pytest.mark.parametrize(("ends", "again"), [("answered", 200), ("under way", 503), ("died", 503)])
async def test_direct_message_that_slack_sends_again_runs_its_command_once(pipeline, ends, again):
    """`again`: the status of the event sent again at once. A dead command runs again, half a minute later."""
    began, direct = [], pipeline.slack.direct_message("UALICE").id
    has_begun, go_on = asyncio.Event(), asyncio.Event()

    async def carry_out(_desk, _invocation, _planned):
        began.append(ends)
        has_begun.set()
        if len(began) == 1 and ends == "died":
            raise asyncio.CancelledError
        await go_on.wait()

    async def answer(_desk, _invocation, _done):
        return Message(text="Done")

    @dataclass(frozen=True)
    class Runner(CommandRunner):
        async def commit(self, command, invocation):
            return await super().commit(Command("list", answer, apply=carry_out), invocation)

    parts: Any = {"database": pipeline.database, "clock": pipeline.clock, "wake": pipeline.poster.wake}
    desk, nobody = SimpleNamespace(**parts, token=token_hex), SimpleNamespace()
    replicas = [CommandListener(Runner(desk, nobody, Tasks())) for _ in range(2)]  # type: ignore[arg-type]  # no command here needs more
    said = {"channel": direct, "channel_type": "im", "user": "UALICE", "text": "list"}

    async def comes(replica):
        answered = await replica.on_message(said, {"event_id": "Ev1"})
        await replica.runner.tasks.finish(10)
        return answered.status if answered else 200

    first = asyncio.create_task(comes(replicas[0]))
    await has_begun.wait()
    if ends == "answered":
        go_on.set()
        await first
    assert await comes(replicas[1]) == again
    go_on.set()
    await asyncio.wait({first})
    if ends == "died":
        await wait(pipeline, UNDER_WAY_FOR.total_seconds())
    assert [await comes(one) for one in replicas] == [200, 200]
    assert len(began) == (2 if ends == "died" else 1)
    await pipeline.post_all()
    assert pipeline.texts(direct) == ["Done"]


@pytest.mark.parametrize("event", ["channel_archive", "channel_deleted", "member_left_channel"])
async def test_old_closing_event_of_an_open_channel_holds_nothing_up(gb, channels, event):
    if event == "member_left_channel":
        await channels.on_left({"user": channels.identity.bot_user_id, "channel": "CGB"}, {"event_id": "Ev1"})
    else:
        await channels.on_closed({"type": event, "channel": "CGB"})
    await tell(gb, result())
    assert (len(gb.texts("CGB")), gb.texts("CADMIN")) == (1, [])


async def test_closing_that_slack_was_asked_about_before_an_opening_closes_nothing(gb, channels):

    async def archived_until_now(_channel_id):
        await channels.on_opened({"type": "channel_unarchive", "channel": "CGB"})
        return "is_archived"

    channels.problem_of = archived_until_now
    await channels.on_closed({"type": "channel_archive", "channel": "CGB"})
    await tell(gb, result())
    assert len(gb.texts("CGB")) == 1


async def test_closing_that_slack_does_not_confirm_in_time_is_left_to_the_next_post(gb, channels):
    await gb.slack.archive("CGB")
    gb.slack.script("conversations.info", [failures.http_error(503)])
    await channels.on_closed({"type": "channel_archive", "channel": "CGB"})
    assert gb.texts("CADMIN") == []
    await tell(gb, result())
    assert len(gb.texts("CADMIN")) == 1


async def test_deleted_channel_is_told_as_what_can_not_come_back(gb, channels):
    await gb.deliver(result())
    await gb.slack.delete_channel("CGB")
    await channels.on_closed({"type": "channel_deleted", "channel": "CGB"})
    await gb.post_all()
    await wait(gb, 80 * 3_600)
    await expire(gb)
    await gb.post_all()
    closed, given_up = gb.texts("CADMIN")
    assert [level_of(closed), level_of(given_up)] == [WARNING, WARNING]
    assert "can't come back" in closed
    assert "Type /racing subscribe in another channel" in closed
    assert "nvite" not in closed
    assert "Once the channel is back" not in given_up


async def test_edit_is_no_last_post_of_the_channel_or_of_its_subscription(gb):
    await tell(gb, result(going="Good"))
    gb.clock.forward(3600)
    await tell(gb, result(going="Soft"))

    def last(session):
        filters = [subscriptions.read_filter(row) for row in subscriptions.of_channel(session, "CGB")]
        (post,) = subscriptions.last_posts(session, "CGB", filters)
        assert post
        return post.sent_at, subscriptions.last_post_at(session, "CGB")

    of_list, of_home = await gb.database.read(last)
    assert of_list == of_home
