"""A JSON value of any type, read as text, an identifier, a count or a flag, or None (Spec gap G2)."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")
Fields = dict[str, Any]
"""An object's fields by folded name: "race_id", "raceId" and "Race-ID" are "raceid"."""


class Names(dict[str, int]):
    """Folded names with their ranks, the surest first. A fact has hundreds of names, and an object some ten fields."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__((name, rank) for rank, name in enumerate(dict.fromkeys(names)))

    def within(self, fields: Fields) -> list[str]:
        """The names of the object's fields."""
        found = fields.keys() & self.keys()
        return sorted(found, key=self.__getitem__) if len(found) > 1 else list(found)


LONGEST_NAME = 64
"""Longer keys and event names are passed over: strangers' keys fill no cache."""

MOST_FIELDS = 1_000
"""Of an object. The others are passed over."""

SPOKEN_NAMES = (
    "name",
    "en",
    "english",
    "displayname",
    "fullname",
    "title",
    "label",
    "text",
    "description",
    "fractional",
    "value",
    "code",
    "order",
)
"""The text of an object in the place of a text: {"name": "Ascot"}, {"fractional": "5/2"}."""

LONE_SURROGATES = re.compile("[\ud800-\udfff]")


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def fields_of(record: Mapping[str, Any]) -> Fields:
    """The non-empty fields, whatever the record's order."""
    fields: Fields = {}
    for key in sorted(islice(record, MOST_FIELDS)):
        value = record[key]
        if value is not None and value != "" and len(key) <= LONGEST_NAME:
            fields.setdefault(fold(key), value)
    return fields


def _key(field: tuple[str, Any]) -> str:
    return field[0]


def find(objects: Iterable[Fields], names: Collection[str], read: Callable[[Any], T | None]) -> T | None:
    """The first readable value, object by object."""
    for fields in objects:
        for name in names.within(fields) if isinstance(names, Names) else filter(fields.__contains__, names):
            value = read(fields[name])
            if value is not None:
                return value
    return None


def values_of(objects: Iterable[Fields], names: Names) -> Iterator[tuple[str, Any]]:
    """Each field under the names, with its name."""
    for fields in objects:
        yield from ((name, fields[name]) for name in names.within(fields))


def text(value: Any) -> str | None:
    """White space is collapsed; an object is its name.

    NUL and lone surrogates are removed for the databases. Message builders deal with other odd characters.
    """
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, dict):
        name = value.get("name")
        return _storable(name) if isinstance(name, str) and name else _spoken(fields_of(value))
    return _digits(value)


def note_text(value: Any, deepest: int = 3) -> str | None:
    """A free annotation: an object as "name: value", lists and objects with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, dict | list):
        return text(value)
    if not deepest:
        return None
    named = value.items() if isinstance(value, dict) else [("", item) for item in value]
    parts = [(_storable(str(name)), note_text(item, deepest - 1)) for name, item in named]
    said = [f"{name}: {shown}" if name else shown for name, shown in parts if shown]
    return ", ".join(said) or None


def identifier(value: Any) -> str | None:
    """Integers are ids. Fractions, flags and objects are none."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, float) and not value.is_integer():
        return None
    return _digits(value)


def count(value: Any) -> int | None:
    """A whole number of up to three digits."""
    digits = identifier(value) or ""
    return int(digits) if re.fullmatch("[0-9]{1,3}", digits) else None


def flag(value: Any) -> bool | None:
    """True also for a moment or a reason in the place of a flag: "withdrawn_at": "2026-11-25T09:10Z"."""
    if isinstance(value, dict | list):
        return None
    return str(value).strip().casefold() not in _NO_FLAG


_NO_FLAG = frozenset({"false", "no", "n", "0", "0.0", "none", "null", "nil", "na", "n/a", "-", "not", "unknown", ""})


def _storable(value: str) -> str | None:
    collapsed = " ".join(value.replace("\x00", "").split())
    if not collapsed.isascii():
        collapsed = LONE_SURROGATES.sub("\ufffd", collapsed)
    return collapsed or None


def _digits(value: Any) -> str | None:
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _spoken(fields: Fields) -> str | None:
    named = find([fields], SPOKEN_NAMES, _plain_text)
    return named or find([fields], [name for name in fields if name.endswith("name")], _plain_text)


def _plain_text(value: Any) -> str | None:
    return None if isinstance(value, dict) else text(value)
