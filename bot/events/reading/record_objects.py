"""The objects of a record, each with its subject, so that a course's `id` is never a race's (Spec gap G2).

The walk goes into objects, never into lists: an entry of a list does not name the object above.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from bot.events.event import EventKind
from bot.events.race_state import LOST_OR_VOID, state_in
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, Standing, fields_of, fold
from bot.events.reading.json_values import identifier, text
from bot.events.reading.off_times import read_clock

MOST_PARTS, DEEPEST = 32, 5

MOST_RACES_A_CARD = 30
"""A bare number above this is an id, not a race's number."""

MOST_ENTRIES = 1_000
"""Entries of a list that are looked at."""


class About(StrEnum):
    """The subject of an object, called as in the section `objects` of names.ini.

    `DATA` is about the event, `DELIVERY` about the transport.
    """

    RACE = "race"
    MEETING = "meeting"
    COURSE = "course"
    DELIVERY = "delivery"
    DATA = "data"
    OTHER = "other"


BY_NAME = {name: about for about in About if about is not About.OTHER for name in NAMES_OF[f"objects.{about}"]}
BY_TYPE = {"race": About.RACE, "meeting": About.MEETING}
"""Subjects by the object's own type: {"type": "races", "id": …}."""

SAME_SUBJECT = frozenset(NAMES_OF["objects.same_subject"])
OPAQUE_NAMES = frozenset(NAMES_OF["objects.opaque"])
_NO_KEYS = re.compile("(?:is|objects|order|place|runner)[.]|lists[.](?!cards|wrapped|non_runners|reserves)")
KNOWN = frozenset(BY_NAME).union(*(NAMES_OF[fact] for fact in NAMES_OF if _NO_KEYS.match(fact)))
"""An object with a field of these names is not keyed by number, time, course or id."""


def _standings(section: str) -> dict[str, Standing]:
    """The standing that each name or word of a section of names.ini says."""
    told = (Standing.OFFICIAL, Standing.PROVISIONAL)
    return {name: standing for standing in told for name in NAMES_OF[f"{section}.{standing.name.casefold()}"]}


STANDING_OF, _STANDING_IN_WORDS = map(_standings, ("objects", "words"))
NAMING_HORSES = frozenset(fact for fact in NAMES_OF if fact.startswith(("order.", "lists.")))
_NOT_PLACED = frozenset({"lists.non_runners", "lists.reserves", "lists.disqualified"})
_ORDERS = frozenset(fact for fact in NAMING_HORSES if fact.startswith("order."))
_OF_A_BET = _ORDERS.union(("lists.runners", "lists.results", "lists.placed", "lists.disqualified"))
"""Facts that differ for a bet other than to win. The lost races of an abandonment do not."""

BY_FULL_NAME = _ORDERS.union(f"state.{fact}" for fact in ("last_run", "first_lost", "last_lost", "lost_from", "scope"))
"""Facts that a field may tell by the object's name and its own: {"abandonment": {"from": "race 4"}}."""

LEADERS = (
    ("1", "order.winner.official", Standing.OFFICIAL),
    ("1", "order.winner", Standing.PLAIN),
    ("1", "order.first", Standing.PLAIN),
    ("1", "order.winner.provisional", Standing.PROVISIONAL),
    ("2", "order.second", Standing.PLAIN),
    ("3", "order.third", Standing.PLAIN),
    ("4", "order.fourth", Standing.PLAIN),
)
"""Fields for the horse in a given place, with the standing of the name."""

_TELLS_WINNER = frozenset(BY_NAME).union(
    STANDING_OF, *map(NAMES_OF.__getitem__, {*NAMING_HORSES, "state.objects", "state.result", "marks.objects"})
)
"""Within the object of a race, an object of another name may hold an opinion on the winner."""

_LISTS = frozenset(NAMES_OF["lists.meetings"] + NAMES_OF["course.several"])
"""An object of these names whose keys are data has an entry for each meeting."""

_LISTED_ALONE = frozenset(NAMES_OF["state.objects"])
"""Objects of these names may stand in a list: {"result": [{"winner": …}]}."""

_NOT_THE_RACE = re.compile(
    "market|betting|odds|poll|tote|simul|virtual|fantasy|projected|probab|tips|verdict|predict|forecast|antepost|inrunning|stats|statistic|standings|histor|sectional"
    "|exchange|bookmaker|^pool|dividend|payout|wager|exotic|comments|replay|video|^(?:recent|past)?form$|^recent|^past(?!thepost)|^previous|^(?:stewards)?(?:inquir|enquir|objection|protest)"
    "|sponsors?$|^customer|organi[sz]er|broadcast"
)
"""In the name of an object about bets, opinions, figures, an inquiry or a firm: its order is no result, its time no
off, its country not the race's."""

_ANOTHER_RACE = re.compile(
    "(?:race[0-9]|new(?:race|meeting|fixture|card)|next|prev|last|first|related|original|replace|rearrang|reschedul|restag|alternative|earlier|later|supersed|before|old|follow|subsequent|upcoming)"
    "|(?:moved|postponed|switched|transferred)to"
)
"""Begins the name of another race, of a race among several, or of another version."""

_ANOTHER_TIME = re.compile("histor|form$|recent|past|virtual|simul|fantasy")
_NAMES_OF_HORSES = OPAQUE_NAMES.union(*map(NAMES_OF.__getitem__, NAMING_HORSES))

_BET_TO_WIN = re.compile(r"\b(?:win|rac)", re.IGNORECASE)
_BET_ON_A_PLACE = re.compile(
    r"(?:(?:other|to be|top)[ _])?(?:pla?c|show|each|forecast|reverse|match[ _]?bet|exacta|quinella|trifecta|swinger)"
    "|[0-9] ?(?:tbp|places)",
    re.IGNORECASE,
)
"""Words for a market in an object: the winner of any other market is not the race's."""

_BET = frozenset({"is.bet"})

_ID_SHAPE = re.compile(
    "(?=.*[0-9])[A-Za-z]{1,8}_[A-Za-z0-9]+|[a-z]{1,8}-[a-z0-9]*[0-9]|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_DETAILS = re.compile("(?<=.)(?:details?|info)$")
_OF_A_RACE = frozenset({"lists.runners", "order.plain", "off.plain"})
KINDS_BY_WORD = {fold(kind): kind for kind in EventKind}
_IN_NAMESPACE = re.compile(
    rf"(?:[\w-]+\.)*({'|'.join(kind.replace('.', '[._:-]?') for kind in EventKind)})(?:\.v[0-9.]+)?", re.IGNORECASE
)


class Part(NamedTuple):
    """`hidden`: facts that are not read from the object and the objects within, because these may hold an opinion."""

    about: About
    name: str
    depth: int
    fields: Fields
    hidden: frozenset[str] = frozenset()

    @property
    def is_racing(self) -> bool:
        return "is.racing" in self.fields.facts

    @property
    def names_horses(self) -> bool:
        return any(self.fields.of(*NAMING_HORSES.intersection(self.fields.facts) - _NOT_PLACED))


def parts_of(record: Mapping[str, Any], about: About = About.DATA) -> list[Part]:
    fields = fields_of(record)
    parts = [Part(about, "", 0, fields.without(_OF_A_BET) if is_of_another_bet(fields) else fields)]
    for part in parts:  # The list grows under the loop: breadth first.
        parts.extend(islice(_children(part), MOST_PARTS - len(parts)))
    return parts


def entries_of(
    value: Any,
    context_of: Callable[[str], dict[str, Any]],
    of_several: Callable[[str], dict[str, Any]] | None = None,
    deepest: int = 4,
) -> list[Any]:
    """The entries of a list, or of an object whose keys are data: {"1": {…}, "2": {…}}, {"York": {"13:00": {…}}}.

    `context_of` gives the fields that a key says of its entries; `of_several` of a list or object of entries.
    """
    if isinstance(value, list):
        return value[:MOST_ENTRIES]
    if not is_by_key(value) or not deepest:
        return []
    found: list[Any] = []
    # Sorted: the order of an object's fields says nothing.
    for key, inner in sorted(value.items())[:MOST_ENTRIES]:
        spread = entries_of(inner, context_of, of_several, deepest - 1)
        context = ((of_several if spread else None) or context_of)(str(key))
        found += [_with_context(entry, context) if isinstance(entry, dict) else entry for entry in spread or [inner]]
    return found[:MOST_ENTRIES]


def _with_context(entry: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    """The key over an entry with a course of its own is no course: {"Meet": {"Venue": "York"}}."""
    fields = fields_of(entry)
    has_course = [*fields.of("course.name"), *(one for one in fields.of("course.track") if isinstance(one, dict))]
    return {**{name: said for name, said in context.items() if name != "course" or not has_course}, **entry}


def is_by_key(value: Any) -> bool:
    """Whether the keys of an object are data, and its values entries. Also of {"run": […], "abandoned": […]}."""
    entries = value.values() if isinstance(value, dict) else ()
    if not entries or not all(isinstance(one, dict | list) and one for one in islice(entries, MOST_ENTRIES)):
        return False
    keys = [str(key)[:LONGEST_NAME] for key in islice(value, MOST_ENTRIES)]
    return KNOWN.isdisjoint(fields_of(value)) or (
        all(map(state_in, keys)) and not LOST_OR_VOID.isdisjoint(map(state_in, keys))
    )


def races_by_key(value: Any, deepest: int = 4) -> bool:
    """Whether an object has races under keys that are data: times, or keys of entries with fields of a race.

    Looks at a single entry.
    """
    if not is_by_key(value) or not deepest:
        return False
    key = min(value)
    inner = value[key]
    if isinstance(inner, list) and inner:
        inner = inner[0]
    if not isinstance(inner, dict):
        return False
    is_race = "is.racing" in fields_of(inner).facts or read_clock(key) is not None
    return is_race or races_by_key(inner, deepest - 1)


def is_id(said: str) -> bool:
    """Whether a text has the shape of an id, rather than of a name."""
    return ("_" in said or "-" in said) and _ID_SHAPE.fullmatch(said) is not None


def read_bare_id(value: Any) -> str | None:
    """A whole value that is an id: by shape, or as a number above MOST_RACES_A_CARD."""
    said = text(identifier(value)) or ""
    return said if is_id(said) or (said.isdecimal() and int(said) > MOST_RACES_A_CARD) else None


def kind_of(name: Any) -> EventKind | None:
    """The kind of a name in any spelling: "RESULT_RECEIVED", "result:received", "com.racing.race.abandoned.v1"."""
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        return None
    if kind := KINDS_BY_WORD.get(fold(name)):
        return kind
    within = _IN_NAMESPACE.fullmatch(name)
    return KINDS_BY_WORD[fold(within[1])] if within else None


def _children(part: Part) -> Iterator[Part]:
    """The objects in an object. A provisional result beside an official result is out of date."""
    if part.depth >= DEEPEST or part.about is About.COURSE:
        return
    found = []
    for name, said in part.fields.items():
        of_market, listed = name.startswith("market"), [said]
        if isinstance(said, list):
            listed = _results_in(said) if name in _LISTED_ALONE else said[:MOST_PARTS] if of_market else []
        for value in listed:
            if not isinstance(value, dict) or races_by_key(value):
                continue
            fields = fields_of(value).within("market", _BET) if of_market else fields_of(value)
            is_list = name in _LISTS and not fields.facts and is_by_key(value)
            is_beside_runners = "lists.runners" in part.fields.facts
            is_market = of_market and not is_beside_runners and _is_settled_bet_to_win(fields)
            if is_list or not (may_be_about_the_race(name) or is_market):
                continue
            fields = fields.within(name, BY_FULL_NAME)
            hidden = frozenset[str]() if is_market else _hidden_in(part, name)
            if told_elsewhere := _OF_A_BET if is_of_another_bet(fields) else hidden:
                fields = fields.without(told_elsewhere)
            standing = _standing_in(fields) if len(listed) > 1 else None
            fields.standing = STANDING_OF.get(name, part.fields.standing) if standing is None else standing
            found.append(Part(_about(name, fields, part), name, part.depth + 1, fields, hidden))
    is_official = any(one.fields.standing is Standing.OFFICIAL and one.names_horses for one in found)
    for one in found:
        if not (is_official and one.fields.standing is Standing.PROVISIONAL):
            yield one


def _hidden_in(part: Part, name: str) -> frozenset[str]:
    """The hidden facts of an object with an unknown name: orders; beside a list of runners the horses too.

    The winner in the object of a bet on a place is not the race's: {"market": "Place", "race": {"winner": …}}.
    """
    if any(map(_BET_ON_A_PLACE.match, filter(None, map(text, part.fields.of("is.bet"))))):
        return _ORDERS
    if part.hidden or not part.is_racing or _may_tell_winner(name):
        return frozenset() if BY_NAME.get(name) is About.RACE else part.hidden
    is_listed = any(isinstance(one, list) for one in part.fields.of("lists.runners"))
    return NAMING_HORSES if is_listed else _ORDERS


def _is_settled_bet_to_win(fields: Fields) -> bool:
    """True for a settled market to win. In an open market the rank of a horse is the rank of the price."""
    is_to_win = any(map(_BET_TO_WIN.match, filter(None, map(text, fields.of("is.bet")))))
    return is_to_win and fold(text(fields.get("status")) or "") in {"closed", "settled"}


def is_of_another_bet(fields: Fields) -> bool:
    """True by the name of a market other than the market to win; in a race's object only by a market for places."""
    said = [*filter(None, map(text, fields.of("is.bet")))]
    if "is.entry" in fields.facts:
        return any(map(_BET_ON_A_PLACE.match, said)) and not any(one.casefold() == "win" for one in said)
    return bool(said) and not any(map(_BET_TO_WIN.search, said))


def _results_in(value: list[Any]) -> list[Any]:
    """The objects of [{"winner": …}] and [{"status": "unofficial", …}, {"status": "official", …}], not horses."""
    objects = [one for one in value[:MOST_PARTS] if isinstance(one, dict)]
    each = [*map(fields_of, objects)]
    # Of several without a standing, the times are of several races.
    are_races = len(each) > 1 and any("off.plain.own" in one.facts and _standing_in(one) is None for one in each)
    return objects if not are_races and not any("is.entry" in one.facts for one in each) else []


def _standing_in(fields: Fields) -> Standing | None:
    """The standing in the words of a result among several results."""
    words = (fields[name] for name in ("type", "status", "standing", "stage") if isinstance(fields.get(name), str))
    return next((_STANDING_IN_WORDS[said] for one in words if (said := fold(one)) in _STANDING_IN_WORDS), None)


@lru_cache(maxsize=512)
def may_be_about_the_race(name: str) -> bool:
    return name not in OPAQUE_NAMES and not (_ANOTHER_RACE.match(name) or _NOT_THE_RACE.search(name))


@lru_cache(maxsize=512)
def may_tell_a_loss(name: str) -> bool:
    """True if a text in a field of this name may be about the race. Comments and inquiries may be."""
    return name not in _NAMES_OF_HORSES and not (_ANOTHER_RACE.match(name) or _ANOTHER_TIME.search(name))


@lru_cache(maxsize=512)
def _may_tell_winner(name: str) -> bool:
    return (
        name in _TELLS_WINNER
        or re.search("result|outcome|finish|settle|placing|placed|official|summary", name) is not None
    )


def type_of(fields: Fields) -> About | None:
    """The subject that the object's own type names."""
    kind = fields.get("type")
    return BY_TYPE.get(kind.casefold().removesuffix("s")) if isinstance(kind, str) else None


def _about(name: str, fields: Fields, parent: Part) -> About:
    name = name if name in BY_NAME else _DETAILS.sub("", name)
    about = BY_NAME.get(name, About.DATA if "is.racing" in fields.facts else About.OTHER)
    if about is About.COURSE and not _OF_A_RACE.isdisjoint(fields.facts):
        # In French a race.
        return About.RACE
    if about not in {About.DATA, About.OTHER}:
        return about
    if typed := type_of(fields):
        return typed
    return parent.about if name in SAME_SUBJECT and parent.about in BY_TYPE.values() else about
