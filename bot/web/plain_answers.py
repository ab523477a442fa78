"""Answers, counts and bounded log lines of both programs, free of any library."""

from typing import Literal

from bot.clock import Monotonic

WEBHOOK_PATH = "/webhooks/racing"

ACCEPTED, DUPLICATE = {"status": "accepted"}, {"status": "duplicate"}

RETRY_AFTER_S = 5

EventOutcome = Literal["accepted", "duplicate", "not_stored", "too_large"]
SignatureFailure = Literal["missing", "mismatch", "secret_unread"]
"""`secret_unread`: the signature may be by a stored secret that can't be read."""
RequestRefusal = Literal["crowded", "head_too_large", "late", "malformed", "method", "path"]

LINES_A_MINUTE = 60


class LineBound:
    """Lines of the log that strangers cause: at most `LINES_A_MINUTE` of a kind, so older lines stay in the log."""

    def __init__(self, monotonic: Monotonic) -> None:
        self._monotonic = monotonic
        self._lines: dict[object, tuple[int, int]] = {}

    def left_out(self, kind: object) -> dict[str, int] | None:
        """None for a line to be left out; else the number of left out lines, if any, as a field of the line."""
        minute = int(self._monotonic() // 60)
        last, lines = self._lines.get(kind, (minute, 0))
        before = max(0, lines - LINES_A_MINUTE) if minute != last else 0
        lines = lines + 1 if minute == last else 1
        self._lines[kind] = minute, lines
        return None if lines > LINES_A_MINUTE else {"left_out": before} if before else {}


def refusal(error: str, reference: str | None = None) -> dict[str, str]:
    """`{"error": …}`. `reference` finds the error in the log."""
    return {"error": error} if reference is None else {"error": error, "reference": reference}


def retry_after(seconds: int | None) -> dict[str, str]:
    """The header where a retry helps."""
    return {} if seconds is None else {"Retry-After": str(seconds)}
