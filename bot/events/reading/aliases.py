"""The facts of a race and a course, each with the reader of its value (Spec gap G2)."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from bot.events.reading.fields import NAMES_OF, fields_of, first_of, fold
from bot.events.reading.json_values import MOST_NOTES, count, flag, identifier, text
from bot.events.reading.off_times import read_date
from bot.events.reading.record_objects import kind_of

COURSE_ID_SHAPE = re.compile("cr_[A-Za-z0-9]+")
"""Interface, Course."""

ENVELOPE_WORDS = frozenset({"race", "races", "meeting", "racecard", "result", "results", "event", "webhook"})

LETTERS_OF_A_COURSE = 3
"""At least. "C+3" is a rail position, and no course."""


SURFACES = frozenset(NAMES_OF["course.surfaces"])


def read_region(value: Any) -> str | None:
    """A number, and a cloud's "eu-west-1", is no code: a wrong region would hide an abandonment."""
    code = first_of([fields_of(value)], "course.region_code", identifier) if isinstance(value, dict) else value
    return text(code) if isinstance(code, str) and not re.fullmatch("(?:.*-)?[0-9]+", code) else None


def read_course_id(value: Any) -> str | None:
    if isinstance(value, dict):
        return text(first_of([fields_of(value)], "ids.in_course", identifier))
    return value.strip() if isinstance(value, str) and COURSE_ID_SHAPE.fullmatch(value.strip()) else None


def read_course_name(value: Any) -> str | None:
    if isinstance(value, list) and len(value) == 1:
        return read_course_name(value[0])
    if isinstance(value, dict):
        return first_of([fields_of(value)], "course.spoken", read_course_name)
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
    """For example "5" for each of "R5", "5R" and "Race 5"."""
    read = read_words(value)
    return re.sub("^(?:race|r)? ?0*(?=[0-9])|(?<=[0-9])r$", "", read, flags=re.IGNORECASE) if read else None


def string(value: Any) -> str | None:
    return text(value) if isinstance(value, str) else None


def read_short_number(value: Any) -> str | None:
    """The number on the card in a whole value of the field `race`; None for a title."""
    found = re.match(r"(?:R|Race )?0?([0-9]{1,2})(?:$|\b ?[-:.](?![0-5][0-9]\b))", text(value) or "", re.IGNORECASE)
    return found[1] if found else None


def read_reason(value: Any) -> str | None:
    """None for "N/A" and "null"."""
    several = map(text, value[:MOST_NOTES]) if isinstance(value, list) else ()
    said = text(value) or ", ".join(filter(None, several))
    return said if flag(said) else None


FACT_READERS: Mapping[str, Callable[[Any], Any]] = {
    "race.region": read_region,
    "race.number": read_number,
    "race.reason": read_reason,
    "race.field_size": count,
    "race.date": read_date,
    "ids.course": text,
    "course.name": read_course_name,
    "course.track": read_course_name,
    "course.meeting": read_meetings_name,
    "course.country": text,
}
"""The readers of facts. Any other fact is read by `read_words`."""
