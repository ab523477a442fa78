"""Replicas on one database count one another, and divide the service's limit by the count."""

import secrets
from datetime import UTC, datetime, timedelta
from functools import partial

import httpx
from pydantic import SecretStr

from bot.db import named_values, replicas
from bot.db.engine import Database
from bot.db.replicas import DEAD_AFTER, Replicas
from bot.racedata.client.service_client import open_client
from tests.clock import now
from tests.databases import on_both
from tests.integration.racedata.backends import FakeTime, Memory

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


async def beat(database, name, now=NOW):
    return await database.write(partial(replicas.beat, replica=name, now=now))


@on_both
async def test_replicas_count_one_another(database):
    assert [await beat(database, name) for name in ("a", "b", "c", "a")] == [1, 2, 3, 3]


@on_both
async def test_replicas_forget_the_dead_and_keep_their_rows_no_longer(database):
    for name in ("a", "b"):
        await beat(database, name)
    later = NOW + DEAD_AFTER - timedelta(seconds=1)
    assert await beat(database, "a", later) == 2
    assert await beat(database, "a", NOW + DEAD_AFTER) == 1
    assert await database.read(partial(named_values.get, name=replicas.REPLICA_PREFIX + "b")) is None


@on_both
async def test_replica_that_leaves_is_counted_no_more(database):
    ours, other = (Replicas(database, now, secrets.token_hex) for _ in range(2))
    for one in (ours, other, ours):
        await one.beat()
    assert (ours.count, other.count) == (2, 2)
    await other.leave()
    await ours.beat()
    assert ours.count == 1


@on_both
async def test_replicas_leave_other_stored_values_alone(database):
    await database.write(partial(named_values.put, name="replicas", value=1, now=NOW - timedelta(days=9)))
    assert await beat(database, "a") == 1
    assert await database.read(partial(named_values.get, name="replicas")) is not None


async def test_replicas_keep_the_last_count_while_the_database_is_away(database, tmp_path):
    away = Database(f"sqlite:///{tmp_path}/no-such-folder/bot.db")
    lonely = Replicas(away, lambda: NOW, secrets.token_hex)
    lonely.count = 3
    await lonely.beat()
    await lonely.leave()
    assert lonely.count == 3
    await away.close()


async def test_client_takes_only_its_share_of_the_minute():
    time, asked = FakeTime(), []
    living = 3

    def answer(_request):
        asked.append(time.now_s)
        return httpx.Response(200, json={"meta": {}, "data": []}, headers={"x-ratelimit-limit": "60"})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = open_client(
            "https://api.example.com/v1",
            SecretStr("sk_1"),
            Memory(),
            http=http,
            timing=time.timing(),
            replicas=lambda: living,
        )
        for _ in range(21):
            await client.countries()
        assert asked == [0.0] * 20 + [60.0]
        living = 1
        for _ in range(59):
            await client.countries()
        assert asked[-1] == 60.0
