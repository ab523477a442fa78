"""The small checks that block rules are made of. Each yields Slack-like messages that point at the offending place.

A missing key is told apart from a null: Slack refuses nulls.
"""

import math
from collections.abc import Collection, Iterator
from typing import Any

Problems = Iterator[str]

TEXT_TYPES = ("plain_text", "mrkdwn")
TEXT_LIMIT = 3000
ID_LIMIT = 255
_TEXT_FIELDS = {"plain_text": {"type", "text", "emoji"}, "mrkdwn": {"type", "text", "verbatim"}}


def problem(what: str, path: str) -> str:
    """The message, with the pointer that Slack puts behind it."""
    return f"{what} [json-pointer:{path}]"


def only(holder: dict[str, Any], path: str, *allowed: str) -> Problems:
    """A message for each field that has no business there; `type` always has."""
    for name in holder.keys() - {"type", *allowed}:
        yield problem(f"invalid additional property: {name}", path)


def objects(holder: dict[str, Any], key: str) -> list[Any]:
    """The items of a list, or none where there is no list (which `counted` complains about)."""
    value = holder.get(key)
    return value if isinstance(value, list) else []


def counted(holder: dict[str, Any], key: str, path: str, low: int, high: int, *, required: bool = True) -> Problems:
    """Messages where the field is no list of `low` to `high` items."""
    if key not in holder:
        if required:
            yield problem(f"missing required field: {key}", path)
    elif not isinstance(holder[key], list):
        yield problem("must be an array", f"{path}/{key}")
    elif len(holder[key]) < low:
        yield problem(f"no fewer than {low} items allowed", f"{path}/{key}")
    elif len(holder[key]) > high:
        yield problem(f"no more than {high} items allowed", f"{path}/{key}")


def string(holder: dict[str, Any], key: str, path: str, longest: int, *, required: bool = False) -> Problems:
    """Messages where the field is no string of 1 to `longest` characters."""
    if key not in holder:
        if required:
            yield problem(f"missing required field: {key}", path)
        return
    yield from text_of(holder[key], f"{path}/{key}", longest)


def text_of(value: Any, path: str, longest: int) -> Problems:
    """Messages where the value is no string of 1 to `longest` characters."""
    if not isinstance(value, str):
        yield problem("must be a string", path)
    elif not value:
        yield problem("must be more than 0 characters", path)
    elif len(value) > longest:
        yield problem(f"must be less than {longest + 1} characters", path)


def one_of(
    holder: dict[str, Any], key: str, path: str, allowed: Collection[str], *, required: bool = False
) -> Problems:
    """Messages where the field is none of the allowed words."""
    if key in holder and not (isinstance(holder[key], str) and holder[key] in allowed):
        yield problem(f"value must be one of {sorted(allowed)}", f"{path}/{key}")
    elif key not in holder and required:
        yield problem(f"missing required field: {key}", path)


def integer(holder: dict[str, Any], key: str, path: str, low: int, high: int) -> Problems:
    """Messages where the field is there and is no whole number from `low` to `high`."""
    if key not in holder:
        return
    value = holder[key]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        yield problem(f"must be an integer from {low} to {high}", f"{path}/{key}")


def is_number(value: Any) -> bool:
    """Whether it is a number that JSON can write: neither a boolean nor NaN."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def text_in(
    holder: dict[str, Any],
    key: str,
    path: str,
    longest: int = TEXT_LIMIT,
    *,
    kinds: Collection[str] = TEXT_TYPES,
    required: bool = True,
) -> Problems:
    """Messages where the field is no text object of one of `kinds` with 1 to `longest` characters."""
    if key in holder:
        yield from text_object(holder[key], f"{path}/{key}", longest, kinds=kinds)
    elif required:
        yield problem(f"missing required field: {key}", path)


def plain_in(holder: dict[str, Any], key: str, path: str, longest: int, *, required: bool = True) -> Problems:
    """As `text_in`, for plain_text only."""
    return text_in(holder, key, path, longest, kinds=("plain_text",), required=required)


def text_object(value: Any, path: str, longest: int, *, kinds: Collection[str] = TEXT_TYPES) -> Problems:
    """Messages where the value is no text object of one of `kinds` with 1 to `longest` characters."""
    if not isinstance(value, dict):
        yield problem("must be an object", path)
        return
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        yield problem(f"unsupported text type, must be one of {sorted(kinds)}", f"{path}/type")
        return
    yield from only(value, path, *_TEXT_FIELDS[kind])
    yield from string(value, "text", path, longest, required=True)
    for flag in {"emoji", "verbatim"} & value.keys():
        if not isinstance(value[flag], bool):
            yield problem("must be a boolean", f"{path}/{flag}")
