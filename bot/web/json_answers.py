"""Answers as JSON, errors as `{"error": …}`."""

from starlette.responses import JSONResponse

RETRY_AFTER_S = 5


def refuse(status: int, error: str, *, retry_after_s: int | None = None, reference: str | None = None) -> JSONResponse:
    """`retry_after_s` where a retry helps; `reference` finds the error in the log."""
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    content = {"error": error} if reference is None else {"error": error, "reference": reference}
    return JSONResponse(content, status, headers)
