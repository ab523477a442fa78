"""`/readyz` of the running bot: whether a delivery could be stored."""

import pytest

from bot import app
from bot.db.engine import FILE_GONE
from bot.db.tables import StoredState
from bot.fanout import standstill
from bot.operations import health
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


@pytest.mark.parametrize(("proof_s", "is_new"), [(3_600, False), (0, True)])
async def test_ready_writes_a_row_only_where_no_row_proves_that_rows_can_be_written(
    tmp_path, monkeypatch, proof_s, is_new
):
    monkeypatch.setattr(app, "PROOF_S", proof_s)
    async with run_bot(tmp_path) as bot:
        assert await ready(bot) == (200, None)
        first = await proved_at(bot)
        assert await ready(bot) == (200, None)
        assert (await proved_at(bot) > first) == is_new


async def test_bot_whose_file_was_removed_stores_nothing_and_tells_admins(tmp_path, monkeypatch):
    async with run_bot(tmp_path) as bot:
        assert await ready(bot) == (200, None)
        for path in tmp_path.glob("bot.db*"):
            path.unlink()
        assert await ready(bot) == (503, FILE_GONE)
        assert await bot.deliver(result("rc_1")) == 503
        await bot.until(lambda _scrape: bot.service.fanout.problem is not None)
        monkeypatch.setattr(standstill, "STANDS_STILL_S", 0.0)
        await bot.service.look()
        (told,) = bot.slack.messages("CADMIN")
        assert FILE_GONE in told.text
