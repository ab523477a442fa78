"""The races that a meeting or a card names: objects, bare ids, bare off times (Spec gap G1)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bot.events.race_state import state_in
from bot.events.races import Course, Race, may_be_there
from bot.events.reading.fields import Fields, fields_of, values_of
from bot.events.reading.json_values import identifier, text
from bot.events.reading.off_times import read_clock, read_date
from bot.events.reading.race_record import read_race
from bot.events.reading.record_objects import entries_of, is_by_key, is_id, races_by_key
from bot.events.reading.runner_entry import is_runner

MOST_RACES_A_CARD = 30
"""A larger bare number is an id."""

MOST_RACES = 300
"""Ten times a meeting's. A database bounds the values of a statement."""

_NO_RACE = Race()

_NUMBERED = re.compile("race[0-9]{1,2}")
"""A field for each race: race_1, race_2."""

_REGION = re.compile("[A-Z]{2,3}")
_PLACE_NAME = re.compile(r"(?!.*[a-z][A-Z])[^\W\d_a-z][^\d_]{2,}")
"""As people write the name of a course, not as a program writes the name of a field."""

RACE_LISTS, CARD_LISTS, MEETING_LISTS = "lists.races", "lists.cards", "lists.meetings"

MOST_RUNNERS_A_CARD = 2_500
"""Runners of all races. No further race is read."""


def read_races(objects: Iterable[Fields], parent: Race) -> tuple[Race, ...]:
    """The first MOST_RACES races of the first list with races, completed with the parent's place."""
    objects = tuple(objects)
    listed = (races for fields in objects for races in _lists(fields, parent))
    of_meetings = (_read_meetings(value, parent) for value in values_of(objects, MEETING_LISTS))
    return next(filter(None, listed), ()) or next(filter(None, of_meetings), ())


def lists_races(fields: Fields) -> bool:
    listed = fields.of(RACE_LISTS, MEETING_LISTS)
    return any(isinstance(value, list) or is_by_key(value) for value in listed) or any(
        races_by_key(value) or _NUMBERED.fullmatch(name) for name, value in fields.items()
    )


def race_entries(fields: Fields, *facts: str) -> list[dict[str, Any]]:
    """The races in the first list of an object that has any."""
    return next(filter(None, _entries(fields, *facts)), [])


def _entries(fields: Fields, *facts: str) -> Iterator[list[dict[str, Any]]]:
    """The races of each list, as objects: a bare id is {"race_id": …}."""
    for fact in facts:
        for value in fields.of(fact):
            is_list = fact != CARD_LISTS or isinstance(value, list) or races_by_key(value)
            entries = entries_of(_with_states(value), said_by_key) if is_list else []
            yield [one for entry in entries if (one := _as_object(entry, bare=fact != CARD_LISTS))]
    yield [value for name, value in fields.items() if _NUMBERED.fullmatch(name) and isinstance(value, dict)]


def _with_states(value: Any) -> Any:
    """{"13:00": "Abandoned"} as {"13:00": {"status": "Abandoned"}}."""
    said = value.items() if isinstance(value, dict) else ()
    is_of_states = all(isinstance(words, str) and state_in(words) and said_by_key(key) for key, words in said)
    return {key: {"status": words} for key, words in said} if said and is_of_states else value


def said_by_key(key: str) -> dict[str, Any]:
    """The field of a race that a key is: a time, a date, a number, an id, a state, a region or a course.

    "1745" may be a time or an id, and says nothing.
    """
    if read_clock(key):
        return {} if key.isdecimal() else {"off": key}
    if read_date(key):
        return {"date": key}
    if number := re.fullmatch("[Rr]?([0-9]{1,2})", key):
        return {"number": number[1]}
    if key.isdecimal() or is_id(key):
        return {"course_id" if key.startswith("cr_") else "race_id": key}
    if state_in(key):
        return {"status": key}
    if _REGION.fullmatch(key):
        return {"region": key}
    return {"course": key} if _PLACE_NAME.fullmatch(key) else {}


def _lists(fields: Fields, parent: Race) -> Iterator[tuple[Race, ...]]:
    for entries in _entries(fields, RACE_LISTS, CARD_LISTS):
        yield tuple(_read(entries, parent))


def _read(entries: Sequence[dict[str, Any]], parent: Race) -> Iterator[Race]:
    runners = 0
    for race in map(read_race, entries[:MOST_RACES]):
        if race != _NO_RACE:
            yield within(race, parent)
        runners += len(race.runners)
        if runners > MOST_RUNNERS_A_CARD:
            return


def _read_meetings(value: Any, parent: Race) -> tuple[Race, ...]:
    races: list[Race] = []
    for meeting in entries_of(value, said_by_key):
        if isinstance(meeting, dict) and len(races) < MOST_RACES:
            shared = within(read_race({"meeting": meeting}), parent)
            races += next(filter(None, _lists(fields_of(meeting), shared)), ())
    return tuple(races[:MOST_RACES])


def _as_object(entry: Any, *, bare: bool) -> dict[str, Any] | None:
    if isinstance(entry, dict):
        return None if is_runner(fields_of(entry)) else entry
    return _read_bare(entry) if bare else None


def _read_bare(entry: Any) -> dict[str, Any] | None:
    """An off time, a title, a number on the card, or an id."""
    name = text(identifier(entry))
    if name is None:
        return None
    if read_clock(entry):
        return {"off": entry}
    if " " in name:
        return {"race_name": name}
    is_number = name.isdecimal() and len(name) < 3 and int(name) <= MOST_RACES_A_CARD
    return {"race_number" if is_number else "race_id": name}


def within(race: Race, parent: Race) -> Race:
    """The race, with the day and the place of the parent where the race has none. At another place only the day."""
    if not may_be_there(race, parent):
        parent = Race(race_date=parent.race_date)
    return race.model_copy(
        update={
            "region": race.region or parent.region,
            "meeting_id": race.meeting_id or parent.meeting_id,
            "race_date": race.race_date or parent.race_date,
            "course": parent.course if race.course == Course() else race.course,
        }
    )
