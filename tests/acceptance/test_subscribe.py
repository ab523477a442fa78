"""`racing-bot subscribe` as a process: what it asks of the service, what it keeps, and what it shows."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from itertools import count, product

import pytest
from cryptography.fernet import Fernet
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from sandbox.loopback_server import serve
from tests.acceptance.command_line import run_command
from tests.acceptance.conftest import run_world
from tests.clock import now

KEY = Fernet.generate_key().decode()
PUBLIC_URL = "https://bot.example.com"
SETTINGS = {"ENCRYPTION_KEYS": KEY, "PUBLIC_URL": PUBLIC_URL, "RACING_WEBHOOK_SECRETS": ""}

ANSWERS = [
    {"subscribe_answer": answer, "subscribe_status": status}
    for answer, status in product(("secret", "signing_secret", "subscription", "flat"), (200, 201))
]


def stored(bot) -> list[dict[str, bytes | None]]:
    """The subscriptions in the database, as they stand there."""
    with sqlite3.connect(bot.folder / "bot.db") as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT secret, answer, retired_at FROM webhook_subscription")]


def on_disk(bot) -> bytes:
    return b"".join(path.read_bytes() for path in bot.folder.glob("bot.db*"))


def asked_to_subscribe(world) -> int:
    """How often the service was asked for a subscription; the lists that --region is checked against don't count."""
    return sum(one.endpoint == "/webhooks/subscribe" for one in world.service.requests)


async def test_secret_of_every_answer_is_stored_encrypted_and_shown_where_that_is_asked_for(tmp_path):
    async with AsyncExitStack() as stack:
        worlds = []
        for number, answer in enumerate(ANSWERS):
            folder = tmp_path / str(number)
            folder.mkdir()
            world = await stack.enter_async_context(run_world(folder, switches=None, start=False, **SETTINGS))
            world.service.switch(**answer)
            worlds.append(world)
        # Half of them at a time: each is an interpreter of its own.
        half = len(worlds) // 2
        for some, words in ((worlds[:half], ()), (worlds[half:], ("--show-secret",))):
            ended = await asyncio.gather(*(run_command(one.bot, "subscribe", *words) for one in some))
            for world, ran in zip(some, ended, strict=True):
                (subscription,) = world.service.subscriptions
                assert ran.code == 0, ran.said
                assert ran.said.count(subscription.secret) == len(words)
                assert (subscription.url, subscription.region) == (f"{PUBLIC_URL}/webhooks/racing", None)
                assert len(subscription.events) == 4
                (row,) = stored(world.bot)
                assert Fernet(KEY).decrypt(row["secret"] or b"").decode() == subscription.secret
                assert subscription.secret.encode() not in on_disk(world.bot)


@asynccontextmanager
async def service_that_answers(body: bytes, content_type: str):
    """A data service that answers everything with this; gives its address and its list of requests."""
    asked = []

    async def answer(request):
        asked.append(f"{request.method} {request.url.path}")
        return Response(body, 201, media_type=content_type)

    async with serve(Starlette(routes=[Route("/v1/{path:path}", answer, methods=["GET", "POST"])])) as address:
        yield f"{address}/v1", asked


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"meta": {}, "data": {"id": "sub_1", "token": "hush-hush-77"}}', "application/json"),
        (b'{"data": {"secret": "hush-hush-77", "webhook_secret": "hush-hush-78"}}', "application/json"),
        (b'{"data": {"secret": "7", "note": "hush-hush-77"}}', "application/json"),
        (b"Subscribed. Your signing secret is hush-hush-77\n", "text/plain"),
    ],
    ids=["another name", "two secrets", "a digit", "no JSON"],
)
async def test_answer_without_a_secret_that_is_recognised_is_kept_whole_and_shown(make_world, body, content_type):
    async with service_that_answers(body, content_type) as (address, asked):
        async with make_world(start=False, **SETTINGS | {"RACING_API_URL": address}) as world:
            ran = await run_command(world.bot, "subscribe")
        assert ran.code == 0
        assert asked == ["POST /v1/webhooks/subscribe"]
    assert "no signing secret was recognised" in ran.said
    assert "RACING_WEBHOOK_SECRETS" in ran.said
    assert "signing secret is stored" not in ran.said
    assert "hush-hush-77" in ran.said
    (row,) = stored(world.bot)
    assert row["secret"] is None
    assert "hush-hush-77" in Fernet(KEY).decrypt(row["answer"] or b"").decode()
    assert b"hush-hush-77" not in on_disk(world.bot)


async def test_second_subscription_needs_again_and_the_first_can_be_retired(make_world):
    async with make_world(start=False, **SETTINGS) as world:
        assert (await run_command(world.bot, "subscribe", "--region", "GB", "--event", "race.abandoned")).code == 0
        first = world.service.subscriptions[0]
        assert (first.region, first.events) == ("GB", {"race.abandoned"})
        refused = await run_command(world.bot, "subscribe")
        assert refused.code == 1
        assert "--again" in refused.said
        assert "1: https://bot.example.com/webhooks/racing, race.abandoned, GB" in refused.said
        assert asked_to_subscribe(world) == 1
        assert (await run_command(world.bot, "subscribe", "--again")).code == 0
        # To retire needs neither an address of ours nor a key.
        retired = await run_command(world.bot, "subscribe", "--retire", "1", PUBLIC_URL=None, ENCRYPTION_KEYS=None)
        assert retired.code == 0, retired.said
        again = await run_command(world.bot, "subscribe", "--retire", "1")
        assert again.code == 1
        assert "no live subscription 1" in again.said
        assert [bool(row["retired_at"]) for row in stored(world.bot)] == [True, False]
        assert asked_to_subscribe(world) == 2


async def test_channel_is_told_what_our_own_subscription_does_not_cover(make_world):
    async with make_world(start=False, **SETTINGS) as world:
        events = ("--event", "race.abandoned", "--event", "meeting.abandoned")
        assert (await run_command(world.bot, "subscribe", "--region", "GB", *events)).code == 0
        await world.bot.start()
        said = await world.say("/racing", "subscribe GB IRE results", channel="CGB")
        assert "receives" in said
        for missing in ("received from GB and IRE", "an admin has to subscribe"):
            assert missing in said
        assert "has to subscribe" not in await world.say("/racing", "subscribe GB abandonments", channel="CALL")


async def test_service_is_not_asked_where_the_secret_could_not_be_kept(make_world):
    async with make_world(start=False, **SETTINGS) as world:
        missing = await run_command(world.bot, "subscribe", PUBLIC_URL=None, ENCRYPTION_KEYS="")
        assert missing.code == 2
        for name in ("PUBLIC_URL is missing", "ENCRYPTION_KEYS is missing"):
            assert name in missing.said
        nowhere = await run_command(world.bot, "subscribe", DATABASE_URL=f"sqlite:///{world.bot.folder}/none/bot.db")
        assert nowhere.code == 2
        assert "does not exist" in nowhere.said
        assert (await run_command(world.bot, "migrate")).code == 0
        with sqlite3.connect(world.bot.folder / "bot.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            locked = await run_command(world.bot, "subscribe")
        assert locked.code == 1
        assert "locked" in locked.said or "database" in locked.said
        assert world.service.requests == []


async def test_subscribe_is_asked_for_once_whatever_the_service_does(make_world):
    failures = ["rate_limited", "quota_exceeded", "server_error", "drop", "html"]
    async with make_world(start=False, **SETTINGS) as world:
        for failure in failures:
            world.service.fail_next("/webhooks/subscribe", failure)
        databases = [f"sqlite:///{world.bot.folder / failure}.db" for failure in failures]
        ran = await asyncio.gather(*(run_command(world.bot, "subscribe", DATABASE_URL=url) for url in databases))
        assert [(one.method, one.endpoint) for one in world.service.requests] == [
            ("POST", "/webhooks/subscribe")
        ] * len(failures)
        assert world.service.subscriptions == []
    assert {one.code for one in ran} == {1}
    said = sorted("made all the same" if "made all the same" in one.said else "not made" for one in ran)
    assert said == ["made all the same"] * 3 + ["not made"] * 2
    assert all("made all the same" in one.said or "No subscription was made" in one.said for one in ran)


async def deliver_one(world) -> None:
    """Settle a race, and deliver its result by the newest subscription, as often as it takes."""
    race = next(race for race in world.service.racing.races() if world.service.racing.state(race).status == "declared")
    *_, delivery = world.service.settle(race.race_id)
    async with asyncio.timeout(60):
        # The bot looks for new secrets every few seconds at most; what it refuses meanwhile is sent again.
        for hours in count():
            await world.service.deliver_due(now() + timedelta(hours=hours))
            if delivery.status == "delivered":
                return
            await asyncio.sleep(0.5)


async def test_running_bot_takes_a_new_secret_and_keys_rotate(make_world):
    old, new = KEY, Fernet.generate_key().decode()
    async with make_world(start=False, **SETTINGS) as world:
        world.bot.env["PUBLIC_URL"] = world.bot.url
        await world.bot.start()
        assert (await run_command(world.bot, "subscribe")).code == 0
        await deliver_one(world)
        for keys in (f"{new},{old}", new):
            world.bot.kill()
            world.bot.env["ENCRYPTION_KEYS"] = keys
            await world.bot.start()
            await deliver_one(world)
            await renewed(world, new)


async def renewed(world, key) -> None:
    """Wait until the stored secret is under the key."""
    async with asyncio.timeout(60):
        while True:
            try:
                Fernet(key).decrypt(stored(world.bot)[0]["secret"] or b"")
            except ValueError:
                await asyncio.sleep(0.05)
            else:
                return


async def test_region_that_the_service_does_not_have_is_refused_before_it_is_asked(make_world):
    async with make_world(start=False, **SETTINGS) as world:
        refused = await run_command(world.bot, "subscribe", "--region", "gb")
        assert refused.code == 1
        assert "GB" in refused.said
        assert asked_to_subscribe(world) == 0
