"""Rules of JSON values: each gives Slack's complaints about a value, with the place as a json-pointer."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Rule = Callable[[Any, str], Iterator[str]]
"""Gives the complaints about a value; the text is the value's place."""


def problem(words: str, path: str) -> str:
    return f"{words} [json-pointer:{path}]"


def text(longest: int, shortest: int = 1) -> Rule:
    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must be a string", path)
        elif len(value) > longest:
            yield problem(f"must be less than {longest + 1} characters", path)
        elif len(value) < shortest:
            yield problem("must be more than 0 characters", path)

    return check


def holds(is_right: Callable[[Any], bool], words: str) -> Rule:
    def check(value: Any, path: str) -> Iterator[str]:
        if not is_right(value):
            yield problem(words, path)

    return check


def whole(low: int, high: int) -> Rule:
    return holds(lambda value: type(value) is int and low <= value <= high, f"must be an integer from {low} to {high}")


def choice(*allowed: str) -> Rule:
    return holds(lambda value: value in allowed, f"value must be one of {list(allowed)}")


flag = holds(lambda value: isinstance(value, bool), "must be a boolean")
number = holds(lambda value: type(value) in {int, float} and math.isfinite(value), "must be a number")


def array(each: Rule, fewest: int, most: int) -> Rule:
    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must be an array", path)
            return
        if len(value) > most:
            yield problem(f"no more than {most} items allowed", path)
        if len(value) < fewest:
            yield problem(f"no fewer than {fewest} items allowed", path)
        for place, one in enumerate(value):
            yield from each(one, f"{path}/{place}")

    return check


def shape(needed: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object of these fields and no others."""
    known = {**needed, **(optional or {})}

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must be an object", path)
            return
        for name in needed.keys() - value.keys():
            yield problem(f"missing required field: {name}", path)
        for name, one in value.items():
            if name in known:
                yield from known[name](one, f"{path}/{name}")
            else:
                yield problem(f"invalid additional property: {name}", path)

    return check


def by_type(shapes: Mapping[str, Rule], what: str = "") -> Rule:
    """An object whose `type` says which shape the other fields have."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must be an object", path)
            return
        kind, fields = value.get("type"), {name: one for name, one in value.items() if name != "type"}
        if isinstance(kind, str) and kind in shapes:
            yield from shapes[kind](fields, path)
        else:
            words = f"unsupported {what}type: {kind}, value must be one of {list(shapes)}"
            yield problem(words, f"{path}/type")

    return check


def also(rule: Rule, *further: Rule) -> Rule:
    """The further rules apply only to a value that keeps the first rule."""

    def check(value: Any, path: str) -> Iterator[str]:
        found = list(rule(value, path))
        yield from found or (words for one in further for words in one(value, path))

    return check


def distinct(name: str) -> Rule:
    """No two objects of an array have the same `name`."""

    def check(value: Any, path: str) -> Iterator[str]:
        names = Counter(one[name] for one in value if isinstance(one, dict) and isinstance(one.get(name), str))
        for again in (one for one, times in names.items() if times > 1):
            yield problem(f"{name} {again!r} already exists", path)

    return check
