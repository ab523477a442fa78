"""Shared by the endpoints."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from fastapi import Request
from pydantic import BaseModel, ConfigDict

from sandbox.racing_day import in_utc
from sandbox.racing_service.refusals import invalid_param
from sandbox.racing_service.request_log import Call
from sandbox.racing_service.service_state import State

Record = dict[str, Any]


class Meta(BaseModel):
    """Interface, Response envelope."""

    request_id: str
    data_as_of: str
    plan: str
    window: str
    count: int
    has_more: bool | None = None
    next_cursor: str | None = None


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow")

    meta: Meta
    data: Any = None


class ErrorBody(BaseModel):
    """Interface, Errors. Some codes have more fields."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str


class ErrorMeta(BaseModel):
    request_id: str


class ErrorAnswer(BaseModel):
    error: ErrorBody
    meta: ErrorMeta


_MEANINGS = {
    401: "unauthorized: no key, or one that is not recognised",
    403: "upgrade_required or outside_window",
    404: "not found",
    422: "invalid_param",
    429: "rate_limited (wait Retry-After) or quota_exceeded (stop)",
    500: "server_error",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": meaning, "model": ErrorAnswer} for status, meaning in _MEANINGS.items()
}

ENVELOPED: dict[str, Any] = {"response_model": Answer, "response_model_exclude_unset": True, "responses": ERRORS}
"""Arguments of every endpoint's decorator."""


def call_of(request: Request) -> Call:
    return cast("Call", request.state.call)


def state_of(request: Request) -> State:
    return cast("State", request.state.service)


def meta(request: Request, count: int, paging: Mapping[str, object] | None = None) -> Record:
    """`paging` is for cursor lists."""
    state = state_of(request)
    return {
        "request_id": call_of(request).request_id,
        "data_as_of": in_utc(state.clock()),
        "plan": state.account.plan.name,
        "window": str(state.window),
        "count": count,
        **(paging or {}),
    }


def enveloped(request: Request, data: Any, paging: Mapping[str, object] | None = None) -> Record:
    return {"meta": meta(request, len(data), paging), "data": data}


def takes(*names: str) -> Callable[[Request], None]:
    """Refuses unknown parameters, and parameters sent twice."""

    async def refuse_others(request: Request) -> None:
        seen: set[str] = set()
        for name, _ in request.query_params.multi_items():
            if name not in names:
                raise invalid_param("query", f"this endpoint takes {', '.join(names) or 'no parameters'}")
            if name in seen:
                raise invalid_param(name, "was sent more than once")
            seen.add(name)

    return cast("Callable[[Request], None]", refuse_others)
