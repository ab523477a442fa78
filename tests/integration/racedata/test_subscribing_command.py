"""`racing-bot subscribe`: the requests to the service, the stored rows, and the output."""

import sqlite3
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bot.cli.subscribe_command import run_retire, run_subscribe, subscribe
from bot.clock import utc_now
from bot.db.engine import Database
from bot.db.tables import WebhookSubscriptionRow
from bot.db.vault import Vault
from bot.errors import SettingsError, ShellCommandFailed, StorageError
from bot.ports import Ports
from bot.racedata import webhook_subscriptions
from bot.racedata.client.service_client import open_client
from bot.settings import Settings
from sandbox.loopback_server import serve
from sandbox.racing_service.racing_standin import RacingService
from sandbox.racing_service.switches import Switches
from tests.unit.racedata.scripted_service import Memory

KEY, API_KEY = Fernet.generate_key().decode(), "key-of-a-test"
DAY = datetime(2026, 11, 20, tzinfo=UTC).date()
ALL = {"result.received", "race.abandoned", "meeting.abandoned", "racecard.published"}
SECRETS = [("secret", 200), ("signing_secret", 201), ("subscription", 200), ("flat", 201)]


class Operator:
    """Types the command on the settings of a bot."""

    def __init__(self, folder, api_url):
        self.folder = folder
        self.settings = {
            "racing_api_url": api_url,
            "racing_api_key": API_KEY,
            "slack_bot_token": "xoxb-test",
            "slack_signing_secret": "secret-of-a-test",
            "public_url": "https://bot.example.com",
            "encryption_keys": KEY,
            "database_url": f"sqlite:///{folder / 'bot.db'}",
        }

    async def subscribe(self, *events, region=None, again=False, show_secret=False, **changes):
        settings = Settings(_env_file=None, **self.settings | changes)
        return await run_subscribe(settings, events, region, again=again, show_secret=show_secret)

    async def retire(self, number, **changes):
        return await run_retire(Settings(_env_file=None, **self.settings | changes), number)

    async def stored(self):
        """The subscriptions in use, and their secrets."""
        database = Database(self.settings["database_url"])
        rows = await database.read(webhook_subscriptions.live)
        vault = Vault([KEY])
        opened = [(row, row.secret and vault.open(row.secret), row.answer and vault.open(row.answer)) for row in rows]
        await database.close()
        return opened

    @property
    def on_disk(self):
        return b"".join(path.read_bytes() for path in self.folder.glob("bot.db*"))


@pytest.fixture
async def service():
    async with RacingService(DAY, api_key=API_KEY, switches=Switches(allow_http_loopback=True)) as running:
        yield running


@pytest.fixture
async def operator(service, tmp_path):
    async with serve(service.app) as address:
        yield Operator(tmp_path, f"{address}/v1")


def asked_to_subscribe(service):
    """The number of requests for a subscription, without the requests for lists of regions."""
    return sum(one.endpoint == "/webhooks/subscribe" for one in service.requests)


@pytest.mark.parametrize(("answer", "status"), SECRETS)
async def test_secret_of_every_answer_is_stored_encrypted_and_shown_on_request(service, operator, answer, status):
    service.switch(subscribe_answer=answer, subscribe_status=status)
    for is_shown in (False, True):
        told = await operator.subscribe(show_secret=is_shown, again=is_shown)
        made = service.subscriptions[-1]
        assert told.count(made.secret) == is_shown
        assert (made.url, made.region, set(made.events)) == ("https://bot.example.com/webhooks/racing", None, ALL)
        _, secret, kept = (await operator.stored())[-1]
        assert (secret, kept) == (made.secret, None)
        assert made.secret.encode() not in operator.on_disk


@asynccontextmanager
async def service_that_answers(body, content_type):
    """A data service with one answer to every request; gives the address and the list of requests."""
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
async def test_answer_without_a_secret_that_is_recognised_is_kept_whole_and_shown(tmp_path, body, content_type):
    async with service_that_answers(body, content_type) as (address, asked):
        operator = Operator(tmp_path, address)
        told = await operator.subscribe()
    assert asked == ["POST /v1/webhooks/subscribe"]
    assert "hush-hush-77" in told
    ((_, secret, kept),) = await operator.stored()
    assert secret is None
    assert "hush-hush-77" in kept
    assert b"hush-hush-77" not in operator.on_disk


async def test_what_would_come_twice_is_named_and_refused_without_a_word(service, operator):
    await operator.subscribe("race.abandoned", region="GB")
    await operator.subscribe("race.abandoned", region="IRE")
    await operator.subscribe("result.received", region="GB")
    with pytest.raises(ShellCommandFailed) as refused:
        await operator.subscribe("race.abandoned", "meeting.abandoned")
    told = str(refused.value)
    assert ("  1: http" in told, "  2: http" in told) == (True, True)
    assert "racing-bot subscribe --event meeting.abandoned\n" in told
    assert "result.received" not in told
    with pytest.raises(ShellCommandFailed) as refused:
        await operator.subscribe(region="GB")
    assert "subscribe --region GB --event meeting.abandoned --event racecard.published\n" in str(refused.value)
    assert len(service.subscriptions) == 3
    await operator.subscribe(region="GB", again=True)
    assert len(service.subscriptions) == 4


async def test_subscription_is_retired_without_an_address_and_a_key_and_only_once(service, operator):
    await operator.subscribe("race.abandoned", region="GB")
    await operator.subscribe("result.received")
    await operator.retire(1, public_url=None, encryption_keys="")
    assert [row.id for row, _, _ in await operator.stored()] == [2]
    with pytest.raises(ShellCommandFailed, match="no live subscription 1"):
        await operator.retire(1)
    assert asked_to_subscribe(service) == 2


async def test_service_is_not_asked_where_the_secret_could_not_be_kept(service, operator):
    with pytest.raises(SettingsError) as wrong:
        await operator.subscribe(public_url=None, encryption_keys="")
    assert [problem.split()[0] for problem in wrong.value.problems] == ["PUBLIC_URL", "ENCRYPTION_KEYS"]
    with pytest.raises(ShellCommandFailed):
        await operator.subscribe("race.abandoned", region="gb")
    assert asked_to_subscribe(service) == 0


async def test_service_is_not_asked_while_another_process_holds_the_database(service, operator):
    await operator.subscribe("race.abandoned")
    database = Database(operator.settings["database_url"], busy_s=0.1)
    client = open_client(operator.settings["racing_api_url"], SecretStr(API_KEY), Memory(), Ports().timing)
    row = WebhookSubscriptionRow(url="https://b", events="race.abandoned", region="IRE", created_at=utc_now())
    with sqlite3.connect(operator.folder / "bot.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError):
            await subscribe(database, client, Vault([KEY]), row, again=False, show_secret=False)
    await client.aclose()
    await database.close()
    assert asked_to_subscribe(service) == 1


@pytest.mark.parametrize(
    ("failure", "may_be_made"),
    [("rate_limited", False), ("quota_exceeded", False), ("server_error", True), ("drop", True), ("html", True)],
)
async def test_subscribe_asks_the_service_once_whatever_it_does(service, operator, failure, may_be_made):
    service.fail_next("/webhooks/subscribe", failure)
    with pytest.raises(ShellCommandFailed) as failed:
        await operator.subscribe()
    assert ("made all the same" in str(failed.value)) == may_be_made
    assert [(one.method, one.endpoint) for one in service.requests] == [("POST", "/webhooks/subscribe")]
    assert service.subscriptions == []
