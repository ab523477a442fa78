"""Answers, counts and bounded log lines of both programs, free of any library."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Literal

from bot.clock import Monotonic

WEBHOOK_PATH = "/webhooks/racing"

ACCEPTED, DUPLICATE = {"status": "accepted"}, {"status": "duplicate"}

EventOutcome = Literal["accepted", "duplicate", "not_stored", "too_large"]
SignatureFailure = Literal["missing", "mismatch", "secret_unread"]
"""`secret_unread`: the signature may be by a stored secret that can't be read."""
RequestRefusal = Literal["crowded", "head_too_large", "late", "malformed", "method", "path"]

LINES_A_MINUTE = 60


class LineBound:
    """Lines of the log that strangers cause: at most `LINES_A_MINUTE` of a kind, so older lines stay in the log.

    `warn` writes a line on the number of left out lines, within a minute.
    """

    def __init__(self, monotonic: Monotonic, warn: Callable[..., object]) -> None:
        self._monotonic = monotonic
        self._warn = warn
        self._lines: dict[str, tuple[int, int]] = {}
        self._left_out = Counter[str]()

    def takes(self, kind: str) -> bool:
        """False for a line to be left out."""
        minute = int(self._monotonic() // 60)
        last, lines = self._lines.get(kind, (minute, 0))
        lines = lines + 1 if minute == last else 1
        self._lines[kind] = minute, lines
        if lines <= LINES_A_MINUTE:
            return True
        if kind not in self._left_out:
            asyncio.get_running_loop().call_later(60, self._tell, kind)
        self._left_out[kind] += 1
        return False

    def _tell(self, kind: str) -> None:
        self._warn("lines_left_out", of=kind, lines=self._left_out.pop(kind))


def refusal(error: str, reference: str) -> dict[str, str]:
    """`reference` finds the error in the log."""
    return {"error": error, "reference": reference}


def retry_after(status: int) -> dict[str, str]:
    """The header of a 503: a retry helps."""
    return {"Retry-After": "5"} if status == 503 else {}
