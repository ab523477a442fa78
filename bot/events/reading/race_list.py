"""The races that a meeting or a card names: objects, bare ids, bare off times (Spec gap G1)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.events.race_state import state_in
from bot.events.races import Course, Race, in_short, may_be_there
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, fields_of, first_of, fold, values_of
from bot.events.reading.json_values import LONGEST_READ, count, identifier, text
from bot.events.reading.off_times import read_clock, read_date
from bot.events.reading.race_record import called_in, is_title, read_race
from bot.events.reading.record_objects import (
    BY_NAME,
    MOST_ENTRIES,
    MOST_RACES_A_CARD,
    About,
    entries_of,
    is_by_key,
    is_id,
    races_by_key,
    read_bare_id,
)
from bot.events.reading.runner_entry import is_runner
from bot.events.reading.sources import read_course_name, read_number, read_short_number
from bot.events.reading.tabular import without_table

MOST_RACES = 300
"""Ten times a meeting's. A database bounds the values of a statement."""

NOWHERE = Race()

_NUMBERED = re.compile("race[0-9]{1,2}")
"""A field for each race: race_1, race_2."""

_REGION = re.compile("[A-Z]{2,3}")
_PLACE_NAME = re.compile(r"(?!.*[a-z][A-Z])[^\W\d_a-z][^\d_]{2,}")
"""As people write the name of a course, not as a program writes the name of a field."""

LISTS_OF_MEETINGS = (
    "lists.meetings",
    "course.several",
    "course.listed",
    "course.by_region",
    "lists.cards",
    "lists.lost",
)

_OF_MEETINGS = frozenset({"lists.meetings", "course.several"})
_OF_COURSES = frozenset({"course.several", "course.listed", "course.by_region"})
_OF_RACES = frozenset({"lists.races", "lists.named_races", "lists.run_races"})
_ONLY_LISTS = frozenset({"lists.cards", "course.listed", "course.by_region", "lists.named_races", "lists.lost"})
_LOST = frozenset(NAMES_OF["lists.lost"])
_COURSES_OR_RACES = _LOST.union(set(NAMES_OF["course.several"]).intersection(NAMES_OF["lists.races"]))
"""Names of lists whose entries say what is listed: courses or races."""

_OF_A_ROW = frozenset({"is.race", "is.horse", "is.runner"})
_OF_RACE_AND_HORSES = frozenset({"event.sure_name", "ids.race", "ids.meeting", "ids.course", "race.date.own"}).union(
    fact for fact in NAMES_OF if fact.startswith(("race.", "course.", "off.")) and not fact.endswith((".own", "reason"))
) | {"state.reason"}
"""The facts that a row of a horse tells of the race. In such a row "number" is the horse's."""

_NAMES_RACE = frozenset({"off", "number", "race_id"})

_PLAIN_IDS = frozenset(NAMES_OF["ids.plain"])

_BETWEEN_NAMES = re.compile(" ?[,;/|] ?| & | and ")
_NUMBERS = re.compile("(?:races? ?|r)?([0-9]{1,2})(?: ?(?:-|\u2013|to) ?r?([0-9]{1,2}))?", re.IGNORECASE)
LONGEST_NUMBERS = 200
"""Characters of a list of numbers in a text."""

MOST_RUNNERS_A_CARD = 2_500
"""Runners of all races. No further race is read."""


def read_races(objects: Iterable[Fields], parent: Race) -> tuple[Race, ...]:
    """The first MOST_RACES races of the first list with races, completed with the parent's place."""
    objects = tuple(objects)
    listed = (races for fields in objects for races in _lists(fields, parent))
    of_meetings = (_read_meetings(value, parent) for value in values_of(objects, "lists.meetings"))
    return next(filter(None, listed), ()) or next(filter(None, of_meetings), ())


def lists_races(fields: Fields) -> bool:
    listed = fields.of("lists.races", "lists.meetings", "course.several")
    return any(isinstance(value, list) or is_by_key(value) for value in listed) or any(
        races_by_key(value) or _NUMBERED.fullmatch(name) for name, value in fields.items()
    )


def race_entries(fields: Fields, *facts: str) -> list[dict[str, Any]]:
    """The races in the first list of an object that has any."""
    return next(filter(None, _entries(fields, *facts)), [])


def _entries(fields: Fields, *facts: str) -> Iterator[list[dict[str, Any]]]:
    """The races or meetings of each list, as objects: a bare id is {"race_id": …}, a bare name {"course": …}."""
    yield from (_listed(fields, fact, name) for fact in facts for name in fields.facts.get(fact, ()))
    yield [value for name, value in fields.items() if _NUMBERED.fullmatch(name) and isinstance(value, dict)]
    if "lists.named_races" in facts:
        yield [{"race_number": number} for number in _between(fields, "state.first_lost", "state.last_lost")]


def _between(fields: Fields, first: str, last: str) -> Sequence[int]:
    """The numbers of {"from_race": 4, "to_race": 7}."""
    numbers = [first_of([fields], fact, read_card_number) for fact in (first, last)]
    return range(numbers[0], min(numbers[1], MOST_RACES_A_CARD) + 1) if numbers[0] and numbers[1] else ()


def read_card_number(value: Any) -> int | None:
    """3 for each of 3, "race 3", "3 of 7", {"number": 3}, {"race": 3} and [1, 2, 3]."""
    if isinstance(value, dict):
        fields = fields_of(value)
        named = (first_of([fields], fact, read_card_number) for fact in ("race.number", "race.number.own"))
        return next(filter(None, named), None) or read_card_number(fields.get("race"))
    return len(value) or None if isinstance(value, list) else count((read_number(value) or "").partition(" of ")[0])


def _listed(fields: Fields, fact: str, name: str) -> list[dict[str, Any]]:
    value, is_of_courses = without_table(fields[name]), fact in _OF_COURSES
    if name.endswith("range") and isinstance(value, list):
        value = dict(zip(("from", "to"), value, strict=False))
    if fact in _OF_RACES or name in _LOST:
        value = _named_races(value)
    if name in _COURSES_OR_RACES and is_of_courses is not _are_courses(name, value, fields):
        return []
    may_be_one = fact in _ONLY_LISTS or BY_NAME.get(name) is About.MEETING
    is_by_place = (name in _LOST or fact in _OF_COURSES) and _is_by_place_or_day(value)
    if is_by_place:
        value = {key: _named_meetings(inner) if _REGION.fullmatch(key) else inner for key, inner in value.items()}
    is_list = isinstance(value, list) or is_by_place or races_by_key(value)
    if fact == "course.by_region" and not isinstance(value, dict):
        return []
    if (may_be_one and not is_list) or (isinstance(value, dict) and _are_fields(value)):
        return []
    if fact in _OF_MEETINGS and name not in BY_NAME:
        value = _named_meetings(value)
    entries = entries_of(
        _as_objects(value, _READ_BARE.get(fact, _read_bare)), _said_of_meeting if fact in _OF_MEETINGS else said_by_key
    )
    rows = races_of_rows(entries)
    if rows or fact == "lists.runners":
        return rows
    may_be_horses = fact in {"lists.cards", "course.listed", "lists.lost"}
    objects = [one for one in entries if isinstance(one, dict) and not _is_horse(fields_of(one), may_be=may_be_horses)]
    if fact == "lists.changes":
        objects = [one for one in objects if read_race(one).abandoned]
    has_course_ids = fact == "course.several" or BY_NAME.get(name) is About.COURSE
    return [*map(_with_course_id, objects)] if has_course_ids else objects


def races_of_rows(entries: Sequence[Any]) -> list[dict[str, Any]]:
    """The races of a list with a row for each horse. Empty for any other list.

    A row: {"race_id": "rc_1", "course": "York", "horse": "A", "position": 1}.
    """
    races = dict[str, dict[str, Any]]()
    for row in entries:
        fields = fields_of(row) if isinstance(row, dict) else None
        if fields is None or not fields.facts.keys() >= _OF_A_ROW:
            return []
        race = fields.only(_OF_RACE_AND_HORSES)
        of_race = first_of([fields], "ids.race", identifier) or repr(sorted(race.items()))
        races.setdefault(of_race, {**race, "runners": []})["runners"].append(row)
    return [*races.values()]


def _is_horse(entry: Fields, *, may_be: bool) -> bool:
    """True by a horse's name, or by a place if the list `may_be` of horses: meetings and races may have a place too."""
    is_placed = may_be and is_runner(entry) and "is.race" not in entry.facts
    return "is.horse" in entry.facts or is_placed


def _as_objects(value: Any, read_bare: "_BareReader", deepest: int = 4) -> Any:
    """With an object for each bare entry, in lists under keys too; {"13:00": "Abandoned"} with {"status": …}."""
    if isinstance(value, list):
        return [one if isinstance(one, dict) else read_bare(one) for one in value[:MOST_ENTRIES]]
    if not isinstance(value, dict) or not deepest:
        return value
    if value and all(
        isinstance(said, str) and _NAMES_RACE.intersection(said_by_key(key)) for key, said in value.items()
    ):
        words = _field_of([*value.values()])
        return {key: {words: said} for key, said in value.items()}
    return (
        {key: _as_objects(inner, read_bare, deepest - 1) for key, inner in value.items()} if is_by_key(value) else value
    )


def _are_fields(value: Mapping[str, Any]) -> bool:
    """Whether the keys of texts are names of fields: {"Name": "York"}, {"Total": "2"}."""
    return all(isinstance(said, str) for said in value.values()) and (
        bool(fields_of(value).facts) or any(said.isdecimal() for said in value.values())
    )


def _named_races(value: Any) -> Any:
    """The times and numbers of "13:00, 13:30", "R4, R5", "races 4-7" and {"from": 4, "to": 7}.

    A single number may be a count of races.
    """
    if not isinstance(value, str):
        between = _between(fields_of(value), "state.range_from", "state.range_to") if isinstance(value, dict) else ()
        return [*between] or value
    named: list[Any] = []
    for one in _BETWEEN_NAMES.split(value[:LONGEST_NUMBERS]):
        numbers = _NUMBERS.fullmatch(one.strip())
        if not (numbers or read_clock(one) or is_id(one) or called_in(one)):
            return []
        named += range(int(numbers[1]), int(numbers[2] or numbers[1]) + 1) if numbers else [one]
    return named if len(named) > 1 else []


def _named_meetings(value: Any) -> Any:
    """The meetings of "York, Ayr", {"York": true}, {"York": "Frost"} and {"York": ["13:00"]}."""
    if isinstance(value, str):
        return _BETWEEN_NAMES.split(value[:LONGEST_READ])
    if not isinstance(value, dict) or fields_of(value).facts or not all("course" in said_by_key(key) for key in value):
        return value
    fields = {bool: "abandoned", str: _field_of([*value.values()]), list: "races"}
    return {key: {fields[type(said)]: said} if type(said) in fields else said for key, said in value.items()}


def _field_of(words: Sequence[Any]) -> str:
    """The field of texts under keys: beside "Abandoned", "Going ahead" is a status too; "Frost" alone is a reason."""
    if any(isinstance(said, str) and state_in(said) for said in words):
        return "status"
    return "race_name" if any(map(is_title, words)) else "reason"


def _with_course_id(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry of a course, whose plain id is the course's, not a meeting's."""
    return {"course_id" if fold(key[:LONGEST_NAME]) in _PLAIN_IDS else key: said for key, said in entry.items()}


def may_be_race(fields: Fields) -> bool:
    """Whether an entry has a field or a title of a race. A meeting may have such a field too."""
    return not fields.facts.keys().isdisjoint({"is.of_a_race", "is.timed"}) or any(
        map(is_title, fields.of("race.title.own"))
    )


def _are_courses(name: str, value: Any, beside: Fields) -> bool:
    """Whether the entries of a list are courses, not races. In French, `courses` are races."""
    if "course.french" in beside.facts and name not in _LOST:
        return False
    entries = entries_of(value, said_by_key) if not isinstance(value, str) else []
    objects = [fields_of(one) for one in entries if isinstance(one, dict)]
    # A course may have the time of its first race.
    without = () if name in _LOST else ("is.timed",)
    return all(map(_read_bare_course, (one for one in entries if not isinstance(one, dict)))) and all(
        lists_races(one) or not may_be_race(one.without(without)) for one in objects
    )


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


def _said_of_meeting(key: str) -> dict[str, Any]:
    """As `said_by_key`, with an id as the meeting's."""
    return {"meeting_id" if name == "race_id" else name: said for name, said in said_by_key(key).items()}


def _is_by_place_or_day(value: Any) -> bool:
    """Whether the keys are regions, courses or days, not names of fields: {"GB": ["York"], "IE": ["Naas"]}."""
    return is_by_key(value) and not fields_of(value).facts and all(map(said_by_key, value))


def _lists(fields: Fields, parent: Race) -> Iterator[tuple[Race, ...]]:
    for entries in _entries(fields, "lists.races", "lists.named_races", "lists.cards", "lists.lost", "lists.changes"):
        yield tuple(_read(entries, parent))


def _read(entries: Sequence[dict[str, Any]], parent: Race) -> Iterator[Race]:
    runners = 0
    for race in map(read_race, entries[:MOST_RACES]):
        if race != NOWHERE:
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


def _read_bare(entry: Any) -> dict[str, Any] | None:
    """An off time, a number on the card ("5", "R5"), a title, or an id."""
    name = text(identifier(entry))
    if name is None:
        return None
    if called_in(name):
        return {"race": name}
    if read_clock(entry):
        return {"off": entry}
    if (read_number(name) or "").isdecimal() and not read_bare_id(name):
        return {"race_number": name}
    return {"race_name" if " " in name or name.istitle() else "race_id": name}


def _read_bare_course(entry: Any) -> dict[str, Any] | None:
    """A name, or the service's id of a course."""
    name = text(identifier(entry))
    if name is None or read_clock(name) or state_in(name) or name.isdecimal() or read_short_number(name):
        return None
    if is_title(name):
        return None
    if is_id(name):
        return {"course_id": name} if name.startswith("cr_") else None
    return {"course": name} if read_course_name(name) else None


def _read_bare_meeting(entry: Any) -> dict[str, Any] | None:
    """A name, or any id."""
    meeting_id = read_bare_id(entry)
    return _read_bare_course(entry) or ({"meeting_id": meeting_id} if meeting_id else None)


_BareReader = Callable[[Any], dict[str, Any] | None]

_READ_BARE: Mapping[str, _BareReader] = {
    "lists.meetings": _read_bare_meeting,
    "course.several": _read_bare_course,
    "course.listed": _read_bare_course,
    "course.by_region": _read_bare_course,
    "lists.cards": lambda _: None,
}
"""The readers of bare entries by list. `_read_bare` reads the entries of any other list."""


def within(race: Race, parent: Race) -> Race:
    """The race, with the day and the place of the parent where the race has none. At another place only the day."""
    if parent == NOWHERE:
        return race
    if not may_be_there(race, parent):
        parent = Race(race_date=parent.race_date)
    is_placed = parent.course.as_typed is None or in_short(race.course) != Course()
    course = race.course if is_placed else parent.course
    if country := parent.course.country:
        course = course.model_copy(update={"country": course.country or country})
    return race.model_copy(
        update={
            "region": race.region or parent.region,
            "meeting_id": race.meeting_id or parent.meeting_id,
            "race_date": race.race_date or parent.race_date,
            "course": course,
        }
    )
