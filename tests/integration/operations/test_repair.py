"""Deliveries that the service gave up are made good in their channels once."""

import asyncio
import json
import re
from datetime import timedelta

import pytest

from bot.channels.conditions.show_condition import MEETINGS
from bot.cli.repair_command import Preview
from bot.db.tables import EventVersion, InboxDelivery, OutboxMessage, StoredState
from bot.fanout.version_news import KnownEvents
from bot.operations.repair.repair_run import Bounds
from bot.outbox.channel_closing import pause_channel
from bot.slack.bot_identity import BotIdentity
from bot.slack.event_messages import PostRenderer
from tests.databases import on_both
from tests.integration.operations.lost_deliveries import (
    ALL_TOPICS,
    TAKEN,
    Dying,
    Killed,
    count,
    forty,
    mend,
    mix,
    sent,
    several,
    shown,
    stranger,
    summary_has_each_once,
    takes,
)
from tests.notice_levels import URGENT, level_of


async def test_three_hours_of_forty_events_are_made_good_once_twice(listening, outage, make_repair):
    now = outage.now
    first = await forty(outage, outage.today - timedelta(days=1), now - timedelta(hours=30))
    mix(first)
    outage.at(now)
    repaired = await mend(listening, make_repair(listening))
    assert (len(repaired.made), len(repaired.events), repaired.known) == (40, 40, 0)
    for channel_id in TAKEN:
        summary_has_each_once(listening, outage, channel_id, first)
    (told,) = listening.texts("CADMIN")
    assert level_of(told) == URGENT
    for words in (
        "gave up 40 deliveries",
        "abandoned races: 4",
        "20 x 503 (not stored; send it again)",
        "ConnectError",
    ):
        assert words in told
    assert len(outage.service.requests) <= 3, "the records, and one walk for each region of a bare record"

    second = await forty(outage, outage.today, now - timedelta(minutes=178), hours=2.5)
    mix(second)
    outage.at(now)
    again = await mend(listening, make_repair(listening))
    assert (again.records, again.known, len(again.made)) == (80, 40, 40)
    taken = [(channel_id, one) for channel_id in TAKEN for one in first + second if takes(channel_id, one)]
    assert (await sent(listening)).total() == len(taken)
    assert set((await sent(listening)).values()) == {1}
    for channel_id in TAKEN:
        _, *singly = listening.texts(channel_id)
        assert len(singly) == sum(takes(channel_id, one) for one in second)
        assert all("min late)" in text for text in singly)
        lost = [text.startswith("ABANDONED: ") for text in singly]
        assert lost == sorted(lost, reverse=True)
    assert len(listening.texts("CADMIN")) == 2
    assert (await mend(listening, make_repair(listening))).made == ()
    assert (await sent(listening)).total() == len(taken)


@on_both
async def test_killed_between_two_transactions_it_goes_on_where_it_was(listening, outage, make_repair):
    await several(outage)
    database = Dying(listening.database, versions=3)
    with pytest.raises(Killed):
        await make_repair(listening, database=database, bounds=Bounds(deliveries=3)).run()
    await listening.post_all()
    assert await count(listening, EventVersion) == 3
    assert listening.texts("CADMIN") == []
    assert listening.texts("CGB")[0].startswith("ABANDONED: ")
    repaired = await mend(listening, make_repair(listening))
    assert (len(repaired.made), repaired.known) == (4, 3)
    assert set((await sent(listening)).values()) == {1}
    assert await count(listening, EventVersion) == 7
    (told,) = listening.texts("CADMIN")
    assert "gave up 7 deliveries" in told


async def test_outage_is_told_where_the_kill_came_after_the_last_delivery(listening, outage, make_repair):
    deliveries = [await stranger(outage, race_id=f"rc_nobody{number}") for number in range(2)]
    with pytest.raises(Killed):
        await make_repair(listening, database=Dying(listening.database, 1), bounds=Bounds(deliveries=1)).run()
    # The service lists the newest first; the other one it does not list any more.
    outage.change_list = only(deliveries[1])
    await mend(listening, make_repair(listening))
    (told,) = listening.texts("CADMIN")
    assert "gave up 1 delivery to me (abandoned races: 1)" in told


def only(delivery):
    async def change(_cursor, page):
        return page | {"data": [one for one in page["data"] if delivery.happening.race_id in json.dumps(one)]}

    return change


@on_both
async def test_two_replicas_at_once_make_good_once(listening, outage, make_repair, make_pipeline):
    await several(outage)
    other = make_pipeline(clock=listening.clock)
    made = await asyncio.gather(make_repair(listening).run(), make_repair(other).run())
    await listening.post_all()
    assert sum(len(one.made) for one in made) == 7
    assert set((await sent(listening)).values()) == {1}
    assert [len(listening.texts(channel_id)) for channel_id in (*TAKEN, "CADMIN")] == [1, 1, 1, 1]


@pytest.mark.parametrize("hours", [1, 30])
async def test_abandonment_of_a_race_that_nobody_knows_is_told_as_the_record_says(
    *, listening, outage, make_repair, hours
):
    outage.at(outage.now - timedelta(hours=hours))
    await stranger(outage)
    outage.at(listening.clock())
    await mend(listening, make_repair(listening))
    for channel_id in ("CGB", "CALL"):
        (text,) = listening.texts(channel_id)
        assert text.startswith("ABANDONED: ")
        assert f"alert {hours * 60} min late" in text
        assert "rc_nobody1" in shown(listening, channel_id)[0]
    assert listening.texts("CIRE") == []


@on_both
async def test_lost_abandonment_is_in_the_live_message_too(pipeline, outage, make_repair):
    await pipeline.subscribe("CGB", "GB", ALL_TOPICS, show=(MEETINGS,))
    meeting, *_ = outage.service.racing.meetings(outage.today, "GB")
    await outage.lose(outage.service.abandon_race(meeting.races[0].race_id, "Fog"))
    await mend(pipeline, make_repair(pipeline))
    lost, live = pipeline.texts("CGB")
    assert lost.startswith("ABANDONED")
    assert "1 ABANDONED" in live


async def test_result_before_its_meeting_was_called_off_contradicts_nothing(listening, outage, make_repair):
    now, (meeting, *_) = outage.now, outage.service.racing.meetings(outage.today, "GB")
    for hours, happens in (
        (30, lambda: outage.service.settle(meeting.races[0].race_id)),
        (29, lambda: outage.service.abandon_race(meeting.races[1].race_id, "Fog")),
        (28, lambda: outage.service.abandon_meeting(meeting.meeting_id, "Waterlogged")),
    ):
        outage.at(now - timedelta(hours=hours))
        await outage.lose(happens())
    outage.at(now)
    await mend(listening, make_repair(listening))
    (text,) = shown(listening, "CGB")
    assert "though" not in text
    assert text.count(f"{meeting.course.name}, rest of the meeting") == 2
    assert re.search(r"\(GB\): 1 \w", text)


async def test_race_is_read_by_its_path_where_that_is_known(listening, outage, make_repair):
    race = outage.service.racing.races(outage.today, "GB")[0]
    (delivery,) = await outage.lose(outage.service.settle(race.race_id))
    delivery.shape = "bare"
    await mend(listening, make_repair(listening, race="race/{race_id}"))
    (text,) = shown(listening, "CGB")
    assert race.course.name in text
    assert next(runner.horse for runner in race.runners if runner.position == "1") in text
    assert [one.endpoint for one in outage.service.requests] == ["/webhooks/deliveries"]


async def test_real_delivery_after_its_record_is_no_second_message(listening, outage, make_repair):
    race = outage.service.racing.races(outage.today, "GB")[0]
    (delivery,) = await outage.lose(outage.service.abandon_race(race.race_id, "Frozen track"))
    delivery.shape = "bare"
    await mend(listening, make_repair(listening))
    payload = delivery.happening.payload
    assert await listening.deliver(payload | {"attempt": 9})
    await listening.post_all()
    (text,) = shown(listening, "CGB")
    assert "Frozen track" in text
    delivery.shape = "counted"
    repaired = await mend(listening, make_repair(listening))
    assert repaired.events == ()
    assert len(listening.texts("CGB")) == 1
    assert (await mend(listening, make_repair(listening))).made == ()


async def test_delivery_that_came_by_a_retry_is_left_alone(listening, outage, make_repair):
    race = outage.service.racing.races(outage.today, "GB")[0]
    (delivery,) = await outage.lose(outage.service.settle(race.race_id))
    for body in (json.dumps(delivery.happening.payload), json.dumps(delivery.happening.payload, separators=(",", ":"))):
        await listening.deliver(body.encode())
        await listening.post_all()
        repaired = await mend(listening, make_repair(listening))
        assert (repaired.known, repaired.made) == (1, ())
    delivery.shape = "bare"
    assert (await mend(listening, make_repair(listening))).made == ()
    assert listening.texts("CADMIN") == []


async def test_outage_that_is_given_up_piece_by_piece_is_told_once_and_another_one_again(
    listening, outage, make_repair
):
    now = outage.now
    for number, (hours, told) in enumerate(((40, 1), (39.5, 1), (38.75, 1), (30, 2))):
        outage.at(now - timedelta(hours=hours))
        await stranger(outage, race_id=f"rc_piece{number}")
        outage.at(now)
        await mend(listening, make_repair(listening))
        assert len(listening.texts("CADMIN")) == told
    assert len(listening.texts("CGB")) == 4


async def test_paused_channel_keeps_its_messages_for_its_own_summary(listening, outage, make_repair):
    await listening.database.write(lambda session: pause_channel(session, "CGB", None, listening.clock()))
    deliveries = await several(outage)
    await mend(listening, make_repair(listening))
    assert len(listening.texts("CALL")) == 1
    assert (await listening.waiting())["queued"] == sum(takes("CGB", one) for one in deliveries)
    await listening.database.write(lambda session: listening.reopening.resume(session, "CGB", listening.clock()))
    await listening.post_all()
    assert len(listening.texts("CGB")) == sum(takes("CGB", one) for one in deliveries)


async def test_more_posts_than_fit_into_a_transaction_are_made_in_several(listening, outage, make_repair, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.MESSAGES_PER_COMMIT", 3)
    await several(outage)
    repaired = await mend(listening, make_repair(listening))
    assert len(repaired.events) == 7
    assert set((await sent(listening)).values()) == {1}


async def test_payload_that_our_code_fails_on_holds_up_no_other(listening, outage, make_repair, monkeypatch):
    races = outage.service.racing.races(outage.today, "GB")[:2]
    for race in races:
        await outage.lose(outage.service.abandon_race(race.race_id, "Frozen track"))
    news = KnownEvents.news

    def fails(self, event, *args):
        if event.race.race_id == races[0].race_id:
            raise RuntimeError
        return news(self, event, *args)

    monkeypatch.setattr(KnownEvents, "news", fails)
    await mend(listening, make_repair(listening))
    (text,) = listening.texts("CGB")
    assert races[1].off_time in text
    assert await count(listening, InboxDelivery) == 2
    assert len(listening.texts("CADMIN")) == 1


@on_both
async def test_trying_out_shows_what_would_be_posted_and_changes_nothing(listening, outage, make_repair):
    for one in await several(outage):
        one.shape = "counted"
    kept = await count(listening, StoredState)
    preview = Preview(PostRenderer(BotIdentity("xoxb-test"), 600), listening.clock)
    tried = await make_repair(listening).try_out(preview)
    assert len(tried.events) == 7
    assert await count(listening, InboxDelivery) == await count(listening, OutboxMessage) == 0
    assert await count(listening, StoredState) == kept
    await mend(listening, make_repair(listening))
    for channel_id in TAKEN:
        assert [one.text for one in preview.planned if one.channel_id == channel_id] == listening.texts(channel_id)
