"""Errors as answers of Starlette."""

from starlette.responses import JSONResponse

from bot.web.plain_answers import refusal, retry_after


def refuse(status: int, error: str, *, retry_after_s: int | None = None, reference: str | None = None) -> JSONResponse:
    """`retry_after_s` where a retry helps."""
    return JSONResponse(refusal(error, reference), status, retry_after(retry_after_s))
