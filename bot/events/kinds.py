"""The kinds of event (Interface, Events), and a declaration of each kind.

The declarations stand in declarations.ini. A declaration without a part fails at import. A kind without a message, or
without a publisher in the stand-in, fails in tests/unit/test_completeness.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import filter as filter_names
from itertools import chain

from bot.events import spellings
from bot.events.spellings import ComparedBy, as_published
from bot.events.word_rows import sentence_rows


class EventKind(StrEnum):
    """The service's own names."""

    RESULT_RECEIVED = "result.received"
    RACE_ABANDONED = "race.abandoned"
    MEETING_ABANDONED = "meeting.abandoned"
    RACECARD_PUBLISHED = "racecard.published"


class Topic(StrEnum):
    RESULTS = "results"
    ABANDONMENTS = "abandonments"
    RACECARDS = "racecards"


DEFAULT_TOPICS = frozenset({Topic.RESULTS, Topic.ABANDONMENTS})


class Subject(StrEnum):
    """A card is of one race or of a whole meeting."""

    RACE = "race"
    MEETING = "meeting"
    CARD = "card"


class Rings(StrEnum):
    """When a change is a new message. Any other change is an edit."""

    NEVER = "never"
    ALWAYS = "always"
    """The first value is an edit."""
    TAKEN_BACK_TOO = "a loss taken back too"
    """The first value is an edit, unless the value takes the loss back: "Reinstated"."""
    FIRST_TOO = "the first too"
    FEWER = "fewer"
    """A smaller number rings."""
    MOVED_TODAY = "moved today"
    """A move of a race of today by more than FEW_MINUTES rings."""
    TO_OR_FROM_TODAY = "to or from today"
    """A date rings when the old or the new date is today's."""


@dataclass(frozen=True)
class ToldField:
    """`words`: the field's name. `by`: how values are compared. `unless`: a field that is shown instead."""

    words: str
    rings: Rings = Rings.NEVER
    by: ComparedBy = as_published
    unless: str | None = None


@dataclass(frozen=True)
class Noise:
    """A field whose change no message tells; `because` gives the reason."""

    because: str


DeclaredFields = Mapping[str, ToldField | Noise]
"""By level and field: "event.reason", "race.going", "course.name", "runner.jockey", "card.off" (a race of a card)."""

RUNNER, CARD = "runner", "card"
"""The levels whose own name, without a field, stands for being listed at all."""


@dataclass(frozen=True)
class EventDeclaration:
    """All of a kind but for its message (EVENT_MESSAGES) and its publisher in the stand-in."""

    topic: Topic
    """Channels subscribe to topics. The topic decides the priority too: abandonments come first."""
    subject: Subject
    fields: DeclaredFields
    """What makes a later version news: each field of each model, told or noise."""
    title: str
    """In a trace."""
    counted: tuple[str, str]
    """In a summary: one, several."""
    contradicted: str
    """In the message of a contradicting event."""
    contradicts: EventKind | None
    is_outcome: bool
    """A race of the book without any outcome is late, and the watchdog asks for its delivery."""
    has_placings: bool
    """The first placings ring, and the race book completes them."""
    has_whole_lists: bool
    """A race or a runner that a later version leaves out is off the card.

    The exceptions stand in bot.events.pairs: `is_whole`, `is_shorter`. Lists of other kinds may name only some.
    """
    from_book: tuple[str, ...]
    """Fields that the race book fills in for this kind alone (see merge.py)."""


def _entry(row: str) -> ToldField | Noise:
    if row.startswith("- "):
        return Noise(row.removeprefix("- "))
    words, *options = row.split(" | ")
    said = dict(option.split(": ") for option in options)
    by: ComparedBy = getattr(spellings, said.get("by", "as_published"))
    return ToldField(words, Rings(said.get("rings", "never")), by, said.get("unless"))


_TABLE = sentence_rows("bot.events", "declarations.ini", interpolated=True)
_EVERY_FIELD = {
    level if name == "itself" else f"{level}.{name}": _entry(row)
    for level in ("event", "course", "race", RUNNER, CARD)
    for names, row in _TABLE[level].items()
    for name in names.split()
}


def _fields_of(kind: str) -> DeclaredFields:
    """The fields of all levels, under the rows of the kind."""
    fields = dict(_EVERY_FIELD)
    for patterns, row in _TABLE[f"fields of {kind}"].items():
        fields |= dict.fromkeys(chain(*(filter_names(fields, one) for one in patterns.split())), _entry(row))
    return fields


def _declared(kind: str) -> EventDeclaration:
    said = _TABLE[kind]
    one, several = said["counted"].split(", ")
    return EventDeclaration(
        topic=Topic(said["topic"]),
        subject=Subject(said["subject"]),
        fields=_fields_of(kind),
        title=said["title"],
        counted=(one, several),
        contradicted=said["contradicted"],
        contradicts=EventKind(said["contradicts"]) if said["contradicts"] else None,
        is_outcome=said["is_outcome"] == "yes",
        has_placings=said["has_placings"] == "yes",
        has_whole_lists=said["has_whole_lists"] == "yes",
        from_book=tuple(said["from_book"].split()),
    )


DECLARATIONS: Mapping[EventKind, EventDeclaration] = {
    EventKind(section): _declared(section) for section in _TABLE if section in set(EventKind)
}
"""The declaration of each kind, in the order in which summaries count events."""


def kinds_about(*subjects: Subject) -> frozenset[EventKind]:
    return frozenset(kind for kind, declared in DECLARATIONS.items() if declared.subject in subjects)


OUTCOMES = tuple(kind for kind, declared in DECLARATIONS.items() if declared.is_outcome)
ABANDONMENTS = tuple(kind for kind, declared in DECLARATIONS.items() if declared.topic is Topic.ABANDONMENTS)
WHOLE_LISTS = frozenset(kind for kind, declared in DECLARATIONS.items() if declared.has_whole_lists)
