"""Answers as JSON, errors as `{"error": …}`."""

from starlette.responses import JSONResponse

RETRY_AFTER_S = 5


def refuse(status: int, error: str, *, retry_after_s: int | None = None, reference: str | None = None) -> JSONResponse:
    """An error, with `Retry-After` where coming again helps, and the reference that the log has too."""
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    content = {"error": error} if reference is None else {"error": error, "reference": reference}
    return JSONResponse(content, status, headers)
