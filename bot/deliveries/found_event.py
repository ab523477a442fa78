"""The event of a record: its name, its ids, the race or meeting (Spec gap G1)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from bot.events.event import EventKind
from bot.events.kinds import ABANDONMENTS, DECLARATIONS, Subject
from bot.events.race_state import (
    LOST_OR_VOID,
    NOT_ABANDONED,
    is_doubtful_or_reinstated,
    is_reinstated,
    may_tell_loss,
    state_in,
)
from bot.events.races import OffTime, Race
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, Lazy, fields_of, first_of, values_of
from bot.events.reading.json_values import count, flag_in, identifier, string, text
from bot.events.reading.race_list import NOWHERE, lists_races, within
from bot.events.reading.race_record import race_from
from bot.events.reading.record_objects import About, Part, kind_of, may_be_about_the_race
from bot.events.reading.sources import Sources, meeting_id_of, race_id_of, sources_of
from bot.events.spellings import by_card_status

DEEPEST_EVENT_NAME = 3

SURE_NAMES = frozenset(NAMES_OF["event.sure_name"])

_NAMING = ("race_id", "meeting_id", "course", "off", "title", "number", "race_date", "runners")


class EventName(NamedTuple):
    kind: EventKind | None
    name: str | None
    bearer: Part | None

    @property
    def subject(self) -> Subject | None:
        return DECLARATIONS[self.kind].subject if self.kind else None


@dataclass(frozen=True)
class FoundEvent:
    """One event of a delivery. `shared` gives the place and day beside a batch, or beside a list of meetings."""

    named: EventName
    parts: list[Part]
    race_id: str | None
    meeting_id: str | None
    shared: Callable[[], Race] = Race
    stands_for_many: bool = False

    @classmethod
    def of(cls, named: EventName, parts: list[Part], shared: Callable[[], Race]) -> "FoundEvent":
        return cls(named, parts, *_ids(named, parts), shared)

    @Lazy
    def sources(self) -> Sources:
        """Lazy: the key of an event with an id needs no sources."""
        return sources_of(self.parts, About.MEETING if self.named.subject is Subject.MEETING else About.RACE)

    @Lazy
    def said(self) -> Race:
        """The race by its own fields, and by the fields beside the list."""
        return within(race_from(self.sources, race_id=self.race_id, meeting_id=self.meeting_id), self.shared())

    @property
    def race(self) -> Race:
        """The race. In an abandonment, a flag that denies the loss gives the status."""
        if self.named.kind not in ABANDONMENTS:
            return self.said
        status, of_meeting = self.said.status, self.named.subject is Subject.MEETING
        denial = first_of(self.sources.own, "state.abandoned", _denial)
        if status and is_doubtful_or_reinstated(status):
            is_told = is_reinstated(status, of_meeting=of_meeting) or may_tell_loss(status)
            if denial == NOT_ABANDONED and not is_told:
                status = f"{status}, {NOT_ABANDONED}"
        elif state_in(status) not in LOST_OR_VOID:
            status = denial or status
        return self.said.model_copy(update={"abandoned": True, "status": status})

    @property
    def is_to_come(self) -> bool:
        """True for a race without any sign of an outcome."""
        return not self.has_outcome and by_card_status(self.said.status) == by_card_status(None)

    @property
    def has_outcome(self) -> bool:
        race, is_run = self.said, any(map(flag_in, values_of(self.sources.own, "state.run")))
        return bool(race.is_settled or self.is_lost or is_run or race.unread_order or race.disputed)

    @property
    def is_lost(self) -> bool:
        return bool(self.said.abandoned or self.said.is_void)

    @property
    def is_event(self) -> bool:
        """True for an event in a batch, False for the name of an event in a list of names."""
        return self.named.kind is not None and (self.lists_races or is_named(self.said))

    @property
    def place(self) -> Race:
        return Race(course=self.sources.course, meeting_id=text(self.meeting_id))

    @property
    def names_subject(self) -> bool:
        """True if the record names its race or meeting. A list beside a race then has the other races of the card."""
        if self.named.subject is Subject.RACE:
            is_named = self.race_id is not None or first_of(self.fields, "race.number", count) is not None
            return is_named or self.sources.off != OffTime()
        return self.race_id is not None or has_place(self.place)

    @property
    def carried(self) -> Iterator[Part]:
        """The objects about the event, among them the object with the event's name, even if called `meta`."""
        others = {About.DELIVERY, About.COURSE}
        return (part for part in self.parts if part.about not in others or part is self.named.bearer)

    @property
    def fields(self) -> list[Fields]:
        return [part.fields for part in self.carried]

    @property
    def lists_races(self) -> bool:
        return any(lists_races(part.fields) for part in self.parts)


def named_in(parts: list[Part]) -> EventName:
    """The shallowest known event, else the first value that is surely an event's name, else a known event's name."""
    shallow = [part for part in parts if part.depth <= DEEPEST_EVENT_NAME]
    for part in shallow:
        for value in values_of([part.fields], "event.name"):
            if kind := kind_of(value):
                return EventName(kind, kind.value, part)
    for part in shallow:
        of_part = "event.sure_name" if part.depth else "event.top_name"
        unknown = first_of([part.fields], "event.name" if part.name in SURE_NAMES else of_part, string)
        if unknown:
            return EventName(None, unknown[:LONGEST_NAME], part)
    fields = ((part, *field) for part in shallow for field in part.fields.items())
    named = ((kind, part) for part, name, value in fields if may_be_about_the_race(name) and (kind := kind_of(value)))
    return next((EventName(kind, kind.value, part) for kind, part in named), EventName(None, None, None))


def _ids(named: EventName, parts: list[Part]) -> tuple[str | None, str | None]:
    """The ids of race and meeting. A plain `id` beside racing fields, else within the data, is of the event's subject.

    An object `event` beside a race may stand for several races, so its id is not the race's. Beside the event's name,
    `id` may be the delivery's own.
    """
    is_listed = any(part.about is About.RACE and not part.name for part in parts)
    data = [part for part in parts if part.about is About.DATA and part.depth and not is_listed]
    is_race = named.subject is Subject.RACE
    racing = [part for part in data if part.is_racing and not (is_race and _lists_alone(part.fields))]
    # Beside a list an id may stand for several races or meetings.
    racing = racing or [part for part in data if not any(isinstance(one, dict | list) for one in part.fields.values())]
    racing = [part for part in racing if part.name not in SURE_NAMES or len(racing) == 1]
    plain_id = first_of((part.fields for part in racing if part is not named.bearer), "ids.plain", identifier)
    of_one_race = is_race or (
        named.subject is not Subject.MEETING and not any(lists_races(part.fields) for part in parts)
    )
    race_id, meeting_id = race_id_of(parts), meeting_id_of(parts)
    return race_id or (plain_id if of_one_race else None), meeting_id or (None if of_one_race else plain_id)


def _lists_alone(fields: Fields) -> bool:
    """True for a list of races without a time or number beside it: a plain id is then none of these races'."""
    lists = fields.of("lists.races", "lists.named_races")
    return any(isinstance(one, list) for one in lists) and not any(fields.of("is.timed", "race.number"))


def _denial(flagged: Any) -> str | None:
    """The words of {"status": "Lifted"}; NOT_ABANDONED for a false flag."""
    said = first_of([fields_of(flagged)], "state.status.own", text) if isinstance(flagged, dict) else None
    if said and is_reinstated(said):
        return said
    return NOT_ABANDONED if flag_in(flagged) is False else None


def is_named(race: Race) -> bool:
    return any(getattr(race, name) != getattr(NOWHERE, name) for name in _NAMING)


def has_place(race: Race) -> bool:
    """False for a country alone."""
    return race.course.as_typed is not None or race.meeting_id is not None
