"""Answers and counts of both programs, free of any library."""

from typing import Literal

WEBHOOK_PATH = "/webhooks/racing"

ACCEPTED, DUPLICATE = {"status": "accepted"}, {"status": "duplicate"}

EventOutcome = Literal["accepted", "duplicate", "not_stored", "too_large"]
SignatureFailure = Literal["missing", "mismatch", "secret_unread"]
"""`secret_unread`: the signature may be by a stored secret that can't be read."""
RequestRefusal = Literal["crowded", "head_too_large", "late", "malformed", "method", "path"]


def refusal(error: str, reference: str) -> dict[str, str]:
    """`reference` finds the error in the log."""
    return {"error": error, "reference": reference}


def retry_after(status: int) -> dict[str, str]:
    """The header of a 503: a retry helps."""
    return {"Retry-After": "5"} if status == 503 else {}
