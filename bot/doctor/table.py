"""The checks of `racing-bot doctor`, in the order of the report."""

from bot.doctor import clock_checks, database_checks, service_checks, slack_checks, webhook_checks
from bot.doctor.check_run import Check
from bot.doctor.deployment import Patient
from bot.doctor.findings import Finding, Seen, failed

SETTINGS = "settings"


async def settings(patient: Patient) -> Seen:
    if patient.found is not None:
        return Seen("complete")
    mend = (
        "Set the variable in the environment, or in the file .env of this folder. "
        "docs/settings.md has a row for each, and the README says where to find a value."
    )
    findings: tuple[Finding, ...] = tuple(failed("setting_wrong", problem, mend) for problem in patient.problems)
    return Seen("missing or wrong", findings)


CHECKS: tuple[Check[Patient], ...] = (
    Check(SETTINGS, settings),
    Check("clock", clock_checks.clock, needs=(SETTINGS,)),
    Check("database", database_checks.database, needs=(SETTINGS,)),
    Check("schema", database_checks.schema, needs=("database",)),
    Check("writable", database_checks.writable, needs=("schema",)),
    Check("free space", database_checks.free_space, needs=("database",)),
    Check("commit", database_checks.commit, needs=("writable",)),
    Check("encryption keys", database_checks.encryption_keys, needs=("schema",)),
    Check("data service", service_checks.data_service, needs=(SETTINGS,)),
    Check("key", service_checks.key, needs=("data service",)),
    Check("plan", service_checks.plan, needs=("key",)),
    Check("window", service_checks.window, needs=("key",)),
    Check("quota", service_checks.quota, needs=("key",)),
    Check("latches", service_checks.circuit_breakers, needs=("schema",)),
    Check("bot", webhook_checks.bot, needs=(SETTINGS,)),
    Check("public address", webhook_checks.public_address, needs=(SETTINGS,)),
    Check("webhook endpoint", webhook_checks.webhook_endpoint, needs=("public address",)),
    Check("webhook subscription", webhook_checks.webhook_subscription, needs=("schema", "encryption keys")),
    Check("slack endpoint", webhook_checks.slack_endpoint, needs=("public address",)),
    Check("slack token", slack_checks.slack_token, needs=(SETTINGS,)),
    Check("scopes", slack_checks.scopes, needs=("slack token",)),
    Check("admins", slack_checks.admins, needs=("slack token",)),
    Check("channels", slack_checks.channels, needs=("slack token", "schema")),
    Check("history", slack_checks.history, needs=("slack token", "schema")),
    Check("socket mode", slack_checks.socket_mode, needs=(SETTINGS,)),
)
