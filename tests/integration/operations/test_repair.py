"""Deliveries that the service gave up are made good in their channels once, as far as their list can be read."""

import asyncio
import json
import re
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.channels.conditions.choices import MEETINGS
from bot.db.named_values import Mark
from bot.db.tables import EventVersion, InboxDelivery, OutboxMessage, StoredState
from bot.events.event import Topic
from bot.fanout.known_meetings import KnownMeetings
from bot.operations.repair.repair_run import Bounds
from tests.databases import on_both
from tests.integration.operations.conftest import (
    LIST,
    TAKEN,
    Dying,
    Killed,
    count,
    first_race,
    mend,
    sent,
    shown,
    summary_has_each_once,
    takes,
)
from tests.integration.pipeline.steps import pause, resume
from tests.said import URGENT, level_of

ALL_TOPICS = frozenset(Topic)


async def test_each_event_of_two_outages_is_told_once_in_a_summary_or_as_late(bot, outage):
    first = await outage.lose_several(hours_ago=30)
    repaired = await mend(bot, outage)
    assert (len(repaired.made), len(repaired.events), repaired.known) == (7, 7, 0)
    for channel_id in TAKEN:
        summary_has_each_once(bot, outage, channel_id, first)
    (told,) = bot.texts("CADMIN")
    assert level_of(told) == URGENT
    wanted = ("gave up 7 deliveries", "abandoned races: 2", "4 x 503 (not stored; send it again)", "ConnectError")
    assert [words for words in wanted if words not in told] == []
    assert len(outage.service.requests) <= 3, "the records, and one walk for each region of a bare record"

    second = await outage.lose_several(hours_ago=2.9)
    again = await mend(bot, outage)
    assert (again.records, again.known, len(again.made)) == (14, 7, 7)
    taken = [(channel_id, one) for channel_id in TAKEN for one in first + second if takes(channel_id, one)]
    for _ in range(2):
        assert (await sent(bot)).total() == len(taken)
        assert set((await sent(bot)).values()) == {1}
        assert (await mend(bot, outage)).made == []
    for channel_id in TAKEN:
        _, *singly = bot.texts(channel_id)
        assert len(singly) == sum(takes(channel_id, one) for one in second)
        assert all("min late)" in text for text in singly)
        lost = [text.startswith("ABANDONED: ") for text in singly]
        assert lost == sorted(lost, reverse=True)
    assert len(bot.texts("CADMIN")) == 2


async def test_killed_between_two_transactions_it_goes_on_where_it_was(bot, outage):
    await outage.lose_several()
    with pytest.raises(Killed):
        await mend(bot, outage, database=Dying(bot.database, versions=3), bounds=Bounds(deliveries=3))
    await bot.post_all()
    assert await count(bot, EventVersion) == 3
    (told,) = bot.texts("CADMIN")
    assert "gave up 7 deliveries" in told
    assert bot.texts("CGB")[0].startswith("ABANDONED: ")
    repaired = await mend(bot, outage)
    assert (len(repaired.made), repaired.known) == (4, 3)
    assert set((await sent(bot)).values()) == {1}
    assert (await count(bot, EventVersion), bot.texts("CADMIN")) == (7, [told])


@on_both
async def test_two_replicas_at_once_make_good_once(bot, outage, make_pipeline):
    await outage.lose_several()
    replicas = bot, make_pipeline(clock=bot.clock)
    made = await asyncio.gather(*(outage.make_repair(one).run() for one in replicas))
    await bot.post_all()
    assert sum(len(one.made) for one in made) == 7
    assert set((await sent(bot)).values()) == {1}
    assert [len(bot.texts(channel_id)) for channel_id in (*TAKEN, "CADMIN")] == [1, 1, 1, 1]


@pytest.mark.parametrize(("hours", "late"), [(1, "1 h"), (30, "1 d 6 h")])
async def test_abandonment_of_a_race_that_nobody_knows_is_told_as_the_record_says(bot, outage, hours, late):
    outage.now -= timedelta(hours=hours)
    await outage.lose_stranger()
    outage.now = bot.clock()
    await mend(bot, outage)
    for channel_id in ("CGB", "CALL"):
        (text,) = shown(bot, channel_id)
        assert text.startswith("ABANDONED: ")
        assert f"alert {late} late" in text
        assert "rc_nobody1" in text
    assert bot.texts("CIRE") == []


@on_both
async def test_lost_abandonment_is_in_the_live_message_too(pipeline, outage):
    await pipeline.subscribe("CGB", "GB", ALL_TOPICS, show=(MEETINGS,))
    await outage.lose(outage.service.abandon_race(first_race(outage).race_id, "Fog"))
    await mend(pipeline, outage)
    lost, live = pipeline.texts("CGB")
    assert lost.startswith("ABANDONED")
    assert "1 ABANDONED" in live


async def test_result_before_its_meeting_was_called_off_contradicts_nothing(bot, outage):
    now, (meeting, *_) = outage.now, outage.service.racing.meetings(outage.now.date(), "GB")
    for hours, happens, *about in (
        (30, outage.service.settle, meeting.races[0].race_id),
        (29, outage.service.abandon_race, meeting.races[1].race_id, "Fog"),
        (28, outage.service.abandon_meeting, meeting.meeting_id, "Waterlogged"),
    ):
        outage.now = now - timedelta(hours=hours)
        await outage.lose(happens(*about))
    outage.now = now
    await mend(bot, outage)
    (text,) = shown(bot, "CGB")
    assert "CONFLICT" not in text
    assert text.count(f"{meeting.course.name}, rest of the meeting") == 2
    assert re.search(r"\(GB\): 1 \w", text)


async def test_race_is_read_by_its_path_where_that_is_known(bot, outage):
    race = first_race(outage)
    (delivery,) = await outage.lose(outage.service.settle(race.race_id))
    delivery.shape = "bare"
    await mend(bot, outage, racing_race_path="race/{race_id}")
    (text,) = shown(bot, "CGB")
    winner = next(runner.horse for runner in race.runners if runner.position == "1")
    assert [one for one in (race.course.name, winner) if one not in text] == []
    assert [one.endpoint for one in outage.service.requests] == [LIST]


async def test_corrected_results_whose_records_have_ids_alone_are_told_once_looked_up(bot, outage):
    race = first_race(outage)
    (came,) = await outage.lose(outage.service.settle(race.race_id))
    came.shape = "bare"
    await bot.deliver(came.happening.payload)
    await bot.post_all()
    for number in range(2):
        bot.clock.forward(1)
        outage.now = bot.clock()
        (lost,) = await outage.lose(outage.service.correct(race.race_id))
        lost.shape = "bare"
        bot.clock.forward(1)
        outage.service.fail_next("/races/search", "server_error", times=9)
        assert (await mend(bot, outage)).made == []
        outage.service.heal()
        await mend(bot, outage, racing_race_path="race/{race_id}")
        winner = next(one.horse for one in race.runners if outage.service.racing.state(race).position_of(one) == "1")
        assert len(bot.texts("CGB")) == number + 2
        assert winner in bot.texts("CGB")[-1]
        assert (await mend(bot, outage)).made == []


@pytest.mark.parametrize(
    ("subject", "came", "status", "told"),
    [
        ("meeting", [{}, {"status": "Reinstated"}], "abandoned", "ABANDONED: .*status was Reinstated, now abandoned"),
        ("meeting", [{}], "abandoned", None),
        ("race", [{}], "reinstated", "GOING AHEAD: "),
    ],
)
async def test_later_record_with_ids_alone_is_news_where_the_loss_is_another_than_was_told(
    *, bot, outage, subject, came, status, told
):
    service, race = outage.service, first_race(outage)
    lost = service.abandon_race if subject == "race" else service.abandon_meeting
    (first, *_) = await outage.lose(lost(getattr(race, f"{subject}_id"), "Fog"))
    payload = first.happening.payload
    for said in came:
        await bot.deliver(payload | {subject: payload[subject] | said})
        await bot.post_all()
        bot.clock.forward(60)
    outage.now = bot.clock()
    (again,) = await outage.lose(service.delivery_queue.add(first.happening, outage.now))
    first.shape = again.shape = "bare"
    service.racing.state(race).status = status
    before = bot.texts("CGB")
    await mend(bot, outage, racing_race_path="race/{race_id}")
    *earlier, last = bot.texts("CGB")
    assert len(earlier) == len(before) - (told is None)
    assert re.match(told or "ABANDONED", last)
    assert (await mend(bot, outage)).made == []


async def test_real_delivery_after_its_record_is_no_second_message(bot, outage):
    (delivery,) = await outage.lose(outage.service.abandon_race(first_race(outage).race_id, "Frozen track"))
    delivery.shape = "bare"
    await mend(bot, outage)
    assert await bot.deliver(delivery.happening.payload | {"attempt": 9})
    await bot.post_all()
    (text,) = shown(bot, "CGB")
    assert "Frozen track" in text
    delivery.shape = "counted"
    assert (await mend(bot, outage)).events == []
    assert len(bot.texts("CGB")) == 1
    assert (await mend(bot, outage)).made == []


async def test_lost_news_of_a_race_that_came_without_an_id_counts_as_made_good(bot, outage):
    (delivery,) = await outage.lose(outage.service.settle(first_race(outage).race_id))
    payload = delivery.happening.payload
    race = payload["race"] | {"race_id": None, "runners": payload["race"]["runners"][:2]}
    await bot.deliver(payload | {"race": race})
    await bot.post_all()
    (key,) = (await mend(bot, outage)).events
    assert "|off=" in key
    assert bot.texts("CGB")[0].startswith("Superseded")


async def test_record_of_a_meeting_that_came_without_an_id_is_left_alone(bot, outage):
    (delivery,) = await outage.lose(outage.service.abandon_meeting(first_race(outage).meeting_id, "Fog"))
    payload, delivery.shape = delivery.happening.payload, "bare"
    await bot.deliver(payload | {"meeting": payload["meeting"] | {"meeting_id": None}})
    await bot.post_all()
    assert (await mend(bot, outage)).made == []


async def test_delivery_that_came_by_a_retry_is_left_alone(bot, outage):
    (delivery,) = await outage.lose(outage.service.settle(first_race(outage).race_id))
    for separators in (None, (",", ":")):
        await bot.deliver(json.dumps(delivery.happening.payload, separators=separators).encode())
        await bot.post_all()
        repaired = await mend(bot, outage)
        assert (repaired.known, repaired.made) == (1, [])
    delivery.shape = "bare"
    assert (await mend(bot, outage)).made == []
    assert bot.texts("CADMIN") == []


async def test_outage_that_is_given_up_piece_by_piece_is_told_once_and_another_one_again(bot, outage):
    now = outage.now
    for number, (hours, told) in enumerate(((40, 1), (39.5, 1), (38.75, 1), (30, 2))):
        outage.now = now - timedelta(hours=hours)
        await outage.lose_stranger(f"rc_piece{number}")
        outage.now = now
        await mend(bot, outage)
        assert len(bot.texts("CADMIN")) == told
    assert len(bot.texts("CGB")) == 4


async def test_paused_channel_keeps_its_messages_for_its_own_summary(bot, outage):
    await pause(bot)
    wanted = sum(takes("CGB", one) for one in await outage.lose_several())
    await mend(bot, outage)
    assert (len(bot.texts("CALL")), (await bot.waiting())["queued"]) == (1, wanted)
    await resume(bot)
    assert len(bot.texts("CGB")) == wanted


async def test_more_posts_than_fit_into_a_transaction_are_made_in_several(bot, outage, monkeypatch):
    monkeypatch.setattr("bot.fanout.transaction.MESSAGES_PER_COMMIT", 3)
    await outage.lose_several()
    assert len((await mend(bot, outage)).events) == 7
    assert set((await sent(bot)).values()) == {1}


async def test_payload_that_our_code_fails_on_holds_up_no_other(bot, outage, monkeypatch):
    races = outage.service.racing.races(outage.now.date(), "GB")[:2]
    for race in races:
        await outage.lose(outage.service.abandon_race(race.race_id, "Frozen track"))
    news = KnownMeetings.news

    def fails(self, event, *args):
        if event.race.race_id == races[0].race_id:
            raise RuntimeError
        return news(self, event, *args)

    monkeypatch.setattr(KnownMeetings, "news", fails)
    await mend(bot, outage)
    assert [races[1].off_time in text for text in bot.texts("CGB")] == [True]
    assert (await count(bot, InboxDelivery), len(bot.texts("CADMIN"))) == (2, 1)


async def test_preview_lists_what_would_be_made_good_and_changes_nothing(bot, outage):
    for one in await outage.lose_several():
        one.shape = "counted"
    shown = await outage.make_repair(bot).preview()
    assert [await count(bot, table) for table in (InboxDelivery, OutboxMessage)] == [0, 0]
    # The pace of its requests alone is noted.
    (name,) = await bot.database.read(lambda session: session.execute(select(col(StoredState.name))).scalars().all())
    assert name.startswith(Mark.LATCHES)
    made = await mend(bot, outage)
    assert {*shown.events} == {*made.events}
    assert (len(shown.made), shown.known) == (len(made.made), made.known) == (7, 0)
