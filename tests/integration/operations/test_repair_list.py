"""The list of failed deliveries: broken off, without an end, refused, with records that can't be read."""

import asyncio
from contextlib import nullcontext, suppress
from dataclasses import replace

import pytest

from bot.db.tables import EventVersion
from bot.deliveries.payload import read_payload
from bot.events.event import EventKind
from bot.operations.quota_warnings import QuotaCheck
from bot.operations.repair.repair_run import Bounds
from bot.operations.self_notices import SelfNotices
from bot.racedata.client.calls import Hooks, Patience
from bot.racedata.client.service_errors import ServerFault, ServiceFailure, Spared, WalkBroken
from sandbox.racing_service.event_payloads import Happening
from tests.integration.operations.conftest import LIST, count, falls_silent, first_race, leads_back, mend
from tests.said import ALL_CLEAR, URGENT, WARNING, level_of
from tests.unit.pages import settings


@pytest.mark.parametrize(
    ("page", "change", "walk_s", "read"),
    [(3, leads_back, 60, 6), (4, falls_silent, 0.5, 4)],
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


@pytest.mark.parametrize("broken_at", [2, 3])
async def test_list_that_always_breaks_fails_the_job_also_while_it_is_put_off(bot, outage, broken_at):
    await outage.lose_several()
    outage.service.switch(default_limit=2)
    asked = 0

    async def breaks(_cursor, page):
        nonlocal asked
        asked += 1
        return page if asked < broken_at else {"error": {"code": "server_error"}}

    outage.change_list = breaks
    job = outage.make_repair(bot).job(3_600)
    # The scheduler tries a failed job again within minutes.
    for _ in range(2):
        with pytest.raises(ServerFault):
            await job.run()
    assert asked == broken_at - 1 + Patience.fault_tries
    outage.change_list = None
    bot.clock.forward(3_600)
    await job.run()
    assert await count(bot, EventVersion) == 7


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


async def test_abandonment_that_says_nothing_of_its_race_is_posted_and_told_to_admins_with_its_record(bot, outage):
    await outage.lose_several()

    async def change(_cursor, page):
        return page | {"data": [{"id": "dl_x", "event": "race.abandoned", "content": {"race": "rc_1"}}]}

    outage.change_list = change
    for known in (0, 1):
        repaired = await mend(bot, outage)
        assert (repaired.unread, repaired.known) == (("dl_x",), known)
    assert len(bot.texts("CGB")) == 1
    assert sum("dl_x" in text for text in bot.texts("CADMIN")) == 1


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


@pytest.mark.parametrize("order", ["client quota repair", "quota repair client", "repair client quota"])
@pytest.mark.parametrize("cause", ["quota_exceeded", "unauthorized"])
async def test_one_cause_is_one_notice_and_one_all_clear_whichever_part_meets_it_first(bot, outage, cause, order):
    telling = SelfNotices(bot.database, bot.notices, bot.clock, asyncio.Event())
    repair = outage.make_repair(bot, hooks=Hooks(on_circuit_open=telling.circuit_open))
    check = QuotaCheck(outage.quota, bot.notices, bot.database, settings(), bot.clock)
    parts = {"client": outage.client.countries, "quota": check.run, "repair": repair.job(3_600).run}

    async def levels_told():
        for part in order.split() * 2:
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
