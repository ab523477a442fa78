"""The failure that an answer stands for: by the body's `code`, and by status only where the body has none."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pydantic_core import from_json

from bot.racedata.client.headers import read_rate, read_retry_after
from bot.racedata.client.service_errors import (
    BY_CODE,
    InvalidParam,
    NotFound,
    RateLimited,
    ServerFault,
    ServiceFailure,
    Unauthorized,
    UnknownRefusal,
)
from bot.racedata.client.transport import Answer

LONGEST_TEXT = 1000
Mask = Callable[[str], str]

BY_STATUS: dict[int, type[ServiceFailure]] = {
    401: Unauthorized,
    404: NotFound,
    422: InvalidParam,
    429: RateLimited,
}
"""For answers without a code: a proxy's HTML, an empty body, a 404 (Spec gap G7).

A bare 403 can be either of two refusals, so it is neither. A bare 429 is read as `rate_limited`: to wait and ask again
costs one request, where to read it as the quota would silence the bot until the month turns.
"""


def read_refusal(answer: Answer, path: str, now: datetime, mask: Mask) -> ServiceFailure:
    """The failure. An HTTP date in Retry-After is measured from the answer's Date, or else from `now`."""
    body = read_json(answer.body)
    error = _error_object(body)
    code = error.pop("code", None)
    code = code if isinstance(code, str) and code else None
    message = error.pop("message", None)
    return _class_for(code, answer.status)(
        path,
        code=None if code is None else _clean(code, mask),
        status=answer.status,
        request_id=request_id_of(body, answer, mask),
        message=_clean(message, mask) if isinstance(message, str) and message else None,
        extras=_masked(error, mask),
        retry_after_s=_retry_after_s(answer, now),
    )


def _class_for(code: str | None, status: int) -> type[ServiceFailure]:
    if code in BY_CODE:
        return BY_CODE[code]
    if status == 404:
        return NotFound  # Whatever its code: the interface does not show it (Spec gap G7).
    if status >= 500:
        return ServerFault
    return UnknownRefusal if code else BY_STATUS.get(status, UnknownRefusal)


def _retry_after_s(answer: Answer, now: datetime) -> float | None:
    """Retry-After; on a 429 without a readable one, the time until the rate window resets."""
    after_s = read_retry_after(answer.headers, now)
    return read_rate(answer.headers).resets_in_s if after_s is None and answer.status == 429 else after_s


def _error_object(body: Any) -> dict[str, Any]:
    """The fields of `error`; where it is a text, that is the code if it is a known one, else the message."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return dict(error)
    return {"code" if error in BY_CODE else "message": error} if isinstance(error, str) else {}


def request_id_of(body: Any, answer: Answer, mask: Mask) -> str | None:
    """The request id: from the body's `meta` or `error`, else from the header."""
    parts = [body.get("meta"), body.get("error"), body] if isinstance(body, Mapping) else []
    named = [part.get("request_id") for part in parts if isinstance(part, Mapping)]
    found = next(
        (value for value in [*named, answer.headers.get("x-request-id")] if isinstance(value, str) and value), None
    )
    return None if found is None else _clean(found, mask)[:200]


def read_json(body: bytes) -> Any:
    """The body as JSON, or None where it is not."""
    try:
        return from_json(body)
    except ValueError:
        return None


def _clean(text: str, mask: Mask) -> str:
    """One line of printable text without the key, cut to a length that a message can hold."""
    return " ".join("".join(char if char.isprintable() else " " for char in mask(text)).split())[:LONGEST_TEXT]


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return _clean(value, mask)
    if isinstance(value, list):
        return [_masked(item, mask) for item in value]
    if isinstance(value, Mapping):
        return {_clean(name, mask): _masked(item, mask) for name, item in value.items()}
    return value
