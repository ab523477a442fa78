"""`/readyz` of the running bot: whether a delivery could be stored."""

from functools import partial

import pytest
from cryptography.fernet import Fernet

from bot.app import PROOF_S
from bot.db.engine import FILE_GONE
from bot.db.tables import StoredState, WebhookSubscriptionRow
from bot.db.vault import Vault
from bot.fanout.standstill import STANDS_STILL_S
from bot.operations import health
from bot.racedata import webhook_subscriptions
from tests.acceptance.payloads import result
from tests.integration.operations.running_bot import PATIENCE_S, run_bot


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine must not fail a test about something else."""
    monkeypatch.setattr(health, "READY_S", PATIENCE_S)


async def ready(bot):
    answer = await bot.http.get(f"{bot.url}/readyz")
    return answer.status_code, answer.json().get("reason")


async def proved_at(bot):
    return await bot.service.database.read(lambda session: session.get(StoredState, "ready_probe").updated_at)


async def test_ready_writes_a_row_only_where_no_row_proves_that_rows_can_be_written(tmp_path):
    async with run_bot(tmp_path) as bot:
        assert await ready(bot) == (200, None)
        first = await proved_at(bot)
        bot.clock.monotonic_ahead_s += 0.5 * PROOF_S
        assert await ready(bot) == (200, None)
        assert await proved_at(bot) == first
        bot.clock.monotonic_ahead_s += PROOF_S
        assert await ready(bot) == (200, None)
        assert await proved_at(bot) > first


async def test_stored_secrets_that_no_key_opens_are_named_by_readyz_and_told_to_admins(tmp_path):
    async with run_bot(tmp_path) as bot:
        lost = Vault([Fernet.generate_key().decode()]).lock("whsec-lost")
        row = WebhookSubscriptionRow(url="https://b", events="result.received", secret=lost, created_at=bot.clock())
        await bot.service.database.write(partial(webhook_subscriptions.add, row=row))
    async with run_bot(tmp_path) as bot:
        for _ in range(2):
            await bot.service.look()
        answer = await bot.http.get(f"{bot.url}/readyz")
        assert (answer.status_code, await bot.deliver(result("rc_1"), secret="whsec-lost")) == (200, 503)
        assert "ENCRYPTION_KEYS" in answer.json()["degraded"]["webhooks"]
        await bot.slack.wait_for(lambda: bool(bot.slack.messages("CADMIN")), timeout_s=PATIENCE_S)
        (told,) = bot.slack.messages("CADMIN")
        assert "ENCRYPTION_KEYS" in told.text


async def test_bot_whose_file_was_removed_stores_nothing_and_tells_admins(tmp_path):
    async with run_bot(tmp_path) as bot:
        assert await ready(bot) == (200, None)
        for path in tmp_path.glob("bot.db*"):
            path.unlink()
        assert await ready(bot) == (503, FILE_GONE)
        assert await bot.deliver(result("rc_1")) == 503
        await bot.until(lambda _scrape: bot.service.fanout.problem is not None)
        bot.clock.monotonic_ahead_s += STANDS_STILL_S
        await bot.service.look()
        (told,) = bot.slack.messages("CADMIN")
        assert FILE_GONE in told.text
        assert (await bot.scrape()).value("racing_bot_degraded", part="deliveries") == 1
