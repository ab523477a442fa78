"""Each alerting rule on a running bot that is broken in that way, and each metric counted by a running bot.

A bot is broken in several ways, one after another. Before each the rules are silent, and then exactly the named fire.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from cryptography.fernet import Fernet

from bot.app import Service
from bot.deliveries import signing_secrets
from bot.operations.metrics import METRIC_PREFIX
from tests.integration.operations import breaking
from tests.integration.operations.running_bot import RunningBot, run_bot
from tests.promtool import Scrape, check_firing, needs_promtool, rules
from tests.world import APP_TOKEN


class Break(NamedTuple):
    """`also`: an alert that comes with the alert. `mend`: for the next way; the last may be left broken."""

    alert: str
    broken: Callable[[RunningBot], Awaitable[None]]
    also: str = ""
    mend: Callable[[RunningBot], Awaitable[None]] | None = None


BREAKS = {
    "deliveries": [
        Break("RacingBotDeliveryTooLarge", breaking.send_a_huge_body),
        Break("RacingBotSignatureMismatch", breaking.sign_with_another_secret),
        Break("RacingBotDeliveriesNotStored", breaking.lock_the_journal, mend=RunningBot.settled),
        Break("RacingBotDeliveriesWaiting", breaking.refuse_an_event, mend=breaking.take_the_event),
        Break("RacingBotJobStale", breaking.break_a_job),
    ],
    "the data service": [
        Break("RacingBotServiceFailing", breaking.fail_the_service),
        Break("RacingBotServiceUnauthorized", breaking.rotate_the_key, mend=breaking.mend_the_key),
        Break("RacingBotQuotaSpent", breaking.spend_the_quota, mend=breaking.give_back_the_quota),
        Break("RacingBotQuotaWillRunOut", breaking.use_much_of_the_quota, mend=breaking.give_back_the_quota),
        Break("RacingBotAdminsUnreached", breaking.archive_the_admins_channel),
    ],
    "posts": [
        Break("RacingBotPostsGivenUp", breaking.refuse_a_message),
        Break("RacingBotReceiptToSlackSlow", breaking.post_late, also="RacingBotSlackRateLimited"),
        Break("RacingBotSlackRateLimited", breaking.limit_posts, mend=breaking.end_the_limit),
        Break("RacingBotSlackCredentialsDead", breaking.revoke_the_token),
        Break("RacingBotDown", breaking.stop_listening),
    ],
    "Slack": [
        Break("RacingBotSlackUnreached", breaking.have_slack_down),
        Break("RacingBotPostsLate", breaking.leave_slack_down, also="RacingBotSlackUnreached"),
    ],
    "Socket Mode": [Break("RacingBotSocketModeDown", breaking.cut_the_socket)],
    "stored secrets": [
        Break("RacingBotNoSigningSecret", breaking.retire_the_secret, mend=breaking.subscribe),
        Break("RacingBotStandstill", breaking.lose_a_table),
    ],
}
SETTINGS: dict[str, dict[str, Any]] = {
    "Socket Mode": {"slack_app_token": APP_TOKEN},
    "stored secrets": {"racing_webhook_secrets": "", "encryption_keys": Fernet.generate_key().decode()},
}


def test_every_rule_has_its_way():
    assert {rule["alert"] for rule in rules()} == {one.alert for ways in BREAKS.values() for one in ways}


@needs_promtool
@pytest.mark.parametrize("about", BREAKS)
async def test_rules_fire_on_the_running_bot_that_is_broken_in_their_way(about, tmp_path, monkeypatch):
    monkeypatch.setattr(signing_secrets, "REREAD_S", 0.0)
    cases = {}
    async with run_bot(tmp_path, **SETTINGS.get(about, {})) as bot:
        if about == "stored secrets":
            await breaking.subscribe(bot)
        well = await bot.well()
        for one in BREAKS[about]:
            await one.broken(bot)
            cases[one.alert] = well, await bot.scrape(), {one.alert, one.also} - {""}
            if one.mend:
                await one.mend(bot)
            well = await bot.scrape()
    check_firing(tmp_path, cases)


CONSTANT = {f"{METRIC_PREFIX}build_info", f"{METRIC_PREFIX}job_interval_seconds"}
"""Set when the bot starts."""


def families(scrape: Scrape) -> set[str]:
    return {name for name, _ in scrape.values if name.startswith(METRIC_PREFIX) and not name.endswith("_created")}


async def test_every_metric_is_counted_and_no_series_comes_into_being(tmp_path):
    async with run_bot(tmp_path) as bot:
        fresh = Scrape.of(Service(bot.service.settings).metrics.registry)
        await bot.well()
        for happens in (
            breaking.sign_with_another_secret,
            breaking.knock_at_another_path,
            breaking.archive_the_admins_channel,
            breaking.use_much_of_the_quota,
            breaking.rotate_the_key,
            breaking.refuse_an_event,
        ):
            await happens(bot)
        seen = await bot.scrape()
    assert seen.values.keys() == fresh.values.keys()
    # By their words, because NaN equals nothing.
    changed = {name for (name, labels), value in seen.values.items() if str(value) != str(fresh.values[name, labels])}
    assert families(fresh) - changed == CONSTANT
