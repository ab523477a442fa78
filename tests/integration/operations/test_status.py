"""`/racing status` and gauges in figures: the last day alone, by indexes, in one transaction that changes nothing."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from bot.app import Service
from bot.db import migrate, replicas
from bot.db.engine import database_now
from bot.db.tables import ChannelQueue, OutboxMessage
from bot.deliveries import inbox
from bot.events.races import Course, OffTime, Race, Runner
from bot.operations import status_figures
from bot.operations.jobs import scheduler
from bot.operations.status_figures import read_service_state, read_status
from bot.outbox import held_queues, ledger
from bot.outbox.ledger import LedgerOutcome
from bot.outbox.notices import Urgency
from bot.racedata import quota_book, race_book_store
from bot.racedata.month_quota import QuotaReading, QuotaSource, month_key
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.table import find_command
from sandbox.slack import failures
from tests.answering import answering
from tests.clock import START
from tests.databases import on_both
from tests.integration.pipeline.steps import abandonment, fan_out, result, tell
from tests.statements import noted, plans_of
from tests.unit.pages import settings

CODE = "is_archived"


@pytest.fixture
async def told(pipeline):
    """Eight results and an abandonment in two channels."""
    await pipeline.subscribe("CGB", "GB")
    await pipeline.subscribe("CALL", "*")
    await tell(pipeline, *(result(f"rc_{number}") for number in range(8)), abandonment("rc_9"))
    return pipeline


async def read(pipeline, jobs=(), **more):
    return await pipeline.database.read(lambda session: read_status(session, pipeline.clock, jobs, **more))


async def times(pipeline, seconds):
    """Have the sent messages taken so many seconds each, in their order."""

    def change(session):
        row = OutboxMessage
        for number, took_s in enumerate(seconds, start=1):
            received_at = pipeline.clock() - timedelta(hours=1)
            sent_at = received_at + timedelta(seconds=took_s)
            changes = update(row).where(col(row.id) == number).values(received_at=received_at, sent_at=sent_at)
            session.execute(changes)

    await pipeline.database.write(change)


@on_both
async def test_last_day_is_counted_with_the_times_from_receipt_to_slack(told):
    await times(told, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 600])
    found = await read(told)
    assert found.deliveries == {"result.received": 8, "race.abandoned": 1}
    assert found.sent.posts == 18
    assert found.sent.p50_s == pytest.approx(9, abs=0.01)
    assert found.sent.p95_s == pytest.approx(600, abs=0.01)
    told.clock.forward(86_401 + 3_600)
    later = await read(told)
    assert (later.deliveries, later.sent) == ({}, ledger.Sent(0))


async def test_one_post_is_its_own_median_and_no_time_is_negative(gb):
    await tell(gb, result("rc_1"))
    await times(gb, [-5])
    assert (await read(gb)).sent == ledger.Sent(1, p50_s=0.0, p95_s=0.0)


async def test_edits_and_notices_are_no_posts(told):
    await tell(told, result("rc_1", going="Soft"))
    await told.database.write(lambda session: told.notices.tell(session, "key", "words", urgency=Urgency.NOTE))
    await told.post_all()
    assert (await read(told)).sent.posts == 18


async def hold(pipeline, channel_id, state, reason=None):
    def change(session):
        since = database_now(session, pipeline.clock)
        of_this = update(ChannelQueue).where(col(ChannelQueue.channel_id) == channel_id)
        session.execute(of_this.values(state=state, state_reason=reason, state_since=since))

    await pipeline.database.write(change)


@on_both
async def test_status_says_what_waits_where_and_why(told):
    await hold(told, "CGB", "paused")
    await hold(told, "CALL", "closed", CODE)
    await tell(told, result("rc_20"), result("rc_21"))
    found = await read(told)
    assert (found.waiting_deliveries, found.waiting_posts) == (0, 4)
    shown = {one.channel_id: (one.count, one.outcome, one.why) for one in found.waiting_channels}
    assert shown == {
        "CGB": (2, LedgerOutcome.WAITING, "the channel is paused"),
        "CALL": (2, LedgerOutcome.WAITING, CODE),
    }
    here = await read(told, channel_id="CGB")
    assert (here.waiting_posts, [one.channel_id for one in here.waiting_channels]) == (2, ["CGB"])


async def test_only_the_channels_with_most_are_named_and_all_are_counted(pipeline):
    for number in range(7):
        await pipeline.subscribe(f"C{number}", "GB")
    await fan_out(pipeline, result("rc_1"))
    found = await read(pipeline)
    assert (found.waiting_posts, len(found.waiting_channels)) == (7, status_figures.STATUS_CHANNELS_MAX)


@on_both
async def test_delivery_whose_fan_out_fails_is_shown_with_its_reason_and_counted_as_failed(pipeline):
    await pipeline.deliver(result("rc_1"))
    (waiting,) = await pipeline.database.read(lambda session: inbox.waiting(session, pipeline.clock(), 1))
    await pipeline.database.write(lambda session: inbox.mark_failed(session, waiting, pipeline.clock(), "a bug"))
    found = await read(pipeline)
    assert (found.waiting_deliveries, found.first_waiting) == (1, inbox.FirstWaiting(1, "a bug"))
    await pipeline.deliver(result("rc_2"))
    assert counts((await look(pipeline)).inbox) == {"failed": 1, "new": 1}


@on_both
async def test_status_has_jobs_repair_replicas_versions_and_quota(pipeline):
    now = pipeline.clock()

    def prepare(session):
        for ago in (3, 2, 1):
            at = now - timedelta(hours=ago)
            assert (
                scheduler.claim_slot(session, "repair", at, by="one", now=at, every_s=3600) is scheduler.SlotClaim.OURS
            )
            if ago > 1:
                scheduler.finish_slot(session, "repair", at, by="one", now=at)
        alive_at = database_now(session, pipeline.clock)
        replicas.beat(session, "one", alive_at - timedelta(seconds=29))
        replicas.beat(session, "two", alive_at - timedelta(seconds=1))
        reading = QuotaReading(
            taken_at=now, month=month_key(now), used=10, certain=True, source=QuotaSource.TOTAL, limit=20
        )
        quota_book.put_reading(session, reading)
        return reading

    reading = await pipeline.database.write(prepare)
    found = await read(pipeline)
    assert found.done == (await look(pipeline)).last_done == {"repair": now - timedelta(hours=2)}
    assert (found.replicas, found.schema, found.reading) == (2, migrate.head(), reading)
    assert found.version


async def test_status_only_reads_in_one_transaction_by_indexes(told):
    with noted(told.database) as statements:
        await read(told)
    said = [statement.split()[0] for statement, _ in statements if not statement.startswith("PRAGMA")]
    assert (said.count("BEGIN"), set(said)) == (1, {"BEGIN", "SELECT"})
    plans = plans_of(told.database, [one for one in statements if "FROM inbox" in one[0] or "FROM message" in one[0]])
    for index in ("ix_inbox_received_at", "ix_message_event_sent"):
        assert any(index in plan for plan in plans)
    assert [plan for plan in plans if plan.startswith(("SCAN inbox", "SCAN message")) and "INDEX" not in plan] == []


def desk_of(pipeline, *, is_admin, degraded=None):
    desk: Any = SimpleNamespace(
        database=pipeline.database,
        clock=pipeline.clock,
        jobs=Service(settings()).jobs.table,
        people=SimpleNamespace(is_admin=answering(is_admin)),
        degraded=lambda: degraded or {},
    )
    return desk


async def answer(pipeline, line="status", **more):
    command, words = find_command(line)
    assert command is not None
    return await command.answer(desk_of(pipeline, **more), Invocation(words, "CGB", "UALICE", "cmd-1"), None)


@pytest.mark.parametrize("is_admin", [False, None])
async def test_whoever_is_no_admin_reads_no_reason_no_job_and_no_other_channel(told, is_admin):
    await hold(told, "CALL", "closed", CODE)
    await tell(told, result("rc_20"))
    message = await answer(told, is_admin=is_admin, degraded={"slack": "token_revoked"})
    shown = f"{message.text}{message.blocks}"
    assert "1 thing needs attention. An admin can see why." in shown
    assert "*Waiting*\n0 posts for <#CGB>" in message.text
    for hidden in ("token_revoked", "CALL", CODE, "Quota read", "schema"):
        assert hidden not in shown
    full = await answer(told, is_admin=True, degraded={"slack": "token_revoked"})
    words = [job.words for job in Service(settings()).jobs.table]
    for seen in ("token_revoked", "<#CALL>", CODE, *words, "schema", "1 post"):
        assert seen in f"{full.text}{full.blocks}"


async def test_status_of_a_bot_that_is_well_says_so_once_something_was_checked(told):
    message = await answer(told, is_admin=True)
    assert message.text.startswith("Status\n*Nothing has been checked yet.*\n*Deliveries, last 24 hours*\n9: ")
    slot = told.clock()
    times = {"by": "one", "now": slot}

    def check(session):
        scheduler.claim_slot(session, "check_quota", slot, **times, every_s=3600)
        scheduler.finish_slot(session, "check_quota", slot, **times)

    await told.database.write(check)
    message = await answer(told, is_admin=True)
    assert message.text.startswith("Status\n*All is well.*\n")
    assert "\n18 posts, half of them within " in message.text
    assert "*Waiting*\n0 posts\n" in message.text


async def test_status_counts_the_races_that_a_channel_takes_hours_past_their_off_without_a_result(gb):
    await tell(gb, result("rc_1"))
    off_at = gb.clock() - timedelta(hours=4)
    past, lost = OffTime(off_at=off_at), {"status": "Abandoned", "abandoned": True}
    races: dict[str, dict[str, Any]] = {
        "rc_1": {},
        "rc_2": {},
        "rc_3": {},
        "rc_4": lost,
        "rc_5": {"runners": (Runner(horse="A", position="1"),)},
        "rc_6": {"off": OffTime(off_at=gb.clock() - timedelta(hours=1))},
        "rc_7": {"region": "FR"},
    }
    given = {"race_date": off_at.date().isoformat(), "region": "GB", "course": Course(name="York"), "off": past}
    book = [Race(**given | {"race_id": race_id} | more) for race_id, more in races.items()]
    await gb.database.write(lambda session: race_book_store.put(session, book, gb.clock()))
    assert (await read(gb)).without_result == 2
    message = await answer(gb, is_admin=False)
    assert message.text.startswith("Status\n*2 past races without a result hours after the off.")


# The figures of the gauges


async def look(pipeline):
    return await pipeline.database.read(lambda session: read_service_state(session, pipeline.clock()))


def counts(depths):
    return {state: depth.count for state, depth in depths.items() if depth.count}


async def test_stored_deliveries_are_counted_until_their_fan_out(pipeline):
    received_at = pipeline.clock()
    await pipeline.deliver(result("rc_1"))
    pipeline.clock.forward(90)
    await pipeline.deliver(result("rc_2"))
    seen = await look(pipeline)
    assert counts(seen.inbox) == {"new": 2}
    assert seen.inbox["new"].oldest_at == received_at
    assert seen.inbox["new"].age_s(seen.now) == pytest.approx(90)
    await pipeline.post_all()
    assert counts((await look(pipeline)).inbox) == {}


async def test_messages_of_open_paused_and_closed_channels_are_told_apart(pipeline):
    now = pipeline.clock()
    for channel_id in ("CGB", "CIRE", "CALL"):
        await pipeline.subscribe(channel_id, "GB")
    await pipeline.database.write(lambda session: held_queues.pause(session, "CIRE", now))
    await pipeline.database.write(lambda session: held_queues.close(session, "CALL", "is_archived", now))
    await fan_out(pipeline, result("rc_1"))
    seen = await look(pipeline)
    assert counts(seen.messages) == {"queued": 1, "held": 2}
    assert seen.messages["queued"].oldest_at == now


async def test_message_in_doubt_and_message_given_up_are_counted(pipeline, slack):
    for channel_id in ("CGB", "CIRE"):
        await pipeline.subscribe(channel_id, "GB" if channel_id == "CGB" else "IRE")
    slack.script("chat.postMessage", [failures.drop_after()])
    await pipeline.deliver(result("rc_1"))
    await pipeline.post_all()
    slack.script("chat.postMessage", [failures.slack_error("msg_too_long")] * 3)
    await pipeline.deliver(result("rc_2", region="IRE"))
    await pipeline.post_all()
    seen = counts((await look(pipeline)).messages)
    # The notice to admins of the message that was given up is sent.
    assert seen == {"in_doubt": 1, "dead_letter": 1}


@on_both
async def test_empty_database_has_nothing_to_show(database):
    seen = await database.read(lambda session: read_service_state(session, START))
    assert (counts(seen.inbox), counts(seen.messages), seen.quota, seen.last_done) == ({}, {}, None, {})
