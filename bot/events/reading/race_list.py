"""The races that a meeting or a card names: objects, bare ids, bare off times (Spec gap G1)."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from bot.events.races import Course, OffTime, Race
from bot.events.reading.aliases import CARD_LISTS, MEETING_LISTS, RACE_LISTS
from bot.events.reading.json_values import Fields, fields_of, identifier, text
from bot.events.reading.off_times import read_clock
from bot.events.reading.race_record import read_race
from bot.events.reading.runner_list import is_runner

MOST_RACES_A_CARD = 30
"""A larger bare number is an id."""

MOST_RACES = 300
"""Ten times a meeting's. A database bounds the values of a statement."""


def read_races(objects: Iterable[Fields], parent: Race) -> tuple[Race, ...]:
    """The first MOST_RACES races of the first list with races, completed with the parent's place."""
    objects = tuple(objects)
    listed = (races for fields in objects for races in _lists(fields, parent))
    of_meetings = (_read_meetings(fields.get(name), parent) for fields in objects for name in MEETING_LISTS)
    return next(filter(None, listed), ()) or next(filter(None, of_meetings), ())


def lists_races(fields: Fields) -> bool:
    return any(isinstance(fields.get(name), list) for name in (*RACE_LISTS, *MEETING_LISTS))


def _lists(fields: Fields, parent: Race) -> Iterator[tuple[Race, ...]]:
    for name in RACE_LISTS + CARD_LISTS:
        entries = fields.get(name)
        if isinstance(entries, list):
            known = entries if name in RACE_LISTS else [entry for entry in entries if isinstance(entry, dict)]
            races = (_within(race, parent) for race in map(_read_entry, known) if race)
            yield tuple(islice(races, MOST_RACES))


def _read_meetings(value: Any, parent: Race) -> tuple[Race, ...]:
    races: list[Race] = []
    for meeting in value if isinstance(value, list) else ():
        if isinstance(meeting, dict):
            shared = _within(read_race({"meeting": meeting}), parent)
            races += next(filter(None, _lists(fields_of(meeting), shared)), ())
    return tuple(races[:MOST_RACES])


def _read_entry(entry: Any) -> Race | None:
    if isinstance(entry, dict):
        race = None if is_runner(fields_of(entry)) else read_race(entry)
        return race if race != Race() else None
    return _read_bare(entry)


def _read_bare(entry: Any) -> Race | None:
    """An off time, a title, a number on the card, or an id."""
    name = text(identifier(entry))
    clock = read_clock(entry)
    if clock:
        return Race(off=OffTime(text=clock))
    if name and " " in name:
        return Race(title=name)
    if name and name.isdecimal() and len(name) < 3 and int(name) <= MOST_RACES_A_CARD:
        return Race(number=name)
    return Race(race_id=name) if name else None


def _within(race: Race, parent: Race) -> Race:
    return race.model_copy(
        update={
            "region": race.region or parent.region,
            "meeting_id": race.meeting_id or parent.meeting_id,
            "race_date": race.race_date or parent.race_date,
            "course": parent.course if race.course == Course() else race.course,
        }
    )
