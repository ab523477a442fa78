"""The service as an ASGI app."""

from functools import lru_cache

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from sandbox.racing_service import account_endpoints, endpoints, refusals
from sandbox.racing_service.endpoint_answers import call_of
from sandbox.racing_service.gate import BASE_PATH, Gate
from sandbox.racing_service.service_state import State


def build_app(state: State) -> Gate:
    return Gate(_endpoints(), state)


@lru_cache
def _endpoints() -> FastAPI:
    """Shared, because reading the endpoints takes long."""
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    for router in (endpoints.router, account_endpoints.router):
        app.include_router(router, prefix=BASE_PATH)
    app.add_exception_handler(refusals.Refusal, _on_refusal)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http_error)
    return app


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, refusals.Refusal)
    return _refused(request, error)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _refused(request, _invalid(error))


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refused(request, _refusal_of(error))


def _refused(request: Request, refusal: refusals.Refusal) -> Response:
    call = call_of(request)
    call.code = refusal.code
    return refusals.refusal_response(refusal, call.request_id)


def _invalid(error: RequestValidationError) -> refusals.Refusal:
    first = error.errors()[0]
    # A stranger's name may be no valid text.
    param = ".".join(str(part).encode("ascii", "backslashreplace").decode() for part in first["loc"][1:])
    return refusals.invalid_param(param or "body", first["msg"].removeprefix("Value error, "))


def _refusal_of(error: HTTPException) -> refusals.Refusal:
    """The framework's own refusals."""
    if error.status_code == 404:
        return refusals.not_found()
    if error.status_code == 405:
        return refusals.method_not_allowed(error.headers or {})
    return refusals.invalid_param("body", "can't be read")
