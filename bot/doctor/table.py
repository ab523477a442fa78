"""`racing-bot doctor`: its checks, in the order of the report."""

from collections.abc import Callable
from importlib.metadata import version

from bot.doctor import database_checks, service_checks, slack_checks, webhook_checks
from bot.doctor.check_run import CheckReport, DoctorCheck, Seen, examine, finding
from bot.doctor.deployment import Deployment, open_patient
from bot.errors import SettingsError
from bot.logs import MaskSecrets
from bot.ports import Ports
from bot.settings import Settings

SETTINGS = "settings"


async def settings(patient: Deployment | SettingsError) -> Seen:
    if not isinstance(patient, SettingsError):
        return Seen("complete")
    return Seen("missing or wrong", tuple(finding("setting_wrong", problem=one) for one in patient.problems))


CHECKS: tuple[DoctorCheck, ...] = (
    DoctorCheck(SETTINGS, settings),
    DoctorCheck("clock", service_checks.clock, needs=(SETTINGS,)),
    DoctorCheck("database", database_checks.database, needs=(SETTINGS,)),
    DoctorCheck("schema", database_checks.schema, needs=("database",)),
    DoctorCheck("writable", database_checks.writable, needs=("schema",)),
    DoctorCheck("free space", database_checks.free_space, needs=("database",)),
    DoctorCheck("commit", database_checks.commit, needs=("writable",)),
    DoctorCheck("journal", database_checks.journal, needs=("schema",)),
    DoctorCheck("encryption keys", database_checks.encryption_keys, needs=("schema",)),
    DoctorCheck("data service", service_checks.data_service, needs=(SETTINGS,)),
    DoctorCheck("key", service_checks.key, needs=("data service",)),
    DoctorCheck("plan", service_checks.plan, needs=("key",)),
    DoctorCheck("window", service_checks.window, needs=("key",)),
    DoctorCheck("quota", service_checks.quota, needs=("key",)),
    DoctorCheck("latches", service_checks.circuit_breakers, needs=("schema",)),
    DoctorCheck("bot", webhook_checks.bot, needs=(SETTINGS,)),
    DoctorCheck("public address", webhook_checks.public_address, needs=(SETTINGS,)),
    DoctorCheck("webhook endpoint", webhook_checks.webhook_endpoint, needs=("public address",)),
    DoctorCheck("webhook subscription", webhook_checks.webhook_subscription, needs=("schema", "encryption keys")),
    DoctorCheck("slack endpoint", webhook_checks.slack_endpoint, needs=("public address",)),
    DoctorCheck("slack token", slack_checks.slack_token, needs=(SETTINGS,)),
    DoctorCheck("scopes", slack_checks.scopes, needs=("slack token",)),
    DoctorCheck("admins", slack_checks.admins, needs=("slack token",)),
    DoctorCheck("channels", slack_checks.channels, needs=("slack token", "schema")),
    DoctorCheck("history", slack_checks.history, needs=("slack token", "schema")),
    DoctorCheck("replies", slack_checks.replies, needs=("slack token", "schema")),
    DoctorCheck("socket mode", slack_checks.socket_mode, needs=(SETTINGS,)),
)


async def run_doctor(load: Callable[[], Settings]) -> CheckReport:
    ports = Ports()
    async with open_patient(load, ports) as patient:
        secrets = () if isinstance(patient, SettingsError) else patient.settings.secret_values
        examined = await examine(CHECKS, patient, mask=MaskSecrets(secrets).masked)
    return CheckReport(version("racing-bot"), ports.clock(), examined)
