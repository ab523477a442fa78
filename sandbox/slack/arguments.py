"""A call's arguments, from a form, a JSON body or the query string."""

import json
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from sandbox.slack.refused_calls import Refused
from sandbox.slack.values import Json

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
        if not isinstance(value, str):
            return value
        return _parsed(value, error)


async def read_arguments(request: Request) -> Arguments:
    """Refuses bodies that are neither form nor JSON."""
    values: Json = dict(request.query_params)
    values.update(read_body(await request.body(), request.headers.get("content-type", "")))
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = bearer.strip() if scheme.lower() == "bearer" else values.get("token")
    values.pop("token", None)
    return Arguments(values, token if isinstance(token, str) and token else None)


def read_body(body: bytes, content_type: str) -> Json:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refused("invalid_charset") from error
    if not text:
        return {}
    if content_type.partition(";")[0].strip().lower() != "application/json":
        return dict(parse_qsl(text, keep_blank_values=True))
    values = _parsed(text, "invalid_json")
    if not isinstance(values, dict):
        raise Refused("json_not_object")
    return values


def _parsed(text: str, error: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise Refused(error) from fault
