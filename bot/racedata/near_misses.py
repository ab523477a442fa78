"""What a typed word may have meant: the likeliest of what is published, and the courses that are called so."""

from collections.abc import Iterable, Sequence

from bot.errors import CommandError
from bot.racedata.client.filter_values import ALIKE, suggest
from bot.racedata.reference_store import KnownCourse

TYPED_MAX = 80
"""What is looked at of a typed word: no code or course name is longer, and likeness costs time by the character."""

NAMED_MAX = 10
"""So many typed words are said back; of more, how many they are."""

COURSE = "course:"
"""What a course is called by where it is typed among words of other kinds."""


def find_courses(courses: Sequence[KnownCourse], typed: str) -> list[KnownCourse]:
    """The courses of an id, else of an exact name, else of a shortcode."""
    for field in ("course_id", "name", "shortcode"):
        found = [course for course in courses if getattr(course, field) == typed]
        if found:
            return found
    return []


def likely(typed: str, values: Sequence[str], alike: float = ALIKE) -> list[str]:
    """Those of the values that the typed word may have meant, likeliest first."""
    return suggest(typed[:TYPED_MAX], values, alike=alike)


def course_words(courses: Sequence[KnownCourse]) -> dict[str, str]:
    """The words that courses are called by, names and shortcodes, each with the course's name."""
    return {word: course.name or word for course in courses for word in (course.shortcode, course.name) if word}


def likely_courses(typed: str, courses: Sequence[KnownCourse]) -> list[str]:
    """The names of the courses that may have been meant, likeliest first."""
    names = course_words(courses)
    return list(dict.fromkeys(names[word] for word in likely(typed, list(names))))


def question(meant: Iterable[str]) -> str:
    """Whether one of these was meant, after a space; nothing where there are none."""
    listed = " or ".join(meant)
    return f" Did you mean {listed}?" if listed else ""


def quoted(typed: str) -> str:
    """A typed word as it is said back."""
    return f'"{typed}"' if len(typed) <= TYPED_MAX else f'"{typed[:TYPED_MAX]}…"'


def named(words: Iterable[str], joint: str = "or") -> str:
    """Typed words as they are said back, each once; of many the first ones, and how many more there were."""
    each = list(dict.fromkeys(words))
    more = [f"{len(each) - NAMED_MAX} more"] if len(each) > NAMED_MAX else []
    return f" {joint} ".join([*map(quoted, each[:NAMED_MAX]), *more])


def several(typed: str, found: Sequence[KnownCourse], regions: Sequence[str]) -> CommandError:
    """That a name is that of several courses: each by its id, or by its region where another one was typed."""
    places = [one.region or one.country or "?" for one in found]
    ids = " or ".join(f"{one.course_id or '?'} ({place})" for one, place in zip(found, places, strict=True))
    if len(regions) > 1:
        return CommandError(f"Which {typed}? Give the id: {ids}.")
    if regions and not any(one.region in regions for one in found):
        there = list(dict.fromkeys(one.region for one in found if one.region))
        told = f"{quoted(typed)} is in {' or '.join(there) or 'other regions'}, not in {regions[0]}."
        return CommandError(told, typed=regions[0], meant={region: region for region in there})
    is_told_by_place = len(set(places)) == len(found)
    meant = {
        f"{one.name} ({place})" if is_told_by_place else f"{one.name} ({place}, {one.course_id})": one.course_id
        for one, place in zip(found, places, strict=True)
        if one.course_id
    }
    told = f"Which {typed}?" if len(meant) == len(found) else f"Which {typed}? Give the id: {ids}."
    return CommandError(told, typed=COURSE + typed, meant=meant)
