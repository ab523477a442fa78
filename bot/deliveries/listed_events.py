"""The events that a delivery lists: the entries of a batch, races, meetings (Spec gap G1).

`found_in` gives an event for the record, or an event for each entry of the first list in the place of the race or
meeting. A list of races gives the races of a race's event; the lists of a meeting's event give meetings.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain, islice, product
from typing import Any

from bot.deliveries.found_event import FoundEvent, has_place, is_named, named_in
from bot.deliveries.meeting_extent import tells_loss
from bot.events.event import EventKind
from bot.events.kinds import ABANDONMENTS, Subject
from bot.events.race_state import RaceState, goes_ahead, is_doubtful, is_reinstated, state_in
from bot.events.races import Course, OffTime, Race, in_short, is_same_course, may_be_there, may_share_meeting
from bot.events.reading.fields import NAMES_OF, Fields, fields_of, first_of, values_of
from bot.events.reading.json_values import text
from bot.events.reading.off_times import days_between, read_days, read_plain_date
from bot.events.reading.race_list import (
    LISTS_OF_MEETINGS,
    lists_races,
    may_be_race,
    race_entries,
    races_of_rows,
    read_races,
    within,
)
from bot.events.reading.race_record import race_from, read_off
from bot.events.reading.record_objects import (
    NAMING_HORSES,
    About,
    Part,
    entries_of,
    is_of_another_bet,
    kind_of,
    may_be_about_the_race,
    parts_of,
    races_by_key,
    type_of,
)
from bot.events.reading.sources import meeting_id_of, race_id_of, read_region, sources_of
from bot.events.same_races import is_same_race
from bot.events.spellings import by_card_status

MOST_EVENTS = 30
"""Events of a delivery. More are told as a single event in its plain form."""

DEEPEST_BATCH = 2

_PLACE_AND_DAY = frozenset(
    {"race.region", "race.date", "race.date.own", "ids.meeting", "ids.course", "course.country"}
    | {"course.name", "course.track", "course.meeting"}
)

_OF_A_RESULT = NAMING_HORSES - {"lists.named_races"} | {
    *("course.name", "course.track", "race.number", "off.scheduled", "off.plain", "off.off")
}
_REGIONS = frozenset(NAMES_OF["course.by_region"])
_LISTS_OF_RESULTS = frozenset(NAMES_OF["lists.races"] + NAMES_OF["lists.cards"])

_SPAN = re.compile("period|range|days|dates|abandon|cancel|affected|postpon|reschedul|moved|deferred")
"""In the name of an object: its days may be those of a loss. The days of a season or of refunds are not."""

_OF_A_LOSS = re.compile("abandon|affected|cancel|lost|postponed|(?:from|to|through|until)race")
"""In the name of a list or range of races: the races are lost. "Remaining races" beside a lost race may be run."""

_OF_EACH_LOSS = frozenset(fact for fact in NAMES_OF if fact.startswith(("event.", "race.reason"))) | {"is.racing"}
"""Facts that all races of a list of lost races share, beside place and day."""

_DAYS, _IDS = ("race.date", "race.date.own"), ("ids.meeting", "ids.plain")


def found_in(
    record: dict[str, Any], above: Callable[[], Race] = Race, deepest: int = DEEPEST_BATCH
) -> list[FoundEvent]:
    """The event of a record; of a batch, its events with the unknown events beside them."""
    parts = parts_of(record)
    found = _subjects(parts, above)
    if found[0].named.kind or not deepest:
        return found
    shared = cache(lambda: within(_shared(parts), above()))
    of_lists = ([found_in(one, shared, deepest - 1) for one in entries] for entries in _batches(parts))
    batch = (of_entry for of_list in of_lists if any(one[0].is_event for one in of_list) for of_entry in of_list)
    return [*chain.from_iterable(batch)] or found


def _batches(parts: list[Part]) -> Iterator[list[dict[str, Any]]]:
    """The lists of objects, and the objects under the name of an event: {"race.abandoned": {…}}."""
    for name, value in (field for part in parts for field in part.fields.items()):
        named = {name: value} if kind_of(name) else value
        is_listed = isinstance(value, list) or named is not value or races_by_key(value)
        is_of_regions = isinstance(value, list) and name in _REGIONS
        if is_listed and (is_of_regions or may_be_about_the_race(name)):
            entries = entries_of(named, lambda key: {"event": key} if kind_of(key) else {})
            yield races_of_rows(entries) or [one for one in entries if isinstance(one, dict)][: MOST_EVENTS + 1]


def _shared(parts: Sequence[Part]) -> Race:
    """The place, region and day, without an outcome. A moment in the delivery's envelope gives no day of a race."""
    sources = sources_of(parts)
    racing = [
        part for part in parts if part.is_racing or part.about is About.MEETING or "race.date" in part.fields.facts
    ]
    return Race(
        region=sources.look("race.region"),
        meeting_id=text(meeting_id_of(parts)),
        course=sources.course,
        race_date=(sources_of(racing).race_date if racing else None)
        or first_of((part.fields for part in parts), "race.date.own", read_plain_date),
    )


def first_told(found: list[FoundEvent]) -> FoundEvent:
    return next((one for one in found if one.named.kind in ABANDONMENTS), found[0])


def _subjects(parts: list[Part], shared: Callable[[], Race], *, in_groups: bool = True) -> list[FoundEvent]:
    """The event, or an event for each entry of a list in the place of the race or meeting.

    `in_groups`: the list may stand in an entry of another list: {"days": [{"date": …, "meetings": […]}]}.
    """
    named = named_in(parts)
    found = FoundEvent.of(named, parts, shared)
    about = About.RACE if named.subject is Subject.RACE else About.MEETING
    is_id_of_list = _is_id_of_list(found)
    names_subject = found.names_subject and not is_id_of_list
    is_one = named.subject is None or (names_subject and about is About.RACE)
    depth, entries = (0, []) if is_one else _entries(found.carried, about, lost=named.kind in ABANDONMENTS)
    if is_id_of_list and named.kind in ABANDONMENTS:
        # The other races may be the lost race's neighbours on the card.
        entries = [one for one in entries if race_id_of(one) == found.race_id]
    if in_groups and not (is_one or entries or found.names_subject):
        groups = (_subjects([*_below(one, About.DATA), *parts], shared, in_groups=False) for one in _groups(found))
        return [*chain.from_iterable(groups)] or _of_days(found)
    others = _others_lost(found)
    if not entries or (names_subject and not _are_others(entries, found)):
        return [*_of_days(found), *others]
    if len(entries) > MOST_EVENTS:
        return [replace(found, stands_for_many=True)]
    hidden = _PLACE_AND_DAY
    if about is About.MEETING:
        hidden, entries = hidden.union(LISTS_OF_MEETINGS), _with_races_beside(_with_place_beside(entries, found), found)
    if len(entries) > 1:
        # Horses and races beside several entries belong to none of the entries.
        hidden |= NAMING_HORSES
    if len(entries) > 1 or any("ids.race" in part.fields.facts for part in entries[0]):
        hidden |= {"ids.race"}
    # Of the objects around the list the nearest value counts.
    parts = sorted(parts, key=lambda part: (part.depth > depth, -part.depth))
    of_entry = _handed_down(parts, entries, shared)
    beside = {About.MEETING, About.COURSE}
    above = [
        part._replace(about=About.OTHER if part.about in beside else part.about, fields=part.fields.without(hidden))
        for part in parts
    ]
    each = [FoundEvent.of(named, [*above, *more], partial(of_entry, more)) for more in entries]
    return [*chain.from_iterable(map(_of_days, _meant(each, entries))), *others]


def _others_lost(found: FoundEvent) -> list[FoundEvent]:
    """The other races in a list of lost races beside a named lost race, with the same place, day and reason.

    Of any other list, the races that are lost by their own words.
    """
    if found.named.kind is not EventKind.RACE_ABANDONED or not found.names_subject:
        return []
    lists = [*map(_of_lost_races, found.carried)]
    entries = _entries(lists, About.RACE, lost=True)[1] if any(part.fields for part in lists) else []
    if not entries:
        listed = _entries(found.carried, About.RACE, lost=True)[1]
        entries = [one for one in listed if race_from(sources_of(one), race_id=None, meeting_id=None).abandoned]
    of_entry = _handed_down(found.parts, entries, found.shared)
    parts = [part._replace(fields=part.fields.only(_OF_EACH_LOSS)) for part in found.parts]
    each = [FoundEvent.of(found.named, [*parts, *more], partial(of_entry, more)) for more in entries]
    # Under "affected", a mere name may be a horse's.
    are_races = any(race_entries(part.fields, "lists.races", "lists.named_races") for part in lists)
    each = [one for one in each if are_races or one.race_id or not one.said.title or one.said.off != OffTime()]
    return [one for one in each if not (one.said.says_run or is_same_race(one.said, found.said))]


def _of_lost_races(part: Part) -> Part:
    """The object with its lists of lost races alone: other lists may have the lost race's neighbours on the card."""
    lists = {name: said for name, said in part.fields.items() if _OF_A_LOSS.search(f"{part.name} {name}")}
    return part._replace(fields=Fields(lists))


def _is_id_of_list(found: FoundEvent) -> bool:
    """True for the id of a race of a list: {"race_id": "rc_1", "results": [{…}, {…}]}.

    The id stands alone, or with a place or day. Beside a place or day, the list has to name the id.
    """
    if found.named.subject is not Subject.RACE or found.race_id is None:
        return False
    facts = (field for fields in found.fields for field in fields.facts.items())
    beside = _OF_A_RESULT.intersection(fact for fact, names in facts if not _LISTS_OF_RESULTS.issuperset(names))
    races = (one for fields in found.fields for one in race_entries(fields, "lists.races"))
    return not beside or (
        beside <= _PLACE_AND_DAY and any(race_id_of(parts_of(one, About.RACE)) == found.race_id for one in races)
    )


def _of_days(found: FoundEvent) -> list[FoundEvent]:
    """The loss of each day: {"dates": ["2026-11-27", "2026-11-28"]}. One id of a meeting would name all days."""
    days = [] if found.named.kind not in ABANDONMENTS or found.race_id else _days(found)
    if not days:
        return [found]
    parts = [part._replace(fields=part.fields.without(_DAYS + _IDS)) for part in found.parts]
    each = [FoundEvent.of(found.named, [_meeting(**day), *parts], found.shared) for day in days]
    return _meant(each, [one.parts[:1] for one in each])


def _days(found: FoundEvent) -> list[dict[str, Any]]:
    """The days of a loss of several days; empty for a single day. A loss "moved from" a day is a loss of that day."""
    lists = (value for value in values_of(found.fields, "race.date") if isinstance(value, list))
    listed = [one for one in chain.from_iterable(lists) if isinstance(one, dict) and read_plain_date(one.get("date"))]
    if len(listed) > 1:
        return listed
    said = [read_days(value) for fact in _DAYS for value in values_of(found.fields, fact)]
    if any(len(days) == 1 for days in said):
        return []
    for part in found.carried:
        if part.about is About.OTHER and not _SPAN.match(part.name):
            continue
        days = days_between(part.fields)
        is_moved = state_in(part.name) is RaceState.POSTPONED or (found.said.is_postponed and "from" in part.fields)
        said.append(days[:1] if is_moved else days if len(days) > 1 else [])
    return [{"date": day} for day in next(filter(None, said), [])]


def _meeting(**fields: Any) -> Part:
    return Part(About.MEETING, "", 1, fields_of(fields))


def _groups(found: FoundEvent) -> Iterator[dict[str, Any]]:
    """The entries that list races or meetings; of an event that names no race, the entries with a race too.

    For a race's event, the entries that list races are days or places.
    """
    is_of_race = found.named.subject is Subject.RACE
    lists = (race_entries(fields, "lists.races", "lists.cards") for fields in found.fields)
    is_named_alone = found.lists_races or is_named(found.said) or any(lists)
    for one in chain.from_iterable(_batches(found.parts)):
        fields = fields_of(one)
        is_group = lists_races(fields) and not (is_of_race and _may_be_horse(one))
        if is_group or (
            not is_named_alone and ("is.race" in fields.facts or has_place(_place_of(_below(one, About.DATA))))
        ):
            yield one


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
        region = first_of(around, "race.region", read_region) if has_place(here) else here.region
        courses = {in_short(_place_of(more).course) for more in entries} - {Course()}
        if len(courses) == 1 and all(more[0].about is About.RACE for more in entries):
            # The name beside the races is the meeting's own: "Royal Ascot".
            return here, here.model_copy(update={"course": Course()})
        others = {sources_of(more, About.MEETING).look("race.region") for more in entries} - {None, region}
        country = None if others or has_place(here) else here.course.country
        return here, Race(region=None if others else region, race_date=here.race_date, course=Course(country=country))

    def of_entry(more: list[Part]) -> Race:
        here, elsewhere = beside()
        return here if has_place(here) and may_be_there(_place_of(more), here) else elsewhere

    return of_entry


def _place_of(parts: Sequence[Part]) -> Race:
    return Race(course=sources_of(parts, About.MEETING).course, meeting_id=text(meeting_id_of(parts)))


def _with_races_beside(entries: list[list[Part]], found: FoundEvent) -> list[list[Part]]:
    """Each meeting, with its races of the list beside the meetings. Races of other places are one more entry."""
    races = next(filter(None, (race_entries(part.fields, "lists.races") for part in found.carried)), [])
    wheres = (_place_of(parts_of(one, About.RACE)) for one in races)
    placed = [(one, where if has_place(where) else found.place) for one, where in zip(races, wheres, strict=True)]
    places = [*map(_place_of, entries)]
    of_each = [[one for one, where in placed if _is_there(where, place)] for place in places]
    left = [one for one, where in placed if has_place(where) and not any(_is_there(where, place) for place in places)]
    both = zip([*entries, []], [*of_each, left], strict=True)
    return [[*more, *([_meeting(races=its)] if its else ())] for more, its in both if more or its]


def _is_there(race: Race, meeting: Race) -> bool:
    by_id = meeting.meeting_id is not None and race.meeting_id == meeting.meeting_id
    return by_id or (
        may_share_meeting(race, meeting) and is_same_course(in_short(race.course), in_short(meeting.course))
    )


def _with_place_beside(entries: list[list[Part]], found: FoundEvent) -> list[list[Part]]:
    """The entries. The place beside a list of mere names comes first, unless a listed name may be the same place."""
    place = found.place
    are_names = all(len(more) == 1 and len(more[0].fields) == 1 for more in entries)
    if not (are_names and has_place(place)) or any(may_be_there(_place_of(more), place) for more in entries):
        return entries
    course = place.course
    return [[_meeting(course=course.name, course_id=course.course_id, meeting_id=place.meeting_id)], *entries]


def _meant(races: list[FoundEvent], entries: Sequence[list[Part]]) -> list[FoundEvent]:
    """The races that the event is about: a list may have all races of a card."""
    kind = races[0].named.kind
    if kind is EventKind.RESULT_RECEIVED:
        of_race = [one for one, more in zip(races, entries, strict=True) if not is_of_another_bet(more[0].fields)]
        # "Off" is no outcome, and "Under review" is told where no race has an outcome.
        told = [one for one in of_race if one.has_outcome] or [one for one in of_race if not one.is_to_come]
        return told or of_race or races
    lost = [one for one in races if one.is_lost]
    if kind is EventKind.MEETING_ABANDONED:
        each = [(one, *_loss_told(more)) for one, more in zip(races, entries, strict=True)]
        return [one for one, tells, goes in each if one.is_lost or tells or not (lost or goes)] or races
    others = [one for one in races if kind is EventKind.RACE_ABANDONED and one.said.says_run]
    is_told_apart = kind is EventKind.RACE_ABANDONED and any(one.said.status and not one.is_lost for one in races)
    return ((others or is_told_apart) and lost) or [one for one in races if one not in others] or races


def _loss_told(more: Sequence[Part]) -> tuple[bool, bool]:
    """Whether a meeting's own status, reason or extent tells a loss, or a race is lost; whether all races go ahead.

    "Declared" tells no loss, and the reason for an inspection none. Results alone leave the races to come open.
    """
    own = race_from(sources_of(more, About.MEETING), race_id=None, meeting_id=None)
    fields = [part.fields for part in more]
    races = read_races(fields, own)
    is_open = is_doubtful(own.status) or goes_ahead(own.status)
    is_told = not is_open and (by_card_status(own.status) or any(one.reason for one in (own, *races)))
    is_told = is_told or any(one.abandoned or one.is_void for one in (own, *races))
    ahead = [is_reinstated(one.status or "") for one in (own, *races)]
    all_go = any(ahead) and all(goes or one.says_run for goes, one in zip(ahead[1:], races, strict=True))
    return own.abandoned is not False and bool(is_told or tells_loss(fields, races)), all_go


def _are_others(entries: Sequence[list[Part]], found: FoundEvent) -> bool:
    """True if an entry is of another course than the course beside the list, or if several meetings have ids."""
    places = [*map(_place_of, entries)]
    is_there = all(may_be_there(Race(course=one.course), Race(course=found.place.course)) for one in places)
    return not is_there or len({one.meeting_id for one in places} - {None}) > 1


def _entries(parts: Iterable[Part], about: About, *, lost: bool) -> tuple[int, list[list[Part]]]:
    """The depth of the first list with races or meetings, and the objects of each.

    A race in a listed meeting has the meeting's objects too. `lost`: a list of off times or numbers is of lost races.
    """
    parts = list(parts)
    of_lost = ("lists.races", "lists.named_races", "state.lost_from", "lists.cards", "lists.lost", "lists.changes")
    of_races = of_lost if lost else ("lists.races", "lists.cards", "lists.runners")
    sure, others = LISTS_OF_MEETINGS[:2], LISTS_OF_MEETINGS[2:]
    for part, of in product(parts, [of_races] if about is About.RACE else [sure, others]):
        entries = race_entries(part.fields, *of)[: MOST_EVENTS + 1]
        if about is About.MEETING:
            entries = [*_meetings(entries, is_sure=of == sure)]
        else:
            # An entry with a list of races is a day or a meeting.
            entries = [one for one in entries if "ids.race" in fields_of(one).facts or not lists_races(fields_of(one))]
        if entries:
            return part.depth, [_below(one, about) for one in entries]
    if about is About.MEETING:
        return 0, []
    place = _place_of(parts)

    def may_be_meeting(entry: dict[str, Any]) -> bool:
        is_there = is_same_course(in_short(_place_of(_below(entry, About.MEETING)).course), in_short(place.course))
        return lost or is_there or not (has_place(place) and _may_be_horse(entry))

    listed = (
        (part.depth, one)
        for part in parts
        for one in race_entries(part.fields, *sure) or filter(may_be_meeting, race_entries(part.fields, *others))
    )
    races = [(depth, race) for depth, one in islice(listed, MOST_EVENTS + 1) for race in _races_at(one, lost=lost)]
    return min((depth for depth, _ in races), default=0), [race for _, race in races]


def _may_be_horse(entry: dict[str, Any]) -> bool:
    """True for a name with races, without a place or a day: a horse or a trainer lists other races."""
    return _PLACE_AND_DAY.isdisjoint(fields_of(entry).facts)


def _races_at(entry: dict[str, Any], *, lost: bool) -> Iterator[list[Part]]:
    """The races of a meeting; a meeting with a time alone is the race: {"name": "York", "time": "13:00"}."""
    meeting = _below(entry, About.MEETING)
    races = _entries(meeting, About.RACE, lost=lost)[1]
    if not races and read_off(entry) != OffTime():
        at = [part._replace(fields=part.fields.without({"race.title.own"})) for part in _below(entry, About.RACE)]
        races = [at]
    return ([*meeting, *race] for race in races)


def _meetings(entries: Sequence[dict[str, Any]], *, is_sure: bool) -> Iterator[dict[str, Any]]:
    """The entries that are meetings. `is_sure`: the name of the list says so, and a time is the meeting's start.

    In any other list with a race, an entry without a course is a race: the entry may have a title alone.
    """
    of_races = not is_sure and any(may_be_race(fields_of(one)) for one in entries)
    for entry in entries:
        fields = fields_of(entry)
        is_race = "ids.race" in fields.facts or type_of(fields) is About.RACE
        is_race = is_race or (not is_sure and read_off(entry) != OffTime())
        is_placed = has_place(_place_of(parts_of(entry, About.RACE)))
        if lists_races(fields):
            is_race = not is_placed and bool(race_entries(fields, *LISTS_OF_MEETINGS[:2]))
        elif of_races and not is_placed:
            is_race = True
        if not is_race:
            yield entry


def _below(entry: dict[str, Any], about: About) -> list[Part]:
    return [part._replace(depth=part.depth + 1) for part in parts_of(entry, about)]
