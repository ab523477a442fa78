"""Deliveries that the service gave up are made good in their channels once, as far as their list can be read."""

import asyncio
import itertools
import json
import re
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlmodel import col

from bot.channels.conditions.choices import MEETINGS
from bot.db.named_values import Mark
from bot.db.tables import EventVersion, InboxDelivery, OutboxMessage, StoredState
from bot.deliveries.payload import read_payload
from bot.events.event import EventKind, Topic
from bot.fanout.known_meetings import KnownMeetings
from bot.operations.quota_warnings import QuotaCheck
from bot.operations.repair.repair_run import Bounds
from bot.operations.self_notices import SelfNotices
from bot.racedata.client.calls import Hooks
from bot.racedata.client.service_errors import ServiceFailure, Spared, WalkBroken
from sandbox.racing_service.event_payloads import Happening
from tests.databases import on_both
from tests.integration.operations import lost_deliveries
from tests.integration.operations.lost_deliveries import TAKEN, Dying, Killed, count, sent, shown, takes
from tests.integration.pipeline.steps import pause, resume
from tests.said import ALL_CLEAR, URGENT, WARNING, level_of
from tests.unit.pages import settings

ALL_TOPICS = frozenset(Topic)
LIST = "/webhooks/deliveries"


@pytest.fixture
async def outage(pipeline):
    async with lost_deliveries.outage_at(pipeline.clock()) as outage:
        yield outage


@pytest.fixture
async def bot(pipeline):
    """A pipeline whose channels take everything of a region."""
    for channel_id, region in TAKEN.items():
        await pipeline.subscribe(channel_id, region, ALL_TOPICS)
    return pipeline


async def mend(bot, outage, **changes):
    repaired = await outage.make_repair(bot, **changes).run()
    await bot.post_all()
    return repaired


def first_race(outage):
    return outage.service.racing.races(outage.now.date(), "GB")[0]


async def test_each_event_of_two_outages_is_told_once_in_a_summary_or_as_late(bot, outage):
    first = await outage.lose_several(hours_ago=30)
    repaired = await mend(bot, outage)
    assert (len(repaired.made), len(repaired.events), repaired.known) == (7, 7, 0)
    for channel_id in TAKEN:
        lost_deliveries.summary_has_each_once(bot, outage, channel_id, first)
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


@on_both
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


@pytest.mark.parametrize("hours", [1, 30])
async def test_abandonment_of_a_race_that_nobody_knows_is_told_as_the_record_says(bot, outage, hours):
    outage.now -= timedelta(hours=hours)
    await outage.lose_stranger()
    outage.now = bot.clock()
    await mend(bot, outage)
    for channel_id in ("CGB", "CALL"):
        (text,) = shown(bot, channel_id)
        assert text.startswith("ABANDONED: ")
        assert f"alert {hours * 60} min late" in text
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
    await mend(bot, outage, race_path="race/{race_id}")
    (text,) = shown(bot, "CGB")
    winner = next(runner.horse for runner in race.runners if runner.position == "1")
    assert [one for one in (race.course.name, winner) if one not in text] == []
    assert [one.endpoint for one in outage.service.requests] == [LIST]


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


# The list of failed deliveries: broken off, without an end, refused, with records that can't be read


@pytest.mark.parametrize(
    ("page", "change", "walk_s", "read"),
    [(3, lost_deliveries.leads_back, 60, 6), (4, lost_deliveries.falls_silent, 0.5, 4)],
)
async def test_list_that_breaks_off_is_made_good_as_far_as_it_was_read(bot, outage, *, page, change, walk_s, read):
    await outage.lose_several()
    outage.service.switch(default_limit=page)
    outage.change_list = change
    with pytest.raises(WalkBroken):
        await asyncio.wait_for(mend(bot, outage, bounds=Bounds(walk_s=walk_s)), 30)
    assert await count(bot, EventVersion) == read
    outage.change_list = None
    assert len((await mend(bot, outage)).made) == 7 - read


@pytest.mark.parametrize(("is_same", "asks"), [(True, 2), (False, 10)], ids=["the same page", "a page anew"])
async def test_list_without_an_end_is_made_good_as_far_as_it_was_read(bot, outage, is_same, asks):
    await outage.lose_several()
    asked = 0

    async def leads_on(_cursor, page):
        nonlocal asked
        asked += 1
        data = page["data"] if is_same or asked % 2 else page["data"][::-1]
        return page | {"data": data, "meta": page["meta"] | {"has_more": True, "next_cursor": f"c{asked}"}}

    outage.change_list = leads_on
    # The job does not fail: a failed job would be run again within minutes, at the cost of as many requests.
    job = outage.make_repair(bot, bounds=Bounds(pages=10)).job(3_600)
    for _ in range(2):
        # A long list waits for more than a slot, and costs no more than a list of some pages.
        await asyncio.wait_for(job.run(), 30)
        assert (asked, await count(bot, EventVersion)) == (asks, 7)
    await bot.post_all()
    assert sum("can't look up all deliveries" in text for text in bot.texts("CADMIN")) == 1


async def test_list_of_one_page_is_read_at_each_slot(bot, outage):
    job = outage.make_repair(bot).job(3_600)
    for made in (7, 8):
        await (outage.lose_several() if made == 7 else outage.lose_stranger())
        await job.run()
        assert await count(bot, EventVersion) == made


async def test_record_that_our_code_fails_on_holds_up_no_other(bot, outage):
    for one in [*await outage.lose_several(), await outage.lose_stranger()]:
        one.shape = "counted"

    def fails(payload, *about):
        if "rc_nobody1" in str(payload):
            raise RuntimeError("our own")
        return read_payload(payload, *about)

    await mend(bot, outage, read=fails)
    assert await count(bot, EventVersion) == 7
    assert any("can't make good" in text for text in bot.texts("CADMIN"))


async def test_record_with_a_date_that_is_no_day_holds_up_no_other(bot, outage):
    await outage.lose_several()
    await outage.lose_stranger()

    async def change(_cursor, page):
        return page | {"data": [one | {"race_date": "Tuesday"} for one in page["data"]]}

    outage.change_list = change
    assert len((await mend(bot, outage)).made) == 8


async def test_record_that_names_no_event_is_told_to_admins_once(bot, outage):
    queue, race = outage.service.delivery_queue, first_race(outage)
    queue.subscriptions[0] = replace(queue.subscriptions[0], events=frozenset({*EventKind, ""}))
    await outage.lose(queue.add(Happening("", "GB", race.race_id, race.meeting_id, {}), outage.now))
    for _ in range(2):
        assert (await mend(bot, outage)).unread == ("dl_00000001",)
    (told,) = bot.texts("CADMIN")
    assert told.startswith(f"{URGENT}The data service lists failed deliveries")
    assert "dl_00000001" in told


NOT_LOOKED_UP = f"{WARNING}I can't look up deliveries that the data service gave up"


async def test_spent_month_is_said_and_asked_again_later(bot, outage):
    await outage.lose_stranger()
    outage.service.set_used(15_000)
    outage.service.fail_next(LIST, "quota_exceeded")
    repair = outage.make_repair(bot)
    for _ in range(2):
        with pytest.raises(ServiceFailure):
            await repair.job(3_600).run()
    await bot.post_all()
    (told,) = bot.texts("CADMIN")
    assert told.startswith(NOT_LOOKED_UP.replace(WARNING, URGENT))
    assert [one.endpoint for one in outage.service.requests].count(LIST) == 1
    await outage.client.breakers.reset("quota_exceeded")
    outage.service.set_used(0)
    await repair.job(3_600).run()
    await bot.post_all()
    assert len(bot.texts("CGB")) == 1


@pytest.mark.parametrize("order", [*itertools.permutations(["client", "quota", "repair"])], ids="-".join)
@pytest.mark.parametrize("cause", ["quota_exceeded", "unauthorized"])
async def test_one_cause_is_one_notice_and_one_all_clear_whichever_part_meets_it_first(bot, outage, cause, order):
    telling = SelfNotices(bot.database, bot.notices, 1_000, bot.clock, asyncio.Event())
    repair = outage.make_repair(bot, hooks=Hooks(on_circuit_open=telling.circuit_open))
    check = QuotaCheck(outage.quota, bot.notices, bot.database, settings(), bot.clock)
    parts = {"client": outage.client.countries, "quota": check.run, "repair": repair.job(3_600).run}

    async def levels_told():
        for part in (*order, *order):
            with suppress(ServiceFailure):
                await parts[part]()
        await bot.post_all()
        bot.clock.forward(5)
        return [level_of(text) for text in bot.texts("CADMIN")]

    for rounds in (1, 2):
        if cause == "unauthorized":
            for path in ("/countries", "/account/usage", LIST):
                outage.service.fail_next(path, cause, 100)
        else:
            outage.service.set_used(15_000)
        assert await levels_told() == [URGENT, ALL_CLEAR] * (rounds - 1) + [URGENT]
        outage.service.heal()
        outage.service.set_used(0)
        await outage.client.breakers.reset(cause)
        assert await levels_told() == [URGENT, ALL_CLEAR] * rounds
        bot.clock.forward(86_400)


async def test_last_requests_of_a_month_are_not_spent_on_the_look(bot, outage):
    await outage.lose_stranger()
    outage.service.set_used(14_999)
    repair = outage.make_repair(bot)
    await outage.quota.read()
    with pytest.raises(Spared):
        await repair.job(3_600).run()
    await bot.post_all()
    (told,) = bot.texts("CADMIN")
    assert "Almost all of this month's requests" in told
    assert {one.endpoint for one in outage.service.requests} == {"/account/usage"}


LASTING = ("invalid_param", "outside_window", "not_found")
REFUSALS = {"beyond the plan": "complete"} | dict.fromkeys(LASTING, NOT_LOOKED_UP)
PASSING = ("server_error", "rate_limited", "drop")


@pytest.mark.parametrize(("failure", "told"), (REFUSALS | dict.fromkeys(PASSING)).items(), ids=[*REFUSALS, *PASSING])
async def test_lasting_refusal_is_told_once_and_a_passing_failure_fails_the_job(bot, outage, failure, told):
    if failure == "beyond the plan":
        outage.service.switch(reach={LIST: ("complete",)})
    else:
        outage.service.fail_next(LIST, failure, times=2 if told else 20)
    repair = outage.make_repair(bot)
    for _ in range(2 if told else 1):
        with nullcontext() if told else pytest.raises(ServiceFailure):
            await repair.job(3_600).run()
    await bot.post_all()
    assert [told in text for text in bot.texts("CADMIN")] == ([True] if told else [])
