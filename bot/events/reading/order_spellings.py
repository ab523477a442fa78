"""The spellings of an order of finish, all read as groups of horses by place (Spec gap G2).

A horse stands in a group as published: an id, a number, a name, or an object. `horses_in` reads the groups of every
spelling.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bot.events.race_state import state_in
from bot.events.races import finishing_position, is_shared
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, fields_of, fold, values_of
from bot.events.reading.json_values import LONGEST_READ, count, flag, text
from bot.events.reading.record_objects import entries_of, is_by_key, is_id
from bot.events.reading.runner_entry import (
    NUMBER_ON_CLOTH,
    PLAIN,
    Horse,
    SaidPlace,
    horse_of,
    is_name,
    is_no_finish,
    is_runner,
    outcome_of,
    position_in,
    read_position,
)
from bot.events.reading.tabular import without_table

MOST_RUNNERS = 200
"""Four times the largest field."""

_MONEY = re.compile(r"\(?[$£€¥] ?[0-9]+(?:[.,][0-9]+)*\)?")
"""A dividend under the name of an order, or behind the order: "$123.40"."""

_NUMBERS = re.compile(r"(?!1/(?:[45]$|[2-6] 1\b))[0-9]{1,2}[A-Za-z]?(?:(?: ?[-,/>=;.] ?| {1,3})[0-9]{1,2}[A-Za-z]?)+")
"""Each-way terms are no order: "1/5 1-2-3"."""

_MARGIN = r" \(?(?:[0-9½¼¾]+(?:[ ./][0-9/]+)? ?(?:l|len|lengths?)|s?h(?:ea)?d|s?nk|neck|no?se|dist)\)?"
_BETWEEN_NAMES = re.compile(f"(?:{_MARGIN})? ?[,;>|\n]|{_MARGIN} ", re.IGNORECASE)
_WITH_PLACE = re.compile(
    r"([0-9]{1,2})(?:st|nd|rd|th|[.):])[.:]? *"
    r"([^\W\d_a-z][\w'\u2019 -]{1,24}?(?: ?\([A-Z]{2,3}\))?)(?: *\(?[0-9]+/[0-9]+\w*\)?)?"
)
"""A horse with its place, in "1st Horse A (5/2); 2nd Horse B"."""

_BETWEEN_NON_RUNNERS = re.compile(r" ?, ?(?![^()]*\))| - |-(?=[0-9])")
_WITH_REASON = re.compile(r"(.+?) *\(([^()]{4,})\)")
"""A country of birth has three letters at most."""


_MARKED = (("lists.non_runners", "nonrunner"), ("lists.reserves", "reserve"))
_LAST_NAME, _LAST_NUMBER = NAMES_OF["runner.horse"][-1], NAMES_OF["runner.number"][-1]
"""Fields for the key of an entry. The names are last, because the entry's own name and number come first."""


_Listed = tuple[list[Any], bool]
"""The entries, and whether they are in order."""


class Group(NamedTuple):
    """The horses of a place, as published. Several are a dead heat."""

    refs: Sequence[Any]
    place: str | None = None


class Order(NamedTuple):
    """`is_counted`: the places are 1 to n, unless a group or a horse has a place of its own."""

    groups: Sequence[Group]
    is_counted: bool = False


def horses_in(*orders: Order) -> list[Horse | None]:
    """The horses with their places; None for an entry that names no horse."""
    return [horse for order in orders for horse in _read(order)]


def _read(order: Order) -> list[Horse | None]:
    groups: list[tuple[list[Horse | None], str | None]] = []
    left = MOST_RUNNERS
    for refs, place in order.groups[:MOST_RUNNERS]:
        groups.append(([horse_of(one) for one in refs[:left]], place))
        left -= len(groups[-1][0])
    has_own = any(place or any(one and one.places for one in horses) for horses, place in groups)
    read: list[Horse | None] = []
    for horses, own in groups:
        place = str(len(read) + 1) if order.is_counted and not has_own else own
        mark = "=" if len(horses) > 1 and finishing_position(place) and not is_shared(place) else ""
        for horse in horses:
            if place and horse and not horse.places:
                horse.places.append(SaidPlace(PLAIN, f"{place}{mark}"))
        read += horses
    return read


def orders_in(value: Any, *, is_order: bool, may_be_list: bool = False) -> list[Order]:
    """The orders by the first spelling that fits; empty if none fits.

    `is_order`: the field is named as an order. `may_be_list`: the field may as well list runners in any order.
    """
    named_as_order = () if not is_order else (_by_horse,) if may_be_list else (_by_horse, _listed)
    spellings = (_in_text, _by_place, *named_as_order)
    return next((found for spelling in spellings if (found := spelling(value)) is not None), [])


def named(entries: Sequence[Any]) -> Order:
    """An order without places, except the places that the entries give."""
    return Order([Group([one]) for one in entries])


def in_groups(entries: Sequence[Any]) -> Order:
    """The horses of [{"position": 1, "runners": [{…}]}]. Entries without a place may be races."""
    groups = [*map(_group, entries[:MOST_RUNNERS])]
    return Order(groups if all(group.place for group in groups) else ())


def in_places(entries: Sequence[Any]) -> Order:
    """Of ["A", "B"], [[4], [7, 2]], [[1, 4], [2, 7]], [["1", "A"], ["2", "B"]] or [{"position": 1, "runners": [{…}]}].

    In rows with names, the only column with the numbers 1 to n has the places, if the numbers are in order. Other
    numbers may be cloth numbers.
    """
    entries = entries[:MOST_RUNNERS]
    columns = _columns_of(entries)
    names = [column for column in columns if all(isinstance(one, str) and is_name(one) for one in column)]
    may_be_places = columns if names else columns[:1] if len(entries) > 1 and len(columns) == 2 else []
    published = {tuple(text(one) or "" for one in column) for column in may_be_places}
    rankings = [*filter(_are_places, published)]
    places = rankings[0] if len(rankings) == 1 else ()
    if places and [*places] == sorted(places, key=lambda place: finishing_position(place) or MOST_RUNNERS):
        return Order([Group([ref], place) for ref, place in zip((names or columns[1:])[0], places, strict=True)])
    is_unclear = bool(names) or len(columns) > 2 if len(entries) > 1 else 0 < len(names) < len(columns)
    if is_unclear:
        return Order([Group([None])])
    return Order([*map(_group, entries)], is_counted=True)


def without_money(value: str) -> str:
    return _MONEY.sub("", value[:LONGEST_READ]).strip()


def is_of_numbers(value: str) -> bool:
    return _NUMBERS.fullmatch(without_money(value)) is not None


def not_running(value: Any) -> list[Order]:
    """The horses in a list, in {"2": "Lame"}, in "2, 5", in "Horse A (IRE) (lame), Horse B", or a single object."""
    if isinstance(value, str):
        return [named([*map(_without_reason, _BETWEEN_NON_RUNNERS.split(value[:LONGEST_READ].strip()))])]
    if isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values()):
        is_horse = bool(fields_of(value).facts)
        return [named([value] if is_horse else [key for key, said in value.items() if said is None or flag(said)])]
    listed = (one for entries, _ in lists_in(value) for one in entries)
    return [named([_without_reason(one) if isinstance(one, str) else one for one in listed])]


def lists_in(value: Any) -> list[_Listed]:
    """The list; the lists in {"count": 2, "items": […]}; the entries of {"1": {…}, "2": {…}}; a single entry."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and _wraps(value[0]):
        value = value[0]
    if isinstance(value, dict):
        if all(isinstance(name, str) and NUMBER_ON_CLOTH.fullmatch(key) for key, name in value.items()):
            return [([{"number": key, "name": name} for key, name in value.items()], True)]
        if not is_by_key(value):
            wrapped = values_of([fields_of(value)], "lists.wrapped")
            return [found for one in map(without_table, wrapped) for found in _entries(one) or _single(one)] or _single(
                value
            )
    return _entries(value)


def _in_text(value: Any) -> list[Order] | None:
    """The numbers of "4-7-2-1" and "4-7=2-1"; the names of "A, B, C" and "1st A (5/2); 2nd B"."""
    if not isinstance(value, str):
        return None
    said = without_money(value)
    if _NUMBERS.fullmatch(said):
        # A slash between all numbers separates places, as a dash does.
        between = " ?[-,>;.] ?| " if re.search("[-,>;.]", said) else " ?[-,>;./] ?| "
        return [Order([Group(re.split(" ?[=/] ?", part)) for part in re.split(between, said)], is_counted=True)]
    names = [part.strip() for part in _BETWEEN_NAMES.split(said)]
    by_place = [found.groups() for one in names if (found := _WITH_PLACE.fullmatch(one))]
    places = [place for place, _ in by_place]
    # Other numbers before names may be cloth numbers, and "1. Race abandoned" names no horse.
    is_order = len(places) == len(names) and _are_places(places) and places == sorted(places, key=int)
    if is_order and not any(state_in(name) for _, name in by_place):
        return [Order([Group([name], place) for place, name in by_place])]
    return [Order([Group([one]) for one in names], is_counted=True)] if len(names) > 1 else []


def _by_place(value: Any) -> list[Order] | None:
    """Of {"1": …, "2": …}, also with "PU" among the keys."""
    if not isinstance(value, dict) or _is_place_by_number(value):
        return None
    is_place = all(finishing_position(key) or is_no_finish(key) for key in value)
    if not is_place or not any(map(finishing_position, value)):
        return None
    by_place = zip(map(position_in, value), value.values(), strict=True)
    return [Order([Group(refs if isinstance(refs, list) else [refs], place) for place, refs in by_place])]


def _by_horse(value: Any) -> list[Order] | None:
    """Of {"Horse A": 1, "Horse B": 2, "Horse C": "PU"} or {"5": 1, "2": 2}, not {"winner": "Horse A", "margin": 2}.

    Empty for {"1": 3, "2": 1, "3": 2}: either number may be the place.
    """
    if not isinstance(value, dict):
        return None
    if _is_place_by_number(value) and {*map(count, value.values())} == {*map(count, value)}:
        return []
    places = ["-" if isinstance(place, dict | list) else text(place) or "0" for place in value.values()]
    is_place = (finishing_position(one) or is_no_finish(one) or one == "0" for one in places)
    if 1 not in map(finishing_position, places) or not all(is_place) or fields_of(value).facts:
        return None
    return [Order([Group([key], read_position(place)) for key, place in value.items()])]


def _listed(value: Any) -> list[Order]:
    return [(in_places if in_order else named)(entries) for entries, in_order in lists_in(value)]


def _wraps(entry: dict[str, Any]) -> bool:
    """Whether an object holds a list, rather than a horse or the horses of a place: {"runner": [{…}, {…}]}."""
    return horse_of(entry) is None and not outcome_of(fields_of(entry)).places


def _is_place_by_number(value: Mapping[str, Any]) -> bool:
    """True for {number: place}, {"5": 1, "2": 2, "1": 0}. False for {"1": 2, "2": 1}: {place: number} says the same."""
    if None in map(count, value) or any(isinstance(one, dict | list) for one in value.values()):
        return False
    said = {key: text(one) or "0" for key, one in value.items()}
    places = [place for one in said.values() if (place := finishing_position(one))]
    is_place = (finishing_position(one) or one.strip("0") == "" or is_no_finish(one) for one in said.values())
    is_same_way = all(count(said.get(place)) == count(key) for key, place in said.items())
    return bool(places) and _is_ranking(places) and all(is_place) and not is_same_way


def _is_ranking(places: Iterable[int]) -> bool:
    """True for 1, 2, 2, 4."""
    ranked = pairwise([0, *sorted(places)])
    return all(place in {at, before} for at, (before, place) in enumerate(ranked, 1))


def _columns_of(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """No columns if a row has a single value, [[4], [7, 2]], or if all values are objects, [[{…}, {…}], [{…}, {…}]]."""
    are_rows = all(isinstance(one, list) and len(one) > 1 for one in rows)
    columns = [*zip(*rows, strict=False)] if are_rows else []
    return columns if any(not isinstance(one, dict) for column in columns for one in column) else []


def _are_places(column: Sequence[str]) -> bool:
    """True for 1, 2, 2, "PU"."""
    places = [place for one in column if (place := finishing_position(one))]
    return bool(places) and _is_ranking(places) and all(finishing_position(one) or is_no_finish(one) for one in column)


def _group(entry: Any) -> Group:
    if isinstance(entry, list):
        return Group(entry)
    if isinstance(entry, dict) and (lists := lists_in(entry)):
        places = outcome_of(fields_of(entry)).places
        return Group([one for entries, _ in lists for one in entries], places[0].position if places else None)
    return Group([entry])


def _without_reason(said: str) -> Any:
    found = _WITH_REASON.fullmatch(said)
    if not found:
        return said
    called = NUMBER_ON_CLOTH.fullmatch(found[1])
    named = called.groupdict() if called else {"name": found[1]}
    return {**{name: one for name, one in named.items() if one}, "reason": found[2]}


def _entries(value: Any) -> list[_Listed]:
    entries = entries_of(value, _said_by_key, _said_of_several)
    return [(entries, _is_in_order(value))] if entries else []


def _is_in_order(value: Any) -> bool:
    """False for several keys that are data: the order of an object's fields says nothing."""
    return not is_by_key(value) or (len(value) == 1 and _is_in_order(*value.values()))


def _single(value: Any) -> list[_Listed]:
    """A horse in the place of a list, as converters of XML write a list with one entry."""
    horse = horse_of(value) if isinstance(value, dict) and is_runner(fields_of(value)) else None
    return [([value], True)] if horse and (horse.places or horse.out or "jockey" in horse.said) else []


def _said_by_key(key: str) -> dict[str, Any]:
    if said := _said_of_several(key):
        return said
    if len(key) <= len("ab") and key.isalpha():
        return {}
    return {"id": key} if is_id(key) or key.isdecimal() else {_LAST_NAME: key}


def _said_of_several(key: str) -> dict[str, Any]:
    """The keys "items" and "confirmed" name no horse."""
    if NUMBER_ON_CLOTH.fullmatch(key):
        return {_LAST_NUMBER: key}
    return next(({mark: True} for fact, mark in _MARKED if fold(key[:LONGEST_NAME]) in NAMES_OF[fact]), {})
