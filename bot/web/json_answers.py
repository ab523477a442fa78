"""Errors as answers of Starlette."""

from dataclasses import dataclass

from starlette.responses import JSONResponse

from bot.clock import Token
from bot.logs import get_logger
from bot.web.plain_answers import refusal, retry_after

log = get_logger(__name__)


@dataclass(frozen=True)
class Refusing:
    token: Token

    def __call__(self, status: int, error: str, **logged: object) -> JSONResponse:
        """A refusal, and its line in the log under the reference of the answer."""
        reference = f"req-{self.token(4)}"
        log.bounded("request_refused", error, status=status, reference=reference, reason=error, **logged)
        return JSONResponse(refusal(error, reference), status, retry_after(status))
