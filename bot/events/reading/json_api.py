"""Documents of JSON:API, which name related resources and list them beside the data (https://jsonapi.org/format)."""

from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST_RELATION = 3
"""Levels of related resources: from an event to the race, the meeting and the course."""

LONGEST_RELATED = 1_000_000
"""Characters that are added to the document. Each level may multiply the level below."""

_Name = tuple[str, str]


def with_related(value: Any) -> Any:
    """The value, with each related resource as a field of the resource that names it.

    {"relationships": {"course": {"data": {"type": "course", "id": "cr_1"}}}} is {"course": {…}}, with the course of the
    list `included`, or with type and id alone.
    """
    objects = [*_objects(value)]
    included = (some for one in objects if isinstance(some := one.get("included"), list))
    resources = {_name_of(one): one for some in included for one in some if isinstance(one, dict)}
    own = {name: len(str(one)) for name, one in resources.items()}
    links = {name: _names_in(one) for name, one in resources.items()}
    every = [name for one in objects for name in _names_in(one)]
    sizes, related = own, dict[_Name, Any]()
    for _ in range(DEEPEST_RELATION):
        if sum(sizes.get(name, 0) for name in every) > LONGEST_RELATED:
            break
        related = {name: _joined(one, related) for name, one in resources.items()}
        sizes = {name: size + sum(sizes.get(link, 0) for link in links[name]) for name, size in own.items()}
    return _joined(value, related)


def _names_in(resource: Mapping[str, Any]) -> list[_Name]:
    """The related resources, by type and id."""
    each = (data if isinstance(data, list) else [data] for data in _links(resource).values())
    return [_name_of(one) for some in each for one in some if isinstance(one, dict)]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def _links(resource: Mapping[str, Any]) -> dict[str, Any]:
    links = resource.get("relationships")
    named = links.items() if isinstance(links, dict) else ()
    return {name: data for name, link in named if isinstance(link, dict) and (data := link.get("data"))}


def _joined(value: Any, related: Mapping[_Name, Any]) -> Any:
    if isinstance(value, list):
        return [_joined(one, related) for one in value]
    if not isinstance(value, dict):
        return value
    own = {name: _joined(inner, related) for name, inner in value.items() if name not in {"relationships", "included"}}
    return {**{name: _linked(data, related) for name, data in _links(value).items()}, **own}


def _linked(data: Any, related: Mapping[_Name, Any]) -> Any:
    if isinstance(data, list):
        return [_linked(one, related) for one in data]
    return related.get(_name_of(data), data) if isinstance(data, dict) else data


def _name_of(resource: Mapping[str, Any]) -> _Name:
    return str(resource.get("type")), str(resource.get("id"))
