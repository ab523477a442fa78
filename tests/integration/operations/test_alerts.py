"""Each alerting rule on the running bot: silent while all is well, and firing once the bot is broken in that way."""

from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from cryptography.fernet import Fernet

from bot.deliveries import signing_secrets
from tests.integration.operations import breaking
from tests.integration.operations.running_bot import APP_TOKEN, RunningBot, run_bot
from tests.promtool import firing, needs_promtool, rules


@dataclass(frozen=True)
class Case:
    """How the bot is broken, the alerts that come with the alert of the case, and settings of the bot."""

    broken: Callable[[RunningBot], Awaitable[None]]
    also: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)
    prepare: Callable[[RunningBot], Awaitable[None]] | None = None


CASES = {
    "RacingBotDown": Case(breaking.stop_listening),
    "RacingBotDeliveriesNotStored": Case(breaking.lock_the_database),
    "RacingBotDeliveryTooLarge": Case(breaking.send_a_huge_body),
    "RacingBotSignatureMismatch": Case(breaking.sign_with_another_secret),
    "RacingBotNoSigningSecret": Case(
        breaking.retire_the_secret,
        settings={"racing_webhook_secrets": "", "encryption_keys": Fernet.generate_key().decode()},
        prepare=breaking.subscribe,
    ),
    "RacingBotStandstill": Case(breaking.lose_a_table),
    "RacingBotDeliveriesWaiting": Case(breaking.refuse_an_event),
    "RacingBotPostsLate": Case(breaking.leave_a_post_unanswered, also=("RacingBotSlackUnreached",)),
    "RacingBotReceiptToSlackSlow": Case(breaking.post_late, also=("RacingBotSlackRateLimited",)),
    "RacingBotPostsGivenUp": Case(breaking.refuse_a_message),
    "RacingBotSlackCredentialsDead": Case(breaking.revoke_the_token),
    "RacingBotSlackUnreached": Case(breaking.have_slack_down),
    "RacingBotSlackRateLimited": Case(breaking.limit_posts),
    "RacingBotSocketModeDown": Case(
        breaking.cut_the_socket, settings={"slack_app_token": APP_TOKEN, "slack_signing_secret": None}
    ),
    "RacingBotAdminsUnreached": Case(breaking.archive_the_admins_channel),
    "RacingBotServiceUnauthorized": Case(breaking.rotate_the_key),
    "RacingBotQuotaSpent": Case(breaking.spend_the_quota),
    "RacingBotQuotaWillRunOut": Case(breaking.use_much_of_the_quota),
    "RacingBotServiceFailing": Case(breaking.fail_the_service),
    "RacingBotJobStale": Case(breaking.break_a_job),
}


@asynccontextmanager
async def prepared(folder, case):
    async with run_bot(folder, **case.settings) as bot:
        if case.prepare:
            await case.prepare(bot)
        yield bot


def test_every_rule_has_a_case():
    assert [rule["alert"] for rule in rules()] == [*CASES]


@needs_promtool
@pytest.mark.parametrize("alert", CASES)
async def test_rule_fires_on_the_running_bot_that_is_broken_in_its_way(alert, tmp_path, monkeypatch):
    monkeypatch.setattr(signing_secrets, "REREAD_S", 0.0)
    case = CASES[alert]
    async with prepared(tmp_path, case) as bot:
        well = await bot.well()
        await case.broken(bot)
        broken = await bot.scrape()
    firing(tmp_path, well, broken, {alert, *case.also})
