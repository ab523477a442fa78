"""Answers of both programs, free of any library."""

WEBHOOK_PATH = "/webhooks/racing"

ACCEPTED, DUPLICATE = b'{"status":"accepted"}', b'{"status":"duplicate"}'

RETRY_AFTER_S = 5


def refusal(error: str, reference: str | None = None) -> dict[str, str]:
    """`{"error": …}`. `reference` finds the error in the log."""
    return {"error": error} if reference is None else {"error": error, "reference": reference}


def retry_after(seconds: int | None) -> dict[str, str]:
    """The header where a retry helps."""
    return {} if seconds is None else {"Retry-After": str(seconds)}
