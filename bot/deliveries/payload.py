"""The event in the bytes of a delivery, in any shape (Spec gap G1). A stranger's bytes raise nothing.

Receivers deduplicate on the race's identifier (Interface, Events, Delivery rule 3), so the race's id makes the key:

    result.received:rc_1                                    the race's id
    meeting.abandoned:meeting=m_1                           a meeting's id, with the off time for the card of one race
    race.abandoned:region=gb|course=ascot|date=…|off=14:30  a race without an id
    race.abandoned:id=1                                     an id that may be the delivery's own
    race.abandoned:sha256:…                                 the body alone
    unreadable:…                                            no known event: the SHA-256 of the body
    drill:…                                                 a drill of the bot, byte for byte (bot.events.drill_mark)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache, partial
from hashlib import sha256
from itertools import chain, islice, product
from typing import Any, NamedTuple

from bot.events import drill_mark
from bot.events.drill_mark import Drill
from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import ABANDONMENTS, DECLARATIONS, Subject
from bot.events.merge import in_common
from bot.events.race_state import RaceState, state_in
from bot.events.races import Course, OffTime, Race, in_short, is_same_course, may_be_there, may_share_meeting
from bot.events.reading.aliases import RACE_DATE, read_number, read_region, string
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, fields_of, first_of, values_of
from bot.events.reading.json_object import NotAnObject, read_objects
from bot.events.reading.json_values import count, flag, flag_in, identifier, text
from bot.events.reading.lazy import Lazy
from bot.events.reading.off_times import read_clock, read_instant, read_plain_date
from bot.events.reading.race_list import (
    CARD_LISTS,
    LISTS_OF_MEETINGS,
    OF_A_RACE,
    RACE_LISTS,
    lists_races,
    race_entries,
    read_races,
    within,
)
from bot.events.reading.race_record import (
    Sources,
    course_of,
    meeting_id_of,
    off_of,
    race_date_of,
    race_from,
    race_id_of,
    read_off,
    read_race,
    region_of,
    sources_of,
)
from bot.events.reading.record_objects import NAMING_HORSES, About, Part, entries_of, kind_of, parts_of, races_by_key
from bot.events.spellings import by_card_status

MOST_EVENTS = 30
"""Events of a delivery. More are told as a single event in its plain form."""

TOO_MANY = f"it has more than {MOST_EVENTS} events"

_A_RACE = r"(?:race|r|course|rennen) ?"
_AFTER_RACE = re.compile(
    rf"\b(?:after|après la|nach) {_A_RACE}(?P<last>[0-9]{{1,2}})\b"
    rf"|(?<!\w)(?:from|à partir de la|ab) {_A_RACE}(?P<first>[0-9]{{1,2}})\b",
    re.IGNORECASE,
)
_NUMBER = (
    "one|two|three|four|five|six|seven|first|opening|second|third|fourth|fifth|sixth|seventh|[0-9]{1,2}(?:st|nd|rd|th)?"
)
_REST = re.compile(
    r"\b(?:remaining|remainder|rest of|part(?:ly|ial(?:ly)?)?[ _-]?(?:abandon|cancel|lost)\w*)\b"
    rf"|\bafter (?:the )?(?:first )?(?:{_NUMBER}) races?\b|\b(?:last|final) (?:{_NUMBER}) races\b"
    r"|^partial(?:ly)?$|(?:abandon|cancel)\w*?[ _(-]+part(?:ly|ial(?:ly)?)\b",
    re.IGNORECASE,
)
"""Words for a meeting that was partly run."""

LONGEST_ID = 200
"""Characters. A longer or unprintable id stands in a key by its SHA-256."""

DEEPEST_EVENT_NAME, DEEPEST_BATCH = 2, 2

SURE_NAMES = frozenset(NAMES_OF["event.sure_name"])

NOWHERE = Race()

_PLACE_AND_DAY = frozenset(
    {"race.region", "race.date", "race.date.own", "ids.meeting", "ids.course", "course.country"}
    | {"course.name", "course.track", "course.meeting"}
)

NOT_ABANDONED = "also marked as not abandoned"

_NAMING = ("race_id", "meeting_id", "course", "off", "title", "number", "race_date", "runners")

LARGEST_SEQUENCE = 2**63 - 1

KEPT_PAYLOADS, KEPT_MAX_BYTES = 50, 16_384
"""Number and size of the payloads kept after reading. In memory a payload takes 15 to 35 times its bytes."""


class EventIdentity(NamedTuple):
    key: str
    name: str | None


class _Named(NamedTuple):
    kind: EventKind | None
    name: str | None
    bearer: Part | None

    @property
    def subject(self) -> Subject | None:
        return DECLARATIONS[self.kind].subject if self.kind else None


@dataclass(frozen=True)
class _Found:
    """One event of a delivery. `shared` gives the place and day beside a batch, or beside a list of meetings."""

    named: _Named
    parts: list[Part]
    race_id: str | None
    meeting_id: str | None
    shared: Callable[[], Race] = Race
    stands_for_many: bool = False

    @Lazy
    def sources(self) -> Sources:
        """Lazy: a key of an id needs no sources."""
        return sources_of(self.parts, About.MEETING if self.named.subject is Subject.MEETING else About.RACE)

    @Lazy
    def said(self) -> Race:
        """The race by its own fields, and by the fields beside the list."""
        return within(race_from(self.sources, race_id=self.race_id, meeting_id=self.meeting_id), self.shared())

    @property
    def race(self) -> Race:
        return self.said.model_copy(update={"abandoned": True}) if self.named.kind in ABANDONMENTS else self.said

    @property
    def is_to_come(self) -> bool:
        """Without any sign of an outcome."""
        race, is_run = self.said, any(map(flag_in, values_of(self.sources.own, "state.run")))
        is_told = race.is_settled or race.abandoned or is_run or race.unread_order or race.disputed
        return not is_told and by_card_status(race.status) == by_card_status(None)

    @property
    def is_event(self) -> bool:
        """Whether an entry of a batch is an event: an entry of a list of events' names is none."""
        return self.named.kind is not None and (self.lists_races or _is_named(self.said))

    @property
    def carried(self) -> Iterator[Part]:
        return (part for part in self.parts if part.about not in {About.DELIVERY, About.COURSE})

    @property
    def lists_races(self) -> bool:
        return any(lists_races(part.fields) for part in self.parts)


class Payload:
    def __init__(self, body: bytes) -> None:
        self._body = body

    @Lazy
    def identity(self) -> EventIdentity:
        """Of the first abandonment, else of the first event."""
        if self._drill_id is not None:
            return EventIdentity(drill_mark.key_of(self._drill_id), drill_mark.DRILL_EVENT)
        if isinstance(self._found, NotAnObject):
            return EventIdentity(unreadable_key(self._body), None)
        first = _first(self._found)
        name = first.named.name
        if first.race_id:
            return EventIdentity(_key(first, None, self._body, NOWHERE), name)
        return EventIdentity(next(event.key for event in self.events if event.name == name), name)

    @property
    def region(self) -> str:
        """The said region of the event that gives the identity, for turns in fan-out."""
        if self._drill_id is not None or isinstance(self._found, NotAnObject):
            return ""
        first = _first(self._found)
        return _bounded(region_of(first.sources) or first.shared().region or "")

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
    def _found(self) -> list[_Found] | NotAnObject:
        try:
            records = read_objects(self._body)
        except NotAnObject as reason:
            return reason
        found = [event for one in records[: MOST_EVENTS + 1] for event in _found_in(one)]
        if len(found) > MOST_EVENTS:
            first = _first(found)
            if first.named.kind not in ABANDONMENTS:
                return NotAnObject(f"The body has more than {MOST_EVENTS} events.")
            return [_Found(first.named, [], None, None, stands_for_many=True)]
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


def _found_in(record: dict[str, Any], above: Callable[[], Race] = Race, deepest: int = DEEPEST_BATCH) -> list[_Found]:
    """The event of a record; of a batch, its events with the unknown events beside them."""
    parts = parts_of(record)
    found = _subjects(parts, above)
    if found[0].named.kind or not deepest:
        return found
    shared = _beside(parts, above)
    of_lists = ([_found_in(one, shared, deepest - 1) for one in entries] for entries in _batches(parts))
    batch = (of_entry for of_list in of_lists if any(one[0].is_event for one in of_list) for of_entry in of_list)
    return [*chain.from_iterable(batch)] or found


def _batches(parts: list[Part]) -> Iterator[list[dict[str, Any]]]:
    """The lists of objects, and the objects under the name of an event: {"race.abandoned": {…}}."""
    for name, value in (field for part in parts for field in part.fields.items()):
        named = {name: value} if kind_of(name) else value
        if isinstance(value, list) or named is not value or races_by_key(value):
            entries = entries_of(named, lambda key: {"event": key} if kind_of(key) else {})
            yield [one for one in entries if isinstance(one, dict)][: MOST_EVENTS + 1]


def _beside(parts: list[Part], above: Callable[[], Race]) -> Callable[[], Race]:
    return cache(lambda: within(_shared(parts), above()))


def _shared(parts: Sequence[Part]) -> Race:
    """No outcome. A moment in the envelope is no day of a race."""
    sources = sources_of(parts)
    racing = [
        part for part in parts if part.is_racing or part.about is About.MEETING or RACE_DATE.fact in part.fields.facts
    ]
    return Race(
        region=region_of(sources),
        meeting_id=text(meeting_id_of(parts)),
        course=course_of(sources),
        race_date=(race_date_of(sources_of(racing)) if racing else None)
        or first_of((part.fields for part in parts), "race.date.own", read_plain_date),
    )


def _first(found: list[_Found]) -> _Found:
    return next((one for one in found if one.named.kind in ABANDONMENTS), found[0])


def _subjects(parts: list[Part], shared: Callable[[], Race]) -> list[_Found]:
    """The event, or an event for each entry of a list in the place of the race or meeting."""
    named = _named(parts)
    found = _Found(named, parts, *_ids(named, parts), shared)
    about = About.RACE if named.subject is Subject.RACE else About.MEETING
    is_one = named.subject is None or (_names_subject(found) and about is About.RACE)
    depth, entries = (0, []) if is_one else _entries(found.carried, about)
    if not entries or (_names_subject(found) and not _are_others(entries, found)):
        return [found]
    if len(entries) > MOST_EVENTS:
        return [replace(found, stands_for_many=True)]
    hidden = _PLACE_AND_DAY
    if about is About.MEETING:
        hidden, entries = hidden.union(LISTS_OF_MEETINGS), _with_races_beside(_with_place_beside(entries, found), found)
    if len(entries) > 1:
        # Horses and races beside several entries are of none of them.
        hidden |= NAMING_HORSES
    parts = _nearest(parts, depth)
    of_entry = _handed_down(parts, entries, shared)
    beside = {About.MEETING, About.COURSE}
    above = [
        part._replace(about=About.OTHER if part.about in beside else part.about, fields=part.fields.without(hidden))
        for part in parts
    ]
    each = [_Found(named, [*above, *more], *_ids(named, [*above, *more]), partial(of_entry, more)) for more in entries]
    return _meant(each, entries)


def _nearest(parts: Sequence[Part], depth: int) -> list[Part]:
    """The objects around a list, the nearest first: the first value counts."""
    return sorted(parts, key=lambda part: (part.depth > depth, -part.depth))


def _handed_down(
    parts: Sequence[Part], entries: Sequence[list[Part]], above: Callable[[], Race]
) -> Callable[[list[Part]], Race]:
    """The place, region and day that an entry takes over; at another place only the list's region and day.

    A region in the object of a place is not the list's. Where an entry names another region, the list has none.
    """

    @cache
    def beside() -> tuple[Race, Race]:
        here = within(_shared(parts), above())
        around = [part.fields for part in parts if part.about not in {About.MEETING, About.COURSE}]
        region = first_of(around, "race.region", read_region) if _has_place(here) else here.region
        courses = {in_short(_place_of(more).course) for more in entries} - {Course()}
        if len(courses) == 1 and all(more[0].about is About.RACE for more in entries):
            # The name beside the races is the meeting's own: "Royal Ascot".
            return here, here.model_copy(update={"course": Course()})
        others = {region_of(sources_of(more, About.MEETING)) for more in entries} - {None, region}
        return here, Race(region=None if others else region, race_date=here.race_date)

    def of_entry(more: list[Part]) -> Race:
        here, elsewhere = beside()
        return here if _has_place(here) and may_be_there(_place_of(more), here) else elsewhere

    return of_entry


def _has_place(race: Race) -> bool:
    return race.course != Course() or race.meeting_id is not None


def _place_of(parts: Sequence[Part]) -> Race:
    return Race(course=course_of(sources_of(parts, About.MEETING)), meeting_id=text(meeting_id_of(parts)))


def _with_races_beside(entries: list[list[Part]], found: _Found) -> list[list[Part]]:
    """The meetings with their races beside. Races of other places are one more entry."""
    races = next(filter(None, (race_entries(part.fields, RACE_LISTS) for part in found.carried)), [])
    wheres = (_place_of(parts_of(one, About.RACE)) for one in races)
    placed = [
        (one, where if _has_place(where) else _place_beside(found)) for one, where in zip(races, wheres, strict=True)
    ]
    places = [*map(_place_of, entries)]
    of_each = [[one for one, where in placed if _is_there(where, place)] for place in places]
    left = [one for one, where in placed if _has_place(where) and not any(_is_there(where, place) for place in places)]
    return [[*more, *_listing(its)] for more, its in zip([*entries, []], [*of_each, left], strict=True) if more or its]


def _is_there(race: Race, meeting: Race) -> bool:
    by_id = meeting.meeting_id is not None and race.meeting_id == meeting.meeting_id
    return by_id or (
        may_share_meeting(race, meeting) and is_same_course(in_short(race.course), in_short(meeting.course))
    )


def _listing(races: list[dict[str, Any]]) -> list[Part]:
    return [Part(About.MEETING, "", 1, fields_of({"races": races}))] if races else []


def _with_place_beside(entries: list[list[Part]], found: _Found) -> list[list[Part]]:
    """Before a list of mere names, the place beside the list, unless a name in the list may be the place's."""
    place = _place_beside(found)
    are_names = all(len(more) == 1 and len(more[0].fields) == 1 for more in entries)
    if not (are_names and _has_place(place)) or any(may_be_there(_place_of(more), place) for more in entries):
        return entries
    fields = {"course": place.course.name, "course_id": place.course.course_id, "meeting_id": place.meeting_id}
    return [[Part(About.MEETING, "", 1, fields_of(fields))], *entries]


def _place_beside(found: _Found) -> Race:
    return Race(course=course_of(found.sources), meeting_id=text(found.meeting_id))


def _meant(races: list[_Found], entries: Sequence[list[Part]]) -> list[_Found]:
    """The races that the event is about: a list may have all races of a card."""
    kind = races[0].named.kind
    if kind is EventKind.RESULT_RECEIVED:
        return [one for one in races if not one.is_to_come] or races
    if kind is EventKind.MEETING_ABANDONED and any(map(_is_lost, races)):
        return [one for one, more in zip(races, entries, strict=True) if _is_lost(one) or _tells_loss(more)]
    others = [one for one in races if kind is EventKind.RACE_ABANDONED and one.said.says_run]
    lost = [*filter(_is_lost, races)] if others else []
    return lost or [one for one in races if one not in others] or races


def _is_lost(found: _Found) -> bool:
    return bool(found.said.abandoned or found.said.is_void)


def _tells_loss(more: Sequence[Part]) -> bool:
    """Of a meeting, by a status or a reason of its own, or by a lost race. "Declared" says nothing."""
    own = race_from(sources_of(more, About.MEETING), race_id=None, meeting_id=None)
    races = read_races((part.fields for part in more), own)
    is_told = by_card_status(own.status) or any(one.abandoned or one.is_void or one.reason for one in (own, *races))
    return own.abandoned is not False and bool(is_told)


def _names_subject(found: _Found) -> bool:
    """Lists beside a race are its neighbours on the card; lists beside a meeting are its races."""
    if found.named.subject is Subject.RACE:
        return found.race_id is not None or off_of(found.sources) != OffTime()
    return found.race_id is not None or found.meeting_id is not None or course_of(found.sources) != Course()


def _are_others(entries: Sequence[list[Part]], found: _Found) -> bool:
    """True for meetings of another course than the one beside them, and for several meetings with ids."""
    places = [*map(_place_of, entries)]
    is_there = all(may_be_there(Race(course=one.course), Race(course=course_of(found.sources))) for one in places)
    return not is_there or len({one.meeting_id for one in places} - {None}) > 1


def _entries(parts: Iterable[Part], about: About) -> tuple[int, list[list[Part]]]:
    """The depth of the first list with races or meetings, and the objects of each.

    The objects of a race in a meeting have the meeting's too.
    """
    parts = list(parts)
    lists = [(RACE_LISTS, CARD_LISTS)] if about is About.RACE else [LISTS_OF_MEETINGS[:2], LISTS_OF_MEETINGS[2:]]
    for part, of in product(parts, lists):
        entries = race_entries(part.fields, *of)[: MOST_EVENTS + 1]
        is_sure = of == LISTS_OF_MEETINGS[:2]
        if found := [_below(one, about) for one in entries if about is About.RACE or _is_meeting(one, is_sure=is_sure)]:
            return part.depth, found
    if about is About.MEETING:
        return 0, []
    listed = ((part.depth, one) for part in parts for one in race_entries(part.fields, *LISTS_OF_MEETINGS))
    within_each = [(depth, _below(one, About.MEETING)) for depth, one in islice(listed, MOST_EVENTS + 1)]
    races = [[*meeting, *race] for _, meeting in within_each for race in _entries(meeting, about)[1]]
    return min((depth for depth, _ in within_each), default=0), races


def _is_meeting(entry: Mapping[str, Any], *, is_sure: bool) -> bool:
    """`is_sure`: by the name of the list. Other lists may have races that are called by title and number."""
    fields = fields_of(entry)
    is_race = "ids.race" in fields.facts or read_off(entry) != OffTime()
    may_be_race = not (
        is_sure or OF_A_RACE.isdisjoint(fields.facts) or _has_place(_place_of(parts_of(entry, About.RACE)))
    )
    return lists_races(fields) or not (is_race or may_be_race)


def _below(entry: Mapping[str, Any], about: About) -> list[Part]:
    return [part._replace(depth=part.depth + 1) for part in parts_of(entry, about)]


def _events(found: _Found, number: int | None, body: bytes, most: int) -> Iterator[RacingEvent]:
    """A single event. For a card or meeting without a place, or with races elsewhere, an event for each meeting.

    `number`: the event's, among several.
    """
    race = found.race
    races = _races(found, race)
    is_elsewhere = not all(may_be_there(one, race) for one in races)
    if is_elsewhere and _has_place(_place_beside(found)) and len(_by_meeting(races)) == 1:
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


def _by_meeting(races: tuple[Race, ...]) -> list[tuple[Race, ...]]:
    meetings: dict[str | None, tuple[Race, ...]] = {}
    for race in races:
        place = race.course.course_id or in_short(race.course).name or race.meeting_id
        meetings[place] = (*meetings.get(place, ()), race)
    return list(meetings.values())


def _event(found: _Found, number: int | None, race: Race, races: tuple[Race, ...], body: bytes) -> RacingEvent:
    # Only a lost race takes the reason: the reason of another event explains no loss.
    is_explained = race.reason is None or race.abandoned or race.is_void
    every = [part.fields for part in found.parts]
    first_attempt_at = first_of(every, "event.first_attempt_at", read_instant)
    # A retry may have the data of the first attempt, with a later `data_as_of`.
    as_of = None if first_attempt_at else first_of(every, "event.data_as_of", read_instant)
    return RacingEvent(
        key=_key(found, number, body, race),
        kind=found.named.kind,
        name=found.named.name,
        race=race if is_explained else race.model_copy(update={"reason": None}),
        races=races,
        reason=_reason(found, race),
        races_run=_races_run(found, races) if found.named.subject is Subject.MEETING else None,
        occurred_at=_occurred_at(found),
        updated_at=_last_update(found) or as_of,
        first_attempt_at=first_attempt_at,
        sequence=first_of((part.fields for part in found.carried), "event.sequence", _read_sequence),
        data_as_of=first_of(every, "event.data_as_of", text),
        unreadable_because=TOO_MANY if found.stands_for_many else _why_unread(found.named, race, races),
    )


def _reason(found: _Found, race: Race) -> str | None:
    """With the status of an abandonment that says neither that the race is lost nor when: "Reinstated"."""
    is_other = found.named.kind in ABANDONMENTS and state_in(race.status) in {None, RaceState.VOID}
    status = race.status if is_other and by_card_status(race.status) else None
    is_race = found.named.kind is EventKind.RACE_ABANDONED
    is_denied = is_race and first_of(found.sources.own, "state.abandoned", flag_in) is False
    return ", ".join(filter(None, (status, NOT_ABANDONED if is_denied else None, race.reason))) or None


def _last_update(found: _Found) -> datetime | None:
    fields = [part.fields for part in found.carried if part.about is not About.OTHER]
    updates = filter(None, map(read_instant, values_of(fields, "event.updated_at")))
    return max(updates, default=None)


def _races_run(found: _Found, races: Sequence[Race]) -> int | None:
    """How many races of an abandoned meeting were run; 0 if some were run, and the payload gives no number.

    Of a meeting whose payload names races 3 to 7 alone, races 1 and 2 were run.
    """
    fields = [part.fields for part in found.carried]
    run, first_lost, lost, in_all = (
        first_of(fields, f"state.{key}", _number) for key in ("races_run", "first_lost", "races_lost", "races_in_all")
    )
    run = run or _last_run(fields) or (first_lost - 1 if first_lost and first_lost > 1 else None)
    if run or (lost and in_all and lost < in_all):
        return run or (in_all or 0) - (lost or 0)
    scopes = (text(value) or "" for value in values_of(fields, "state.scope"))
    is_part = first_of(fields, "state.partly", flag) or any(map(_REST.search, scopes))
    begins_later = min((count(race.number) or 1 for race in races), default=1) > 1
    return 0 if is_part or begins_later else None


def _number(value: Any) -> int | None:
    """3 for each of 3, "race 3", {"number": 3}, {"race": 3} and [1, 2, 3]."""
    if isinstance(value, dict):
        fields = fields_of(value)
        return first_of([fields], "runner.number", _number) or _number(fields.get("race"))
    return len(value) or None if isinstance(value, list) else count(read_number(value))


def _named(parts: list[Part]) -> _Named:
    """The shallowest known event, else the first value that is surely an event's name."""
    shallow = [part for part in parts if part.depth <= DEEPEST_EVENT_NAME]
    for part in shallow:
        for value in values_of([part.fields], "event.name"):
            if kind := kind_of(value):
                return _Named(kind, kind.value, part)
    for part in shallow:
        of_part = "event.sure_name" if part.depth else "event.top_name"
        unknown = first_of([part.fields], "event.name" if part.name in SURE_NAMES else of_part, string)
        if unknown:
            return _Named(None, unknown[:LONGEST_NAME], part)
    return _Named(None, None, None)


def _ids(named: _Named, parts: list[Part]) -> tuple[str | None, str | None]:
    """A plain `id` in an object with racing fields is the race's, or the meeting's for a meeting's event.

    The id of an `event` beside a race is of several races. Beside the event's name, `id` may be the delivery's own.
    """
    racing = [part for part in parts if part.about is About.DATA and part.is_racing and part.depth]
    racing = [part for part in racing if part.name not in SURE_NAMES or len(racing) == 1]
    plain_id = first_of((part.fields for part in racing if part is not named.bearer), "ids.plain", identifier)
    of_one_race = named.subject is Subject.RACE or (
        named.subject is not Subject.MEETING and not any(lists_races(part.fields) for part in parts)
    )
    race_id, meeting_id = race_id_of(parts), meeting_id_of(parts)
    return race_id or (plain_id if of_one_race else None), meeting_id or (None if of_one_race else plain_id)


def _key(found: _Found, number: int | None, body: bytes, race: Race) -> str:
    kind = found.named.kind
    if not kind:
        return unreadable_key(body)
    if found.race_id:
        return f"{kind}:{_bounded(found.race_id)}"
    loose = _loose(found) or f"sha256:{sha256(body).hexdigest()}"
    return f"{kind}:{_natural(found, race) or loose + ('' if number is None else f'|{number}')}"


def _natural(found: _Found, race: Race) -> str | None:
    """None if a needed part is missing.

    The key of a single race's card has the off time: the cards of a meeting's races are several events.
    """
    subject = found.named.subject
    off = None if subject is Subject.MEETING or (subject is Subject.CARD and found.lists_races) else _off(race.off)
    if subject is Subject.RACE and not off:
        return None
    of_meeting = race.meeting_id and subject is not Subject.RACE
    place = {"meeting": race.meeting_id} if of_meeting else _place(race)
    named = place and {**place, "off": off}
    return _bounded("|".join(f"{name}={value}" for name, value in named.items() if value)) if named else None


def _place(race: Race) -> dict[str, str | None] | None:
    name = race.course.course_id or (race.course.name and race.course.name.casefold())
    region = race.region and race.region.casefold()
    return {"region": region, "course": name, "date": race.race_date} if name and race.race_date else None


def _off(off: OffTime) -> str | None:
    minute = off.minute_of_day
    if minute is not None:
        return f"{minute // 60:02}:{minute % 60:02}"
    return off.text or (off.off_at.isoformat() if off.off_at else None)


def _loose(found: _Found) -> str | None:
    """An id, perhaps the race's. The hash of a body that counts attempts differs between attempts."""
    data = [part for part in found.parts if part.about is About.DATA]
    inner = [part.fields for part in data if part.depth and part is not found.named.bearer]
    every = [part.fields for part in data]
    loose = first_of(inner, "ids.plain", identifier) or first_of(every, "ids.loose", identifier)
    return f"id={_bounded(loose)}" if loose else None


def _bounded(part: str) -> str:
    if len(part) <= LONGEST_ID and part.isprintable():
        return part
    return sha256(part.encode("utf-8", "surrogatepass")).hexdigest()


def unreadable_key(body: bytes) -> str:
    return f"unreadable:{sha256(body).hexdigest()}"


def _races(found: _Found, race: Race) -> tuple[Race, ...]:
    """The races beside a race's event are only neighbours on the card."""
    if found.named.subject is Subject.RACE and (race.race_id or race.off.text or race.off.off_at):
        return ()
    parts = [part.fields for part in found.parts if part.about is not About.DELIVERY]
    races = read_races(parts, race)
    if found.named.subject is not Subject.MEETING:
        return races
    run = (one for fields in parts for one in race_entries(fields, "lists.run_races"))
    races += tuple(within(read_race(one), race).model_copy(update={"abandoned": False}) for one in run)
    fields = [part.fields for part in found.carried]
    first_lost = first_of(fields, "state.first_lost", _number) or (_last_run(fields) or 0) + 1
    lost_from = OffTime(text=first_of(fields, "state.lost_from", _first_clock))
    return tuple(_told_as_run(one, first_lost, lost_from) for one in races)


def _first_clock(value: Any) -> str | None:
    return next(filter(None, map(read_clock, value)), None) if isinstance(value, list) else read_clock(value)


def _last_run(fields: Sequence[Fields]) -> int | None:
    """The number of the last race before the abandonment, of "Abandoned after race 3" and "from race 4" too."""
    scopes = (text(value) or "" for value in values_of(fields, "state.scope"))
    after = next(filter(None, map(_AFTER_RACE.search, scopes)), None)
    return int(after["last"] or int(after["first"]) - 1) if after else first_of(fields, "state.last_run", _number)


def _told_as_run(race: Race, first_lost: int, lost_from: OffTime) -> Race:
    """A race with a winning time was run, and so were the races before the first lost race."""
    number, off, until = count(race.number), race.off.minute_of_day, lost_from.minute_of_day
    is_before = (number is not None and number < first_lost) or (off is not None and until is not None and off < until)
    is_run = race.winning_time is not None or is_before
    return race.model_copy(update={"abandoned": False}) if is_run and race.abandoned is None else race


def _occurred_at(found: _Found) -> datetime | None:
    kind = found.named.kind
    fact = f"event.occurred_at.{DECLARATIONS[kind].topic}" if kind else "event.occurred_at"
    top = [part for part in found.carried if part.depth == 0 or part is found.named.bearer]
    return (
        first_of((part.fields for part in found.carried), fact, read_instant)
        or first_of((part.fields for part in top), "event.occurred_at.top", read_instant)
        or first_of((part.fields for part in top if not part.is_racing), "event.occurred_at.envelope", read_instant)
    )


def _read_sequence(value: Any) -> int | None:
    digits = identifier(value) or ""
    is_whole = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(LARGEST_SEQUENCE))
    return int(digits) if is_whole and int(digits) <= LARGEST_SEQUENCE else None


def _is_named(race: Race) -> bool:
    return any(getattr(race, name) != getattr(NOWHERE, name) for name in _NAMING)


def _why_unread(named: _Named, race: Race, races: Sequence[Race]) -> str | None:
    if named.kind:
        return None if races or _is_named(race) else "the payload names no race"
    return f"The event {named.name} is unknown." if named.name else "The payload names no event."
