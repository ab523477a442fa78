"""Every refusal of the service, and its JSON (Interface, Errors)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from starlette.responses import JSONResponse, Response

from sandbox.racing_service.plan_table import PLANS, Window

DOC_URL = "https://docs.racing-data.example/v1"


@dataclass(eq=False)
class Refusal(Exception):
    """`extra` are fields of the error object beside code and message."""

    status: int
    code: str
    message: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def unauthorized() -> Refusal:
    return Refusal(401, "unauthorized", "No API key was sent, or the key is not recognised.")


def upgrade_required(endpoint: str, plan: str, reaches_on: tuple[str, ...]) -> Refusal:
    extra = {"your_plan": plan, "reaches_on": list(reaches_on), "doc_url": DOC_URL + endpoint}
    return Refusal(403, "upgrade_required", f"The {plan} plan does not reach {endpoint}.", extra)


def outside_window(window: Window, requested: date) -> Refusal:
    message = f"{requested.isoformat()} is outside the window your plan reads ({window})."
    extra = {"window": str(window), "requested_date": requested.isoformat()}
    return Refusal(403, "outside_window", message, extra)


def not_found() -> Refusal:
    return Refusal(404, "not_found", "There is nothing at this address.")


def method_not_allowed(allowed: str) -> Refusal:
    """The interface lists no code for a wrong method."""
    return Refusal(405, "method_not_allowed", "This method is not allowed here.", headers={"Allow": allowed})


def invalid_param(param: str, problem: str) -> Refusal:
    """A wrong parameter or field of the body. The value is not repeated."""
    return Refusal(422, "invalid_param", f"{param}: {problem}", {"param": param})


def rate_limited(retry_after_s: int) -> Refusal:
    headers = {"Retry-After": str(retry_after_s)}
    return Refusal(429, "rate_limited", f"Too many requests: wait {retry_after_s} s.", headers=headers)


def quota_exceeded(retry_after_s: int) -> Refusal:
    headers = {"Retry-After": str(retry_after_s)}
    return Refusal(429, "quota_exceeded", "The monthly allowance is used up until the first.", headers=headers)


def server_error() -> Refusal:
    return Refusal(500, "server_error", "Something went wrong here. Quote the request_id to support.")


def scripted(code: str, endpoint: str, window: Window) -> Refusal:
    """Raises KeyError for an unknown code."""
    every = (
        *(unauthorized(), not_found(), invalid_param("cursor", "was not issued by this service"), server_error()),
        upgrade_required(endpoint, "free", tuple(PLANS)[1:]),
        outside_window(window, date(2016, 12, 31)),
        *(rate_limited(1), quota_exceeded(86_400)),
    )
    return {one.code: one for one in every}[code]


def refusal_response(refusal: Refusal, request_id: str) -> Response:
    error = {"code": refusal.code, "message": refusal.message, **refusal.extra}
    body = {"error": error, "meta": {"request_id": request_id}}
    return JSONResponse(body, refusal.status, headers=dict(refusal.headers))
