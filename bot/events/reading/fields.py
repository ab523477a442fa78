"""The fields of an object, found by fact through the names of names.ini (Spec gap G2)."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import IntEnum
from functools import _lru_cache_wrapper, lru_cache
from itertools import count, islice, product
from typing import Any, Generic, TypeVar

from bot.events.word_rows import sentence_rows

T = TypeVar("T")

LONGEST_NAME = 64
"""Longer keys and event names are passed over: strangers' keys fill no cache."""

MOST_FIELDS = 300
"""Fields read of an object. Further fields are passed over."""

_ATTRIBUTES = ("attributes", "embedded", "")
"""Of JSON:API and HAL, and "@attributes" and "$" of converters of XML."""

FIELDS_OF_A_SHAPE = 64
"""The shape of a larger object is not remembered."""


_NAMESPACE = re.compile(r"^[A-Za-z][\w.-]*:(?=[A-Za-z])")
"""Of XML: "ns:course"."""

_TYPE_PREFIX = re.compile("^(?:str|int|dtm|arr|obj|bln|dbl)(?=[A-Z])")


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """The name without a prefix for the type: "coursename" for "strCourseName"."""
    return "".join(filter(str.isalnum, _TYPE_PREFIX.sub("", name).casefold()))


def names(patterns: str) -> tuple[str, ...]:
    """See the head of names.ini."""
    found = (product(*map(_alternatives, pattern.split())) for pattern in patterns.split(","))
    return tuple(dict.fromkeys("".join(words) for some in found for words in some if any(words)))


def _alternatives(word: str) -> list[str]:
    words = [fold(one) for one in word.rstrip("?").split("|")]
    return [*words, ""] if word.endswith("?") else words


_ROWS = sentence_rows("bot.events.reading", "names.ini", interpolated=True)
NAMES_OF = {f"{section}.{key}": names(row) for section, rows in _ROWS.items() for key, row in rows.items()}
"""The names of each fact ("race.title"), the surest first."""

_FACTS_OF: dict[str, list[tuple[int, str]]] = {}
for _fact, _names in NAMES_OF.items():
    if _fact.startswith("words."):
        continue
    for _rank, _name in enumerate(_names):
        _FACTS_OF.setdefault(_name, []).append((_rank, _fact))


class Standing(IntEnum):
    """The standing of a place, by the name of its field or object. The highest comes first."""

    OFFICIAL = 0
    PLAIN = 1
    PAST_THE_POST = 2
    PROVISIONAL = 3


Facts = dict[str, tuple[str, ...]]
"""The names of an object's fields for each fact, the surest first."""


class Fields(dict[str, Any]):
    """An object's fields by folded name: "race_id", "raceId" and "Race-ID" are "raceid".

    `standing`: of places without a standing of their own.
    """

    __slots__ = ("facts", "standing")

    def __init__(
        self, fields: Mapping[str, Any], facts: Facts | None = None, standing: Standing = Standing.PLAIN
    ) -> None:
        super().__init__(fields)
        self.standing = standing
        self.facts = facts_of(fields) if facts is None else facts

    def without(self, facts: Collection[str]) -> "Fields":
        """The fields, as if no name meant the facts."""
        left = {fact: names for fact, names in self.facts.items() if fact not in facts}
        return Fields(self, left, self.standing)

    def only(self, facts: Collection[str]) -> "Fields":
        """The fields that tell the facts, as if their names meant no other fact."""
        told = {fact: names for fact, names in self.facts.items() if fact in facts}
        return Fields({name: self[name] for names in told.values() for name in names}, told, self.standing)

    def within(self, name: str, facts: frozenset[str]) -> "Fields":
        """The fields of an object called `name`, for these facts also by the full name: "race" and "id" as "raceid"."""
        full = _remembered(_facts_within, (name, *self))
        told = {fact: [key.removeprefix(name) for key in keys] for fact, keys in full.items() if fact in facts}
        both = {fact: tuple(dict.fromkeys([*self.facts.get(fact, ()), *keys])) for fact, keys in told.items()}
        return Fields(self, {**self.facts, **both}, self.standing) if both else self

    def of(self, *facts: str) -> list[Any]:
        """The values of the facts."""
        return [self[name] for fact in facts for name in self.facts.get(fact, ())]


def _remembered(read: "_lru_cache_wrapper[T]", shape: tuple[str, ...]) -> T:
    """Objects of a list have one shape, and so have the objects of one publisher."""
    return read(shape) if len(shape) <= FIELDS_OF_A_SHAPE else read.__wrapped__(shape)


def facts_of(names: Iterable[str]) -> Facts:
    """The facts of different names. Unknown names make no difference."""
    return _remembered(_facts, tuple(name for name in names if name in _FACTS_OF))


@lru_cache(maxsize=512)
def _facts_within(names: tuple[str, ...]) -> Facts:
    name, *keys = names
    return facts_of(f"{name}{key}" for key in keys)


@lru_cache(maxsize=512)
def _facts(names: tuple[str, ...]) -> Facts:
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        for rank, fact in _FACTS_OF[name]:
            found.setdefault(fact, []).append((rank, name))
    return {fact: tuple(name for _, name in sorted(ranked)) for fact, ranked in found.items()}


@lru_cache(maxsize=512)
def _shape(keys: tuple[str, ...]) -> tuple[list[tuple[int, str]], Facts]:
    """The place of each value and its name, in the order of the keys; the facts of an object without empty fields.

    Of keys with the same name the first comes last, and so wins.
    """
    places: dict[str, list[int]] = {}
    for key, place in sorted(zip(keys, count(), strict=False)):
        if len(key) <= LONGEST_NAME:
            places.setdefault(fold(_NAMESPACE.sub("", key)), []).insert(0, place)
    return [(place, name) for name in places for place in places[name]], facts_of(places)


def fields_of(record: Mapping[str, Any]) -> Fields:
    """The non-empty fields, whatever the record's order, with the fields in an object of attributes."""
    fields = _own_fields(record)
    for name in _ATTRIBUTES:
        if name in fields and isinstance(fields[name], dict):
            return Fields({**_own_fields(fields.pop(name)), **fields})
    return fields


def _own_fields(record: Mapping[str, Any]) -> Fields:
    names, facts = _remembered(_shape, tuple(islice(record, MOST_FIELDS)))
    values = [*record.values()]
    fields = {name: value for place, name in names if (value := values[place]) or value not in (None, "")}
    return Fields(fields, facts if len(fields) == len(names) else None)


def find(objects: Iterable[Fields], names: Collection[str], read: Callable[[Any], T | None]) -> T | None:
    """The first readable value under the names, object by object."""
    for fields in objects:
        for name in names:
            if name in fields and (found := read(fields[name])) is not None:
                return found
    return None


def first_of(objects: Iterable[Fields], fact: str, read: Callable[[Any], T | None]) -> T | None:
    """The first readable value of a fact, object by object."""
    for fields in objects:
        if fact in fields.facts:
            for name in fields.facts[fact]:
                if (found := read(fields[name])) is not None:
                    return found
    return None


def values_of(objects: Iterable[Fields], fact: str) -> Iterator[Any]:
    """Each value of a fact, object by object."""
    return (fields[name] for fields in objects if fact in fields.facts for name in fields.facts[fact])


class Lazy(Generic[T]):
    """`cached_property` without a lock: on Python 3.11 the reading of a large payload holds up that of all others."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make

    def __get__(self, holder: Any, _: type) -> T:
        value = holder.__dict__[self._make.__name__] = self._make(holder)
        return value
