"""Runs checks in parallel, each after its needs and within a time limit, and reports their findings.

Known faults become findings.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
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
from bot.events.word_rows import sentence_rows
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
    """A fault that a check found, in the words of a row of `findings.ini`."""

    code: str
    outcome: CheckOutcome
    told: str
    mend: str


finding_rows = partial(sentence_rows, "bot.doctor", "findings.ini")


def finding(name: str, /, **facts: object) -> Finding:
    """The finding of a row of `findings.ini`, with the facts that its sentences name."""
    code, _, _ = name.partition(" ")
    row = finding_rows()[code] | finding_rows()[name]
    told, mend = (row[words].format(reinstall=REINSTALL, **facts) for words in ("told", "mend"))
    return Finding(code, CheckOutcome(row["outcome"]), told, mend)


@dataclass(frozen=True)
class Seen:
    told: str
    findings: tuple[Finding, ...] = ()


class NotApplicable(Seen):
    """`told`: why there is nothing to check."""


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
    look: Callable[[Any], Awaitable[Seen]]
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
        if not limit.expired():
            return _crashed(check, error)
        return Examined(check.id, CheckOutcome.FAILED, "no answer in time", (finding("too_slow", limit_s=limit_s),))
    except Exception as error:
        if (fault := fault_of(error)) is not None:
            return Examined(check.id, fault.outcome, "no usable answer", (fault,))
        log.exception("check_crashed", check=check.id)
        return _crashed(check, error)
    if isinstance(seen, NotApplicable):
        return Examined(check.id, CheckOutcome.SKIPPED, seen.told)
    return Examined(check.id, worst_of(seen.findings), seen.told, seen.findings)


def _crashed(check: DoctorCheck, error: Exception) -> Examined:
    """Class and place only: the error's words may quote a secret, and go to the log."""
    frame = extract_tb(error.__traceback__)[-1]
    found = finding("crashed", error=type(error).__name__, place=f"{Path(frame.filename).name}:{frame.lineno}")
    return Examined(check.id, CheckOutcome.CRASHED, "the check itself failed", (found,))


def _masked(examined: Examined, mask: Mask) -> Examined:
    findings = tuple(replace(one, told=mask(one.told), mend=mask(one.mend)) for one in examined.findings)
    return replace(examined, told=mask(examined.told), findings=findings)


_FAULTS: Mapping[type[Exception], str] = {
    SlackCredentialsDead: "slack_token_refused",
    SlackWait: "slack_unusable wait",
    SlackScopeMissing: "slack_unusable scope",
    SlackRefused: "slack_unusable refused",
    SlackError: "slack_unusable",
    ServiceUnreachable: "service_unusable unreached",
    NotFound: "service_unusable elsewhere",
    AnswerUnreadable: "service_unusable elsewhere",
    RateLimited: "service_unusable minute",
    ServiceFailure: "service_unusable",
    StorageError: "database_unreachable",
    SQLAlchemyError: "database_unreachable",
}
"""Faults of Slack, of the data service and of the database, possible in any check. The first that fits counts."""


def fault_of(error: Exception) -> Finding | None:
    """None for an error of ours."""
    name = next((name for kind, name in _FAULTS.items() if isinstance(error, kind)), None)
    # Without a code of the interface a stranger has answered: a redirect, or a proxy's page.
    if isinstance(error, UnknownRefusal) and error.code is None:
        name = _FAULTS[NotFound]
    return finding(name, error=reason_of(error) if isinstance(error, SQLAlchemyError) else error) if name else None
