"""A successful answer's body, read as the envelope `{ meta, data }`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from bot.racedata.client.records import Page
from bot.racedata.client.refusals import Mask, read_json, read_refusal, request_id_of
from bot.racedata.client.service_errors import AnswerUnreadable, ServiceFailure
from bot.racedata.client.transport import Answer

T = TypeVar("T")


def failure_of(answer: Answer, path: str, now: datetime, mask: Mask) -> ServiceFailure | None:
    """The failure that the answer stands for, or None where it is a success. Redirects are failures."""
    return None if 200 <= answer.status < 300 else read_refusal(answer, path, now, mask)


def read_page(
    answer: Answer, path: str, page: type[Page[T]], mask: Mask, *, bare: bool = False
) -> Page[T] | AnswerUnreadable:
    """The page, or the failure where there is no envelope; with `bare` whatever came will do as the data.

    The failure is the caller's to raise: a traceback from here could show the body.
    """
    body = read_json(answer.body)
    found = _validated(_enveloped(body, answer.body) if bare else body, page)
    return found or AnswerUnreadable(
        path,
        status=answer.status,
        request_id=request_id_of(body, answer, mask),
        message="it is not the envelope of meta and data",
    )


def _enveloped(body: Any, raw: bytes) -> dict[str, Any]:
    """An envelope around an object, made of as much of one as came: for what is shown once and must not be dropped.

    What stands beside `data` is kept with it. What is no JSON is kept as text, its broken bytes escaped.
    """
    if body is None:
        return {"meta": {}, "data": {"body": raw.decode(errors="backslashreplace")}}
    parts = dict(body) if isinstance(body, Mapping) else {"data": body}
    meta = parts.pop("meta") if isinstance(parts.get("meta"), Mapping) else {}
    is_envelope = list(parts) == ["data"] and isinstance(parts["data"], Mapping)
    return {"meta": meta, "data": parts["data"] if is_envelope else parts}


def _validated(body: Any, page: type[Page[T]]) -> Page[T] | None:
    """The page, or None: a ValidationError quotes what it read, and must not be chained to what is raised."""
    try:
        return page.model_validate(body)
    except ValidationError:
        return None
