"""A second, simple reader of lines for `/racing subscribe`: every plausible meaning of a few patterns of words.

The meanings are sets of cells: what a channel receives, by region, course and topic. Nothing of the bot's own reader is
used here.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product

REGIONS = {"GB": ("York", "Ffos Las", "elsewhere in GB"), "IRE": ("Curragh", "elsewhere in IRE"), "FR": ("in FR",)}
TOPICS = ("results", "abandonments", "racecards")
USUAL = frozenset({"results", "abandonments"})
NEGATIONS = ("no", "not", "except", "without", "but not", "excluding")

Cell = tuple[str, str, str]
Cells = frozenset[Cell]

EVERY: Cells = frozenset(
    (region, course, topic) for region in REGIONS for course in REGIONS[region] for topic in TOPICS
)

_PLACE = "(?:GB|IRE|FR|all|York|Curragh)"
_TOPIC = "(?:results|abandonments|racecards)"
_NO = "(?:no|not|except|without|but not|excluding)"


@cache
def _at(word: str) -> Cells:
    return EVERY if word == "all" else frozenset(cell for cell in EVERY if word in cell[:2])


@cache
def _of(*topics: str) -> Cells:
    return frozenset(cell for cell in EVERY if cell[2] in topics)


def _usual(place: str) -> Cells:
    return _at(place) & _of(*USUAL)


def meanings(line: str) -> set[Cells]:
    """Every plausible meaning of a line; empty for a line of another pattern."""
    return {cells for pattern, read in PATTERNS.items() for cells in _read(pattern, read, line)}


def _read(pattern, read, line) -> Iterator[Cells]:
    found = re.fullmatch(pattern, line)
    if found:
        yield from read(*found.groups())


def _but(place, topic, of):
    """All of a place but a topic of another place: as said, or without the topic, or without the other place."""
    kept = _usual(place)
    return [kept - (_of(topic) & _at(of)), kept - _of(topic), kept - _at(of)]


def _but_both(place, one, other):
    return [_usual(place) - _of(one, other), (_at(place) & _of(other)) - _of(one)]


def _each(place, topic, other, other_topic):
    return [(_at(place) & _of(topic)) | (_at(other) & _of(other_topic))]


def _with_place(place, topic, other):
    """ "GB results and York": all of York or its results."""
    return [(_at(place) & _of(topic)) | _usual(other), (_at(place) | _at(other)) & _of(topic)]


def _list_and_topic(place, other, topic):
    """ "GB and York results": the results of both; of a course beside its region, also all of the region."""
    both = (_at(place) | _at(other)) & _of(topic)
    is_mixed = other in {"York", "Curragh"} and place not in {"York", "Curragh"}
    return [both, _usual(place) | (_at(other) & _of(topic))] if is_mixed or "all" in {place, other} else [both]


def _all_of_topic(place, topic):
    """ "GB and all results": of everywhere, or all those of GB."""
    return [_usual(place) | _of(topic), _at(place) & _of(topic), _usual(place) | (_at(place) & _of(topic))]


PATTERNS = {
    f"({_PLACE})": lambda place: [_usual(place)],
    f"({_PLACE}) ({_TOPIC})": lambda place, topic: [_at(place) & _of(topic)],
    f"(?:only|all) ({_TOPIC}) from ({_PLACE})": lambda topic, place: [_at(place) & _of(topic)],
    f"({_PLACE}) (?:and|plus) ({_TOPIC})": lambda place, topic: [
        _at(place) & _of(topic),
        _at(place) & _of(topic, *USUAL),
    ],
    f"({_PLACE}) only ({_TOPIC})": lambda place, topic: [_at(place) & _of(topic)],
    f"({_PLACE}) {_NO} ({_TOPIC})": lambda place, topic: [_usual(place) - _of(topic)],
    f"({_PLACE}) {_NO} (York|Curragh)": lambda place, course: [_usual(place) - _at(course)],
    f"({_PLACE}) {_NO} ({_TOPIC}) (?:for|from|at) ({_PLACE})": _but,
    f"({_PLACE}) {_NO} ({_PLACE}) ({_TOPIC})": lambda place, of, topic: _but(place, topic, of),
    f"({_PLACE}) {_NO} ({_TOPIC})(?: and|,) ({_TOPIC})": _but_both,
    f"({_PLACE}) {_NO} ({_TOPIC})(?: and|,) (York|Curragh)": lambda place, topic, course: [
        _usual(place) - _of(topic) - _at(course),
        (_usual(place) - _of(topic)) | _usual(course),
    ],
    f"({_PLACE}) {_NO} (York|Curragh)(?: and|,) ({_TOPIC})": lambda place, course, topic: [
        _usual(place) - _of(topic) - _at(course),
        (_at(place) & _of(topic)) - _at(course),
    ],
    f"({_PLACE}) (?:not|but not) (?:only|just) ({_TOPIC})": lambda place, topic: [_at(place) & _of(topic, *USUAL)],
    "(GB|IRE|all) (?:not|but not) (?:only|just) (York|Curragh)": lambda place, _course: [_usual(place)],
    f"({_PLACE}) ({_TOPIC}), not (?:only|just) ({_TOPIC})": lambda place, one, other: [_at(place) & _of(one, other)],
    f"({_PLACE}) ({_TOPIC})(?: and|,|, and) ({_PLACE})": _with_place,
    f"({_PLACE}) ({_TOPIC})(?: and|,) ({_PLACE}) ({_TOPIC})": _each,
    f"({_PLACE}) ({_TOPIC}) and ({_TOPIC}) (?:for|from|at) ({_PLACE})": lambda place, one, other, there: [
        *_each(place, one, there, other),
        (_at(place) | _at(there)) & _of(one, other),
    ],
    f"({_PLACE}) and ({_PLACE}) ({_TOPIC})": _list_and_topic,
    f"({_PLACE})(?: and|,) all ({_TOPIC})": _all_of_topic,
    f"all ({_TOPIC})(?: and|,) ({_PLACE}) ({_TOPIC})": lambda topic, place, other: _each("all", topic, place, other),
    f"all ({_TOPIC})(?: and|,) ({_PLACE})": lambda topic, place: _with_place("all", topic, place),
    f"(GB|IRE) (York|Curragh)(?: and|,) all ({_TOPIC})": lambda place, course, topic: [
        (_usual(place) & _at(course)) | _of(topic),
        (_usual(place) & _at(course)) | (_at(place) & _of(topic)),
        _at(place) & _at(course) & _of(topic),
    ],
    f"{_NO} ({_TOPIC}) (?:for|from|at) ({_PLACE})": lambda topic, place: [_usual(place) - _of(topic)],
    f"only ({_TOPIC}) from ({_PLACE}) {_NO} (York|Curragh)": lambda topic, place, course: [
        (_at(place) & _of(topic)) - _at(course)
    ],
    f"(GB|IRE), (IRE|FR) {_NO} ({_TOPIC})": lambda place, other, topic: [(_usual(place) | _usual(other)) - _of(topic)],
    f"(GB|IRE) {_NO} ({_TOPIC})(?: and|,) (GB|IRE|FR)": lambda place, topic, other: [
        (_usual(place) | _usual(other)) - _of(topic),
        (_usual(place) - _of(topic)) | _usual(other),
    ],
    f"(GB|IRE|all) {_NO} (York|Curragh)(?: and|,) (IRE|FR)": lambda place, course, other: [
        (_usual(place) | _usual(other)) - _at(course),
        _usual(place) - _usual(other) - _at(course),
    ],
    f"({_PLACE}) ({_TOPIC}) {_NO} ({_PLACE}) ({_TOPIC})": lambda place, topic, of, other: [
        (_at(place) & _of(topic)) - (_at(of) & _of(other)),
        (_at(place) & _of(topic)) - _at(of),
        (_at(place) & _of(topic, other)) - _at(of),
    ],
}
"""Patterns of lines, each with the meanings by the words in its groups."""

_WORDS = {_PLACE: ("GB", "IRE", "FR", "all", "York", "Curragh"), _TOPIC: TOPICS, _NO: NEGATIONS}


@cache
def lines() -> list[str]:
    """Every line of the patterns."""
    return sorted({line for pattern in PATTERNS for line in _lines(pattern)})


def _lines(pattern: str) -> Iterator[str]:
    parts = re.split(rf"({'|'.join(map(re.escape, _WORDS))}|\((?:\?:)?[^()]*\))", pattern)
    for words in product(*(_WORDS.get(part) or _choice(part) for part in parts)):
        yield "".join(words)


def _choice(part: str) -> tuple[str, ...]:
    if "|" in part:
        return tuple(part.removeprefix("(").removeprefix("?:").removesuffix(")").split("|"))
    return (part.strip("()"),)
