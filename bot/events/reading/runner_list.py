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
from itertools import chain, islice
from typing import Any, NamedTuple

from bot.events.race_state import RaceState, letters, state_in
from bot.events.races import OUT, RESERVED, Runner, finishing_position, is_non_runner, is_shared, plain_name
from bot.events.reading.aliases import string
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, fields_of, first_of, fold, names, values_of
from bot.events.reading.json_values import LONGEST_READ, flag, identifier, note_text, text
from bot.events.reading.record_objects import RACING_FIELDS, entries_of, is_by_key, is_id

POSITION_STANDINGS = ("place.official", "place.plain", "place.past_the_post")
ORDER_STANDINGS = ("order.official", "order.plain", "order.past_the_post")
LEADERS = (
    *(("1", "order.winner.official", 0), ("1", "order.winner", 1), ("1", "order.first", 1)),
    *(("2", "order.second", 1), ("3", "order.third", 1), ("4", "order.fourth", 1)),
)
"""Fields for the horse in a given place, with the standing of the name."""

RUNNER_FIELDS = {
    f"runner.{name}": name
    for name in (
        *("horse", "number", "draw", "jockey", "trainer", "starting_price", "official_rating", "beaten"),
        "position_reason",
    )
}
POSITION_NAMES = frozenset(name for standing in POSITION_STANDINGS for name in NAMES_OF[standing])
ORDER_NAMES = frozenset(name for standing in ORDER_STANDINGS for name in NAMES_OF[standing])
MARKS = frozenset(fact for fact in NAMES_OF if fact.startswith("marks."))
OF_RUNNER_BETS = frozenset({*NAMES_OF["marks.status"], *NAMES_OF["marks.non_runner"]})
OF_RUNNER_OBJECTS = POSITION_NAMES.union(*map(NAMES_OF.__getitem__, MARKS))
"""Fields of a runner that may stand in an object of the runner: its result, its betting."""

ONLY_RUNNERS = POSITION_NAMES.union(names("horse name|id?, jockey name?, cloth number"))
"""Fields of a runner, even beside the race's name."""

ONLY_RACES = RACING_FIELDS - {"winner"}
"""Of a runner, `winner` may be a flag."""

PLAIN_STATUSES = frozenset(
    names(
        "ran|runner|running|declared|confirmed|active|starter|started|finished|finisher|placed|result|official|final|ok"
        "|normal|winner|won|unknown|none|entered|entry|complete|completed|weighed_in|unplaced|also_ran|settled"
        "|confirmed_runner|loser|placing|partant"
    )
)

NO_FINISH_CODES = frozenset(
    names("pu|p|f|ur|u|bd|b|ro|su|s|ref|rr|r|rtr|co|lft|nr|dnf|dns|dq|dsq|dis|disq|void|voi|abd|scr|wd")
)
NO_FINISH_WORDS = tuple(
    names(
        "pulled_up|fell|fallen|unseated|brought_down|ran_out|slipped_up|refused|carried_out|left|non_runner|withdrawn"
        "|scratched|did_not|disq|stopped|lame|failed_to_finish|hampered|rider"
    )
)
_PLACED_ANEW = re.compile("promoted|demoted|placed", re.IGNORECASE)
"""Words beside a place after an inquiry."""

_DISQUALIFIED = re.compile(r"^(?!.*placed).*(?:disq|dsq|\bdq|dq\b|dq[0-9]|distanc(?:ed|é))", re.IGNORECASE)
"""A horse that is disqualified and placed last has a place."""

MOST_RUNNERS = 200
"""Four times the largest field."""

MOST_PLACES = 40
"""From this number on, a number is a place only in a field of as many runners: feeds write 40 or 999 for "no place"."""

UNREAD_MAX = 80
DISPUTES_TOLD = 4

_OR = " or "
_NUMBER, _NAME, _ID = "number ", "name ", "id "
_RESULT = names("full? result|results")
_PARALLEL = names("finish|finishing? positions")
"""A list of numbers under these names has the places of the runners, in the order of the runners."""

_STATE_CODES = {"voi": RaceState.VOID, "v": RaceState.VOID, "abd": RaceState.ABANDONED, "abn": RaceState.ABANDONED}
_PLAIN_NON_RUNNERS = frozenset({"nr", "nonrunner", "nonpartant", "scratched", "withdrawn"})

_WHOLE = re.compile(r"\A([0-9]+)\.0+\Z")
_NO_NAME = frozenset(
    names("tbc|tba|tbd|na|none|null|nil|unknown|pending|awaited|to_be_confirmed|not_available|no_winner|result")
)
_SAYS_NOTHING = PLAIN_STATUSES | _NO_NAME
_NUMBER_ON_CLOTH = re.compile(
    r"(?:#|n[or]\.? ?)?\(?(?P<number>[0-9]{1,3}[A-Za-z]?)(?:[.)]? ?(?P<name>[^\W\d]{2}.+))?\)?", re.IGNORECASE
)
"""As an order names a horse: "4", "#4", "No. 4", "4. Horse A"."""

_ORDER_TEXT = re.compile(r"[0-9]{1,2}[A-Za-z]?(?: ?(?:[-,/>=;.]| ) ?[0-9]{1,2}[A-Za-z]?)+")

_STATES = MARKS - {"marks.objects"} | {"state.result"}
"""Facts that may say of a horse that it has no place, or that its place is another."""

PLAIN = 1
"""The standing of a place by an order, a flag or a winner, in POSITION_STANDINGS."""


class Placings(NamedTuple):
    """`unread`: an unreadable order, as published. `disputed`: contradictory places.

    `state`: what every position says of the race.
    """

    runners: tuple[Runner, ...] = ()
    unread: str | None = None
    disputed: str | None = None
    state: RaceState | None = None

    @property
    def has_places(self) -> bool:
        return any(runner.finishing_position for runner in self.runners)


class _Place(NamedTuple):
    standing: int
    position: str
    source: int = 0


class _Ranked(NamedTuple):
    """A horse as a list names it, by an object, a number, an id or a name. `place`: by the order of the list."""

    ref: Any
    place: str | None = None
    standing: int = PLAIN


@dataclass(eq=False)
class _Horse:
    """`said`: a runner's fields, without the position. `out`: the position of a horse without a place: "PU", "NR"."""

    labels: list[str]
    said: dict[str, str]
    places: list[_Place] = dataclass_field(default_factory=list)
    out: str | None = None


def read_placings(objects: Iterable[Fields]) -> Placings:
    """At most MOST_RUNNERS runners."""
    objects, horses = tuple(map(_with_inner_names, objects)), _Horses()
    for name, value in values_of(objects, "lists.runners"):
        for entries in _lists(value):
            is_order = any(isinstance(one, list) for one in entries) or (
                name in _RESULT and not any(isinstance(one, dict) for one in entries)
            )
            horses.add(_in_groups(entries) if is_order else map(_Ranked, entries))
    unread = list(_orders(objects, horses))
    for place, fact, standing in LEADERS:
        for _, value in values_of(objects, fact):
            listed = value[:MOST_RUNNERS] if isinstance(value, list) else [value]
            refs = [one for one in listed if _names_a_leader(one, fact)]
            # "ABANDONED" in the place of the winner is a horse only if a listed horse has the name.
            only_known = isinstance(value, str) and state_in(value) is not None
            ranked = [one._replace(standing=standing) for one in _shared(refs, place)]
            if not horses.add(ranked, only_known=only_known):
                unread.append(value)
    for key, out in (("non_runners", OUT), ("reserves", RESERVED)):
        for _, value in values_of(objects, f"lists.{key}"):
            horses.add(map(_Ranked, _named_in(value)), out=out)
    return horses.placings(unread)


def _with_inner_names(fields: Fields) -> Fields:
    """With the orders of an object under both names: of {"results": {"official": […]}}, "results official"."""
    inner = {
        f"{name}{key}": entry
        for name, value in fields.items()
        if isinstance(value, dict)
        for key, entry in fields_of(value).items()
        if f"{name}{key}" in ORDER_NAMES
    }
    return Fields({**fields, **inner}) if inner else fields


def _named_in(value: Any) -> list[Any]:
    """The horses in a list, in {"2": "Lame"}, or in "2, 5"."""
    if isinstance(value, str):
        return re.split(" ?, ?| - |-(?=[0-9])", value.strip())
    if isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values()):
        return list(value)
    return [one for entries in _lists(value) for one in entries]


def _orders(objects: Iterable[Fields], horses: "_Horses") -> Iterator[Any]:
    """Adds the orders of all standings. Gives back each order that is not read."""
    for standing, fact in enumerate(ORDER_STANDINGS):
        for name, value in values_of(objects, "order.in_words" if standing == PLAIN else fact):
            if name in _PARALLEL and isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
                if not horses.add_places(value):
                    yield value
                continue
            is_order = name in NAMES_OF[fact]
            ranked = [one._replace(standing=standing) for one in _order(value, is_order=is_order)]
            is_words = isinstance(value, str) and not _ORDER_TEXT.fullmatch(value[:LONGEST_READ].strip())
            if not horses.add(ranked, only_known=is_words) and (ranked or is_order):
                yield value


def is_runner(fields: Fields) -> bool:
    return not ONLY_RUNNERS.isdisjoint(fields)


class _Horses:
    """The horses of a race, collected source by source."""

    def __init__(self) -> None:
        self._horses: list[_Horse] = []
        self._by_label: dict[str, _Horse] = {}
        self._sources = 0

    def add(self, ranked: Iterable[_Ranked], *, only_known: bool = False, out: str | None = None) -> bool:
        """False if no horse is read. `only_known`: words that name no horse of another list name none.

        `out`: the position of each of these horses, none of which runs.
        """
        self._sources += 1
        found = [self._add(one, only_known=only_known, out=out) for one in islice(ranked, MOST_RUNNERS)]
        return any(found) and (all(found) or not only_known)

    def add_places(self, places: Sequence[Any]) -> bool:
        """False unless each horse has a place: the list beside the list of horses."""
        if len(places) != len(self._horses):
            return False
        self._sources += 1
        for horse, place in zip(self._horses, places, strict=True):
            if position := _read_position(place):
                horse.places.append(_Place(PLAIN, position, self._sources))
        return True

    def _add(self, one: _Ranked, *, only_known: bool, out: str | None) -> bool:
        new = _horse_of(one.ref)
        if new is None:
            return False
        same = (label for label in new.labels if label in self._by_label and self._is_known(label, new))
        known = next((self._by_label[label] for label in same), None)
        if known is None:
            if only_known or not new.said.keys() & {"horse", "number"}:
                return False
            known = _Horse([], {})
            self._horses.append(known)
        for label in new.labels:
            self._by_label.setdefault(label, known)
        known.said = {**new.said, **known.said}
        known.out = known.out or new.out or out
        places = new.places or ([_Place(one.standing, one.place)] if one.place else [])
        known.places += [_Place(_standing(place, one), place.position, self._sources) for place in places]
        return True

    def _is_known(self, label: str, new: _Horse) -> bool:
        """Two names under one number are two horses, and so are two numbers under one name."""
        if label.startswith(_ID):
            return True
        known = self._by_label[label]
        name_of = _number_of if label.startswith(_NAME) else _horse_named
        return len({name for name in (name_of(known.said), name_of(new.said)) if name}) <= 1

    def placings(self, unread: Sequence[Any]) -> Placings:
        horses = self._horses[:MOST_RUNNERS]
        told = {horse: _decided(horse, len(horses)) for horse in horses}
        disputed = [f"{_called(horse)} {position}" for horse, position in told.items() if position and _OR in position]
        for place, holders in _by_place(told).items():
            highest = min(map(_standing_of, holders))
            held = [one for one in holders if _standing_of(one) == highest]
            if len(held) < len(holders):
                told |= dict.fromkeys(set(holders) - set(held))
            if _contradict(held, place):
                disputed.append(f"place {place}: {_OR.join(map(_called, held))}")
                told |= dict.fromkeys(held, f"{place}?")
        runners = tuple(Runner(**one.said, position=position) for one, position in told.items())
        states = {_state_of(position) for position in told.values() if position and not is_non_runner(position)}
        words = "; ".join(disputed[:DISPUTES_TOLD]) or None
        found = Placings(runners, None, words, states.pop() if len(states) == 1 else None)
        if found.has_places or words:
            return found
        state = next(filter(None, (state_in(one) for one in unread if isinstance(one, str))), None)
        published = next(filter(None, map(_as_published, unread)), None)
        return found._replace(unread=None if state else published, state=found.state or state)


def _standing(place: _Place, one: _Ranked) -> int:
    """A list of official or provisional places says so for each of its entries."""
    return place.standing if one.standing == PLAIN else one.standing


def _standing_of(horse: _Horse) -> int:
    return min(place.standing for place in horse.places)


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
        held[1] += [one for one in either if _sources_of(one, 1) and _standing_of(one) == _standing_of(winner)]
    return held


def _sources_of(horse: _Horse, place: int) -> set[int]:
    return {one.source for one in horse.places if finishing_position(one.position) == place}


def _contradict(held: Sequence[_Horse], place: int) -> bool:
    """True if each source gives the place to another horse. A source with two horses in a place means a dead heat."""
    return len(held) > 1 and not set.intersection(*(_sources_of(horse, place) for horse in held))


@lru_cache(maxsize=1024)
def _state_of(position: str) -> RaceState | None:
    return _STATE_CODES.get(letters(position)) or state_in(position)


def _called(horse: _Horse) -> str:
    return horse.said.get("horse") or f"no. {horse.said.get('number')}"


def _names_a_leader(ref: Any, fact: str) -> bool:
    """A number under `second` may be a time, and a flag under `winner` names nobody."""
    if isinstance(ref, bool) or not isinstance(ref, str | int | dict):
        return False
    return fact.startswith("order.winner") or isinstance(ref, dict) or not str(ref).isdecimal()


def _lists(value: Any) -> list[list[Any]]:
    """The list; the lists in {"count": 2, "items": […]}; the entries of {"1": {…}, "2": {…}}."""
    if _is_numbered(value):
        return [[{"number": key, "name": name} for key, name in value.items()]]
    if isinstance(value, dict) and not is_by_key(value):
        held = fields_of(value)
        return [entries for _, one in values_of([held], "lists.wrapped") if (entries := entries_of(one, _said_by_key))]
    entries = entries_of(value, _said_by_key)
    return [entries] if entries else []


def _is_numbered(value: Any) -> bool:
    """True for {"3": "Horse A", "7": "Horse B"}."""
    return isinstance(value, dict) and all(
        isinstance(name, str) and _NUMBER_ON_CLOTH.fullmatch(key) for key, name in value.items()
    )


def _said_by_key(key: str) -> dict[str, Any]:
    if len(key) <= len("ab") and key.isalpha():
        return {}
    if _NUMBER_ON_CLOTH.fullmatch(key):
        return {"number": key}
    return {"id": key} if is_id(key) or key.isdecimal() else {"horse": key}


def _order(value: Any, *, is_order: bool) -> list[_Ranked]:
    """The horses of an order with their places; none if the value is no order."""
    if isinstance(value, str):
        return _in_text(value)
    if isinstance(value, list):
        return _in_groups(value) if is_order else []
    if not isinstance(value, dict):
        return []
    if value and all(finishing_position(_key_of_place(key)) for key in value):
        return [one for key, refs in value.items() for one in _shared(refs, _key_of_place(key))]
    places = [text(place) for place in value.values() if not isinstance(place, dict | list)]
    if is_order and len(places) == len(value) and any(map(finishing_position, places)):
        return [_Ranked(key, place) for key, place in zip(value, places, strict=True)]
    return [one for entries in _lists(value) for one in _in_groups(entries)] if is_order else []


def _key_of_place(key: Any) -> str:
    """Of "1", "place_1" and "pos1", "1"."""
    return re.sub("^(?:place|pos|position|p)[ _-]?(?=[0-9])", "", str(key).strip(), flags=re.IGNORECASE)


def _in_text(value: str) -> list[_Ranked]:
    """Of "4-7-2-1" and "4-7=2-1" the numbers, of "A, B, C" the words."""
    said = value[:LONGEST_READ].strip()
    if _ORDER_TEXT.fullmatch(said):
        # A slash between all numbers separates places, as a dash does.
        between = " ?[-,>;.] ?| " if re.search("[-,>;.]", said) else " ?[-,>;./] ?| "
        return _in_groups([re.split(" ?[=/] ?", part) for part in re.split(between, said)])
    names = [part.strip() for part in re.split("[,;>|]", said)]
    return _in_groups(names) if len(names) > 1 else []


def _in_groups(entries: Sequence[Any]) -> list[_Ranked]:
    """The places 1 to n, unless an entry gives a place. An inner list is a dead heat."""
    read = [_group(entry) for entry in entries[:MOST_RUNNERS]]
    every = islice(chain.from_iterable(refs for refs, _ in read), MOST_RUNNERS)
    has_own = any(place for _, place in read) or any((one := _horse_of(ref)) and one.places for ref in every)
    ranked: list[_Ranked] = []
    for refs, place in read:
        ranked += _shared(refs, None if has_own and not place else place or str(len(ranked) + 1))
        if len(ranked) >= MOST_RUNNERS:
            break
    return ranked


def _group(entry: Any) -> tuple[list[Any], str | None]:
    """The horses of an entry, and their place: [7, 2], {"position": 1, "runners": [{…}, {…}]}, ["1", "Horse A"]."""
    if isinstance(entry, list):
        is_row = (
            len(entry) > 1 and isinstance(entry[1], str) and _is_name(entry[1]) and finishing_position(text(entry[0]))
        )
        return ([entry[1]], text(entry[0])) if is_row else (entry, None)
    if isinstance(entry, dict) and (lists := _lists(entry)):
        places = _places_of(fields_of(entry))
        return [one for entries in lists for one in entries], places[0].position if places else None
    return [entry], None


def _shared(refs: Any, place: str | None) -> list[_Ranked]:
    refs = refs if isinstance(refs, list) else [refs]
    mark = "=" if len(refs) > 1 and not is_shared(place) else ""
    return [_Ranked(ref, place and f"{place}{mark}") for ref in refs]


def _as_published(value: Any) -> str | None:
    """None for a value that is no order: a flag, a count, a text of one word."""
    if isinstance(value, dict | list):
        listed = value[:MOST_RUNNERS] if isinstance(value, list) else dict(islice(value.items(), MOST_RUNNERS))
        # Sorted: the order of an object's fields says nothing.
        words = note_text(json.loads(json.dumps(listed, sort_keys=True)))
    else:
        words = string(value)
    return words[:UNREAD_MAX] if words and (" " in words or re.search("[0-9].*[0-9]", words)) else None


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
    if not is_runner(fields) and not ONLY_RACES.isdisjoint(fields):
        return None
    horse = fields_of(fields["horse"]) if isinstance(fields.get("horse"), dict) else None
    facts = [(fact, RUNNER_FIELDS[fact]) for fact in fields.facts if fact in RUNNER_FIELDS]
    said = {name: value for fact, name in facts if (value := first_of([fields], fact, text))}
    ids = fields.of("ids.runner")
    named = said.pop("horse", None)
    if horse is not None:
        # A horse's own number may be of a register, so only people are taken from the horse.
        for name in ("jockey", "trainer"):
            if name not in said and (value := first_of([horse], f"runner.{name}", text)):
                said[name] = value
        ids += horse.of("ids.plain")
        named = first_of([horse], "runner.horse_spoken", text) or named
    if named and _is_name(named):
        said["horse"] = named
    elif named and is_id(named):
        ids.append(named)
    out, reason = _out_of(fields)
    places = _places_of(fields) or (_places_of(horse) if horse is not None else [])
    if reason:
        said.setdefault("position_reason", reason)
    labels = [_ID + one for one in map(identifier, ids) if one]
    labels += filter(None, (_horse_named(said), _number_of(said)))
    return _Horse(labels, said, [] if out else places, out) if labels else None


def _name_label(horse: str) -> str:
    return _NAME + plain_name(horse).casefold()


def _number_label(number: str) -> str:
    return _NUMBER + number.lstrip("0").casefold()


def _horse_named(said: Mapping[str, str]) -> str | None:
    return _name_label(said["horse"]) if "horse" in said else None


def _number_of(said: Mapping[str, str]) -> str | None:
    return _number_label(said["number"]) if "number" in said else None


def _is_name(said: str) -> bool:
    """False for a number, an id and a word for no name ("TBC")."""
    is_word = any(map(str.isalpha, said)) and not is_id(said)
    return is_word and fold(said[:LONGEST_NAME]) not in _NO_NAME


def _own_fields(entry: dict[str, Any]) -> Fields:
    """With the fields of an inner runner, of its result and of its betting: {"result": {"place": 7}}."""
    fields = fields_of(entry)
    inner = fields.get("runner") or fields.get("node")
    own = Fields({**fields_of(inner), **fields, "runner": None}) if isinstance(inner, dict) else fields
    for name, value in values_of([own], "marks.objects"):
        if isinstance(value, dict):
            held = fields_of(value)
            told = held.keys() & (OF_RUNNER_BETS if name in NAMES_OF["marks.bets"] else OF_RUNNER_OBJECTS)
            inner = {key: held[key] for key in told}
            both = {f"{name}{key}": held[key] for key in held} if name in POSITION_NAMES else {}
            own = Fields({**inner, **both, **own})
    return own


def _places_of(said: Fields) -> list[_Place]:
    """Every place that the entry gives, with its standing."""
    places = [
        _Place(0 if _PLACED_ANEW.search(position) else standing, position)
        for standing, fact in enumerate(POSITION_STANDINGS)
        for value in said.of(fact)
        if (position := _read_position(value))
    ]
    if said.facts.keys().isdisjoint(_STATES):
        return places
    found = said.of("marks.status", "marks.no_finish", "state.result")
    statuses = {fold(str(value)[:LONGEST_NAME]) for value in found}
    if not statuses.isdisjoint({"winner", "won"}) or any(map(_is_true, said.of("marks.winner"))):
        places.append(_Place(PLAIN, "1"))
    if any(value is True for value in said.of("marks.win")):
        places.append(_Place(PLAIN, "1"))
    if not places:
        other = said.of("marks.no_finish", "state.result")
        places = [_Place(PLAIN, place) for place in filter(None, map(_read_position, other)) if _is_told(place)][:1]
    if any(map(flag, said.of("marks.dead_heat"))):
        return [one._replace(position=f"{one.position}=") if _is_alone(one.position) else one for one in places]
    return places


def _is_told(position: str) -> bool:
    return fold(position[:LONGEST_NAME]) not in PLAIN_STATUSES


def _is_alone(position: str) -> bool:
    return finishing_position(position) is not None and not is_shared(position)


def _out_of(said: Fields) -> tuple[str | None, str | None]:
    """The position of a horse without a place, and a reason: a non-runner, a disqualified horse, no finish.

    A horse that is out has no place, whatever number the payload gives.
    """
    positions = [one for one in map(text, said.of(*POSITION_STANDINGS)) if one and not one.isdecimal()]
    jockeys = [one for one in said.of("runner.jockey") if isinstance(one, str)]
    no_jockey = [one for one in jockeys if fold(one[:LONGEST_NAME]) in _PLAIN_NON_RUNNERS]
    if not (positions or no_jockey) and said.facts.keys().isdisjoint(_STATES):
        return None, None
    statuses = list(_words(said, "marks.status"))
    words = [*statuses, *positions, *_words(said, "marks.no_finish", "state.result")]
    away = next(filter(is_non_runner, [*words, *no_jockey]), None)
    if any(map(flag, said.of("marks.reserve"))) or fold(away or "").startswith(("reserve", "emergency")):
        return RESERVED, None
    if away or _is_marked(said, "non_runner") or False in map(flag, said.of("marks.running")):
        return OUT, None if fold(away or "nr") in _PLAIN_NON_RUNNERS else away
    if disqualified := next(filter(_DISQUALIFIED.search, words), None):
        return disqualified, None
    if _is_marked(said, "disqualified"):
        return "DSQ", None
    no_finish = next(filter(_is_no_finish, words), None)
    return no_finish, None if no_finish else next(iter(statuses), None)


def _is_marked(said: Fields, mark: str) -> bool:
    """By a flag, by the moment or the reason in its place, or by an object with the particulars."""
    return any(bool(value) if isinstance(value, dict) else flag(value) for value in said.of(f"marks.{mark}"))


def _words(said: Fields, *facts: str) -> Iterator[str]:
    """The texts of the facts, without texts common to all horses."""
    return filter(None, map(_read_status, said.of(*facts)))


def _is_true(value: Any) -> bool:
    """Of a flag only: a winner's name is no flag."""
    return value is True or fold(str(value)[:LONGEST_NAME]) in {"true", "yes", "y", "1"}


def _is_no_finish(status: str) -> bool:
    said = fold(status[:LONGEST_NAME])
    return said in NO_FINISH_CODES or said.startswith(NO_FINISH_WORDS)


def _read_status(value: Any) -> str | None:
    said = text(value) if isinstance(value, str | dict) else None
    return said if said and fold(said[:LONGEST_NAME]) not in _SAYS_NOTHING else None


def _read_position(value: Any) -> str | None:
    """Of "1.0" and "First", "1". 0 stands for no position: the horse would come before the winner."""
    position = text(value) or ""
    if position.isdecimal():
        return position if position.strip("0") else None
    position = _WHOLE.sub(r"\1", position)
    if not position.strip("0-. ") or fold(position[:LONGEST_NAME]) in _NO_NAME:
        return None
    is_word = not re.search("[0-9]", position) and state_in(position) is not RaceState.WALKOVER
    place = finishing_position(position) if is_word else None
    return f"{place}{'=' if is_shared(position) else ''}" if place else position
