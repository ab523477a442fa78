"""Every metric that is declared is counted by the running bot, and no series comes into being on the way."""

from prometheus_client import generate_latest

from bot.operations.metrics import METRIC_PREFIX, Metrics
from bot.slack.web_client import METHODS
from tests.integration.operations.breaking import (
    archive_the_admins_channel,
    knock_at_another_path,
    refuse_an_event,
    rotate_the_key,
    sign_with_another_secret,
    use_much_of_the_quota,
)
from tests.integration.operations.running_bot import run_bot
from tests.promtool import Scrape

CONSTANT = {f"{METRIC_PREFIX}build_info", f"{METRIC_PREFIX}job_interval_seconds"}
"""Set when the bot starts."""


def families(scrape: Scrape) -> set[str]:
    return {name for name, _ in scrape.values if name.startswith(METRIC_PREFIX) and not name.endswith("_created")}


async def test_every_metric_is_counted_and_no_series_comes_into_being(tmp_path):
    async with run_bot(tmp_path) as bot:
        fresh = Scrape.of(generate_latest(Metrics(bot.service.settings, METHODS).registry).decode(), 0.0)
        await bot.well()
        await sign_with_another_secret(bot)
        await knock_at_another_path(bot)
        await archive_the_admins_channel(bot)
        await use_much_of_the_quota(bot)
        await rotate_the_key(bot)
        await refuse_an_event(bot)
        seen = await bot.scrape()
    assert seen.values.keys() == fresh.values.keys()
    # By their words, because NaN equals nothing.
    changed = {name for (name, labels), value in seen.values.items() if str(value) != str(fresh.values[name, labels])}
    assert families(fresh) - changed == CONSTANT
