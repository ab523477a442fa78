"""`racing-bot doctor`: the check-up of a deployment."""

from collections.abc import Callable
from importlib.metadata import version

from bot.clock import utc_now
from bot.doctor.check_run import examine
from bot.doctor.deployment import open_patient
from bot.doctor.findings import CheckReport
from bot.doctor.table import CHECKS
from bot.errors import SettingsError
from bot.logs import MaskSecrets
from bot.ports import Ports
from bot.settings import Settings


async def run_doctor(load: Callable[[], Settings]) -> CheckReport:
    async with open_patient(load, Ports()) as patient:
        secrets = () if isinstance(patient, SettingsError) else patient.settings.secret_values
        examined = await examine(CHECKS, patient, mask=MaskSecrets(secrets).masked)
    return CheckReport(version("racing-bot"), utc_now(), examined)
