"""The kinds of event (Interface, Events), and a declaration of each kind.

A declaration without a part fails at import. tests/unit/test_completeness.py names a kind without a message, or without
a publisher in the stand-in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bot.events.races import is_settled_status
from bot.events.spellings import (
    ComparedBy,
    as_published,
    by_card_status,
    by_flag,
    by_lost_status,
    by_name,
    by_not_run,
    by_place,
    by_price,
    by_status,
)


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


_NAMES_THE_EVENT = Noise("names the event: another value is another event")
_ENVELOPE = Noise("the envelope's own: it differs from one attempt to the next")
_FILLED_IN = Noise("ours: the delivery did not have the value")
_OURS = Noise("ours: says how versions are put together")
_BY_PARTS = Noise("compared part by part")
_NO_RUNNERS = Noise("the message names no runners")
_IS_ABANDONED = Noise("each version says so by its kind")
_ONE_RACE = Noise("the event is of one race")
_NOT_SHOWN = Noise("the message does not show it")
_OF_THE_CARD = Noise("the card's own is told")
_NOT_IN_A_LINE = Noise("a race's line does not show it")


def _each(level: str, names: str, entry: Noise) -> DeclaredFields:
    return {f"{level}.{name}": entry for name in names.split()}


_EVENT: DeclaredFields = {
    **_each("event", "key kind name", _NAMES_THE_EVENT),
    **_each("event", "race races spared", _BY_PARTS),
    "event.reason": ToldField("reason"),
    **_each("event", "occurred_at updated_at received_at sequence", Noise("says which version is the newer")),
    **_each("event", "first_attempt_at data_as_of", _ENVELOPE),
    **_each("event", "races_run first_lost lost_from last_lost of_some", _NOT_SHOWN),
    "event.races_from_book": _FILLED_IN,
    **_each("event", "in_parts in_doubt drill", _OURS),
    "event.unreadable_because": Noise("ours, about reading"),
}
_COURSE: DeclaredFields = {
    "course.course_id": ToldField("course id", unless="name"),
    "course.name": ToldField("course", by=by_name),
    "course.country": _NOT_SHOWN,
}
_RACE: DeclaredFields = {
    "race.race_id": _NAMES_THE_EVENT,
    **_each("race", "meeting_id unread_order disputed", _NOT_SHOWN),
    **_each("race", "course runners", _BY_PARTS),
    **_each("race", "off_told state_told", _OURS),
    "race.region": ToldField("region"),
    "race.said_region": ToldField("region", unless="region"),
    "race.race_date": ToldField("date", Rings.TO_OR_FROM_TODAY),
    "race.off": ToldField("off time", Rings.MOVED_TODAY),
    "race.title": ToldField("title"),
    "race.number": ToldField("race number", unless="off"),
    "race.race_class": ToldField("class"),
    "race.race_type": ToldField("type"),
    "race.distance": ToldField("distance"),
    "race.going": ToldField("going"),
    "race.surface": ToldField("surface"),
    "race.status": ToldField("status", Rings.TAKEN_BACK_TOO, by_lost_status),
    "race.abandoned": ToldField("abandoned", Rings.FIRST_TOO, by_flag),
    "race.reason": Noise("the event's reason is this one, or the race book's"),
    "race.field_size": ToldField("number of runners"),
    "race.winning_time": ToldField("winning time"),
    "race.from_book": _FILLED_IN,
}
_OF_A_MEETING = (
    "race.race_id",
    "race.region",
    "race.said_region",
    "race.race_date",
    "race.status",
    "race.reason",
    "race.from_book",
)

_RUNNERS: DeclaredFields = {
    RUNNER: ToldField("runner"),
    "runner.horse": ToldField("name", Rings.ALWAYS, by_name),
    "runner.position": ToldField("position", Rings.ALWAYS, by_place),
    "runner.runs": Noise("told as the position that is taken back"),
    "runner.position_reason": ToldField("reason for the position"),
    "runner.number": ToldField("number"),
    "runner.draw": ToldField("draw"),
    "runner.jockey": ToldField("jockey"),
    "runner.trainer": ToldField("trainer"),
    "runner.starting_price": ToldField("starting price", by=by_price),
    "runner.official_rating": ToldField("official rating"),
    "runner.beaten": ToldField("beaten distance"),
}
_CARD: DeclaredFields = {
    CARD: ToldField("race"),
    "card.race_id": Noise("tells the races of a card apart"),
    **_each("card", "meeting_id region said_region course race_date", _OF_THE_CARD),
    **_each("card", "race_type going surface winning_time unread_order disputed", _NOT_IN_A_LINE),
    **_each("card", "off_told state_told", _OURS),
    "card.off": ToldField("off time", Rings.MOVED_TODAY),
    "card.title": ToldField("title"),
    "card.number": ToldField("race number", unless="title"),
    "card.race_class": ToldField("class"),
    "card.distance": ToldField("distance"),
    "card.status": ToldField("status", by=by_card_status),
    "card.abandoned": ToldField("abandoned", Rings.FIRST_TOO, by_flag),
    "card.reason": ToldField("reason"),
    "card.field_size": ToldField("number of runners"),
    "card.runners": _BY_PARTS,
    "card.from_book": _FILLED_IN,
}


DECLARATIONS: Mapping[EventKind, EventDeclaration] = {
    EventKind.RACE_ABANDONED: EventDeclaration(
        topic=Topic.ABANDONMENTS,
        subject=Subject.RACE,
        title="Race abandoned",
        counted=("abandoned race", "abandoned races"),
        contradicted="this race was reported abandoned",
        contradicts=EventKind.RESULT_RECEIVED,
        is_outcome=True,
        has_placings=False,
        has_whole_lists=False,
        from_book=("reason",),
        fields={
            **_EVENT,
            **_COURSE,
            **_RACE,
            "race.off": ToldField("off time"),
            "race.abandoned": _IS_ABANDONED,
            "race.field_size": _NO_RUNNERS,
            "race.winning_time": _NO_RUNNERS,
            **dict.fromkeys(_RUNNERS, _NO_RUNNERS),
            **dict.fromkeys(_CARD, _ONE_RACE),
        },
    ),
    EventKind.MEETING_ABANDONED: EventDeclaration(
        topic=Topic.ABANDONMENTS,
        subject=Subject.MEETING,
        title="Meeting abandoned",
        counted=("abandoned meeting", "abandoned meetings"),
        contradicted="this meeting was reported abandoned",
        contradicts=None,
        is_outcome=True,
        has_placings=False,
        has_whole_lists=False,
        from_book=("reason",),
        fields={
            **_EVENT,
            **_COURSE,
            **dict.fromkeys(_RACE, _NOT_SHOWN),
            **{path: _RACE[path] for path in _OF_A_MEETING},
            "race.abandoned": _IS_ABANDONED,
            **dict.fromkeys(_RUNNERS, _NO_RUNNERS),
            **_CARD,
            "event.races_run": ToldField("races run", Rings.FEWER),
            "event.first_lost": ToldField("first lost race", Rings.FEWER),
            "event.lost_from": ToldField("first lost time", Rings.ALWAYS),
            "event.last_lost": ToldField("races lost", Rings.ALWAYS),
            "card.off": ToldField("off time"),
            "card.status": ToldField("status", by=is_settled_status),
            "card.abandoned": ToldField("abandoned", by=by_not_run),
        },
    ),
    EventKind.RESULT_RECEIVED: EventDeclaration(
        topic=Topic.RESULTS,
        subject=Subject.RACE,
        title="Result",
        counted=("result", "results"),
        contradicted="a result was reported",
        contradicts=EventKind.RACE_ABANDONED,
        is_outcome=True,
        has_placings=True,
        has_whole_lists=False,
        from_book=(),
        fields={
            **_EVENT,
            "event.reason": Noise("the race's reason is told, where the result marks the race abandoned"),
            **_COURSE,
            **_RACE,
            "race.reason": ToldField("reason"),
            "race.race_date": ToldField("date"),
            "race.off": ToldField("off time"),
            "race.status": ToldField("status", Rings.FIRST_TOO, by_status),
            "race.unread_order": ToldField("order as published", unless="disputed"),
            "race.disputed": ToldField("disputed places", Rings.FIRST_TOO),
            **_RUNNERS,
            **dict.fromkeys(_CARD, _ONE_RACE),
        },
    ),
    EventKind.RACECARD_PUBLISHED: EventDeclaration(
        topic=Topic.RACECARDS,
        subject=Subject.CARD,
        title="Racecard",
        counted=("racecard", "racecards"),
        contradicted="the racecard marked this race abandoned",
        contradicts=None,
        is_outcome=False,
        has_placings=False,
        has_whole_lists=True,
        from_book=("runners",),
        fields={
            **_EVENT,
            **_COURSE,
            **_RACE,
            "race.status": ToldField("status", Rings.ALWAYS, by_card_status),
            "race.winning_time": _NOT_SHOWN,
            "race.number": _NOT_SHOWN,
            **_RUNNERS,
            **_each("runner", "position_reason beaten", _NOT_SHOWN),
            **_CARD,
        },
    ),
}
"""The declaration of each kind, in the order in which summaries count events."""


def kinds_about(*subjects: Subject) -> frozenset[EventKind]:
    return frozenset(kind for kind, declared in DECLARATIONS.items() if declared.subject in subjects)


OUTCOMES = tuple(kind for kind, declared in DECLARATIONS.items() if declared.is_outcome)
ABANDONMENTS = tuple(kind for kind, declared in DECLARATIONS.items() if declared.topic is Topic.ABANDONMENTS)
WHOLE_LISTS = frozenset(kind for kind, declared in DECLARATIONS.items() if declared.has_whole_lists)
