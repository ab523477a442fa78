"""An answer's body: the envelope `{ meta, data }`, or the failure that the answer stands for."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from bot.racedata.client.headers import read_rate, read_retry_after
from bot.racedata.client.records import ServicePage
from bot.racedata.client.service_errors import (
    BY_CODE,
    AnswerUnreadable,
    InvalidParam,
    NotFound,
    RateLimited,
    ServerFault,
    ServiceFailure,
    ServiceUnreachable,
    Unauthorized,
    UnknownRefusal,
)
from bot.racedata.client.transport import Answer, Request

T = TypeVar("T")
REFUSAL_TEXT_MAX = 1000
REFUSAL_BYTES_MAX = 4_000
"""A larger refusal keeps its code and message alone: people read the rest, and circuit breakers store it."""

BY_STATUS: dict[int, type[ServiceFailure]] = {
    401: Unauthorized,
    404: NotFound,
    422: InvalidParam,
    429: RateLimited,
}
"""For answers without a code: a proxy's HTML, an empty body, a 404 (Spec gap G7).

A bare 403 can be either of two refusals. A bare 429 counts as `rate_limited`: a retry costs one request, a wrong
`quota_exceeded` would silence the bot until the month turns.
"""


def read_answer(
    answer: Answer, request: Request, page: type[ServicePage[T]], now: datetime
) -> ServicePage[T] | ServiceFailure:
    """The page, or the failure. The caller raises the failure: a traceback from here could show the body."""
    if not 200 <= answer.status < 300 or _has_error(answer.body):
        return read_refusal(answer, request.path, now)
    found = _validated(_enveloped(answer.body) if request.bare else answer.body, page)
    if found is None and _is_cut_off(answer.body):
        return ServiceUnreachable(request.path, message="the answer is cut off", may_have_arrived=True)
    return found or AnswerUnreadable(
        request.path,
        status=answer.status,
        request_id=_request_id(answer),
        message="it is not the envelope of meta and data",
    )


def _is_cut_off(body: Any) -> bool:
    """True for JSON that ends early: another try may bring the whole answer."""
    try:
        return isinstance(body, str) and bool(from_json(body, allow_partial=True))
    except ValueError:
        return False


def _enveloped(body: Any) -> dict[str, Any]:
    """Every field is kept, and text that is no JSON too: a signing secret is shown once."""
    parts = dict(body) if isinstance(body, Mapping) else {"data": body}
    meta = parts.pop("meta") if isinstance(parts.get("meta"), Mapping) else {}
    is_envelope = list(parts) == ["data"] and isinstance(parts["data"], Mapping)
    return {"meta": meta, "data": parts["data"] if is_envelope else parts}


def _validated(body: Any, page: type[ServicePage[T]]) -> ServicePage[T] | None:
    """A ValidationError quotes the body, so the error must not be chained to another."""
    try:
        return page.model_validate(body)
    except ValidationError:
        return None


def read_refusal(answer: Answer, path: str, now: datetime) -> ServiceFailure:
    """An HTTP date in Retry-After is relative to the answer's Date, else to `now`."""
    error = _error_object(answer.body)
    code = error.pop("code", None)
    code = code if isinstance(code, str) and code else None
    message = error.pop("message", None)
    return _class_for(code, answer.status)(
        path,
        code=None if code is None else _clean(code),
        status=answer.status,
        request_id=_request_id(answer),
        message=_clean(message) if isinstance(message, str) and message else None,
        extras=_clean(error) if answer.size <= REFUSAL_BYTES_MAX else None,
        retry_after_s=_retry_after_s(answer, now),
    )


def _class_for(code: str | None, status: int) -> type[ServiceFailure]:
    if code in BY_CODE:
        return BY_CODE[code]
    if status == 404:
        return NotFound  # Of any code: the interface does not show the code of a 404 (Spec gap G7).
    if status >= 500:
        return ServerFault
    return UnknownRefusal if code else BY_STATUS.get(status, UnknownRefusal)


def _retry_after_s(answer: Answer, now: datetime) -> float | None:
    """Retry-After; for a 429 without it the time until the rate window resets."""
    after_s = read_retry_after(answer.headers, now)
    return read_rate(answer.headers).resets_in_s if after_s is None and answer.status == 429 else after_s


def _has_error(body: Any) -> bool:
    """An error is a refusal whatever its status (Interface, Errors): beside an error an empty list proves nothing."""
    error = body.get("error") if isinstance(body, Mapping) else None
    return any(error.values()) if isinstance(error, Mapping) else bool(error)


def _error_object(body: Any) -> dict[str, Any]:
    """A text counts as the code if known, else as the message."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return dict(error)
    return {"code" if error in BY_CODE else "message": error} if isinstance(error, str) else {}


def _request_id(answer: Answer) -> str | None:
    body = answer.body
    parts = [body.get("meta"), body.get("error"), body] if isinstance(body, Mapping) else []
    named = [part.get("request_id") for part in parts if isinstance(part, Mapping)]
    found = (value for value in [*named, answer.headers.get("x-request-id")] if isinstance(value, str) and value)
    return _clean(next(found, ""))[:200] or None


def _clean(value: Any) -> Any:
    """Texts on one line and cut, at any depth."""
    if isinstance(value, str):
        printable = "".join(char if char.isprintable() else " " for char in value)
        return " ".join(printable.split())[:REFUSAL_TEXT_MAX]
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, Mapping):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value
