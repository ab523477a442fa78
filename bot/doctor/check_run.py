"""Runs checks in parallel, each after its needs and within a time limit."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.doctor.faults import fault_of
from bot.doctor.findings import CheckOutcome, Examined, Finding, NotApplicable, Seen, failed, worst_of
from bot.logs import Mask, get_logger

log = get_logger(__name__)

CHECK_TIMEOUT_S = 10.0
_BLOCKING = frozenset({CheckOutcome.SKIPPED, CheckOutcome.FAILED, CheckOutcome.CRASHED})


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
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return "an unknown place" if frame is None else f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"


def _masked(examined: Examined, mask: Mask) -> Examined:
    findings = tuple(replace(one, told=mask(one.told), mend=mask(one.mend)) for one in examined.findings)
    return replace(examined, told=mask(examined.told), findings=findings)
