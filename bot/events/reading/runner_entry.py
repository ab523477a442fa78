"""A horse in an entry of a list or order: the horse's labels, fields and places (Spec gap G2).

A label is an id, the name or the number. An entry may give several places of different standing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from bot.events.race_state import LOST_OR_VOID, RaceState, is_in_doubt, letters, state_in
from bot.events.races import (
    OUT,
    RESERVED,
    did_not_finish,
    finishing_position,
    is_disqualified,
    is_non_runner,
    is_shared,
    plain_name,
)
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, Standing, fields_of, first_of, fold
from bot.events.reading.json_values import flag, flag_in, identifier, is_no, is_yes, text
from bot.events.reading.record_objects import is_id

_PLACES = {f"place.{one.name.casefold()}": one for one in Standing}

PLAIN = Standing.PLAIN

_OF_HORSE = {name: f"runner.{name}" for name in ("jockey", "trainer", "starting_price", "official_rating")}
"""Fields of a runner that may stand in the object of the horse. A number in this object may be of a register."""

_TEXTS = _OF_HORSE | {name: f"runner.{name}" for name in ("horse", "number", "draw", "beaten", "position_reason")}
"""Fields of a runner, each with its fact."""

_MAY_SAY_OUT = ("number", "draw", "jockey", "starting_price", "position_reason")
"""Fields that may hold "NR" in place of their text."""

_MARKS = frozenset(fact for fact in NAMES_OF if fact.startswith("marks.")) - {"marks.of_bets"}

_PLACE_NAMES = frozenset(name for fact in _PLACES for name in NAMES_OF[fact])

_OF_OBJECTS = _PLACE_NAMES.union(*map(NAMES_OF.__getitem__, _MARKS))
"""Fields of a runner that may stand in an object of the runner: {"result": {"place": 7}}."""

_OUTCOMES = _MARKS - {"marks.objects"} | {f"state.{fact}" for fact in ("provisional", "inquiry", "official", "result")}
"""Facts that may take away or change a horse's place."""

_NUMBER, NAME_LABEL, ID_LABEL = "number ", "name ", "id "

_PLAIN_STATUS, _RUNS, _NO_NAME, _NON_RUNNER = (
    frozenset(NAMES_OF[f"words.{kind}"]) for kind in ("plain", "runs", "no_name", "non_runner")
)

_SAYS_NOTHING = _PLAIN_STATUS | _NO_NAME

_BEGINS_DISQUALIFIED = re.compile(
    r"(?:disq|dsq|dq\b)(?!.*\b(?:last|latest|previous|prior|start|time|debut|year|season)\b)", re.IGNORECASE
)
"""A note about another horse may end so: "Awarded the race, winner disqualified". An earlier race is no outcome."""

_PLACED_ANEW = re.compile("promoted|demoted|placed", re.IGNORECASE)
"""Words beside a place after an inquiry."""

_NEW_PLACE = re.compile(
    r"\b(?:promoted|demoted|relegated|placed|moved (?:up|down))(?: to)?"
    r" (?!(?:[0-9]+|one|two|three) places?\b)(?P<place>[0-9a-z]{1,7})\b",
    re.IGNORECASE,
)
"""A place after an inquiry: "Disqualified, placed 2nd". "Promoted one place" is no place."""

_HAS_PRICE = re.compile("[1-9]|^ev", re.IGNORECASE)
"""Not "SP", "-" or "0"."""

_FAVOURITES = {
    **dict.fromkeys(("true", "yes", "y", "1", "f", "fav", "favourite", "favorite"), "F"),
    **dict.fromkeys(("jf", "jfav", "joint", "jointfavourite", "jointfavorite"), "JF"),
    **dict.fromkeys(("cf", "cfav", "cofavourite", "cofavorite"), "CF"),
}

_NAME_OF_NON_RUNNER = re.compile(r"(.+?) *\((?:nr|non[ -]?runner|withdrawn|scratched)\)", re.IGNORECASE)

_NUMBER_BEFORE_NAME = re.compile(r"\A\(?[0-9]{1,3}[.)] ?(?=[^\W\d])")
"""A number before the name. In an entry with other fields the number may be the cloth's or the place."""

_WHOLE = re.compile(r"\A(?:(?:place|pos|position|p)[ _-]?)?([0-9]+)(?:\.0+)?\Z", re.IGNORECASE)

NUMBER_ON_CLOTH = re.compile(
    r"(?:#|n[or]\.? ?)?\(?(?P<number>[0-9]{1,3}[A-Za-z]?)"
    r"(?:(?:st|nd|rd|th)?(?:[.):]| ?[-\u2013])? ?"
    r"(?P<name>(?!(?:st|nd|rd|th)\b)[^\W\d]{2}.+|(?<=[ .):])[^\W\d][ '\u2019].+))?\)?",
    re.IGNORECASE,
)
"""A horse in an order: "4", "#4", "No. 4", "4. Horse A", "1. A Plus Tard", "1st: Horse A"."""


class SaidPlace(NamedTuple):
    """`by_mark`: the place comes from a winner's flag or status.

    Two horses with the mark are no dead heat: a market for places has several winners.
    """

    standing: Standing
    position: str
    source: int = 0
    by_mark: bool = False


@dataclass(eq=False, slots=True)
class Horse:
    """`said`: a runner's fields, without the position. `out`: the position of a horse without a place: "PU", "NR".

    `labels`: the surest first. `runs`: as `Runner.runs`, of a horse that is not out. `is_provisional`: by the entry's
    own word. `is_bare`: a bare number, which may also be an id.
    """

    labels: list[str]
    said: dict[str, str]
    places: list[SaidPlace] = dataclass_field(default_factory=list)
    out: str | None = None
    runs: bool = False
    is_provisional: bool = False
    is_bare: bool = False

    @property
    def standing(self) -> Standing:
        return min(place.standing for place in self.places)

    @property
    def called(self) -> str:
        return self.said.get("horse") or f"no. {self.said.get('number')}"

    @property
    def is_marked_winner(self) -> bool:
        return any(one.by_mark for one in self.places)

    def sources_of(self, place: int) -> set[int]:
        return {one.source for one in self.places if finishing_position(one.position) == place}


def is_runner(fields: Fields) -> bool:
    """True by a place or a person. An official result and a list of places are a race's."""
    return any(
        not (name.endswith("result") or isinstance(fields[name], list))
        and not (name.endswith("order") and isinstance(fields[name], dict))
        for name in fields.facts.get("is.runner", ())
    )


def horse_of(ref: Any) -> Horse | None:
    """The entry's statement about a horse; None if no horse is named."""
    if isinstance(ref, dict):
        return _from_fields(_own_fields(ref))
    said = text(ref) if isinstance(ref, str) else identifier(ref)
    if said is None:
        return None
    found = NUMBER_ON_CLOTH.fullmatch(said)
    if found and found["name"]:
        # The number may be the place: "1 Horse A".
        return Horse([name_label(found["name"]), number_label(found["number"])], {"horse": found["name"]})
    if found:
        return Horse([number_label(found["number"]), ID_LABEL + said], {"number": found["number"]}, is_bare=True)
    if said.isdecimal() or is_id(said):
        return Horse([ID_LABEL + said], {})
    return Horse([name_label(said), ID_LABEL + said], {"horse": said}) if is_name(said) else None


def _from_fields(fields: Fields) -> Horse | None:
    if "is.race" in fields.facts and not is_runner(fields):
        return None
    said: dict[str, str] = {}
    _read_texts(fields, _TEXTS, said)
    # A plain id may be the entry's own, so the horse's number is surer.
    plain = fields.of("ids.plain")
    ids = fields.of("ids.runner")
    named = said.pop("horse", None)
    if isinstance(horse := fields.get("horse"), dict):
        inner = fields_of(horse)
        _read_texts(inner, _OF_HORSE, said)
        ids += inner.of("ids.plain")
        named = first_of((inner,), "runner.horse_spoken", text) or named
    away = [said.pop(name) for name in _MAY_SAY_OUT if name in said and _is_nr_in_words(said[name])]
    price = said.get("starting_price", "")
    if not _HAS_PRICE.search(price):
        said.pop("starting_price", None)
    elif price[-1].isdecimal():
        said["starting_price"] = price + next(map(_favourite, fields.of("runner.favourite")), "")
    places, out, reason, runs, is_provisional = outcome_of(fields, away)
    if isinstance(horse, dict) and not (places or out):
        places, out, why, is_said, is_provisional = outcome_of(_own_fields(horse))
        reason, runs = why if out else reason, runs or is_said
    named = _NUMBER_BEFORE_NAME.sub("", named) if named else None
    if named and named.endswith(")") and (marked := _NAME_OF_NON_RUNNER.fullmatch(named)):
        named, places, out = marked[1], [], OUT
    if named and is_name(named):
        said["horse"] = named
    elif named and is_id(named):
        ids.append(named)
    if reason:
        said.setdefault("position_reason", reason)
    labels = [*_id_labels(ids), *filter(None, (horse_named(said), number_of(said))), *_id_labels(plain)]
    return Horse(labels, said, places, out, runs, is_provisional) if labels else None


def _id_labels(ids: Iterable[Any]) -> list[str]:
    return [ID_LABEL + one for one in map(identifier, ids) if one]


@lru_cache(maxsize=4096)
def _is_nr_in_words(said: str) -> bool:
    return fold(said[:LONGEST_NAME]) in _NON_RUNNER


def _favourite(value: Any) -> str:
    return _FAVOURITES.get(fold(str(value)[:LONGEST_NAME]), "")


def _read_texts(fields: Fields, texts: Mapping[str, str], said: dict[str, str]) -> None:
    for name, fact in texts.items():
        for key in fields.facts.get(fact, ()) if name not in said else ():
            if value := text(fields[key]):
                said[name] = (value.lstrip("0") if name == "number" else None) or value
                break


@lru_cache(maxsize=1024)
def name_label(horse: str) -> str:
    return NAME_LABEL + plain_name(horse).casefold()


def number_label(number: str) -> str:
    return _NUMBER + number.lstrip("0").casefold()


def horse_named(said: Mapping[str, str]) -> str | None:
    return name_label(said["horse"]) if "horse" in said else None


def number_of(said: Mapping[str, str]) -> str | None:
    return number_label(said["number"]) if "number" in said else None


@lru_cache(maxsize=1024)
def is_name(said: str) -> bool:
    """False for a number, an id and a word for no name ("TBC")."""
    is_word = any(map(str.isalpha, said)) and not is_id(said)
    return is_word and fold(said[:LONGEST_NAME]) not in _NO_NAME


def _own_fields(entry: dict[str, Any]) -> Fields:
    """The entry's fields, with the fields of an inner runner and of the runner's objects: {"result": {"place": 7}}."""
    fields = fields_of(entry)
    inner = next((name for name in fields.facts.get("runner.inner", ()) if isinstance(fields[name], dict)), None)
    own = Fields({**fields_of(fields[inner]), **fields, inner: None}) if inner else fields
    for name in own.facts.get("marks.objects", ()):
        if isinstance(own[name], dict):
            held = fields_of(own[name])
            wanted = NAMES_OF["marks.of_bets"] if name in NAMES_OF["marks.bets"] else _OF_OBJECTS
            told = {key: value for key, value in held.items() if key in wanted}
            both = {f"{name}{key}": value for key, value in held.items()} if name in _PLACE_NAMES else {}
            own = Fields({**told, **both, **own})
    return own


class _Outcome(NamedTuple):
    """Every place of an entry, `out` as in `Horse`, and the reason for the position.

    A non-runner has no place, even if the payload gives a number; a reserve with a place may have run. `runs`,
    `is_provisional`: as of a `Horse`.
    """

    places: list[SaidPlace]
    out: str | None = None
    reason: str | None = None
    runs: bool = False
    is_provisional: bool = False


def outcome_of(said: Fields, away: Sequence[str] = ()) -> _Outcome:
    """`away`: "NR" in the place of another text."""
    places = []
    for fact in filter(said.facts.__contains__, _PLACES):
        for published in filter(None, map(read_position, said.of(fact))):
            is_anew = not published.isdecimal() and _PLACED_ANEW.search(published)
            places.append(SaidPlace(Standing.OFFICIAL if is_anew else _PLACES[fact], _with_new_place(published)))
    positions = [one.position for one in places if not one.position.isdecimal()]
    if not (positions or away) and _OUTCOMES.isdisjoint(said.facts):
        return _Outcome(places)
    statuses, others = said.of("marks.status"), said.of("marks.no_finish", "state.result")
    folded = frozenset(fold((text(value) or "")[:LONGEST_NAME]) for value in (*statuses, *others))
    # A bet on a place wins too.
    is_winner = not folded.isdisjoint({"winner", "won"}) or ("win" in folded and not places)
    is_marked = any(map(is_yes, said.of("marks.winner"))) or any(_is_win(one, places) for one in said.of("marks.win"))
    if is_winner or is_marked:
        places.append(SaidPlace(PLAIN, "1", by_mark=True))
    if not places:
        told = (one for one in map(read_position, others) if one and fold(one[:LONGEST_NAME]) not in _PLAIN_STATUS)
        places = [SaidPlace(PLAIN, place) for place in islice(told, 1)]
    if any(map(flag, said.of("marks.dead_heat"))) or any("deadheat" in one for one in folded):
        shared = ((one, finishing_position(one.position)) for one in places)
        places = [one._replace(position=f"{place}=") if place else one for one, place in shared]
    notes = (note for note in map(text, said.of("marks.note")) if note and _BEGINS_DISQUALIFIED.match(note))
    # A letter beside a place may be for "finished" or "runner" as well as for "fell" or "refused".
    said_of_horse = [one for one in map(_read_status, statuses) if one and not (places and len(one) == 1)]
    said_of_horse += notes
    anew = {status: place for status in said_of_horse if (place := _with_new_place(status)) != status}
    places += [SaidPlace(Standing.OFFICIAL, place) for place in anew.values()]
    spoken = [one for one in said_of_horse if one not in anew]
    words = [*spoken, *positions, *filter(None, map(_read_status, others))]
    out, reason = _out_of(said, [*words, *away])
    if out:
        return _Outcome(places if out == RESERVED and not _is_marked(said, "non_runner") else [], out, reason)
    is_provisional = any(map(is_in_doubt, said_of_horse)) or any(
        (*map(is_yes, said.of("state.provisional", "state.inquiry")), *map(is_no, said.of("state.official")))
    )
    return _Outcome(places, None, next(iter(spoken), None), _says_that_it_runs(said, folded), is_provisional)


def _is_win(value: Any, places: Sequence[SaidPlace]) -> bool:
    """True for a flag. A 1 may be a dividend: only beside a first place a 1 is a flag, and makes the place surer."""
    return value is True or (is_yes(value) and any(finishing_position(one.position) == 1 for one in places))


@lru_cache(maxsize=1024)
def _with_new_place(words: str) -> str:
    """The new place of "2nd, placed 1st"; the words themselves if the words are a place, or tell no new place."""
    found = _NEW_PLACE.search(words)
    return found["place"] if found and finishing_position(found["place"]) else words


def _says_that_it_runs(said: Fields, statuses: frozenset[str]) -> bool:
    is_in = any(is_yes(one) or fold(str(one)[:LONGEST_NAME]) == "in" for one in said.of("marks.running"))
    is_not_out = any(map(is_no, said.of("marks.non_runner", "marks.nr")))
    return is_in or is_not_out or not statuses.isdisjoint(_RUNS)


def _out_of(said: Fields, words: Sequence[str]) -> tuple[str | None, str | None]:
    """The position of a non-runner, a reserve, a disqualified horse or a horse that did not finish; and a reason."""
    away = next(filter(is_non_runner, words), None)
    is_reserve = any(map(flag, said.of("marks.reserve"))) and not any(map(is_no, said.of("marks.non_runner")))
    if is_reserve or fold(away or "").startswith(("reserve", "emergency")):
        return RESERVED, None
    is_marked = _is_marked(said, "non_runner") or any(map(_is_nr, said.of("marks.nr")))
    if away or is_marked or any(is_no(one) or str(one).casefold() == "out" for one in said.of("marks.running")):
        return OUT, None if fold(away or "nr") in _NON_RUNNER else away
    # A horse that is disqualified and placed last has a place.
    if disqualified := next((one for one in words if is_disqualified(one) and "placed" not in one.casefold()), None):
        return disqualified, None
    return ("DSQ" if _is_marked(said, "disqualified") else next(filter(is_no_finish, words), None)), None


def _is_marked(said: Fields, mark: str) -> bool:
    """True by a flag, by a moment or reason in the place of a flag, or by an object with a flag, moment or reason."""
    return any(map(flag_in, said.of(f"marks.{mark}")))


def _is_nr(value: Any) -> bool:
    """True for a flag. In other values "Nr." stands before a number."""
    return fold(str(value)[:LONGEST_NAME]) in {"true", "yes", "y", "nr"}


def is_no_finish(status: str) -> bool:
    is_out = did_not_finish(status) or is_non_runner(status) or is_disqualified(status)
    return is_out or state_of_position(status) in LOST_OR_VOID


@lru_cache(maxsize=1024)
def state_of_position(position: str) -> RaceState | None:
    return RaceState.VOID if letters(position) == "v" else state_in(position)


def _read_status(value: Any) -> str | None:
    """The status; None for a word such as "Declared" that says nothing."""
    said = text(value) if isinstance(value, str | dict) else None
    return said if said and fold(said[:LONGEST_NAME]) not in _SAYS_NOTHING else None


def read_position(value: Any) -> str | None:
    said = text(value) or ""
    # A list under `placed` may have horses.
    return position_in(said) if not isinstance(value, list) or finishing_position(said) else None


@lru_cache(maxsize=1024)
def position_in(position: str) -> str | None:
    """For example "1" for "1.0", "P1" and "First". 0 and "Y" are no positions: 0 would come before the winner.

    "1.30" is the dividend for a place.
    """
    if position.isdecimal():
        return position.lstrip("0") or None
    position = _WHOLE.sub(r"\1", position)
    is_number = re.fullmatch(r"-[0-9]+|[0-9]+\.[0-9]+", position)
    is_flag = position.isalpha() and (is_yes(position) or is_no(position))
    if not position.strip("0-. ") or is_number or is_flag or fold(position[:LONGEST_NAME]) in _NO_NAME:
        return None
    is_word = not re.search("[0-9]", position) and state_in(position) is not RaceState.WALKOVER
    place = finishing_position(position) if is_word else None
    return f"{place}{'=' if is_shared(position) else ''}" if place else position
