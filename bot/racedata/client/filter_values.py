"""Valid filter values from `/reference`, whose shape beyond the categories is not shown (Spec gap G6).

Values are matched exactly, letter case included (Interface, Reference values).
"""

from collections.abc import Mapping
from typing import Any

CATEGORIES = ("goings", "classes", "run_types", "surfaces", "regions", "casualty_reasons")
VALUE_FIELDS = ("value", "code", "name")


def read_reference(data: Any) -> dict[str, list[str]]:
    """The values of each category, as published and in order: lists of texts, or of objects with a value.

    Another shape gives no value.
    """
    lists = data if isinstance(data, Mapping) else {}
    found = {category: _values(lists.get(category)) for category in CATEGORIES}
    return {category: values for category, values in found.items() if values}


def _values(listed: Any) -> list[str]:
    items = listed if isinstance(listed, list) else []
    return list(dict.fromkeys(value for item in items if (value := _value(item)) is not None))


def _value(item: Any) -> str | None:
    named = [item.get(name) for name in VALUE_FIELDS] if isinstance(item, Mapping) else [item]
    return next((value for value in named if isinstance(value, str)), None)
