"""A stranger's bytes as one JSON object (Spec gap G1)."""

import json
from typing import Any

from bot.errors import RacingBotError
from bot.events.reading.json_api import with_related

DEEPEST_JSON = 200
"""Levels. Python's own bound varies with the caller's stack."""

_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _nan: None)
"""NaN, as some senders write a missing value, is none."""


class NotAnObject(RacingBotError):
    """`str()` is a short sentence with the reason."""


def read_objects(body: bytes) -> list[dict[str, Any]]:
    """The object, or the objects of a list with objects alone. Raises nothing but NotAnObject."""
    value = decode(body)
    if b'"{' in body or b'"[' in body:
        unpacked = _unpacked(value)
        value = value if _is_too_deep(unpacked) else unpacked
    if b'"relationships"' in body:
        value = with_related(value)
    objects = value if isinstance(value, list) else [value]
    if not objects or not all(isinstance(one, dict) for one in objects):
        raise NotAnObject("The JSON is not one object.")
    return objects


def read_object(body: bytes) -> dict[str, Any]:
    """The object, or the object of a list with one object. Raises nothing but NotAnObject."""
    objects = read_objects(body)
    if len(objects) > 1:
        raise NotAnObject("The JSON is not one object.")
    return objects[0]


def decode(body: bytes) -> Any:
    """Any JSON. Bytes beyond UTF-8 become lone surrogates: a bad letter in a name hides no abandonment.

    Raises nothing but NotAnObject.
    """
    if not body.strip():
        raise NotAnObject("The body is empty.")
    try:
        value = _DECODER.decode(body.decode(json.detect_encoding(body), "surrogateescape"))
    except RecursionError:
        raise NotAnObject("The JSON is nested too deeply.") from None
    except ValueError:
        raise NotAnObject("The body is not JSON.") from None
    if body.count(b"{") + body.count(b"[") > DEEPEST_JSON and _is_too_deep(value):
        raise NotAnObject("The JSON is nested too deeply.")
    return value


def _unpacked(value: Any) -> Any:
    """The value, with texts of JSON as the objects and lists in the texts: queues carry messages as texts.

    The recursion ends: a text within a text is shorter.
    """
    if isinstance(value, dict):
        return {name: _unpacked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [*map(_unpacked, value)]
    if not isinstance(value, str) or value[:1] not in {"{", "["}:
        return value
    try:
        inner = _unpacked(_DECODER.decode(value))
    except (RecursionError, ValueError):
        return value
    return value if _is_too_deep(inner) else inner


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST_JSON):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [child for child in value.values() if isinstance(child, dict | list)]
    return [child for child in value if isinstance(child, dict | list)] if isinstance(value, list) else []
