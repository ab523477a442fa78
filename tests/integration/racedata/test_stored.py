"""Rows on the data service: circuit breakers, signing secrets, webhook subscriptions, and the count of replicas."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.cli.recovery_commands import run_unlatch, unlatch
from bot.db import named_values, replicas
from bot.db.engine import Database, database_now
from bot.db.named_values import DatabaseStateStore, Mark
from bot.db.replicas import DEAD_AFTER, Replicas
from bot.db.tables import WebhookSubscriptionRow
from bot.db.vault import OpenedSecrets, Vault
from bot.deliveries import signing_secrets
from bot.deliveries.signing_secrets import SigningSecrets, reading
from bot.errors import StorageUnavailable
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race
from bot.outbox import told_once
from bot.racedata import webhook_subscriptions
from bot.racedata.client.circuit_breakers import CircuitBreakers
from bot.racedata.client.service_client import open_client
from bot.racedata.client.service_errors import CircuitOpen, QuotaExceeded, ServiceFailure, UpgradeRequired
from bot.racedata.quota_book import QuotaBook
from bot.racedata.reference_book import ReferenceBook
from sandbox.racing_service import RacingService
from tests.clock import now
from tests.databases import on_both, store_told
from tests.unit.pages import settings
from tests.unit.racedata.conftest import FakeClient, FakeTime
from tests.unit.racedata.scripted_service import BASE_URL, KEY

# Circuit breakers


@pytest.fixture
async def service(sleep_clock):
    async with RacingService(sleep_clock.clock().date(), api_key=KEY, clock=sleep_clock.clock) as running:
        yield running


@pytest.fixture
async def open_one(service, database, sleep_clock):
    """Opens clients on one database: the same bot restarted, or replicas."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app)) as http:
        store = DatabaseStateStore(database, sleep_clock.clock)
        yield lambda: open_client(BASE_URL, SecretStr(KEY), store, http=http, timing=sleep_clock.timing())


@pytest.fixture
def breakers(database, sleep_clock):
    return CircuitBreakers(DatabaseStateStore(database, sleep_clock.clock), sleep_clock.clock, SecretStr(KEY))


async def outcome(client):
    try:
        await client.countries()
    except ServiceFailure as error:
        return type(error)
    return None


@on_both
async def test_no_replica_loses_a_change_of_another(database):
    other = Database(database.address)
    replicas = [DatabaseStateStore(one, now) for one in (database, other)]
    changes = [replica.change("a", lambda kept: (kept or 0) + 1) for replica in replicas * 20]
    await replicas[0].change("a", lambda _: 0)
    await asyncio.gather(*changes)
    assert await replicas[1].get("a") == 40
    await other.close()


async def test_quota_breaker_is_closed_by_nothing_but_usage_that_fell(service, open_one, database, sleep_clock):
    client = open_one()
    book = QuotaBook(database, client, settings(), sleep_clock.clock)
    service.set_used(9_000)
    service.fail_next("/countries", "quota_exceeded", 100)
    for _ in range(8):
        await outcome(client)
        await book.read()
        sleep_clock.now_s += 900
    assert sum(request.endpoint == "/countries" for request in service.requests) == 1
    service.heal()
    service.set_used(8_000)
    assert await outcome(client) is CircuitOpen
    await book.read()
    assert await outcome(client) is None


async def test_admins_word_closes_the_quota_for_a_running_bot_and_says_so(service, open_one, breakers):
    running = open_one()
    service.set_used(15_000)
    assert await outcome(running) is QuotaExceeded
    assert "No circuit breaker is open (key)" in await unlatch(breakers, ["key"])
    assert (await unlatch(breakers, ["quota", "key"])).startswith(
        "quota: closed again, after quota_exceeded on 2025-11-20 12:00 UTC (request req_"
    )
    service.set_used(0)
    assert await outcome(running) is None


async def test_admins_word_has_an_endpoint_beyond_the_plan_asked_again(service, open_one, breakers):
    running = open_one()
    service.switch(reach={"/countries": ("analyst",)})
    assert [await outcome(running) for _ in range(2)] == [UpgradeRequired] * 2
    assert len(service.requests) == 1
    assert (await unlatch(breakers, ["plan"])).startswith("plan: closed again, ")
    service.switch(reach={})
    assert await outcome(running) is None


async def test_command_resets_on_the_database_of_the_settings(tmp_path):
    of_file = settings(database_url=f"sqlite:///{tmp_path}/bot.db")
    assert "No circuit breaker is open (quota, key, plan)" in await run_unlatch(of_file, None)
    unready = of_file.model_copy(update={"database_url": SecretStr(f"sqlite:///{tmp_path}/none/bot.db")})
    with pytest.raises(StorageUnavailable, match="unable to open database file"):
        await run_unlatch(unready, "quota")


# Signing secrets

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OLD, NEW, LOST = (Fernet.generate_key().decode() for _ in range(3))


async def add(database, key, **kept):
    locked: dict[str, Any] = {name: Vault([key]).lock(text) for name, text in kept.items()}
    row = WebhookSubscriptionRow(url="https://b", events="result.received", created_at=NOW, **locked)
    return await database.write(partial(webhook_subscriptions.add, row=row))


async def secrets_of(database, *keys):
    return await database.read(partial(webhook_subscriptions.signing_secrets, vault=Vault(keys)))


def read_by_bot(database, key=NEW):
    return partial(secrets_of, database, key)


def read_by_receiver(database, key=NEW):
    return partial(asyncio.to_thread, reading(database.address, Vault([key])))


by_each_reader = pytest.mark.parametrize("reader", [read_by_bot, read_by_receiver])


@on_both
@by_each_reader
async def test_secret_that_no_key_opens_takes_no_other_with_it_and_is_named_until_it_is_retired(database, reader):
    number = await add(database, LOST, secret="whsec-lost")
    secrets = SigningSecrets([], reader(database), lambda: 0.0, lambda *_, **__: None)
    await add(database, NEW, secret="whsec-new")
    await secrets.read()
    assert (secrets.active, secrets.unread) == (("whsec-new",), True)
    assert f"subscription {number}" in (secrets.unreadable or "")
    await database.write(partial(webhook_subscriptions.retire, subscription_id=number, now=NOW))
    await secrets.read()
    assert (secrets.active, secrets.unread, secrets.unreadable) == (("whsec-new",), False, None)


@on_both
@by_each_reader
async def test_retired_secret_is_dropped_while_another_can_not_be_opened(database, reader):
    number = await add(database, NEW, secret="whsec-leaked")
    await add(database, LOST, secret="whsec-lost")
    secrets = SigningSecrets([], reader(database), lambda: 0.0, lambda *_, **__: None)
    await secrets.read()
    active = [secrets.active]
    await database.write(partial(webhook_subscriptions.retire, subscription_id=number, now=NOW))
    await secrets.read()
    active.append(secrets.active)
    assert (active, secrets.unread) == ([("whsec-leaked",), ()], True)


@on_both
@by_each_reader
async def test_replica_without_the_new_key_goes_on_with_the_secrets_that_it_has_read(database, reader):
    number = await add(database, OLD, secret="whsec-old")
    secrets = SigningSecrets([], reader(database, OLD), lambda: 0.0, lambda *_, **__: None)
    await secrets.read()
    await database.write(partial(webhook_subscriptions.renew, vault=Vault([NEW, OLD])))
    await secrets.read()
    assert (secrets.active, secrets.unread, secrets.unreadable) == (("whsec-old",), False, None)
    await database.write(partial(webhook_subscriptions.retire, subscription_id=number, now=NOW))
    await secrets.read()
    assert secrets.active == ()


@on_both
async def test_secrets_and_answers_are_renewed_once_so_that_old_keys_can_go(database):
    await add(database, OLD, secret="whsec-old")
    number = await add(database, OLD, answer="the whole answer")
    await add(database, LOST, secret="whsec-lost")
    kept = [{row.id: row.secret or row.answer for row in await database.read(webhook_subscriptions.live)}]
    for keys in ([], [NEW, OLD], [NEW, OLD]):
        await database.write(partial(webhook_subscriptions.renew, vault=Vault(keys)))
        kept.append({row.id: row.secret or row.answer for row in await database.read(webhook_subscriptions.live)})
    assert [sum(after[one] != before[one] for one in before) for before, after in pairwise(kept)] == [0, 2, 0]
    assert list((await secrets_of(database, NEW)).secrets.values()) == ["whsec-old"]
    answers = {row.id: row.answer for row in await database.read(webhook_subscriptions.live)}
    assert Vault([NEW]).open(answers[number] or b"") == "the whole answer"


async def test_retired_secret_is_dropped_while_every_signature_matches(monkeypatch):
    monkeypatch.setattr(signing_secrets, "REREAD_EVERY_S", 0.0)
    stored, dropped = iter([{1: "old", 2: "new"}, {2: "new"}]), asyncio.Event()

    async def read_stored():
        found = next(stored, {})
        if not found:
            dropped.set()
            await asyncio.Event().wait()
        return OpenedSecrets(found, {})

    hours = itertools.count(0, 3_600)
    secrets = SigningSecrets(["of the settings"], read_stored, lambda: next(hours), print)
    keeping = asyncio.create_task(secrets.keep_current())
    await dropped.wait()
    keeping.cancel()
    assert secrets.active == ("of the settings", "new")


async def test_unknown_signatures_read_the_stored_secrets_once_in_a_while():
    stored = iter([{1: "old"}, {1: "old", 2: "new"}, {1: "old", 2: "new", 3: "newest"}])

    async def read_stored():
        return OpenedSecrets(next(stored), {})

    secrets = SigningSecrets([], read_stored, lambda: 0.0, print)
    await secrets.read()
    assert [await secrets.reread(), await secrets.reread()] == [True, False]
    assert secrets.active == ("old", "new")


# Replicas


@on_both
async def test_replicas_count_one_another_and_forget_the_dead(database):
    async def beat(name, at=NOW):
        await database.write(partial(replicas.beat, replica=name, now=at))
        return await database.read(partial(replicas.living, now=at))

    await database.write(partial(named_values.put, name="replicas", value=1, now=NOW - timedelta(days=9)))
    assert [await beat(name) for name in ("a", "b", "c", "a")] == [1, 2, 3, 3]
    assert await beat("c", NOW + DEAD_AFTER - timedelta(seconds=1)) == 3
    assert await beat("a", NOW + DEAD_AFTER) == 2
    later = (NOW + DEAD_AFTER + timedelta(seconds=10), NOW + 2 * DEAD_AFTER)
    left = [await database.read(partial(replicas.counts_for, now=at)) for at in later]
    assert left == [DEAD_AFTER - timedelta(seconds=10), None], "as the last to beat"
    kept = [
        await database.read(partial(named_values.get, name=name))
        for name in (f"{Mark.REPLICA}b", f"{Mark.REPLICA}c", "replicas")
    ]
    assert [one is not None for one in kept] == [False, True, True]


@on_both
async def test_what_was_told_once_is_dropped_once_and_is_then_news(database):
    def free(*keys):
        return database.write(lambda session: told_once.free(session, keys))

    def note():
        return database.write(lambda session: told_once.note(session, [noted], NOW))

    def is_noted():
        return database.read(lambda session: told_once.is_noted(session, "a"))

    for noted in ("a", "a", "log:a"):
        assert [await note(), await note(), await is_noted()] == [[noted], [], True]
        assert [await free("a", "b"), await free("a"), await is_noted()] == [["a"], [], False]


@on_both
async def test_replica_is_counted_once_after_a_kill_and_no_more_after_it_leaves(database):
    killed, again, other = (Replicas(database, now, port) for port in (3000, 3000, 3001))
    counts = []
    for step in (killed.beat, again.beat, other.beat, again.beat, other.leave):
        await step()
        counts.append(await database.read(lambda session: replicas.living(session, database_now(session, now))))
    assert counts == [1, 1, 2, 2, 1]


async def test_replica_goes_on_while_the_database_is_away(tmp_path):
    away = Database(f"sqlite:///{tmp_path}/no-such-folder/bot.db")
    lonely = Replicas(away, lambda: NOW, 3000)
    await lonely.beat()
    await lonely.leave()
    await away.close()


# Webhook subscriptions


@on_both
async def test_uncovered_events_are_those_that_no_subscription_delivers(database):
    async def uncovered(region):
        chosen = ChannelFilter(region=region, topics=(Topic.RESULTS, Topic.RACECARDS))
        return await database.read(partial(webhook_subscriptions.uncovered, filters=[chosen]))

    asked = {"result.received", "racecard.published"}
    assert await uncovered("GB") == {}
    row = WebhookSubscriptionRow(url="https://b", events="result.received", region="GB", created_at=now())
    await database.write(partial(webhook_subscriptions.add, row=row))
    assert await uncovered("GB") == {"racecard.published": ["GB"]}
    assert await uncovered("IRE") == {event: ["IRE"] for event in asked}
    assert await uncovered(ALL_REGIONS) == {event: [ALL_REGIONS] for event in asked}


@on_both
async def test_course_of_an_event_is_known_from_the_event_on_for_a_week(database):
    clock = FakeTime()
    client: Any = FakeClient(answers={"courses": [{"course_id": "cr_1", "name": "Ascot", "region": "GB"}]})
    book = ReferenceBook(database, client, clock)
    for name in ("Seven Lakes", "Four Lakes"):
        told = RacingEvent(key=name, kind=EventKind.MEETING_ABANDONED, race=Race(course=Course(name=name)))
        await database.write(lambda session, told=told: store_told(session, told, received_at=clock()))
        assert name in [one.name for one in await book.courses() or ()]
    clock.pass_(hours=7 * 24 + 2)
    assert [one.name for one in await book.courses() or ()] == ["Ascot"]
