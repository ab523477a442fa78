"""The fields of a record: the names of names.ini, and the reader of the value (Spec gap G2)."""

import re
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from importlib.resources import files
from itertools import product
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from bot.events.event import Topic
from bot.events.reading.json_values import Fields, Names, count, fields_of, find, fold, identifier, text
from bot.events.reading.off_times import read_date
from bot.events.reading.record_objects import kind_of

T = TypeVar("T")

NO_NAMES = Names(())

COURSE_ID_SHAPE = re.compile("cr_[A-Za-z0-9]+")
"""Interface, Course."""

ENVELOPE_WORDS = frozenset({"race", "races", "meeting", "racecard", "result", "results", "event", "webhook"})

LETTERS_OF_A_COURSE = 3
"""At least. "C+3" is a rail position, and no course."""


class Field(NamedTuple, Generic[T]):
    """`own`: names that mean the field only in the race's own object."""

    read: Callable[[Any], T | None]
    names: Names
    own: Names = NO_NAMES


def names(patterns: str) -> Names:
    """See the head of names.ini."""
    found = (product(*map(_alternatives, pattern.split())) for pattern in patterns.split(","))
    return Names("".join(words) for some in found for words in some if any(words))


def _alternatives(word: str) -> list[str]:
    words = [fold(one) for one in word.rstrip("?").split("|")]
    return [*words, ""] if word.endswith("?") else words


def _read_table() -> Mapping[str, Names]:
    table = ConfigParser(delimiters=("=",), interpolation=None)
    table.read_string(files("bot.events.reading").joinpath("names.ini").read_text(encoding="utf-8"))
    return {f"{section}.{key}": names(table[section][key]) for section in table.sections() for key in table[section]}


NAMES_OF = _read_table()


def field(read: Callable[[Any], T | None], key: str) -> Field[T]:
    return Field(read, NAMES_OF.get(key, NO_NAMES), NAMES_OF.get(f"{key}.own", NO_NAMES))


def standings(key: str, *levels: str) -> tuple[Names, ...]:
    return tuple(NAMES_OF[f"{key}.{level}"] for level in levels)


PLAIN_ID, RACE_ID, MEETING_ID, COURSE_ID, RUNNER_ID = standings("ids", "plain", "race", "meeting", "course", "runner")
COURSE_OR_PLAIN_ID = Names((*COURSE_ID, *PLAIN_ID))
SURFACES = frozenset(NAMES_OF["course.surfaces"])


def read_region(value: Any) -> str | None:
    """A mere number is no code: a wrong region would hide an abandonment."""
    if isinstance(value, str):
        return text(value)
    code = find([fields_of(value)], NAMES_OF["course.region_code"], identifier) if isinstance(value, dict) else None
    return text(code) if code and not code.isdigit() else None


def read_course_id(value: Any) -> str | None:
    if isinstance(value, dict):
        return text(find([fields_of(value)], COURSE_OR_PLAIN_ID, identifier))
    return value.strip() if isinstance(value, str) and COURSE_ID_SHAPE.fullmatch(value.strip()) else None


def read_course_name(value: Any) -> str | None:
    if isinstance(value, list) and len(value) == 1:
        return read_course_name(value[0])
    if isinstance(value, dict):
        return find([fields_of(value)], NAMES_OF["course.spoken"], read_course_name)
    said = text(value) if isinstance(value, str) else None
    if said is None or COURSE_ID_SHAPE.fullmatch(said) or fold(said) in SURFACES:
        return None
    return said if sum(map(str.isalpha, said)) >= LETTERS_OF_A_COURSE or not said.isascii() else None


def read_meetings_name(value: Any) -> str | None:
    """A list under `meeting` has meetings."""
    return None if isinstance(value, list) else read_course_name(value)


def read_words(value: Any) -> str | None:
    read = text(value)
    return None if read is None or kind_of(read) or read.casefold() in ENVELOPE_WORDS else read


def read_number(value: Any) -> str | None:
    """Of "R5" and "Race 5", "5"."""
    read = read_words(value)
    return re.sub("^(?:race|r) ?(?=[0-9])", "", read, flags=re.IGNORECASE) if read else None


def string(value: Any) -> str | None:
    return text(value) if isinstance(value, str) else None


def read_short_number(value: Any) -> str | None:
    """Of the whole value of `race`: a number on the card, never a title."""
    read = read_number(value)
    return read if read and re.fullmatch("[0-9]{1,2}", read) else None


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "region": read_region,
    "number": read_number,
    "reason": text,
    "field_size": count,
}
RACE_FIELDS: Mapping[str, Field[Any]] = {
    name: field(_READERS.get(name, read_words), f"race.{name}")
    for name in (
        *("region", "title", "number", "race_class", "race_type", "distance", "going", "surface", "winning_time"),
        *("reason", "field_size"),
    )
}
RACE_DATE = field(read_date, "race.date")
COURSE_FIELDS: Mapping[str, tuple[Field[str], ...]] = {
    "course_id": (
        Field(text, COURSE_ID),
        field(read_course_id, "course.name"),
        field(read_course_id, "course.track"),
    ),
    "name": (
        field(read_course_name, "course.name"),
        field(read_course_name, "course.track"),
        field(read_meetings_name, "course.meeting"),
    ),
    "country": (field(text, "course.country"),),
}
"""Each field's searches, in order. A track comes after a course, because some say "turf"."""

OFF_STANDINGS = tuple(
    (NAMES_OF[f"off.{key}"], NAMES_OF.get(f"off.{key}.own", NO_NAMES)) for key in ("scheduled", "plain", "off")
)

RUNNER_FIELDS = (
    *("horse", "number", "draw", "jockey", "trainer", "starting_price", "official_rating", "beaten"),
    "position_reason",
)
POSITION_STANDINGS = ("place.official", "place.plain", "place.past_the_post")
ORDER_STANDINGS = standings("order", "official", "plain", "past_the_post")
LEADERS = tuple(
    (place, NAMES_OF[f"order.{key}"], standing)
    for place, key, standing in (
        *(("1", "winner.official", 0), ("1", "winner", 1), ("1", "first", 1), ("2", "second", 1), ("3", "third", 1)),
        ("4", "fourth", 1),
    )
)
"""Fields that each name the horse in a place, with the standing of the name."""

POSITION_NAMES = frozenset(name for standing in POSITION_STANDINGS for name in NAMES_OF[standing])
OF_RUNNER_OBJECTS = frozenset(POSITION_NAMES).union(
    *(values for key, values in NAMES_OF.items() if key.startswith("marks."))
)
"""Facts of a runner that may stand in an object of the runner: its result, its betting."""

RUNNER_LISTS = NAMES_OF["lists.runners"]
WRAPPED_LISTS = Names((*RUNNER_LISTS, *NAMES_OF["lists.wrapped"]))
ORDER_NAMES = frozenset(name for standing in ORDER_STANDINGS for name in standing)
ORDERS_IN_WORDS = Names((*NAMES_OF["order.plain"], *NAMES_OF["state.result"]))
RACE_LISTS, CARD_LISTS, MEETING_LISTS = standings("lists", "races", "cards", "meetings")

_OF_A_RUNNER = ("runner.", "place.", "marks.", "state.result", "ids.runner", "ids.plain")
_KEYS_OF: dict[str, list[tuple[int, str]]] = {}
for _key, _names in NAMES_OF.items():
    if _key.startswith(_OF_A_RUNNER):
        for _name, _rank in _names.items():
            _KEYS_OF.setdefault(_name, []).append((_rank, _key))


def facts_of_runner(fields: Fields) -> dict[str, list[Any]]:
    """The values by the key of the fact ("place.official"), the surest name's first. Reads each field once."""
    found: dict[str, list[tuple[int, Any]]] = {}
    for name, value in fields.items():
        for rank, key in _KEYS_OF.get(name, ()):
            found.setdefault(key, []).append((rank, value))
    return {
        key: [value for _, value in (sorted(ranked, key=itemgetter(0)) if len(ranked) > 1 else ranked)]
        for key, ranked in found.items()
    }


OCCURRED_AT_OF: Mapping[Topic, Names] = {
    topic: Names((*NAMES_OF["event.occurred_at"], *NAMES_OF[f"event.occurred_at.{topic}"])) for topic in Topic
}
