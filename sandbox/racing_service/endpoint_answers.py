"""Shared by the endpoints."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from fastapi import Request

from sandbox.racing_day import in_utc
from sandbox.racing_service.refusals import invalid_param
from sandbox.racing_service.service_state import Call, State

Record = dict[str, Any]


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
