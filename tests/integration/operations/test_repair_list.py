"""The list of failed deliveries: refused, broken off, without an end, with records that can't be read."""

import asyncio
from dataclasses import replace

import pytest

from bot.db.tables import EventVersion
from bot.deliveries.payload import read_payload
from bot.events.event import EventKind
from bot.operations.repair.repair_run import Bounds
from bot.racedata.client.service_errors import ServiceFailure, Spared, WalkBroken
from sandbox.racing_service.event_payloads import Happening
from tests.integration.operations.lost_deliveries import (
    count,
    mend,
    several,
    stranger,
)
from tests.notice_levels import URGENT, WARNING


async def test_list_that_breaks_off_is_made_good_as_far_as_it_was_read(listening, outage, make_repair):
    await several(outage)
    outage.service.switch(default_limit=3)

    async def leads_back(cursor, page):
        return page | {"meta": page["meta"] | {"has_more": True, "next_cursor": cursor or page["meta"]["next_cursor"]}}

    outage.change_list = leads_back
    repair = make_repair(listening)
    with pytest.raises(WalkBroken):
        await repair.run()
    assert await count(listening, EventVersion) == 6
    outage.change_list = None
    assert len((await repair.run()).made) == 1


@pytest.mark.parametrize("records", ["the same page", "a page anew"])
async def test_list_without_an_end_is_made_good_as_far_as_it_was_read(listening, outage, make_repair, records):
    await several(outage)
    asked = 0

    async def leads_on(_cursor, page):
        nonlocal asked
        asked += 1
        data = page["data"] if records == "the same page" or asked % 2 else page["data"][::-1]
        return page | {"data": data, "meta": page["meta"] | {"has_more": True, "next_cursor": f"c{asked}"}}

    outage.change_list = leads_on
    # The job does not fail: a failed job would be run again within minutes, at the cost of as many requests.
    await asyncio.wait_for(make_repair(listening, bounds=Bounds(pages=10)).as_job(), 30)
    assert asked == (2 if records == "the same page" else 10)
    assert await count(listening, EventVersion) == 7
    await listening.post_all()
    assert sum("can't look up all deliveries" in text for text in listening.texts("CADMIN")) == 1


async def test_service_that_falls_silent_in_the_list_holds_up_no_record(listening, outage, make_repair):
    await several(outage)
    outage.service.switch(default_limit=4)

    async def falls_silent(cursor, page):
        if cursor:
            await asyncio.Event().wait()
        return page

    outage.change_list = falls_silent
    with pytest.raises(WalkBroken):
        await asyncio.wait_for(make_repair(listening, bounds=Bounds(walk_s=0.5)).run(), 30)
    assert await count(listening, EventVersion) == 4


async def test_record_that_our_code_fails_on_holds_up_no_other(listening, outage, make_repair):
    for one in [*await several(outage), await stranger(outage)]:
        one.shape = "counted"

    def fails(payload, *about):
        if "rc_nobody1" in str(payload):
            raise RuntimeError("our own")
        return read_payload(payload, *about)

    await mend(listening, make_repair(listening, read_payload=fails))
    assert await count(listening, EventVersion) == 7
    assert any("can't make good" in text for text in listening.texts("CADMIN"))


async def test_record_that_names_no_event_is_told_to_admins_once(listening, outage, make_repair):
    race = outage.service.racing.races(outage.today, "GB")[0]
    happening = Happening("", "GB", race.race_id, race.meeting_id, {})
    subscription = outage.service.subscriptions[0]
    outage.service._state.delivery_queue.subscriptions[0] = replace(subscription, events=frozenset({*EventKind, ""}))
    await outage.lose(outage.service._state.delivery_queue.add(happening, outage.now))
    for _ in range(2):
        repaired = await mend(listening, make_repair(listening))
        assert repaired.unread == ("dl_00000001",)
    (told,) = listening.texts("CADMIN")
    assert told.startswith(f"{URGENT}The data service lists failed deliveries")
    assert "dl_00000001" in told


async def test_spent_month_is_said_and_asked_again_later(listening, outage, make_repair):
    await stranger(outage)
    outage.service.set_used(15_000)
    outage.service.fail_next("/webhooks/deliveries", "quota_exceeded")
    repair = make_repair(listening)
    for _ in range(2):
        with pytest.raises(ServiceFailure):
            await repair.as_job()
    await listening.post_all()
    (told,) = listening.texts("CADMIN")
    assert told.startswith(f"{WARNING}I can't look up deliveries that the data service gave up")
    assert len([one for one in outage.service.requests if one.endpoint == "/webhooks/deliveries"]) == 1
    await outage.client.breakers.reset("quota_exceeded")
    outage.service.set_used(0)
    await repair.as_job()
    await listening.post_all()
    assert len(listening.texts("CGB")) == 1


async def test_last_requests_of_a_month_are_not_spent_on_the_look(listening, outage, make_repair):
    await stranger(outage)
    outage.service.set_used(14_999)
    repair = make_repair(listening)
    await outage.quota.read()
    with pytest.raises(Spared):
        await repair.as_job()
    await listening.post_all()
    (told,) = listening.texts("CADMIN")
    assert "Almost all of this month's requests" in told
    assert {one.endpoint for one in outage.service.requests} == {"/account/usage"}


async def test_plan_that_does_not_reach_the_records_is_told_once_and_fails_no_job(listening, outage, make_repair):
    outage.service.switch(reach={"/webhooks/deliveries": ("complete",)})
    repair = make_repair(listening)
    for _ in range(2):
        await repair.as_job()
    await listening.post_all()
    (told,) = listening.texts("CADMIN")
    assert "complete" in told


@pytest.mark.parametrize("failure", ["invalid_param", "outside_window", 404])
async def test_refusal_that_would_be_the_same_in_minutes_is_told_once_and_fails_no_job(
    listening, outage, make_repair, failure
):
    outage.service.fail_next("/webhooks/deliveries", failure, times=2)
    repair = make_repair(listening)
    for _ in range(2):
        await repair.as_job()
    await listening.post_all()
    (told,) = listening.texts("CADMIN")
    assert told.startswith(f"{WARNING}I can't look up deliveries that the data service gave up")


@pytest.mark.parametrize("failure", ["server_error", "rate_limited", "drop"])
async def test_failure_that_may_pass_is_tried_again_by_the_scheduler_and_told_to_nobody(
    listening, outage, make_repair, failure
):
    outage.service.fail_next("/webhooks/deliveries", failure, times=20)
    with pytest.raises(ServiceFailure):
        await make_repair(listening).as_job()
    await listening.post_all()
    assert listening.texts("CADMIN") == []
