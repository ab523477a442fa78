"""A call of the Web API: its arguments, from a form, a JSON body or the query string, and its refusal."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from sandbox.slack.values import Json


class Refused(Exception):
    """`code` is Slack's error; `extra` are further fields of the body."""

    def __init__(self, code: str, *, status: int = 200, headers: dict[str, str] | None = None, **extra: Any) -> None:
        self.code = code
        self.status = status
        self.headers = headers or {}
        self.extra = extra
        super().__init__(code)

    @property
    def body(self) -> dict[str, Any]:
        return {"ok": False, "error": self.code, **self.extra}


def refused_for(code: str, problems: Sequence[str]) -> Refused:
    """As Slack answers for blocks and views."""
    messages = [f"[ERROR] {problem}" for problem in problems]
    return Refused(code, errors=list(problems), response_metadata={"messages": messages})


TRUE_WORDS = frozenset({"1", "true", "yes", "on"})


class Arguments:
    """Values of a form are text. Both are read alike."""

    def __init__(self, values: Json, token: str | None = None) -> None:
        self._values = values
        self.token = token

    def as_json(self) -> Json:
        return dict(self._values)

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    @property
    def has_blocks(self) -> bool:
        """True for good and bad blocks; False for an empty list."""
        return self._values.get("blocks") not in (None, "", "[]", [])

    def text(self, name: str) -> str | None:
        """None if the value is missing or empty."""
        value = self._values.get(name)
        if value is None or value == "":
            return None
        return value if isinstance(value, str) else str(value)

    def required(self, name: str, error: str) -> str:
        value = self.text(name)
        if value is None:
            raise Refused(error)
        return value

    def flag(self, name: str) -> bool:
        return str(self._values.get(name, "")).lower() in TRUE_WORDS

    def number(self, name: str, default: int, highest: int) -> int:
        """A larger number is cut; anything else is refused."""
        value = self.text(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0):
            raise Refused("invalid_limit")
        return min(int(value), highest)

    def structure(self, name: str, error: str) -> Any:
        """The value of a field that holds JSON, as text or parsed."""
        value = self._values.get(name)
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError) as fault:
            raise Refused(error) from fault


async def read_arguments(request: Request) -> Arguments:
    """Raises Refused."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else None
    return Arguments({**request.query_params, **await read_body(request)}, token)


async def read_body(request: Request) -> Json:
    """Raises Refused with Slack's word for a body that can't be read. docs.slack.dev/apis/web-api."""
    body = await request.body()
    is_json = request.headers.get("content-type", "").startswith("application/json")
    try:
        values: Any = json.loads(body or b"{}") if is_json else dict(parse_qsl(body.decode(), keep_blank_values=True))
    except (ValueError, RecursionError) as fault:
        raise Refused("invalid_json" if is_json else "invalid_form_data") from fault
    if not isinstance(values, dict):
        raise Refused("json_not_object")
    return values
