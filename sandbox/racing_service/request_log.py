"""One request: read from its scope, and logged afterwards."""

import hmac
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from sandbox.racing_service import key_limits
from sandbox.racing_service.plan_table import PLANS
from sandbox.racing_service.service_state import ENDPOINTS, USAGE, ServedRequest, State

BASE_PATH = "/v1"
_ENDPOINT_OF = {BASE_PATH + endpoint: endpoint for endpoint in ENDPOINTS}


@dataclass(slots=True)
class Call:
    """`counts` are the key's own, or the strangers' for an unknown key."""

    request_id: str
    at: datetime
    method: str
    path: str
    endpoint: str
    query: list[tuple[str, str]]
    keyed: bool
    counts: key_limits.KeyCounts
    per_minute: int
    in_minute: int = 0
    status: int | None = None
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


def read_call(scope: MutableMapping[str, Any], state: State) -> Call:
    """Interface, Authentication 2."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    headers = [value for name, value in scope["headers"] if name == b"x-api-key"]
    sent = headers[0] if headers else next((value for name, value in query if name == "key"), "").encode()
    account = state.account
    keyed = hmac.compare_digest(sent, account.key.encode())
    return Call(
        request_id=state.next_request_id(),
        at=state.clock(),
        method=scope["method"],
        path=scope["path"],
        endpoint=_ENDPOINT_OF.get(scope["path"], "other"),
        query=[(name, value) for name, value in query if name != "key"],
        keyed=keyed,
        counts=account.counts if keyed else state.strangers,
        per_minute=account.plan.per_minute if keyed else PLANS["free"].per_minute,
    )


def is_charged(call: Call) -> bool:
    """Successes are charged, usage excepted (Interface, Limits 4)."""
    return call.keyed and call.endpoint != USAGE and call.status is not None and call.status < 400


def common_headers(call: Call) -> dict[str, str]:
    """Interface, Common response headers."""
    return {
        "X-RateLimit-Limit": str(call.per_minute),
        "X-RateLimit-Remaining": str(max(0, call.per_minute - call.in_minute)),
        "X-RateLimit-Reset": str(key_limits.minute_reset(call.at)),
        "X-Request-Id": call.request_id,
    }


def record(call: Call, state: State) -> None:
    served = ServedRequest(
        at=call.at,
        request_id=call.request_id,
        method=call.method,
        path=call.path,
        endpoint=call.endpoint,
        query=dict(call.query),
        keyed=call.keyed,
        status=call.status,
    )
    state.requests.append(served)
    if call.keyed:
        _tally(call, state)


def _tally(call: Call, state: State) -> None:
    tally = state.account.usage.of(call.at.astimezone(UTC).date(), call.endpoint)
    if call.status in (401, 403, 429):
        tally.refusals[call.code or "outside_window"] += 1
    elif call.status is None or call.status >= 400:
        tally.errors += 1
    elif is_charged(call):
        tally.requests += 1
