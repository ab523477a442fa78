"""A stranger's bytes as one JSON object (Spec gap G1)."""

import json
import re
from collections.abc import Iterator
from typing import Any

from bot.errors import RacingBotError
from bot.events.kinds import ABANDONMENTS
from bot.events.reading.record_objects import kind_of

DEEPEST_JSON = 200
"""Levels. Python's own bound varies with the caller's stack."""

DEEPEST_RELATION = 3
"""Levels of related resources: from an event to the race, the meeting and the course."""

LONGEST_RELATED = 1_000_000
"""Characters that are added to the document. A further resource is left as its type and id."""

_TEXT_OF_XML = {"$", "_", "$t"}
_PACKED = (b'"{', b'"[', *(f'"{name}"'.encode() for name in _TEXT_OF_XML))

_LONG_NUMBER = re.compile("-?(?<![0-9])[0-9]{4301,}")
"""Python reads no whole number of so many digits."""


class NotAnObject(RacingBotError):
    """`str()` is a short sentence with the reason."""


def read_objects(body: bytes) -> list[dict[str, Any]]:
    """The object, or the objects of a list with objects alone. Raises nothing but NotAnObject."""
    value = decode(body)
    if any(mark in body for mark in _PACKED):
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
        said = body.decode(json.detect_encoding(body), "surrogateescape")
        try:
            value = _parsed(said)
        except ValueError:
            value = _parsed(_LONG_NUMBER.sub("null", said))
    except RecursionError:
        raise NotAnObject("The JSON is nested too deeply.") from None
    except ValueError:
        raise NotAnObject("The body is not JSON.") from None
    if body.count(b"{") + body.count(b"[") > DEEPEST_JSON and _is_too_deep(value):
        raise NotAnObject("The JSON is nested too deeply.")
    return value


def _parsed(said: str) -> Any:
    """Some senders write NaN for a missing value: None."""
    hook = _with_losses if "abandoned" in said.casefold() else None
    return json.loads(said, strict=False, parse_constant=lambda _nan: None, object_pairs_hook=hook)


def _with_losses(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of fields with one name the last counts. Of two kinds of abandonment, the meeting's counts."""
    read = dict(fields)
    if len(read) < len(fields):
        read.update(one for kind in ABANDONMENTS for one in fields if kind_of(one[1]) is kind)
    return read


def _unpacked(value: Any) -> Any:
    """The value, with texts of JSON as the objects and lists in the texts: queues carry messages as texts.

    {"$": "York"} is "York". {"$": "York", "@id": 7} is {"text": "York", "@id": 7}: so converters of XML write texts.

    The recursion ends: a text within a text is shorter.
    """
    if isinstance(value, dict):
        if len(value) == 1 and not _TEXT_OF_XML.isdisjoint(value):
            return _unpacked(*value.values())
        named = ((name, _unpacked(inner)) for name, inner in value.items())
        return {"text" if name in _TEXT_OF_XML and isinstance(one, str) else name: one for name, one in named}
    if isinstance(value, list):
        return [*map(_unpacked, value)]
    if not isinstance(value, str) or value[:1] not in {"{", "["}:
        return value
    try:
        inner = _unpacked(_parsed(value))
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


# Documents of JSON:API, which name related resources and list them beside the data (https://jsonapi.org/format)


def with_related(value: Any) -> Any:
    """The value, with each related resource as a field of the resource that names it.

    {"relationships": {"course": {"data": {"type": "course", "id": "cr_1"}}}} is {"course": {…}}, with the course of the
    list `included`, or with type and id alone. Resources deep within resources stay where they are.
    """
    included = (some for one in _objects(value) if isinstance(some := one.get("included"), list))
    resources = {_name_of(one): one for some in included for one in some if isinstance(one, dict)}
    sizes = {name: len(str(one)) for name, one in resources.items()}
    left = LONGEST_RELATED

    def joined(one: Any, levels: int) -> Any:
        if isinstance(one, list):
            return [joined(inner, levels) for inner in one]
        if not isinstance(one, dict):
            return one
        links = one.get("relationships")
        named = links.items() if isinstance(links, dict) else ()
        own = {name: joined(inner, levels) for name, inner in one.items() if name not in {"relationships", "included"}}
        return {**{name: linked(link.get("data"), levels) for name, link in named if isinstance(link, dict)}, **own}

    def linked(data: Any, levels: int) -> Any:
        nonlocal left
        if isinstance(data, list):
            return [linked(one, levels) for one in data]
        name = _name_of(data) if isinstance(data, dict) and levels else None
        if name not in resources:
            return data
        left -= sizes[name]
        return joined(resources[name], levels - 1) if left > 0 else data

    try:
        return joined(value, DEEPEST_RELATION)
    except RecursionError:
        return value


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def _name_of(resource: dict[str, Any]) -> tuple[str, str]:
    return str(resource.get("type")), str(resource.get("id"))
