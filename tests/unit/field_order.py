"""The same JSON, with the fields of each object in another order."""

from random import Random
from typing import Any


def shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    if not isinstance(value, dict):
        return value
    items = [(name, shuffled(item, random)) for name, item in value.items()]
    random.shuffle(items)
    return dict(items)
