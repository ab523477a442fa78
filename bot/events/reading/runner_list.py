"""The runners of a race and their places, from every list, order, flag and winner of a record (Spec gap G2).

1. Each list gives entries, and each entry the labels of its horse: ids, name, number.
2. Entries with a label in common are one horse. Orders and winners name horses by any label.
3. All places that were said of a horse stand together: the highest standing decides. Places of one standing that
   differ are told together ("1 or 2"), and dispute the result.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from bot.events.race_state import RaceState, letters, state_in
from bot.events.races import OUT, RESERVED, Runner, finishing_position, is_non_runner, is_shared
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, Standing, fields_of, fold, values_of
from bot.events.reading.json_values import count, is_yes, note_text, string, text
from bot.events.reading.order_spellings import (
    MOST_RUNNERS,
    Group,
    Order,
    horses_in,
    in_groups,
    in_places,
    is_of_numbers,
    lists_in,
    named,
    not_running,
    orders_in,
    without_money,
)
from bot.events.reading.record_objects import LEADERS, NAMING_HORSES
from bot.events.reading.runner_entry import (
    ID_LABEL,
    NAME_LABEL,
    PLAIN,
    Horse,
    SaidPlace,
    horse_named,
    name_label,
    number_of,
    read_position,
    state_of_position,
)
from bot.events.reading.tabular import without_table

_ORDERS = {standing: f"order.{standing.name.casefold()}" for standing in Standing}
"""By standing. An order, a flag or a winner is plain unless the name of the field or object says more."""

_MAY_BE_PLACED_ALONE = frozenset({*NAMES_OF["lists.results"], *NAMES_OF["lists.placed"]})

_NO_ORDER = frozenset(NAMES_OF["state.status.own"]).union(NAMES_OF["lists.runners"])
"""Within an object that may be an order."""

_LISTS_ALONE = frozenset(NAMES_OF["marks.nr"])
"""Names of non-runners as a list: elsewhere "nr" is a number."""

_CALLED = frozenset({"horse", "number"})

MOST_PLACES = 40
"""From this number on, a number is a place only in a field of as many runners: feeds write 40 or 999 for "no place"."""

_NUMBERS = ("number", "no", "num", "cloth")
"""Ends of the names of a horse's number."""

MOST_WINNERS = 3
"""The most horses in a dead heat for first."""

UNREAD_MAX = 80

DISPUTES_TOLD = 4

_OR = " or "

_NO_HORSE = re.compile(
    r"\b(?:tbc|tba|tbd|await(?:ing|ed)|pending|photo(?:graph|[ -]?finish)?|(?:in|en)quiry|objection|dead[ -]?heat"
    r"|no (?:official )?(?:winner|result)|not (?:yet )?(?:known|available|official|declared|announced))\b",
    re.IGNORECASE,
)
"""Words in the place of a winner."""

_TOGETHER = re.compile(" ?[/&,] ?| and ")

_DEAD_HEAT = re.compile(r" ?\(?dead[ -]?heat\)?", re.IGNORECASE)


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


def read_placings(objects: Iterable[Fields]) -> Placings:
    """The runners with their placings, MOST_RUNNERS at most."""
    objects = list(objects)
    outcomes = chain.from_iterable(
        values_of(objects, fact) for fact in ("state.status", "state.status.own", "state.result")
    )
    is_tied = any(map(_is_for_first, values_of(objects, "marks.dead_heat"))) or any(
        letters(string(one)) == "deadheat" for one in outcomes
    )
    horses = _Horses(is_tied=is_tied)
    objects = [one for one in objects if not NAMING_HORSES.isdisjoint(one.facts)]
    field = list[Horse]()
    listed = list[tuple[list[Horse | None], Standing]]()
    for name, value, standing in _said(objects, "lists.runners"):
        are_names = isinstance(value, list) and not any(isinstance(one, dict) for one in value)
        may_be_order = are_names and name in NAMES_OF["lists.results"]
        if may_be_order and len(value) == 1 and state_in(string(value[0])):
            continue
        for entries, in_order in lists_in(value):
            read = horses_in((in_places if in_order and may_be_order else named)(entries))
            listed.append((read if any(read) else horses_in(in_groups(entries)), standing))
            if name not in _MAY_BE_PLACED_ALONE:
                field += filter(None, read)
    # Entries of ids alone are of horses that another list names.
    for read, standing in sorted(listed, key=lambda one: not any(one and _CALLED & one.said.keys() for one in one[0])):
        horses.add(read, standing=standing)
    if len(field) > 1 and not horses.are_placed:
        horses.called = _CALLED.intersection(chain.from_iterable(one.said for one in field))
    tables = (value for value in values_of(objects, "lists.runners") if without_table(value) is None)
    unread = [*_orders(objects, horses), *_leaders(objects, horses), *tables]
    for fact, out in (("lists.non_runners", OUT), ("lists.reserves", RESERVED), ("lists.disqualified", "DSQ")):
        for name, value, _ in _said(objects, fact):
            if name in _LISTS_ALONE and not isinstance(value, list):
                continue
            # A text may say that no horse was disqualified.
            only_known = out == "DSQ" and isinstance(value, str)
            horses.add(horses_in(*not_running(value)), out=out, only_known=only_known)
    return horses.placings(unread)


def _said(objects: Iterable[Fields], fact: str, of_name: Standing = PLAIN) -> Iterator[tuple[str, Any, Standing]]:
    """Each value of a fact, with the field's name, and the standing of the name or else of the object."""
    for fields in objects:
        for name in fields.facts.get(fact, ()):
            yield name, without_table(fields[name]), fields.standing if of_name is PLAIN else of_name


def _orders(objects: Sequence[Fields], horses: "_Horses") -> Iterator[Any]:
    """Adds the orders of all standings. Gives back each order that is not read."""
    for of_name, fact in _ORDERS.items():
        for name, value, standing in _said(objects, "order.in_words" if of_name is PLAIN else fact, of_name):
            is_plain_list = isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)
            if is_plain_list and name in NAMES_OF["order.parallel"]:
                if not horses.add_places(value):
                    yield value
                continue
            is_order = of_name is not PLAIN or name in NAMES_OF[fact]
            may_be_list = name in NAMES_OF["lists.results"]
            orders = orders_in(value, is_order=is_order, may_be_list=may_be_list)
            ordered = horses_in(*orders)
            said = value[0] if is_plain_list and len(value) == 1 and state_in(string(value[0])) else value
            are_placed = any(group.place for order in orders for group in order.groups)
            is_words = isinstance(said, str) and not (is_of_numbers(said) or (are_placed and (is_order or may_be_list)))
            is_unread = is_order or (ordered and not state_in(string(said)))
            only_known = is_words or horses.are_called(ordered)
            if not horses.add(ordered, standing=standing, only_known=only_known) and is_unread:
                yield said


def _leaders(objects: Sequence[Fields], horses: "_Horses") -> Iterator[Any]:
    """Adds the horses of given places. Yields each unread value."""
    is_placed = horses.are_placed
    by_number = any(count(one) is not None for one in values_of(objects, "order.winner"))
    for place, fact, of_name in LEADERS:
        for name, value, standing in _said(objects, fact, of_name):
            refs = value if isinstance(value, list) else horses.known_in(value) or [value]
            if len(refs) > 1 and any(map(_is_of_a_race, refs)):
                yield value
                continue
            if told := "id" if name.endswith("id") else "number" if name.endswith(_NUMBERS) else None:
                refs = [{told: one} if isinstance(one, str | int) else one for one in refs]
            refs = [one for one in refs if _names_a_leader(one, fact, by_number=by_number)]
            read = horses_in(Order([Group(refs, place)]))
            # "ABANDONED" in the place of the winner is a horse only if a listed horse has the name.
            is_words = isinstance(value, str) and bool(state_in(value) or _NO_HORSE.search(value))
            only_known = is_words or (not is_placed and horses.are_called(read))
            if not horses.add(read, standing=standing, only_known=only_known):
                yield f"winner {value}" if place == "1" and isinstance(value, str) and not state_in(value) else value


def _is_for_first(dead_heat: Any) -> bool:
    return is_yes(dead_heat) or finishing_position(text(dead_heat)) == 1


def _is_of_a_race(ref: Any) -> bool:
    """True for one of the winners of several races: {"off": "13:00", "horse": "A"}, {"year": 2025, "horse": "B"}."""
    return isinstance(ref, dict) and "is.winner_of_a_race" in fields_of(ref).facts


def _names_a_leader(ref: Any, fact: str, *, by_number: bool) -> bool:
    """A flag names nobody. A number under `second` may be a time, unless the winner is told `by_number`."""
    if isinstance(ref, bool) or not isinstance(ref, str | int | float | dict):
        return False
    return by_number or fact.startswith("order.winner") or isinstance(ref, dict) or not str(ref).isdecimal()


class _Horses:
    """The horses of a race, collected source by source.

    `called`: "horse" or "number", or both, where a whole field is listed so, without places. An unlisted number is then
    no horse, and an unlisted name no winner. `is_tied`: the race says that two horses dead-heated for first.
    """

    def __init__(self, *, is_tied: bool) -> None:
        self._is_tied = is_tied
        self.called = frozenset[str]()
        self._horses: list[Horse] = []
        self._by_label: dict[str, Horse] = {}
        self._sources = 0

    def add(
        self,
        read: Sequence[Horse | None],
        *,
        standing: Standing = PLAIN,
        only_known: bool = False,
        out: str | None = None,
    ) -> bool:
        """False if no horse is read. `only_known`: nothing is added unless other lists have each of the horses.

        `standing`: of each place that is plain by its own name. `out`: the position of horses that do not run.
        """
        if only_known and not all(one and self._known(one) for one in read):
            return False
        self._sources += 1
        found = [one is not None and self._add(one, standing, out) for one in read]
        return any(found)

    def are_called(self, read: Iterable[Horse | None]) -> bool:
        """Whether a horse is named as the listed field is."""
        return any(one and not self.called.isdisjoint(one.said) for one in read)

    @property
    def are_placed(self) -> bool:
        return any(horse.places for horse in self._horses)

    def known_in(self, value: Any) -> list[str]:
        """The horses of "Horse A / Horse B (dead heat)"; empty unless all are known."""
        said = _TOGETHER.split(_DEAD_HEAT.sub("", text(value) or "")) if isinstance(value, str) else []
        return said if len(said) > 1 and all(name_label(one) in self._by_label for one in said) else []

    def add_places(self, places: Sequence[Any]) -> bool:
        """False unless each horse has a place: the list beside the list of horses."""
        if len(places) != len(self._horses):
            return False
        self._sources += 1
        for horse, place in zip(self._horses, places, strict=True):
            if position := read_position(place):
                horse.places.append(SaidPlace(PLAIN, position, self._sources))
        return True

    def _known(self, new: Horse) -> Horse | None:
        same = (one for label in new.labels if (one := self._by_label.get(label)) and _may_be_same(one, new, label))
        return next(same, None)

    def _add(self, new: Horse, standing: Standing, out: str | None) -> bool:
        known = self._known(new)
        if new.is_bare and len({id(one) for label in new.labels if (one := self._by_label.get(label))}) > 1:
            # One horse's number is another horse's id.
            return False
        if known is None:
            is_unlisted = "horse" not in new.said and "number" in self.called and not out
            if is_unlisted or not ("horse" in new.said or "number" in new.said):
                return False
            known = Horse([], new.said)
            self._horses.append(known)
        else:
            known.said = {**new.said, **known.said}
        for label in new.labels:
            self._by_label.setdefault(label, known)
        known.out = known.out or new.out or out
        known.runs = known.runs or new.runs
        for place in new.places:
            of = standing if place.standing is PLAIN else place.standing
            of = Standing.PROVISIONAL if new.is_provisional and of is PLAIN else of
            source = id(known) if place.by_mark else self._sources
            known.places.append(SaidPlace(of, place.position, source, place.by_mark))
        return True

    def placings(self, unread: Sequence[Any]) -> Placings:
        horses = self._horses[:MOST_RUNNERS]
        told = {horse: _decided(horse, len(horses)) for horse in horses}
        if reserves := [one for one in horses if one.out == RESERVED and one.places]:
            told |= _of_reserves_that_ran(reserves, told.values())
        disputed = [f"{horse.called} {position}" for horse, position in told.items() if position and _OR in position]
        for place, holders in _by_place(told).items():
            if len(holders) == 1:
                continue
            highest = min(one.standing for one in holders)
            held = [one for one in holders if one.standing == highest]
            told |= dict.fromkeys(one for one in holders if one not in held)
            if same := _one_horse(held, place):
                named, numbered = same
                named.said = {**numbered.said, **named.said}
                del told[numbered]
                continue
            marks = {one.is_marked_winner for one in held}
            is_tie = self._is_tied and len(held) == 2 and marks == {True}
            # The mark of a single winner contradicts a dead heat. So do many horses: their "1" is a flag.
            is_likely = len(marks) == 1 and (place > 1 or len(held) <= MOST_WINNERS)
            is_one_source = is_likely and set.intersection(*(one.sources_of(place) for one in held))
            if len(held) > 1 and not (is_tie or is_one_source):
                disputed.append(f"place {place}: {_OR.join(one.called for one in held)}")
                told |= dict.fromkeys(held, f"{place}?")
            elif len(held) > 1:
                # A source with two horses in a place means a dead heat.
                told |= {one: f"{place}=" for one in held if finishing_position(told[one]) == place}
        runners = tuple(
            Runner(**one.said, position=position, runs=(one.runs and not position) or None)
            for one, position in told.items()
        )
        states = {state_of_position(position) for position in told.values() if position and not is_non_runner(position)}
        placed = {one: at for one, position in told.items() if (at := finishing_position(position))}
        best = min(placed.values(), default=1)
        # A horse was put back from the first place, and no other horse has the place.
        disputed += [f"{one.called} 1 or {told[one]}" for one in placed if best > 1 and one.sources_of(1)]
        if placed and all(one.standing is Standing.PROVISIONAL for one, at in placed.items() if at == best):
            states = {RaceState.PROVISIONAL}
        words = "; ".join(disputed[:DISPUTES_TOLD]) or None
        found = Placings(runners, None, words, states.pop() if len(states) == 1 else None)
        if words or not unread or found.has_places:
            return found
        state = next(filter(None, (state_in(one) for one in unread if isinstance(one, str))), None)
        published = next(filter(None, map(_as_published, unread)), None)
        return found._replace(unread=None if state else published, state=found.state or state)


def _may_be_same(known: Horse, new: Horse, label: str) -> bool:
    """Two names under one number are two horses, and so are two numbers under one name."""
    if label.startswith(ID_LABEL):
        return True
    name_of = number_of if label.startswith(NAME_LABEL) else horse_named
    return len({name for name in (name_of(known.said), name_of(new.said)) if name}) <= 1


def _decided(horse: Horse, field_size: int) -> str | None:
    """The position by the highest standing. Different places of equal standing are all told."""
    if horse.out or not horse.places:
        return horse.out
    highest_place = max(MOST_PLACES - 1, field_size)
    places = [one for one in horse.places if (finishing_position(one.position) or 0) <= highest_place]
    if len(places) < 2:
        return places[0].position if places else None
    highest = min(one.standing for one in places)
    by_place: dict[Any, str] = {}
    for one in places:
        if one.standing == highest:
            place = finishing_position(one.position) or one.position
            by_place[place] = one.position if is_shared(one.position) else by_place.get(place, one.position)
    return _OR.join(by_place.values()) or None


def _of_reserves_that_ran(reserves: Iterable[Horse], others: Iterable[str | None]) -> dict[Horse, str]:
    """The place of a reserve, where the place alone is missing before another runner's place."""
    held = [finishing_position(one or "") or 0 for one in others]
    places = {one: one.places[0].position for one in reserves}
    ran = {at for one in places.values() if (at := finishing_position(one)) and at < max(held)}
    are_all = sorted({*ran, *filter(None, held)}) == [*range(1, max(held) + 1)] and ran.isdisjoint(held)
    return {one: place for one, place in places.items() if are_all and finishing_position(place) in ran}


def _by_place(told: Mapping[Horse, str | None]) -> dict[int, list[Horse]]:
    """The holders of each place that no source marks as shared. A horse that is "1 or 2" may be the winner as well."""
    held: dict[int, list[Horse]] = {}
    for horse, position in told.items():
        place = finishing_position(position)
        if place and not is_shared(position):
            held.setdefault(place, []).append(horse)
    for winner in held.get(1, ())[:1]:
        either = (horse for horse, position in told.items() if position and _OR in position)
        held[1] += [one for one in either if one.sources_of(1) and one.standing == winner.standing]
    return held


def _one_horse(held: Sequence[Horse], place: int) -> tuple[Horse, Horse] | None:
    """The horse of a place that one source gives by name alone, and another source by number alone."""
    by_name = [one for one in held if not number_of(one.said)]
    by_number = [one for one in held if not horse_named(one.said)]
    if len(held) != 2 or len(by_name) != 1 or len(by_number) != 1 or by_name == by_number:
        return None
    is_apart = by_name[0].sources_of(place).isdisjoint(by_number[0].sources_of(place))
    return (by_name[0], by_number[0]) if is_apart else None


def _as_published(value: Any) -> str | None:
    """None for a value that is no order: a flag, a count, money, a text of one word."""
    if isinstance(value, dict):
        value = {name: one for name, one in value.items() if fold(name[:LONGEST_NAME]) not in _NO_ORDER}
    if isinstance(value, dict | list):
        listed = value[:MOST_RUNNERS] if isinstance(value, list) else dict(islice(value.items(), MOST_RUNNERS))
        # Sorted: the order of an object's fields says nothing.
        words = note_text(json.loads(json.dumps(listed, sort_keys=True)))
    else:
        words = string(value)
    order = without_money(words or "").strip(" ,")
    return words[:UNREAD_MAX] if words and re.search("[ ,;>|]|[0-9].*[0-9]", order) else None
