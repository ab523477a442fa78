"""Runs checks in parallel, each after its needs and within a time limit, and reports their findings.

Known faults become findings.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from traceback import extract_tb
from typing import Any

from pydantic_core import to_json
from sqlalchemy.exc import SQLAlchemyError

from bot.errors import (
    SlackCredentialsDead,
    SlackError,
    SlackRefused,
    SlackScopeMissing,
    SlackWait,
    StorageError,
    reason_of,
)
from bot.events.sentences import counted
from bot.logs import Mask, get_logger
from bot.racedata.client.service_errors import (
    AnswerUnreadable,
    NotFound,
    RateLimited,
    ServiceFailure,
    ServiceUnreachable,
    UnknownRefusal,
)

log = get_logger(__name__)

REINSTALL = "on api.slack.com/apps add the scope under OAuth & Permissions, then Install App, Reinstall to Workspace"

CHECK_TIMEOUT_S = 10.0


class CheckOutcome(StrEnum):
    """The ends of a check, the mildest first."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    FAILED = "failed"
    CRASHED = "crashed"


_ORDER = list(CheckOutcome)
_BLOCKING = frozenset({CheckOutcome.SKIPPED, CheckOutcome.FAILED, CheckOutcome.CRASHED})


@dataclass(frozen=True)
class Finding:
    """A fault. `code` never changes, for scripts; `mend`: a line that mends the fault."""

    code: str
    outcome: CheckOutcome
    told: str
    mend: str


def warning(code: str, told: str, mend: str) -> Finding:
    """The bot works, with a loss."""
    return Finding(code, CheckOutcome.WARNING, told, mend)


def failed(code: str, told: str, mend: str) -> Finding:
    """A part of the bot does not work."""
    return Finding(code, CheckOutcome.FAILED, told, mend)


@dataclass(frozen=True)
class Seen:
    told: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class NotApplicable:
    reason: str


@dataclass(frozen=True)
class Examined:
    """`because_of`: the earlier check in the way of a skipped check."""

    check: str
    outcome: CheckOutcome
    told: str
    findings: tuple[Finding, ...] = ()
    because_of: str | None = None
    took_s: float = 0.0


@dataclass(frozen=True)
class CheckReport:
    version: str
    at: datetime
    checks: Sequence[Examined]

    @property
    def outcome(self) -> CheckOutcome:
        """A skipped check counts as ok."""
        worst = worst_of(self.checks)
        return CheckOutcome.OK if worst is CheckOutcome.SKIPPED else worst

    @property
    def exit_code(self) -> int:
        return {CheckOutcome.OK: 0, CheckOutcome.WARNING: 1}.get(self.outcome, 2)

    def as_text(self) -> str:
        return "\n".join([f"racing-bot {self.version}", *map(_lines, self.checks), "", self._counted()])

    def as_json(self) -> str:
        """As in docs/operations/README.md. No field is ever renamed or removed."""
        document = {
            "version": self.version,
            "at": self.at.isoformat(),
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "checks": [replace(one, took_s=round(one.took_s, 3)) for one in self.checks],
        }
        return to_json(document, indent=2).decode()

    def _counted(self) -> str:
        counts = Counter(one.outcome for one in self.checks)
        many = {one: "warnings" if one is CheckOutcome.WARNING else one for one in reversed(_ORDER)}
        return ", ".join(counted(counts[one], one, words) for one, words in many.items() if counts[one])


def worst_of(each: Sequence[Finding | Examined]) -> CheckOutcome:
    return max((one.outcome for one in each), key=_ORDER.index, default=CheckOutcome.OK)


def _lines(examined: Examined) -> str:
    lines = [f"{examined.outcome:<8} {examined.check}: {examined.told}"]
    for finding in examined.findings:
        lines += [f"         - {finding.told}", f"           Mend: {finding.mend}"]
    return "\n".join(lines)


@dataclass(frozen=True)
class DoctorCheck:
    """`needs`: ids of earlier checks. After a failed need the check is skipped.

    `look` gets the deployment, or the first check the SettingsError of a deployment without settings.
    """

    id: str
    look: Callable[[Any], Awaitable[Seen | NotApplicable]]
    needs: tuple[str, ...] = ()


async def examine(
    checks: Sequence[DoctorCheck], patient: object, *, mask: Mask = str, limit_s: float = CHECK_TIMEOUT_S
) -> list[Examined]:
    tasks: dict[str, asyncio.Task[Examined]] = {}
    for check in checks:
        needed = [tasks[name] for name in check.needs]
        tasks[check.id] = asyncio.create_task(_examine(check, patient, needed, limit_s), name=check.id)
    return [_masked(await task, mask) for task in tasks.values()]


async def _examine(
    check: DoctorCheck, patient: object, needed: Sequence[asyncio.Task[Examined]], limit_s: float
) -> Examined:
    for task in needed:
        before = await task
        if before.outcome in _BLOCKING:
            return Examined(check.id, CheckOutcome.SKIPPED, f"because of {before.check}", because_of=before.check)
    time = asyncio.get_running_loop().time
    started = time()
    return replace(await _look(check, patient, limit_s), took_s=time() - started)


async def _look(check: DoctorCheck, patient: object, limit_s: float) -> Examined:
    limit = asyncio.timeout(limit_s)
    try:
        async with limit:
            seen = await check.look(patient)
    except TimeoutError as error:
        return _hung(check, limit_s) if limit.expired() else _crashed(check, error)
    except Exception as error:
        if (fault := fault_of(error)) is not None:
            return Examined(check.id, fault.outcome, "no usable answer", (fault,))
        log.exception("check_crashed", check=check.id)
        return _crashed(check, error)
    if isinstance(seen, NotApplicable):
        return Examined(check.id, CheckOutcome.SKIPPED, seen.reason)
    return Examined(check.id, worst_of(seen.findings), seen.told, seen.findings)


def _hung(check: DoctorCheck, limit_s: float) -> Examined:
    finding = failed(
        "too_slow",
        f"The check had no answer within {limit_s:g} seconds and was given up.",
        "Run `racing-bot doctor` again; if the check is given up again, look at the network and at the machine's load.",
    )
    return Examined(check.id, CheckOutcome.FAILED, "no answer in time", (finding,))


def _crashed(check: DoctorCheck, error: Exception) -> Examined:
    """Class and place only: the error's words may quote a secret, and go to the log."""
    finding = Finding(
        "crashed",
        CheckOutcome.CRASHED,
        f"The check itself failed: {type(error).__name__} at {_place(error)}.",
        "Report this line with the traceback in the log. The other checks are not affected.",
    )
    return Examined(check.id, CheckOutcome.CRASHED, "the check itself failed", (finding,))


def _place(error: Exception) -> str:
    frame = extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _masked(examined: Examined, mask: Mask) -> Examined:
    findings = tuple(replace(one, told=mask(one.told), mend=mask(one.mend)) for one in examined.findings)
    return replace(examined, told=mask(examined.told), findings=findings)


def fault_of(error: Exception) -> Finding | None:
    """A fault of Slack, of the data service or of the database, possible in any check; None for an error of ours."""
    if isinstance(error, SlackError):
        return _slack_fault(error)
    if isinstance(error, ServiceFailure):
        return _service_fault(error)
    if isinstance(error, StorageError | SQLAlchemyError):
        reason = error if isinstance(error, StorageError) else reason_of(error)
        mend = (
            "Run `racing-bot doctor` again. If the fault stays, give the user in DATABASE_URL all rights. "
            "If a table is missing, put a copy of the database back (docs/operations/README.md, Put a copy back)."
        )
        return failed("database_unreachable", f"The database did not answer the check ({reason}).", mend)
    return None


def _slack_fault(error: SlackError) -> Finding:
    if isinstance(error, SlackCredentialsDead):
        mend = "Set SLACK_BOT_TOKEN to the token on Slack's page Install App, and start the bot again."
        return failed("slack_token_refused", f"Slack does not accept SLACK_BOT_TOKEN ({error}).", mend)
    if isinstance(error, SlackWait):
        mend = (
            f"Run `racing-bot doctor` again in {error.retry_after_s:.0f} seconds. Messages wait, and nothing is lost."
        )
        return failed("slack_unusable", f"Slack limits the bot's calls ({error}).", mend)
    if isinstance(error, SlackScopeMissing):
        return failed("slack_unusable", f"The token may not make this call ({error}).", f"For the call, {REINSTALL}.")
    if isinstance(error, SlackRefused):
        mend = "Look the code up on Slack's page of the method (docs.slack.dev/reference/methods) for the cause."
        return failed("slack_unusable", f"Slack refuses a call of the check ({error}).", mend)
    mend = (
        "Let this machine reach SLACK_API_URL (DNS, firewall, proxy), or correct the address. See status.slack.com: "
        "during an outage of Slack, wait. Messages wait too, and nothing is lost."
    )
    return failed("slack_unusable", f"Slack gives no usable answer ({error}).", mend)


def _service_fault(error: ServiceFailure) -> Finding:
    if isinstance(error, ServiceUnreachable):
        mend = (
            "Let this machine reach RACING_API_URL (DNS, firewall, proxy), or correct the address. During an outage "
            "of the data service wait: deliveries are taken and posted meanwhile."
        )
        return failed("service_unusable", f"The data service can't be reached ({error.message}).", mend)
    # Without a code of the interface a stranger has answered: a redirect, or a proxy's page.
    is_strangers = isinstance(error, UnknownRefusal) and error.code is None
    if is_strangers or isinstance(error, NotFound | AnswerUnreadable):
        mend = "Correct RACING_API_URL: the base address with its version segment, as the data service's pages say."
        return failed("service_unusable", f"RACING_API_URL does not answer as the data service ({error}).", mend)
    if isinstance(error, RateLimited):
        wait_s = round(error.retry_after_s or 60)
        told = "The key has made all requests of this minute."
        return failed("service_unusable", told, f"Run `racing-bot doctor` again in {wait_s} seconds.")
    mend = "Wait, and run `racing-bot doctor` again; report the request id to the data service if the fault stays."
    return failed("service_unusable", f"The data service failed ({error}).", mend)
