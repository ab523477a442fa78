"""A race read from any plausible shape, because the interface does not show a race's fields (Spec gap G2).

An unknown value stays None: nothing is guessed. names.ini has the names.
"""

import re
from collections.abc import Mapping
from typing import Any

from bot.events.race_state import reason_in
from bot.events.races import Course, OffTime, Race
from bot.events.reading import aliases
from bot.events.reading.fields import fields_of, find
from bot.events.reading.json_values import text
from bot.events.reading.off_times import read_clock
from bot.events.reading.record_objects import About, Part, parts_of
from bot.events.reading.record_state import state_of
from bot.events.reading.runner_list import read_placings
from bot.events.reading.sources import Sources, meeting_id_of, race_id_of, sources_of

_LOOKED_UP = (
    *("region", "title", "number", "race_class", "race_type", "distance", "going", "surface", "winning_time"),
    *("reason", "field_size"),
)
"""Fields of a race that are read as the first value found."""

_NO_PLACE = re.compile(r"\b(?:race|heat|event|off|at|to(?:day|morrow|night)|\w{3,6}day)\b|[0-9]", re.IGNORECASE)
"""Words beside a time that are no course."""


def read_off(record: Mapping[str, Any]) -> OffTime:
    return sources_of(_race_parts(record)).off


def read_race(record: Mapping[str, Any]) -> Race:
    parts = _race_parts(record)
    return race_from(sources_of(parts), race_id=race_id_of(parts), meeting_id=meeting_id_of(parts))


def _race_parts(record: Mapping[str, Any]) -> list[Part]:
    holds_race = isinstance(fields_of(record).get("race"), dict)
    return parts_of(record, About.DATA if holds_race else About.RACE)


def race_from(sources: Sources, *, race_id: str | None, meeting_id: str | None) -> Race:
    read = {name: sources.look(f"race.{name}") for name in _LOOKED_UP}
    placings = read_placings(sources.own + sources.data)
    state = state_of(sources, placings)
    read["number"] = read["number"] or find(sources.own, ("race",), aliases.read_short_number)
    course, off = sources.course, sources.off
    said = find(sources.own, ("race",), aliases.string)
    if said and " " in said and not read["number"]:
        called = _called(said) if course == Course() and off == OffTime() else None
        course, off = called or (course, off)
        read["title"] = read["title"] or (None if called else said)
    read["reason"] = read["reason"] or reason_in(state["status"])
    return Race(
        race_id=text(race_id),
        meeting_id=text(meeting_id),
        course=course,
        race_date=sources.race_date,
        off=off,
        runners=placings.runners,
        unread_order=placings.unread,
        disputed=placings.disputed,
        **state,
        **read,
    )


def _called(said: str) -> tuple[Course, OffTime] | None:
    """The course and the time of a race that is called by both: "13:00 York", "York 13:00"."""
    for off, name in (said.split(" ", 1), said.rsplit(" ", 1)[::-1]):
        if (clock := read_clock(off)) and not _NO_PLACE.search(name) and (course := aliases.read_course_name(name)):
            return Course(name=course), OffTime(text=clock)
    return None
