"""The runners of a race and their places, from every list, order, flag and winner of a record (Spec gap G2).

1. Each list gives entries, and each entry the labels of its horse: ids, name, number.
2. Entries with a label in common are one horse. Orders and winners name horses by any label.
3. All places that were said of a horse stand together: the highest standing decides. Places of one standing that
   differ are told together ("1 or 2"), and dispute the result.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

from bot.events.race_state import LOST_OR_VOID, RaceState, letters, state_in
from bot.events.races import (
    OUT,
    RESERVED,
    Runner,
    did_not_finish,
    finishing_position,
    is_disqualified,
    is_non_runner,
    is_shared,
    plain_name,
)
from bot.events.reading.aliases import string
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, Standing, fields_of, first_of, fold, values_of
from bot.events.reading.json_values import (
    LONGEST_READ,
    count,
    flag,
    flag_in,
    identifier,
    is_no,
    is_yes,
    note_text,
    text,
)
from bot.events.reading.record_objects import LEADERS, NAMING_HORSES, entries_of, is_by_key, is_id

_PLACES = ("place.official", "place.plain", "place.past_the_post", "place.provisional")
_ORDERS = ("order.official", "order.plain", "order.past_the_post", "order.provisional")
"""By standing. An order, a flag or a winner is plain unless the name of the field or object says more."""
_PLAIN, _PROVISIONAL = Standing.PLAIN, Standing.PROVISIONAL

_PEOPLE = {name: f"runner.{name}" for name in ("jockey", "trainer")}
_TEXTS = _PEOPLE | {
    name: f"runner.{name}"
    for name in ("horse", "number", "draw", "starting_price", "official_rating", "beaten", "position_reason")
}
"""Fields of a runner, each with its fact."""

_MAY_SAY_OUT = ("number", "draw", "jockey", "starting_price", "position_reason")
"""Fields that may hold "NR" in place of their text."""

_MARKS = frozenset(fact for fact in NAMES_OF if fact.startswith("marks."))
_PLACE_NAMES = frozenset(name for fact in _PLACES for name in NAMES_OF[fact])
_ORDER_NAMES = frozenset(name for fact in _ORDERS for name in NAMES_OF[fact])
_MAY_BE_PLACED_ALONE = frozenset({*NAMES_OF["lists.results"], *NAMES_OF["lists.placed"]})
_CALLED = frozenset({"horse", "number"})
_BEGINS_ORDER = frozenset(name[:end] for name in _ORDER_NAMES for end in range(1, len(name)))
_OF_BETS = frozenset(
    name for fact in ("marks.status", "marks.non_runner", "runner.starting_price") for name in NAMES_OF[fact]
)
_OF_OBJECTS = _PLACE_NAMES.union(*map(NAMES_OF.__getitem__, _MARKS))
"""Fields of a runner that may stand in an object of the runner: its result, its betting."""

_OUTCOMES = _MARKS - {"marks.objects"} | {"state.result"}
"""Facts that may say of a horse that it has no place, or that its place is another."""

MOST_RUNNERS = 200
"""Four times the largest field."""

MOST_PLACES = 40
"""From this number on, a number is a place only in a field of as many runners: feeds write 40 or 999 for "no place"."""

UNREAD_MAX = 80
DISPUTES_TOLD = 4

_OR = " or "
_NUMBER, _NAME, _ID = "number ", "name ", "id "

_PLAIN_STATUS, _RUNS, _NO_NAME, _NON_RUNNER = (
    frozenset(NAMES_OF[f"words.{kind}"]) for kind in ("plain", "runs", "no_name", "non_runner")
)
_SAYS_NOTHING = _PLAIN_STATUS | _NO_NAME

_PLACED_ANEW = re.compile("promoted|demoted|placed", re.IGNORECASE)
"""Words beside a place after an inquiry."""

_NO_HORSE = re.compile(
    r"\b(?:tbc|tba|tbd|await(?:ing|ed)|pending|photo[ -]?finish|(?:in|en)quiry|objection|dead[ -]?heat"
    r"|no (?:official )?(?:winner|result)|not (?:yet )?(?:known|available|official|declared|announced))\b",
    re.IGNORECASE,
)
"""Words in the place of a winner."""

_TOGETHER = re.compile(" ?[/&,] ?| and ")
_DEAD_HEAT = re.compile(r" ?\(?dead[ -]?heat\)?", re.IGNORECASE)

_HAS_PRICE = re.compile("[1-9]|^ev", re.IGNORECASE)
"""Not "SP", "-" or "0"."""

_FAVOURITES = {
    **dict.fromkeys(("true", "yes", "y", "1", "f", "fav", "favourite", "favorite"), "F"),
    **dict.fromkeys(("jf", "jfav", "joint", "jointfavourite", "jointfavorite"), "JF"),
    **dict.fromkeys(("cf", "cfav", "cofavourite", "cofavorite"), "CF"),
}

_NAME_OF_NON_RUNNER = re.compile(r"(.+?) *\((?:nr|non[ -]?runner|withdrawn|scratched)\)", re.IGNORECASE)

_BETWEEN_NON_RUNNERS = re.compile(r" ?, ?(?![^()]*\))| - |-(?=[0-9])")
_WITH_REASON = re.compile(r"(.+?) *\(([^()]{4,})\)")
"""A country of birth has three letters at most."""

_WHOLE = re.compile(r"\A([0-9]+)\.0+\Z")
_NUMBER_ON_CLOTH = re.compile(
    r"(?:#|n[or]\.? ?)?\(?(?P<number>[0-9]{1,3}[A-Za-z]?)(?:(?:[.)]|st|nd|rd|th)? ?(?P<name>[^\W\d]{2}.+))?\)?",
    re.IGNORECASE,
)
"""As an order names a horse: "4", "#4", "No. 4", "4. Horse A", "1st Horse A"."""

_MONEY = re.compile(r"\(?[$£€¥] ?[0-9]+(?:[.,][0-9]+)*\)?")
"""A dividend under the name of an order, or behind the order: "$123.40"."""

_ORDER_TEXT = re.compile(r"[0-9]{1,2}[A-Za-z]?(?:(?: ?[-,/>=;.] ?| {1,3})[0-9]{1,2}[A-Za-z]?)+")


class Placings(NamedTuple):
    """`unread`: an unreadable order, as published. `disputed`: contradictory places.

    `state`: what every position says of the race, or that every place is provisional.
    """

    runners: tuple[Runner, ...] = ()
    unread: str | None = None
    disputed: str | None = None
    state: RaceState | None = None

    @property
    def has_places(self) -> bool:
        return any(runner.finishing_position for runner in self.runners)


class _Place(NamedTuple):
    standing: Standing
    position: str
    source: int = 0


@dataclass(eq=False, slots=True)
class _Horse:
    """`said`: a runner's fields, without the position. `out`: the position of a horse without a place: "PU", "NR".

    `runs`: as `Runner.runs`, where nothing says that the horse is out.
    """

    labels: list[str]
    said: dict[str, str]
    places: list[_Place] = dataclass_field(default_factory=list)
    out: str | None = None
    runs: bool = False

    @property
    def standing(self) -> Standing:
        return min(place.standing for place in self.places)

    @property
    def called(self) -> str:
        return self.said.get("horse") or f"no. {self.said.get('number')}"

    def sources_of(self, place: int) -> set[int]:
        return {one.source for one in self.places if finishing_position(one.position) == place}


_Read = list[_Horse | None]
"""Horses as a list or an order names them; None for an entry that names no horse."""


def read_placings(objects: Iterable[Fields]) -> Placings:
    """At most MOST_RUNNERS runners."""
    objects, horses = (
        [one for one in map(_with_inner_orders, objects) if not NAMING_HORSES.isdisjoint(one.facts)],
        _Horses(),
    )
    field = list[_Horse]()
    for name, value, standing in _said(objects, "lists.runners"):
        for entries, in_order in _lists(value):
            is_order = in_order and (
                any(isinstance(one, list) for one in entries)
                or (name in NAMES_OF["lists.results"] and not any(isinstance(one, dict) for one in entries))
            )
            read = _in_groups(entries) if is_order else _read(entries)
            horses.add(read, standing=standing)
            if name not in _MAY_BE_PLACED_ALONE:
                field += filter(None, read)
    if len(field) > 1 and not horses.are_placed:
        horses.called = _CALLED.intersection(chain.from_iterable(one.said for one in field))
    unread = [*_orders(objects, horses), *_leaders(objects, horses)]
    for fact, out in (("lists.non_runners", OUT), ("lists.reserves", RESERVED)):
        for value in values_of(objects, fact):
            horses.add(_read(_named_in(value)), out=out)
    return horses.placings(unread)


def is_runner(fields: Fields) -> bool:
    return "is.runner" in fields.facts


def _with_inner_orders(fields: Fields) -> Fields:
    """With the orders of an object under both names: of {"results": {"official": […]}}, "results official"."""
    inner = {
        f"{name}{key}": entry
        for name, value in fields.items()
        if name in _BEGINS_ORDER and isinstance(value, dict)
        for key, entry in fields_of(value).items()
        if f"{name}{key}" in _ORDER_NAMES
    }
    return Fields({**fields, **inner}, standing=fields.standing) if inner else fields


def _said(objects: Iterable[Fields], fact: str, of_name: Standing = _PLAIN) -> Iterator[tuple[str, Any, Standing]]:
    """Each value of a fact, with the field's name, and the standing of the name or else of the object."""
    for fields in objects:
        for name in fields.facts.get(fact, ()):
            yield name, fields[name], fields.standing if of_name is _PLAIN else of_name


def _orders(objects: Sequence[Fields], horses: "_Horses") -> Iterator[Any]:
    """Adds the orders of all standings. Gives back each order that is not read."""
    for of_name, fact in zip(Standing, _ORDERS, strict=True):
        for name, value, standing in _said(objects, "order.in_words" if of_name is _PLAIN else fact, of_name):
            is_plain_list = isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)
            if is_plain_list and name in NAMES_OF["order.parallel"]:
                if not horses.add_places(value):
                    yield value
                continue
            is_order = name in NAMES_OF[fact]
            ordered = _order(value, is_order=is_order)
            said = value[0] if is_plain_list and len(value) == 1 and state_in(string(value[0])) else value
            is_words = isinstance(said, str) and not _ORDER_TEXT.fullmatch(said[:LONGEST_READ].strip())
            if not horses.add(ordered, standing=standing, only_known=is_words) and (ordered or is_order):
                yield said


def _leaders(objects: Sequence[Fields], horses: "_Horses") -> Iterator[Any]:
    """Adds the horses of given places. Yields each unread value."""
    called = frozenset[str]() if horses.are_placed else horses.called
    by_number = any(count(one) is not None for one in values_of(objects, "order.winner"))
    for place, fact, of_name in LEADERS:
        for _, value, standing in _said(objects, fact, of_name):
            refs = value if isinstance(value, list) else horses.known_in(value) or [value]
            read = _read(one for one in refs if _names_a_leader(one, fact, by_number=by_number))
            # "ABANDONED" in the place of the winner is a horse only if a listed horse has the name.
            is_words = isinstance(value, str) and bool(state_in(value) or _NO_HORSE.search(value))
            only_known = is_words or any(one and not called.isdisjoint(one.said) for one in read)
            if not horses.add(_placed(read, place), standing=standing, only_known=only_known):
                yield f"winner {value}" if place == "1" and isinstance(value, str) and not state_in(value) else value


def _names_a_leader(ref: Any, fact: str, *, by_number: bool) -> bool:
    """A flag names nobody. A number under `second` may be a time, unless the winner is told `by_number`."""
    if isinstance(ref, bool) or not isinstance(ref, str | int | dict):
        return False
    return by_number or fact.startswith("order.winner") or isinstance(ref, dict) or not str(ref).isdecimal()


def _named_in(value: Any) -> list[Any]:
    """The horses in a list, in {"2": "Lame"}, in "2, 5", or in "Horse A (IRE) (lame), Horse B"."""
    if isinstance(value, str):
        return [_without_reason(one) for one in _BETWEEN_NON_RUNNERS.split(value[:LONGEST_READ].strip())]
    if isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values()):
        return list(value)
    listed = (one for entries, _ in _lists(value) for one in entries)
    return [_without_reason(one) if isinstance(one, str) else one for one in listed]


def _without_reason(said: str) -> Any:
    found = _WITH_REASON.fullmatch(said)
    return {"number" if found[1].isdecimal() else "horse": found[1], "reason": found[2]} if found else said


class _Horses:
    """The horses of a race, collected source by source.

    `called`: "horse" or "number", or both, where a whole field is listed so, without places. An unlisted number is then
    no horse, and an unlisted name no winner.
    """

    def __init__(self) -> None:
        self.called = frozenset[str]()
        self._horses: list[_Horse] = []
        self._by_label: dict[str, _Horse] = {}
        self._sources = 0

    def add(
        self, read: _Read, *, standing: Standing = _PLAIN, only_known: bool = False, out: str | None = None
    ) -> bool:
        """False if no horse is read. `only_known`: words that name no horse of another list name none.

        `standing`: of each place that is plain by its own name. `out`: the position of horses that do not run.
        """
        self._sources += 1
        found = [one is not None and self._add(one, standing, out, only_known=only_known) for one in read]
        return any(found) and (all(found) or not only_known)

    @property
    def are_placed(self) -> bool:
        return any(horse.places for horse in self._horses)

    def known_in(self, value: Any) -> list[str]:
        """The horses of "Horse A / Horse B (dead heat)"; empty unless all are known."""
        said = _TOGETHER.split(_DEAD_HEAT.sub("", text(value) or "")) if isinstance(value, str) else []
        return said if len(said) > 1 and all(_name_label(one) in self._by_label for one in said) else []

    def add_places(self, places: Sequence[Any]) -> bool:
        """False unless each horse has a place: the list beside the list of horses."""
        if len(places) != len(self._horses):
            return False
        self._sources += 1
        for horse, place in zip(self._horses, places, strict=True):
            if position := _read_position(place):
                horse.places.append(_Place(_PLAIN, position, self._sources))
        return True

    def _add(self, new: _Horse, standing: Standing, out: str | None, *, only_known: bool) -> bool:
        same = (one for label in new.labels if (one := self._by_label.get(label)) and _may_be_same(one, new, label))
        known = next(same, None)
        if known is None:
            is_unlisted = "horse" not in new.said and "number" in self.called and not out
            if only_known or is_unlisted or not ("horse" in new.said or "number" in new.said):
                return False
            known = _Horse([], new.said)
            self._horses.append(known)
        else:
            known.said = {**new.said, **known.said}
        for label in new.labels:
            self._by_label.setdefault(label, known)
        known.out = known.out or new.out or out
        known.runs = known.runs or new.runs
        for own, position, _ in new.places:
            known.places.append(_Place(standing if own is _PLAIN else own, position, self._sources))
        return True

    def placings(self, unread: Sequence[Any]) -> Placings:
        horses = self._horses[:MOST_RUNNERS]
        told = {horse: _decided(horse, len(horses)) for horse in horses}
        disputed = [f"{horse.called} {position}" for horse, position in told.items() if position and _OR in position]
        for place, holders in _by_place(told).items():
            if len(holders) == 1:
                continue
            highest = min(one.standing for one in holders)
            held = [one for one in holders if one.standing == highest]
            told |= dict.fromkeys(one for one in holders if one not in held)
            if len(held) > 1 and not set.intersection(*(one.sources_of(place) for one in held)):
                disputed.append(f"place {place}: {_OR.join(one.called for one in held)}")
                told |= dict.fromkeys(held, f"{place}?")
            elif len(held) > 1:
                # A source with two horses in a place means a dead heat.
                told |= {one: f"{place}=" for one in held if finishing_position(told[one]) == place}
        runners = tuple(
            Runner(**one.said, position=position, runs=(one.runs and not position) or None)
            for one, position in told.items()
        )
        states = {_state_of(position) for position in told.values() if position and not is_non_runner(position)}
        placed = [one for one, position in told.items() if finishing_position(position)]
        if placed and all(one.standing is _PROVISIONAL for one in placed):
            states = {RaceState.PROVISIONAL}
        words = "; ".join(disputed[:DISPUTES_TOLD]) or None
        found = Placings(runners, None, words, states.pop() if len(states) == 1 else None)
        if words or not unread or found.has_places:
            return found
        state = next(filter(None, (state_in(one) for one in unread if isinstance(one, str))), None)
        published = next(filter(None, map(_as_published, unread)), None)
        return found._replace(unread=None if state else published, state=found.state or state)


def _may_be_same(known: _Horse, new: _Horse, label: str) -> bool:
    """Two names under one number are two horses, and so are two numbers under one name."""
    if label.startswith(_ID):
        return True
    name_of = _number_of if label.startswith(_NAME) else _horse_named
    return len({name for name in (name_of(known.said), name_of(new.said)) if name}) <= 1


def _decided(horse: _Horse, field_size: int) -> str | None:
    """The position by the highest standing. Different places of equal standing are all told."""
    if horse.out or not horse.places:
        return horse.out
    places = [one for one in horse.places if _is_place(one.position, field_size)]
    if len(places) < 2:
        return places[0].position if places else None
    highest = min(one.standing for one in places)
    by_place: dict[Any, str] = {}
    for one in places:
        if one.standing == highest:
            place = finishing_position(one.position) or one.position
            by_place[place] = one.position if is_shared(one.position) else by_place.get(place, one.position)
    return _OR.join(by_place.values()) or None


def _is_place(position: str, field_size: int) -> bool:
    place = finishing_position(position)
    return place is None or place < MOST_PLACES or place <= field_size


def _by_place(told: Mapping[_Horse, str | None]) -> dict[int, list[_Horse]]:
    """The holders of each place that no source marks as shared. A horse that is "1 or 2" may be the winner as well."""
    held: dict[int, list[_Horse]] = {}
    for horse, position in told.items():
        place = finishing_position(position)
        if place and not is_shared(position):
            held.setdefault(place, []).append(horse)
    for winner in held.get(1, ())[:1]:
        either = (horse for horse, position in told.items() if position and _OR in position)
        held[1] += [one for one in either if one.sources_of(1) and one.standing == winner.standing]
    return held


@lru_cache(maxsize=1024)
def _state_of(position: str) -> RaceState | None:
    return RaceState.VOID if letters(position) == "v" else state_in(position)


def _as_published(value: Any) -> str | None:
    """None for a value that is no order: a flag, a count, money, a text of one word."""
    if isinstance(value, dict | list):
        listed = value[:MOST_RUNNERS] if isinstance(value, list) else dict(islice(value.items(), MOST_RUNNERS))
        # Sorted: the order of an object's fields says nothing.
        words = note_text(json.loads(json.dumps(listed, sort_keys=True)))
    else:
        words = string(value)
    order = _MONEY.sub("", words or "").strip(" ,")
    return words[:UNREAD_MAX] if words and re.search("[ ,;>|]|[0-9].*[0-9]", order) else None


class _Listed(NamedTuple):
    entries: list[Any]
    in_order: bool = True


def _lists(value: Any) -> list[_Listed]:
    """The list; the lists in {"count": 2, "items": […]}; the entries of {"1": {…}, "2": {…}}; a single entry."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and _horse_of(value[0]) is None:
        value = value[0]
    if isinstance(value, dict):
        if all(isinstance(name, str) and _NUMBER_ON_CLOTH.fullmatch(key) for key, name in value.items()):
            return [_Listed([{"number": key, "name": name} for key, name in value.items()])]
        if not is_by_key(value):
            wrapped = values_of([fields_of(value)], "lists.wrapped")
            return [found for one in wrapped for found in _entries(one) or _single(one)] or _single(value)
    return _entries(value)


def _entries(value: Any) -> list[_Listed]:
    entries = entries_of(value, _said_by_key)
    return [_Listed(entries, _is_in_order(value))] if entries else []


def _is_in_order(value: Any) -> bool:
    """False for several keys that are data: the order of an object's fields says nothing."""
    return not is_by_key(value) or (len(value) == 1 and _is_in_order(*value.values()))


def _single(value: Any) -> list[_Listed]:
    """A horse in the place of a list, as converters of XML write a list with one entry."""
    horse = _horse_of(value) if isinstance(value, dict) and is_runner(fields_of(value)) else None
    return [_Listed([value])] if horse and (horse.places or horse.out or "jockey" in horse.said) else []


def _said_by_key(key: str) -> dict[str, Any]:
    if len(key) <= len("ab") and key.isalpha():
        return {}
    if _NUMBER_ON_CLOTH.fullmatch(key):
        return {"number": key}
    return {"id": key} if is_id(key) or key.isdecimal() else {"horse": key}


def _order(value: Any, *, is_order: bool) -> _Read:
    """The horses of an order with their places; none if the value is no order."""
    if isinstance(value, str):
        return _in_text(value)
    if isinstance(value, list):
        return _in_groups(value) if is_order else []
    if not isinstance(value, dict):
        return []
    is_by_number = _is_by_number(value)
    if is_by_number and {*map(count, value.values())} == {*map(count, value)}:
        # Of {"1": 3, "2": 1, "3": 2} either number may be the place.
        return []
    if not is_by_number and _is_by_place(value):
        of_places = ((_position_in(_key_of_place(key)), refs) for key, refs in islice(value.items(), MOST_RUNNERS))
        found = [_placed(_read(refs if isinstance(refs, list) else [refs]), place) for place, refs in of_places]
        return [one for horses in found for one in horses][:MOST_RUNNERS]
    if is_order and _is_by_horse(value):
        by_horse = zip(value, map(_read_position, value.values()), strict=True)
        return [_placed([_horse_of(key)], place)[0] for key, place in islice(by_horse, MOST_RUNNERS)]
    if not is_order:
        return []
    return [one for entries, in_order in _lists(value) for one in (_in_groups if in_order else _read)(entries)]


def _is_by_place(value: Mapping[str, Any]) -> bool:
    """True for keys that are places, {"1": …, "2": …}, also with "PU" among the keys."""
    keys = [_key_of_place(key) for key in value]
    return any(map(finishing_position, keys)) and all(finishing_position(key) or _is_no_finish(key) for key in keys)


def _is_by_number(value: Mapping[str, Any]) -> bool:
    """True for {number: place}, {"5": 1, "2": 2, "1": 0}. False for {"1": 2, "2": 1}: {place: number} says the same."""
    if None in map(count, value) or any(isinstance(one, dict | list) for one in value.values()):
        return False
    said = {key: text(one) or "0" for key, one in value.items()}
    places = [place for one in said.values() if (place := finishing_position(one))]
    is_place = (finishing_position(one) or one.strip("0") == "" or _is_no_finish(one) for one in said.values())
    is_same_way = all(count(said.get(place)) == count(key) for key, place in said.items())
    return bool(places) and _is_ranking(places) and all(is_place) and not is_same_way


def _is_ranking(places: Iterable[int]) -> bool:
    """True for 1, 2, 2, 4."""
    ranked = pairwise([0, *sorted(places)])
    return all(place in {at, before} for at, (before, place) in enumerate(ranked, 1))


def _is_by_horse(value: Mapping[str, Any]) -> bool:
    """True for {"Horse A": 1, "Horse B": 2, "Horse C": "PU"}, False for {"winner": "Horse A", "margin": 2}."""
    places = ["-" if isinstance(place, dict | list) else text(place) or "0" for place in value.values()]
    is_place = (finishing_position(one) or _is_no_finish(one) or one == "0" for one in places)
    return 1 in map(finishing_position, places) and all(is_place) and not fields_of(value).facts


def _key_of_place(key: Any) -> str:
    """For example "1" for each of "1", "place_1" and "pos1"."""
    return re.sub("^(?:place|pos|position|p)[ _-]?(?=[0-9])", "", str(key).strip(), flags=re.IGNORECASE)


def _in_text(value: str) -> _Read:
    """The numbers of "4-7-2-1" and "4-7=2-1", the words of "A, B, C"."""
    said = _MONEY.sub("", value[:LONGEST_READ]).strip()
    if _ORDER_TEXT.fullmatch(said):
        # A slash between all numbers separates places, as a dash does.
        between = " ?[-,>;.] ?| " if re.search("[-,>;.]", said) else " ?[-,>;./] ?| "
        return _in_groups([re.split(" ?[=/] ?", part) for part in re.split(between, said)])
    names = [part.strip() for part in re.split("[,;>|]", said)]
    return _in_groups(names) if len(names) > 1 else []


def _in_groups(entries: Sequence[Any]) -> _Read:
    """The places 1 to n, unless an entry gives a place. An inner list is a dead heat."""
    groups: list[tuple[_Read, str | None]] = []
    left = MOST_RUNNERS
    for entry in entries[:MOST_RUNNERS]:
        refs, place = _group(entry)
        groups.append((_read(refs[:left]), place))
        left -= len(groups[-1][0])
    has_own = any(place or any(one and one.places for one in horses) for horses, place in groups)
    read: _Read = []
    for horses, place in groups:
        read += _placed(horses, place if place or has_own else str(len(read) + 1))
    return read


def _group(entry: Any) -> tuple[list[Any], str | None]:
    """The horses of an entry, and their place: [7, 2], {"position": 1, "runners": [{…}, {…}]}, ["1", "Horse A"]."""
    if isinstance(entry, list):
        if len(entry) > 1 and isinstance(entry[1], str) and _is_name(entry[1]):
            place = text(entry[0]) or ""
            if finishing_position(place) or _is_no_finish(place):
                return [entry[1]], place
        return entry, None
    if isinstance(entry, dict) and (lists := _lists(entry)):
        places = _outcome_of(fields_of(entry)).places
        return [one for entries, _ in lists for one in entries], places[0].position if places else None
    return [entry], None


def _placed(horses: _Read, place: str | None) -> _Read:
    """The horses without a place of their own take the place, several of them in a dead heat."""
    mark = "=" if len(horses) > 1 and finishing_position(place) and not is_shared(place) else ""
    for horse in horses:
        if place and horse and not horse.places:
            horse.places.append(_Place(_PLAIN, f"{place}{mark}"))
    return horses


def _read(entries: Iterable[Any]) -> _Read:
    return [_horse_of(one) for one in islice(entries, MOST_RUNNERS)]


def _horse_of(ref: Any) -> _Horse | None:
    """The entry's statement about a horse; None if no horse is named."""
    if isinstance(ref, dict):
        return _from_fields(_own_fields(ref))
    said = text(ref) if isinstance(ref, str) else identifier(ref)
    if said is None:
        return None
    found = _NUMBER_ON_CLOTH.fullmatch(said)
    if found and found["name"]:
        # The number may be the place: "1 Horse A".
        return _Horse([_name_label(found["name"]), _number_label(found["number"])], {"horse": found["name"]})
    if found:
        return _Horse([_number_label(found["number"]), _ID + said], {"number": found["number"]})
    if said.isdecimal() or is_id(said):
        return _Horse([_ID + said], {})
    return _Horse([_name_label(said), _ID + said], {"horse": said}) if _is_name(said) else None


def _from_fields(fields: Fields) -> _Horse | None:
    if "is.race" in fields.facts and not is_runner(fields):
        return None
    said: dict[str, str] = {}
    _read_texts(fields, _TEXTS, said)
    ids = fields.of("ids.runner")
    named = said.pop("horse", None)
    away = [said.pop(name) for name in _MAY_SAY_OUT if name in said and _is_nr_in_words(said[name])]
    price = said.get("starting_price", "")
    if not _HAS_PRICE.search(price):
        said.pop("starting_price", None)
    elif price[-1].isdecimal():
        said["starting_price"] = price + next(map(_favourite, fields.of("runner.favourite")), "")
    places, out, reason, runs = _outcome_of(fields, away)
    if isinstance(horse := fields.get("horse"), dict):
        inner = fields_of(horse)
        # A horse's own number may be of a register, so only people are taken from the horse.
        _read_texts(inner, _PEOPLE, said)
        ids += inner.of("ids.plain")
        named = first_of((inner,), "runner.horse_spoken", text) or named
        if not (places or out):
            places, out, why, is_said = _outcome_of(inner)
            reason, runs = why if out else reason, runs or is_said
    if named and named.endswith(")") and (marked := _NAME_OF_NON_RUNNER.fullmatch(named)):
        named, places, out = marked[1], [], OUT
    if named and _is_name(named):
        said["horse"] = named
    elif named and is_id(named):
        ids.append(named)
    if reason:
        said.setdefault("position_reason", reason)
    labels = [_ID + one for one in map(identifier, ids) if one]
    labels += [label for label in (_horse_named(said), _number_of(said)) if label]
    return _Horse(labels, said, places, out, runs) if labels else None


@lru_cache(maxsize=4096)
def _is_nr_in_words(said: str) -> bool:
    return fold(said[:LONGEST_NAME]) in _NON_RUNNER


def _favourite(value: Any) -> str:
    return _FAVOURITES.get(fold(str(value)[:LONGEST_NAME]), "")


def _read_texts(fields: Fields, texts: Mapping[str, str], said: dict[str, str]) -> None:
    for name, fact in texts.items():
        if name not in said and fact in fields.facts and (value := first_of((fields,), fact, text)):
            said[name] = value


@lru_cache(maxsize=1024)
def _name_label(horse: str) -> str:
    return _NAME + plain_name(horse).casefold()


def _number_label(number: str) -> str:
    return _NUMBER + number.lstrip("0").casefold()


def _horse_named(said: Mapping[str, str]) -> str | None:
    return _name_label(said["horse"]) if "horse" in said else None


def _number_of(said: Mapping[str, str]) -> str | None:
    return _number_label(said["number"]) if "number" in said else None


@lru_cache(maxsize=1024)
def _is_name(said: str) -> bool:
    """False for a number, an id and a word for no name ("TBC")."""
    is_word = any(map(str.isalpha, said)) and not is_id(said)
    return is_word and fold(said[:LONGEST_NAME]) not in _NO_NAME


def _own_fields(entry: dict[str, Any]) -> Fields:
    """With the fields of an inner runner, of its result and of its betting: {"result": {"place": 7}}."""
    fields = fields_of(entry)
    inner = fields.get("runner") or fields.get("node")
    own = Fields({**fields_of(inner), **fields, "runner": None}) if isinstance(inner, dict) else fields
    for name in own.facts.get("marks.objects", ()):
        if isinstance(own[name], dict):
            held = fields_of(own[name])
            wanted = _OF_BETS if name in NAMES_OF["marks.bets"] else _OF_OBJECTS
            told = {key: value for key, value in held.items() if key in wanted}
            both = {f"{name}{key}": value for key, value in held.items()} if name in _PLACE_NAMES else {}
            own = Fields({**told, **both, **own})
    return own


class _Outcome(NamedTuple):
    """Every place that an entry gives, the position of a horse without a place, and a reason.

    A non-runner has no place, even if the payload gives a number. `runs`: as `Runner.runs`.
    """

    places: list[_Place]
    out: str | None = None
    reason: str | None = None
    runs: bool = False


def _outcome_of(said: Fields, away: Sequence[str] = ()) -> _Outcome:
    """`away`: "NR" in the place of another text."""
    places = []
    for standing, fact in zip(Standing, _PLACES, strict=True):
        for position in filter(None, map(_read_position, said.of(fact))):
            is_anew = not position.isdecimal() and _PLACED_ANEW.search(position)
            places.append(_Place(Standing.OFFICIAL if is_anew else standing, position))
    positions = [one.position for one in places if not one.position.isdecimal()]
    if not (positions or away) and _OUTCOMES.isdisjoint(said.facts):
        return _Outcome(places)
    statuses, others = said.of("marks.status"), said.of("marks.no_finish", "state.result")
    folded = frozenset(fold((text(value) or "")[:LONGEST_NAME]) for value in (*statuses, *others))
    if not folded.isdisjoint({"winner", "won"}) or any(map(is_yes, said.of("marks.winner"))):
        places.append(_Place(_PLAIN, "1"))
    if any(value is True for value in said.of("marks.win")):
        places.append(_Place(_PLAIN, "1"))
    if not places:
        told = (one for one in map(_read_position, others) if one and fold(one[:LONGEST_NAME]) not in _PLAIN_STATUS)
        places = [_Place(_PLAIN, place) for place in islice(told, 1)]
    if any(map(flag, said.of("marks.dead_heat"))):
        shared = {one.position: f"{one.position}=" for one in places if finishing_position(one.position)}
        places = [
            one if is_shared(one.position) else one._replace(position=shared.get(one.position, one.position))
            for one in places
        ]
    spoken = [*filter(None, map(_read_status, statuses))]
    words = [*spoken, *positions, *filter(None, map(_read_status, others))]
    out, reason = _out_of(said, [*words, *away])
    if out:
        return _Outcome([], out, reason)
    return _Outcome(places, None, next(iter(spoken), None), _says_that_it_runs(said, folded))


def _says_that_it_runs(said: Fields, statuses: frozenset[str]) -> bool:
    is_in = any(is_yes(one) or fold(str(one)[:LONGEST_NAME]) == "in" for one in said.of("marks.running"))
    is_not_out = any(map(is_no, said.of("marks.non_runner", "marks.nr")))
    return is_in or is_not_out or not statuses.isdisjoint(_RUNS)


def _out_of(said: Fields, words: Sequence[str]) -> tuple[str | None, str | None]:
    """The position of a non-runner, a reserve, a disqualified horse or a horse that did not finish; and a reason."""
    away = next(filter(is_non_runner, words), None)
    if any(map(flag, said.of("marks.reserve"))) or fold(away or "").startswith(("reserve", "emergency")):
        return RESERVED, None
    is_marked = _is_marked(said, "non_runner") or any(map(_is_nr, said.of("marks.nr")))
    if away or is_marked or any(map(_is_not_running, said.of("marks.running"))):
        return OUT, None if fold(away or "nr") in _NON_RUNNER else away
    if disqualified := next(filter(_is_out_of_its_place, words), None):
        return disqualified, None
    return ("DSQ" if _is_marked(said, "disqualified") else next(filter(_is_no_finish, words), None)), None


def _is_marked(said: Fields, mark: str) -> bool:
    """By a flag, by the moment or the reason in its place, or by an object with any of these."""
    return any(map(flag_in, said.of(f"marks.{mark}")))


def _is_nr(value: Any) -> bool:
    """True for a flag. In other values "Nr." stands before a number."""
    return fold(str(value)[:LONGEST_NAME]) in {"true", "yes", "y", "nr"}


def _is_not_running(value: Any) -> bool:
    return is_no(value) or str(value).casefold() == "out"


def _is_out_of_its_place(status: str) -> bool:
    """A horse that is disqualified and placed last has a place."""
    return is_disqualified(status) and "placed" not in status.casefold()


def _is_no_finish(status: str) -> bool:
    is_out = did_not_finish(status) or is_non_runner(status) or is_disqualified(status)
    return is_out or _state_of(status) in LOST_OR_VOID


def _read_status(value: Any) -> str | None:
    """A text that is not common to all horses."""
    said = text(value) if isinstance(value, str | dict) else None
    return said if said and fold(said[:LONGEST_NAME]) not in _SAYS_NOTHING else None


def _read_position(value: Any) -> str | None:
    said = text(value) or ""
    # A list under `placed` may have horses.
    return _position_in(said) if not isinstance(value, list) or finishing_position(said) else None


@lru_cache(maxsize=1024)
def _position_in(position: str) -> str | None:
    """For example "1" for "1.0" and "First". 0 is no position: the horse would come before the winner."""
    if position.isdecimal():
        return position if position.strip("0") else None
    position = _WHOLE.sub(r"\1", position)
    if not position.strip("0-. ") or fold(position[:LONGEST_NAME]) in _NO_NAME:
        return None
    is_word = not re.search("[0-9]", position) and state_in(position) is not RaceState.WALKOVER
    place = finishing_position(position) if is_word else None
    return f"{place}{'=' if is_shared(position) else ''}" if place else position
