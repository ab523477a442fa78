"""Valid filter values from `/reference`, whose shape beyond the categories is not shown (Spec gap G6).

Values are matched exactly, letter case included (Interface, Reference values).
"""

from collections.abc import Iterable, Mapping
from typing import Any

CATEGORIES = ("goings", "classes", "run_types", "surfaces", "regions", "casualty_reasons")
SINGULAR = {
    "going": "goings",
    "class": "classes",
    "run_type": "run_types",
    "surface": "surfaces",
    "region": "regions",
    "casualty_reason": "casualty_reasons",
}
VALUE_FIELDS = ("value", "code", "region_code", "region", "id", "key", "name", "label")
"""Codes before names: filters take the code."""

CATEGORY_FIELDS = ("category", "filter", "type", "field", "name")
LIST_FIELDS = ("values", "items", "data", "options")


def read_reference(data: Any) -> dict[str, list[str]]:
    """The values by category, as published and in order.

    Reads lists, counts by value, and objects with a value, under each category or in one list with categories.
    """
    found: dict[str, list[str]] = {}
    for category, value in _flattened(data):
        values = found.setdefault(category, [])
        if value not in values:
            values.append(value)
    return found


def _flattened(data: Any) -> Iterable[tuple[str, str]]:
    if isinstance(data, Mapping):
        for name, content in data.items():
            category = category_of(name)
            pairs = ((category, value) for value in _values(content)) if category else _flattened(content)
            yield from pairs
    elif isinstance(data, list):
        for item in data:
            yield from _from_item(item)


def _from_item(item: Any) -> Iterable[tuple[str, str]]:
    if not isinstance(item, Mapping):
        return
    named = next((name for name in CATEGORY_FIELDS if category_of(item.get(name))), None)
    if named is None:
        yield from _flattened(item)
        return
    category = category_of(item[named]) or ""
    for value in _values({name: content for name, content in item.items() if name != named}, in_item=True):
        yield category, value


def _values(content: Any, *, in_item: bool = False) -> list[str]:
    if isinstance(content, list):
        return [value for item in content for value in _value(item)]
    if not isinstance(content, Mapping):
        return []
    listed = next((content[name] for name in LIST_FIELDS if isinstance(content.get(name), list | Mapping)), None)
    if listed is not None:
        return _values(listed)
    return _value(content) if in_item else [str(name) for name in content]


def _value(item: Any) -> list[str]:
    if isinstance(item, str):
        return [item]
    fields = item if isinstance(item, Mapping) else {}
    return next(([fields[name]] for name in VALUE_FIELDS if isinstance(fields.get(name), str)), [])


def category_of(name: Any) -> str | None:
    """The category of a name ("Run type" is run_types), or None."""
    if not isinstance(name, str):
        return None
    plain = "_".join(name.replace("-", " ").replace("_", " ").casefold().split())
    plain = SINGULAR.get(plain, plain)
    return plain if plain in CATEGORIES else None
