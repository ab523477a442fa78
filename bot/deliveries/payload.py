"""The events in the bytes of a delivery, in any shape (Spec gap G1). A stranger's bytes raise nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from bot.deliveries.event_keys import bounded, further_keys, key_of, unreadable_key
from bot.deliveries.found_event import EventName, FoundEvent, has_place, is_named
from bot.deliveries.listed_events import MOST_EVENTS, first_told, found_in
from bot.deliveries.meeting_extent import (
    extent_of,
    first_lost,
    lost_by_name,
    lost_sessions,
    marked_as_run,
    races_run,
    read_extent,
    session_names,
)
from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import ABANDONMENTS, DECLARATIONS, Subject
from bot.events.lost_part import extent_in
from bot.events.merge import in_common
from bot.events.race_state import LOST_OR_VOID, is_denied_too, is_reinstated, state_in
from bot.events.races import Course, Race, in_short, may_be_there
from bot.events.reading.fields import Lazy, first_of, values_of
from bot.events.reading.json_object import NotAnObject, read_objects
from bot.events.reading.json_values import identifier, note_text, text
from bot.events.reading.off_times import read_instant
from bot.events.reading.race_list import NOWHERE, races_of_rows, read_races, within
from bot.events.reading.race_record import course_moved_to, moved_to
from bot.events.reading.record_objects import About, Part
from bot.events.spellings import by_card_status

TOO_MANY = f"it has more than {MOST_EVENTS} events"

LARGEST_SEQUENCE = 2**63 - 1

KEPT_PAYLOADS, KEPT_MAX_BYTES = 50, 16_384
"""Number and size of the payloads kept after reading. In memory a payload takes 15 to 35 times its bytes."""


class Payload:
    def __init__(self, body: bytes) -> None:
        self._body = body

    @Lazy
    def identity(self) -> tuple[str, str | None]:
        """Key and name of the first abandonment, else of the first event."""
        if self._drill_id is not None:
            return drill_mark.key_of(self._drill_id), drill_mark.DRILL_EVENT
        if isinstance(self._found, NotAnObject):
            return unreadable_key(self._body), None
        first = first_told(self._found)
        name = first.named.name
        if first.race_id:
            return key_of(first, None, self._body, NOWHERE), name
        return next(event.key for event in self.events if event.name == name), name

    @property
    def further_keys(self) -> list[str]:
        """The keys of the other events, and of the races that an abandonment names."""
        found = self._found
        if isinstance(found, list) and len(found) == 1 and found[0].race_id and found[0].named.subject is Subject.RACE:
            # The event need not be read.
            return []
        keys = chain.from_iterable((event.key, *further_keys(event)) for event in self.events)
        return [key for key in dict.fromkeys(keys) if key != self.identity[0]]

    @property
    def region(self) -> str:
        """The said region of the event that gives the identity, for turns in fan-out."""
        if self._drill_id is not None or isinstance(self._found, NotAnObject):
            return ""
        first = first_told(self._found)
        return bounded(first.sources.look("race.region") or first.shared().region or "")

    @Lazy
    def events(self) -> tuple[RacingEvent, ...]:
        """One for each race or meeting that the delivery is about.

        Of an unreadable payload `kind` is None, and `unreadable_because` gives the reason.
        """
        if self._drill_id is not None:
            key, drill = drill_mark.key_of(self._drill_id), Drill(drill_id=self._drill_id)
            return (RacingEvent(key=key, name=drill_mark.DRILL_EVENT, drill=drill),)
        found = self._found
        if isinstance(found, NotAnObject):
            return (RacingEvent(key=unreadable_key(self._body), unreadable_because=str(found)),)
        most = MOST_EVENTS // len(found)
        numbered = enumerate(found) if len(found) > 1 else [(None, found[0])]
        return tuple(event for number, one in numbered for event in _events(one, number, self._body, most))

    @Lazy
    def _drill_id(self) -> str | None:
        return drill_mark.read_body(self._body)

    @Lazy
    def _found(self) -> list[FoundEvent] | NotAnObject:
        try:
            records = read_objects(self._body)
            records = (len(records) > 1 and races_of_rows(records)) or records
        except NotAnObject as reason:
            return reason
        found = [event for one in records[: MOST_EVENTS + 1] for event in found_in(one)]
        if len(found) > MOST_EVENTS:
            first = first_told(found)
            if first.named.kind not in ABANDONMENTS:
                return NotAnObject(f"The body has more than {MOST_EVENTS} events.")
            return [FoundEvent(first.named, [], None, None, stands_for_many=True)]
        return found


_kept_payload = lru_cache(KEPT_PAYLOADS)(Payload)


def payload_of(body: bytes) -> Payload:
    """The payload of a body. A short body is read once, for the key in intake and the events in fan-out."""
    return _kept_payload(body) if len(body) <= KEPT_MAX_BYTES else Payload(body)


def read_events(body: bytes) -> tuple[RacingEvent, ...]:
    return payload_of(body).events


def read_payload(body: bytes) -> RacingEvent:
    """The first event."""
    return Payload(body).events[0]


def _events(found: FoundEvent, number: int | None, body: bytes, most: int) -> Iterator[RacingEvent]:
    """A single event. For a card or meeting without a place, or with races elsewhere, an event for each meeting.

    `number`: the event's, among several.
    """
    race = found.race
    races = tuple(one for one in _races(found, race) if not _is_of_another_day_and_place(one, race))
    is_elsewhere = not all(may_be_there(one, race) for one in races)
    is_one_place = len(_by_meeting(races)) == 1 and has_place(found.place)
    if is_one_place and (is_elsewhere or (race.course != Course() and in_short(race.course) == Course())):
        # The meeting's own name, "Royal Ascot", is no other course.
        common = in_common(races)
        course = Course() if common.course != Course() else race.course
        known = race.model_copy(update={"course": course, "meeting_id": common.meeting_id or race.meeting_id})
        race, races = known, tuple(within(one, known) for one in races)
    elif is_elsewhere or (found.stands_for_many and not races):
        race = race.model_copy(update={"course": Course(), "meeting_id": None, "region": None})
    if found.named.subject is Subject.RACE or race.course != Course() or not races:
        yield _event(found, number, race, races, body)
        return
    meetings = _by_meeting(races)
    if len(meetings) > most:
        found, meetings = replace(found, stands_for_many=True), [races]
    for place, of_meeting in enumerate(meetings):
        one = place if len(meetings) > 1 else number
        yield _event(found, one, within(race, in_common(of_meeting)), of_meeting, body)


def _is_of_another_day_and_place(one: Race, meeting: Race) -> bool:
    """True for example for a past race. Another date alone is not enough: in UTC a race may be of the next day."""
    days = {one.race_date, meeting.race_date} - {None}
    return len(days) > 1 and not may_be_there(one, meeting)


def _by_meeting(races: tuple[Race, ...]) -> list[tuple[Race, ...]]:
    meetings: dict[str | None, tuple[Race, ...]] = {}
    for race in races:
        place = race.course.course_id or in_short(race.course).name or race.meeting_id or race.course.name
        meetings[place] = (*meetings.get(place, ()), race)
    return list(meetings.values())


def _event(found: FoundEvent, number: int | None, race: Race, races: tuple[Race, ...], body: bytes) -> RacingEvent:
    # Only a lost race takes the reason: the reason of another event explains no loss.
    is_explained = race.reason is None or race.abandoned or race.is_void
    every = [part.fields for part in found.parts]
    first_attempt_at = first_of(every, "event.first_attempt_at", read_instant)
    # A retry may have the data of the first attempt, with a later `data_as_of`.
    as_of = None if first_attempt_at else first_of(every, "event.data_as_of", read_instant)
    event = RacingEvent(
        key=key_of(found, number, body, race),
        kind=found.named.kind,
        name=found.named.name,
        race=race if is_explained else race.model_copy(update={"reason": None}),
        reason=_reason(found, race),
        occurred_at=_occurred_at(found),
        updated_at=_last_update(found) or as_of,
        first_attempt_at=first_attempt_at,
        sequence=first_of(found.fields, "event.sequence", _read_sequence),
        data_as_of=first_of(every, "event.data_as_of", text),
        unreadable_because=TOO_MANY if found.stands_for_many else _why_unread(found.named, race, races),
        **(read_extent(found.fields, races) if found.named.subject is Subject.MEETING else {"races": races}),
    )
    if event.is_taken_back:
        event = event.model_copy(update={"reason": race.reason})
    if event.is_of_meeting and (event.is_taken_back or is_denied_too(race.status)):
        # "abandoned": false says then that the race is to come, not that the race was run.
        races = tuple(one if one.abandoned else one.model_copy(update={"abandoned": None}) for one in event.races)
        event = event.model_copy(update={"races": races})
    return event


def _reason(found: FoundEvent, race: Race) -> str | None:
    """The reason, after a status that says no loss ("Reinstated"), the lost sessions, and a new course, day and time.

    For an abandonment that names no race, the reason says from which race on. For an abandonment without a place, the
    reason has the course's code, and the first text about a loss, because the text may name the course.
    """
    is_race = found.named.kind is EventKind.RACE_ABANDONED
    is_other = found.named.kind in ABANDONMENTS and state_in(race.status) is None
    status = race.status if is_other and by_card_status(race.status) else None
    is_told = any(extent_in(words).run is not None for words in (race.reason, race.status) if words)
    extent = extent_of(found.fields) if is_race and not (found.names_subject or is_told) else None
    is_nowhere = race.race_id is None and race.course == Course() and not has_place(found.place)
    is_nowhere = is_nowhere and found.named.kind in ABANDONMENTS
    told, code = (_lost_in_words(found), found.sources.look("course.code")) if is_nowhere else (None, None)
    of_sessions = () if race.reason else (one.reason for one in lost_sessions(found.fields))
    told = told if told not in {status, race.title} else None
    new = (course_moved_to(found.sources), *moved_to(found.sources)) if found.named.kind in ABANDONMENTS else ()
    moved = " ".join(one for one in new if one and one not in (race.status or ""))
    sessions = () if is_race else session_names(found.fields)
    where = (f"moved to {moved}" if moved else None, extent, f"course code {code}" if code else None)
    said = (status, *sessions, *where, race.reason, *of_sessions, told)
    return ", ".join(dict.fromkeys(filter(None, said))) or None


def _lost_in_words(found: FoundEvent) -> str | None:
    texts = (said for fields in found.fields for said in fields.values() if isinstance(said, str) and " " in said)
    told = next((text(said) for said in texts if state_in(said) in LOST_OR_VOID), None)
    unread = (one for one in values_of(found.fields, "lists.lost") if isinstance(one, dict | list))
    return told or next(map(note_text, unread), None)


def _last_update(found: FoundEvent) -> datetime | None:
    fields = [part.fields for part in found.carried if part.about is not About.OTHER]
    updates = filter(None, map(read_instant, values_of(fields, "event.updated_at")))
    return max(updates, default=None)


def _races(found: FoundEvent, race: Race) -> tuple[Race, ...]:
    """The races of a meeting or a card. Empty for a race: other races in the delivery are neighbours on the card."""
    if found.named.subject is Subject.RACE and not found.stands_for_many:
        return ()
    races = read_races((part.fields for part in found.parts if part.about is not About.DELIVERY), race)
    if found.named.subject is Subject.MEETING:
        return marked_as_run(found.fields, races or lost_by_name(found.fields, race), race)
    first = first_lost(found.fields, races) or 1
    is_lost = race.abandoned and (first > 1 or races_run(found.fields, races) is None)
    return tuple(_of_lost_card(one, race) if is_lost and (one.card_number or 1) >= first else one for one in races)


def _of_lost_card(race: Race, card: Race) -> Race:
    if race.says_run or is_reinstated(race.status or ""):
        return race
    reason, status = race.reason or card.reason, race.status or card.status
    return race.model_copy(update={"abandoned": True, "reason": reason, "status": status})


def _occurred_at(found: FoundEvent) -> datetime | None:
    kind = found.named.kind
    fact = f"event.occurred_at.{DECLARATIONS[kind].topic}" if kind else "event.occurred_at"
    top = [part for part in found.carried if part.depth == 0 or part is found.named.bearer]
    around = (part.fields for part in found.carried if _is_around(part, found))
    return (
        first_of([*found.fields, *(part.fields for part in found.parts)], fact, read_instant)
        or first_of((part.fields for part in top), "event.occurred_at.top", read_instant)
        or first_of((part.fields for part in top if not part.is_racing), "event.occurred_at.envelope", read_instant)
        or first_of(around, "event.occurred_at.top", read_instant)
    )


def _is_around(part: Part, found: FoundEvent) -> bool:
    """True for an object of any name around the race's object: {"HorseRacing": {"@timestamp": …, "race": {…}}}."""
    within = (one for one in found.parts if one.depth == part.depth + 1 and one.name in part.fields)
    return not part.is_racing and any(one.is_racing or one.about in {About.RACE, About.MEETING} for one in within)


def _read_sequence(value: Any) -> int | None:
    digits = identifier(value) or ""
    is_whole = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(LARGEST_SEQUENCE))
    return int(digits) if is_whole and int(digits) <= LARGEST_SEQUENCE else None


def _why_unread(named: EventName, race: Race, races: Sequence[Race]) -> str | None:
    if named.kind:
        return None if races or is_named(race) else "the payload names no race"
    return f"The event {named.name} is unknown." if named.name else "The payload names no event."
