"""Outcomes, findings, and the report as text and JSON."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from pydantic_core import to_json


class CheckOutcome(StrEnum):
    """The ends of a check, the mildest first."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    FAILED = "failed"
    CRASHED = "crashed"


_ORDER = list(CheckOutcome)


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
        return ", ".join(f"{counts[outcome]} {outcome}" for outcome in reversed(_ORDER) if counts[outcome])


def worst_of(each: Sequence[Finding | Examined]) -> CheckOutcome:
    return max((one.outcome for one in each), key=_ORDER.index, default=CheckOutcome.OK)


def _lines(examined: Examined) -> str:
    lines = [f"{examined.outcome:<8} {examined.check}: {examined.told}"]
    for finding in examined.findings:
        lines += [f"         - {finding.told}", f"           Mend: {finding.mend}"]
    return "\n".join(lines)
