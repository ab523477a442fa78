"""The checks of `racing-bot doctor`, in the order of the report."""

from bot.doctor import clock, database, service, slack, webhooks
from bot.doctor.deployment import Patient
from bot.doctor.examining import Check
from bot.doctor.findings import Finding, Seen, failed

SETTINGS = "settings"


async def settings(patient: Patient) -> Seen:
    """Whether the settings can be read. Every problem is a finding."""
    if patient.found is not None:
        return Seen("complete")
    mend = "Set the variable in the environment, or in the file .env of this folder; the README has a row for each."
    findings: tuple[Finding, ...] = tuple(failed("setting_wrong", problem, mend) for problem in patient.problems)
    return Seen("missing or wrong", findings)


CHECKS: tuple[Check[Patient], ...] = (
    Check(SETTINGS, settings),
    Check("clock", clock.clock, needs=(SETTINGS,)),
    Check("database", database.database, needs=(SETTINGS,)),
    Check("schema", database.schema, needs=("database",)),
    Check("writable", database.writable, needs=("schema",)),
    Check("free space", database.free_space, needs=("database",)),
    Check("commit", database.commit, needs=("writable",)),
    Check("encryption keys", database.encryption_keys, needs=("schema",)),
    Check("data service", service.data_service, needs=(SETTINGS,)),
    Check("key", service.key, needs=("data service",)),
    Check("plan", service.plan, needs=("key",)),
    Check("window", service.window, needs=("key",)),
    Check("quota", service.quota, needs=("key",)),
    Check("latches", service.latches, needs=("schema",)),
    Check("bot", webhooks.bot, needs=(SETTINGS,)),
    Check("public address", webhooks.public_address, needs=(SETTINGS,)),
    Check("webhook endpoint", webhooks.webhook_endpoint, needs=("public address",)),
    Check("webhook subscription", webhooks.webhook_subscription, needs=("schema", "encryption keys")),
    Check("slack endpoint", webhooks.slack_endpoint, needs=("public address",)),
    Check("slack token", slack.slack_token, needs=(SETTINGS,)),
    Check("scopes", slack.scopes, needs=("slack token",)),
    Check("admins", slack.admins, needs=("slack token",)),
    Check("channels", slack.channels, needs=("slack token", "schema")),
    Check("history", slack.history, needs=("slack token", "schema")),
    Check("socket mode", slack.socket_mode, needs=(SETTINGS,)),
)
"""Each check stands after all needed checks."""
