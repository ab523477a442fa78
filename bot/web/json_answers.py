"""Errors as answers of Starlette."""

from starlette.responses import JSONResponse

from bot.clock import Token
from bot.logs import get_logger
from bot.web.plain_answers import refusal, retry_after

log = get_logger(__name__)


def refuse(
    token: Token,
    status: int,
    error: str,
    *,
    retry_after_s: int | None = None,
    reference: str | None = None,
    **logged: object,
) -> JSONResponse:
    """A refusal, and its line in the log under the reference of the answer. `retry_after_s` where a retry helps.

    `reference`: given where the caller has written the line.
    """
    if reference is None:
        reference = f"req-{token(4)}"
        log.warning("request_refused", status=status, reference=reference, reason=error, **logged)
    return JSONResponse(refusal(error, reference), status, retry_after(retry_after_s))
