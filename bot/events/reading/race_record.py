"""A race read from any plausible shape, because the interface does not show a race's fields (Spec gap G2).

An unknown value stays None: nothing is guessed. names.ini has the names.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Any

from bot.events.days import WEEKDAYS
from bot.events.lost_part import in_figures, races_lost, run_before_loss
from bot.events.race_state import (
    LOST_OR_VOID,
    NOT_RUN,
    RaceState,
    express_losses,
    is_in_doubt,
    is_taken_back,
    letters,
    reason_in,
    state_in,
)
from bot.events.races import PROVISIONAL, Course, OffTime, Race, plain_name
from bot.events.reading import aliases
from bot.events.reading.fields import NAMES_OF, Fields, fields_of, find, first_of, values_of
from bot.events.reading.json_values import flag, flag_in, identifier, is_no, is_yes, text
from bot.events.reading.lazy import Lazy
from bot.events.reading.off_times import (
    days_between,
    off_by_standing,
    published_date,
    read_clock,
    read_clock_of_date,
    read_date,
    read_dated_clock,
    read_plain_date,
    spread_off,
)
from bot.events.reading.record_objects import (
    BY_FULL_NAME,
    MOST_ENTRIES,
    About,
    Part,
    kind_of,
    may_tell_a_loss,
    parts_of,
    read_bare_id,
)
from bot.events.reading.runner_list import Placings, read_placings

_FLAGS = (RaceState.VOID, RaceState.ABANDONED, RaceState.POSTPONED, RaceState.RUN, RaceState.WALKOVER)

_EXTENT = tuple(f"state.{fact}" for fact in ("first_lost", "last_run", "lost_from", "partly", "races_run"))

_OFF_STANDINGS = ("off.scheduled", "off.plain", "off.off", "off.jump")

_LOOKED_UP = (
    *("region", "title", "number", "race_class", "race_type", "distance", "going", "surface", "winning_time"),
    *("reason", "field_size"),
)
"""Fields of a race that are read as the first value found."""

_UTC = ("utc", "gmt")
"""Ends the name of a time that is no time of the course."""

_CHANCE = re.compile("risk|likel|possib|probab|threat|chance")
"""In a field's name these words make the loss a mere chance."""

_LOST_TITLE = re.compile(
    r"^(?:ABANDONED|CANCELLED|CANCELED)(?:[ :,-]|$)|(?:^|[-\u2013:] |\()(?i:abandoned|cancelled|canceled)\)?$"
)
"""How a list writes a lost race before, behind or in the place of the title."""

_NO_PLACE = re.compile(r"\b(?:race|heat|event|off|at|to(?:day|morrow|night)|\w{3,6}day)\b|[0-9]", re.IGNORECASE)
"""Words beside a time that are no course."""

_CODE = re.compile("[A-Z]{2,3}")
"""The `state` of Australia or America where the course is: "NSW". A short status says no more."""

_PENDING = frozenset({"pending", "lodged", "announced", "open", "underway", "inprogress", "active"})
"""Words for an inquiry that is not decided."""

_NOTES = frozenset(NAMES_OF["marks.note"] + NAMES_OF["state.inquiry"] + NAMES_OF["state.message"])
"""Only under these names are texts read in objects too."""

_ABOUT_THE_RACE = _NOTES.union(NAMES_OF["race.reason"], NAMES_OF["race.reason.own"], NAMES_OF["race.going"])
"""In the race's own object "Abandoned" alone under these names is a loss."""

_PROVISIONAL = frozenset(
    spelled for word in NAMES_OF["words.provisional"] for spelled in (word, word.upper(), word.capitalize())
)
"""Whole values that mean "provisional" under any name: {"certainty": "provisional"}."""

_OF_A_CARD = re.compile("going|draw|declar|entr|weight|class|type|title|name")
"""In the name of a field: not the order, but the going or the draw may be provisional."""

LONGEST_REMARK = 60
"""Characters of a result or headline that is told whole."""

_OTHER_RACES = re.compile(
    r"\b(?:(?:next|subsequent|later|other|remaining|first|opening|second|third|last|final|one|two|three|four|five)\b"
    r"(?: \w+)? races?|racing (?:was |were )?later)\b",
    re.IGNORECASE,
)
_NOT_NOW = re.compile(
    r"番|\b(?:previous|yesterday|(?<!until )(?<!to )(?<!till )tomorrow"
    r"|(?:last|next) (?:year|season|month|week|meeting|fixture|card|time|\w+day)\b"
    r"|(?:postponed|rescheduled|moved|deferred) (?:race|meeting|fixture)\b"
    r"|originally (?:scheduled|due) (?:for|on) [0-9]+(?:st|nd|rd|th)? [a-z]|replac\w+ (?:for|of|the)\b|in place of\b"
    r"|(?:re(?:scheduled|arranged|staged)|transferred|switched|moved)(?: to \w+)? (?:from|after)\b"
    r"(?!.* (?<!due )(?<!owing )(?:to|until|till)\b))",
    re.IGNORECASE,
)
"""In a text about a loss: words about a horse ("3番 競走中止") or another day."""

_OF_HORSES = re.compile(r"(?<![0-9])競走中止|\blost\b", re.IGNORECASE)
"""Beside places "lost" is said of a horse, and so is "競走中止", pulled up; "第5競走中止" is a lost race."""

_NUMBERED = re.compile(r"(?<!\bin )(?<!\bduring )\b(?:race|r) ?([0-9]{1,2})\b", re.IGNORECASE)
_YEAR = re.compile(r"\b((?:19|20)[0-9]{2})\b")
_WEEKDAY = re.compile(rf"(?:the |last )?({'|'.join(WEEKDAYS)})\b", re.IGNORECASE)
_TIMED = re.compile(r"\b(?:(?:[01]?[0-9]|2[0-3])[:.][0-5][0-9]|(?<=the )[0-9]{1,2} ?pm)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sources:
    """The objects of a record in the order of the search for a race's fields, without the delivery's.

    `own`: the race's, or the meeting's of a meeting's event. `data`: other objects about the event.
    """

    subject: About
    own: list[Fields]
    data: list[Fields]
    meetings: list[Fields]
    courses: list[Fields]
    others: list[Fields]

    def look(self, fact: str, read: Callable[[Any], Any] | None = None) -> Any:
        """The fact of the race's own objects by any name, else of the other objects."""
        read = read or aliases.FACT_READERS.get(fact, aliases.read_words)
        for objects, of in ((self.own, fact), (self.own, f"{fact}.own"), (self.others, fact)):
            if (value := first_of(objects, of, read)) is not None:
                return value
        return None

    def values(self, fact: str) -> list[Any]:
        """Every value of a fact: of the race's own objects by own names too, then of the event's other objects."""
        return [value for _, value in self._named(fact)]

    def _named(self, fact: str) -> Iterator[tuple[str, Any]]:
        for objects, of in ((self.own, fact), (self.own, f"{fact}.own"), (self.data, fact)):
            for fields in objects:
                yield from ((name, fields[name]) for name in fields.facts.get(of, ()))

    @Lazy
    def off_values(self) -> list[list[Any]]:
        """By standing, local times first. Bare times in UTC come last: a race is called by the course's local time."""
        found = [
            [(name, value) for name, said in self._named(fact) for value in spread_off(said)] for fact in _OFF_STANDINGS
        ]
        of_utc = [value for named in found for name, value in named if _is_clock_of_utc(name, value)]
        local = (sorted(named, key=lambda one: one[0].endswith(_UTC)) for named in found)
        return [*([value for name, value in named if not _is_clock_of_utc(name, value)] for named in local), of_utc]

    @Lazy
    def race_date(self) -> str | None:
        """An unreadable date stays as published: a race of an unread date is no race of today."""
        own = "race.date.own"
        return (
            self.look("race.date")
            or first_of(self.meetings, own, read_date)
            or next(filter(None, map(read_dated_clock, chain.from_iterable(self.off_values))), None)
            or first_of(self.data, own, read_plain_date)
            or next((days[0] for one in (*self.own, *self.others) if len(days := days_between(one)) == 1), None)
            or self.look("race.date", published_date)
            or first_of(self.meetings, own, published_date)
        )

    @Lazy
    def own_names(self) -> tuple[str, ...]:
        """The course, the meeting, the title and the date, by which a remark may call the race."""
        title, day = self.look("race.title"), read_plain_date(self.race_date)
        forms = [f"%d{end} {month}" for end in ("", "st", "nd", "rd", "th") for month in ("%B", "%b")] if day else []
        days = [f"{date.fromisoformat(day or ''):{form}}".lstrip("0") for form in forms]
        meetings = chain(self.values("course.meeting"), values_of(self.meetings, "course.of_meeting"))
        names = (course_of(self).name, *map(aliases.read_meetings_name, meetings))
        return tuple(filter(None, (*(plain_name(one) for one in names if one), title, *days)))


def _is_clock_of_utc(name: str, value: Any) -> bool:
    return name.endswith(_UTC) and read_clock(value) is not None


def read_off(record: Mapping[str, Any]) -> OffTime:
    return off_of(sources_of(_race_parts(record)))


def read_race(record: Mapping[str, Any]) -> Race:
    parts = _race_parts(record)
    return race_from(sources_of(parts), race_id=race_id_of(parts), meeting_id=meeting_id_of(parts))


def _race_parts(record: Mapping[str, Any]) -> list[Part]:
    holds_race = isinstance(fields_of(record).get("race"), dict)
    return parts_of(record, About.DATA if holds_race else About.RACE)


def race_from(sources: Sources, *, race_id: str | None, meeting_id: str | None) -> Race:
    read = {name: sources.look(f"race.{name}") for name in _LOOKED_UP}
    placings = read_placings(sources.own + sources.data)
    state = _state_of(sources, placings)
    read["number"] = read["number"] or find(sources.own, ("race",), aliases.read_short_number)
    course, off = course_of(sources), off_of(sources)
    said = find(sources.own, ("race",), aliases.string)
    if said and " " in said and not read["number"]:
        called = _called(said) if course == Course() and off == OffTime() else None
        course, off = called or (course, off)
        read["title"] = read["title"] or (None if called else said)
    read["reason"] = read["reason"] or reason_in(state["status"])
    return Race(
        race_id=text(race_id),
        meeting_id=text(meeting_id),
        course=course,
        race_date=sources.race_date,
        off=off,
        runners=placings.runners,
        unread_order=placings.unread,
        disputed=placings.disputed,
        **state,
        **read,
    )


def _called(said: str) -> tuple[Course, OffTime] | None:
    """The course and the time of a race that is called by both: "13:00 York", "York 13:00"."""
    for off, name in (said.split(" ", 1), said.rsplit(" ", 1)[::-1]):
        if (clock := read_clock(off)) and not _NO_PLACE.search(name) and (course := aliases.read_course_name(name)):
            return Course(name=course), OffTime(text=clock)
    return None


def sources_of(parts: Sequence[Part], subject: About = About.RACE) -> Sources:
    """The record's top is the subject's own object only as the last resort: its "time" may be the delivery's."""
    by_about: dict[About, list[Fields]] = {about: [] for about in About}
    for part in parts:
        by_about[part.about].append(part.fields)
    subjects, data = by_about.pop(subject), by_about[About.DATA]
    racing = (part for part in parts if part.about is About.DATA and part.is_racing)
    own = subjects + [part.fields for part in racing if not subjects or part.depth] or data
    held = {id(fields) for fields in own}
    data = [fields for fields in data + by_about[About.OTHER] if id(fields) not in held]
    meetings, races = by_about.get(About.MEETING, []), by_about.get(About.RACE, [])
    courses = by_about[About.COURSE]
    return Sources(subject, own, data, meetings, courses, [*data, *meetings, *courses, *races])


def race_id_of(parts: Sequence[Part]) -> str | None:
    """By a name of its own, as the plain id of a race's object, or as the whole value of `race`."""
    everywhere = [part.fields for part in parts]
    return (
        first_of(everywhere, "ids.race", identifier)
        or first_of(_of(parts, About.RACE), "ids.plain", identifier)
        or find(everywhere, NAMES_OF["objects.race"], lambda value: None if read_clock(value) else read_bare_id(value))
    )


def meeting_id_of(parts: Sequence[Part]) -> str | None:
    everywhere = [part.fields for part in parts if part.about is not About.DELIVERY]
    return (
        first_of(everywhere, "ids.meeting", identifier)
        or first_of(_of(parts, About.MEETING), "ids.plain", identifier)
        or find(everywhere, NAMES_OF["objects.meeting"], read_bare_id)
    )


def region_of(sources: Sources) -> str | None:
    region: str | None = sources.look("race.region")
    return region


def course_of(sources: Sources) -> Course:
    """A course's own country comes before any other country. A meeting without a course is called by its own name.

    Ids of another shape than the service's tell no two courses with names apart.
    """
    meetings = sources.own if sources.subject is About.MEETING else sources.meetings
    # A track comes after a course, because some say "turf".
    names = filter(None, map(sources.look, ("course.name", "course.track", "course.meeting")))
    name = next(names, None) or first_of(meetings, "course.of_meeting", aliases.read_course_name)
    in_names = (sources.look(fact, aliases.read_course_id) for fact in ("course.name", "course.track"))
    course_id = sources.look("ids.course") or next(filter(None, in_names), None)
    if name and course_id and not aliases.COURSE_ID_SHAPE.fullmatch(course_id):
        course_id = None
    country = first_of(sources.courses, "course.country", text) or sources.look("course.country")
    return Course(course_id=course_id, name=name, country=country)


def off_of(sources: Sources) -> OffTime:
    """The date may hold the time too, where no other field has a time."""
    beside_dates = filter(None, map(read_clock_of_date, sources.values("race.date")))
    called = find(sources.own, ("race",), lambda said: read_clock(said) if re.fullmatch(_TIMED, str(said)) else None)
    return off_by_standing([*sources.off_values, [*beside_dates], [called] if called else []])


def _state_of(sources: Sources, placings: Placings) -> dict[str, Any]:
    """`status` and `abandoned`, by every status, stage, result text and flag of the race's own objects.

    A void race is void whatever else is said. If a race is reported both lost and run, both statements are kept, and
    the message tells both. Of a race without any sign of a run, the status of the meeting counts too.
    """
    published = (one for one in map(text, _spread(sources.values("state.status"))) if one and flag(one))
    statuses = [one for one in published if state_in(one) or not _CODE.fullmatch(one)]
    inner = [fields_of(value) for value in values_of(sources.own, "state.objects") if isinstance(value, dict)]
    spoken = chain(values_of(inner, "text.spoken"), values_of(inner, "state.status.own"))
    inner += [fields_of(value) for value in spoken if isinstance(value, dict)]
    histories = (value for value in values_of(sources.own, "state.history") if isinstance(value, list))
    inner += [fields_of(value[-1]) for value in histories if value and isinstance(value[-1], dict)]
    words = _spread(chain(values_of(sources.own, "state.result"), *sources.off_values))
    remarks = [*filter(None, map(aliases.string, chain(words, *map(Fields.values, inner))))]
    losses = [*_losses(statuses, remarks, sources, placings)]
    is_open = not placings.has_places
    statuses = [one for one in statuses if not _is_lost(one) or (is_open and not _names_another(one, sources))]
    said = [*statuses, *(one for one in remarks if len(one) <= LONGEST_REMARK and not _is_lost(one)), *losses]
    states = {state: words for words in reversed(said) if (state := state_in(words))}
    own = [*sources.own, *inner]
    flags = {state: [*map(_lost_flag, values_of(own, f"state.{state}"))] for state in _FLAGS}
    flagged = {state for state, found in flags.items() if any(found)}
    told = states.keys() | flagged | ({placings.state} - {None})
    is_waited_for = any(map(_is_pending, values_of([*own, *sources.data], "state.inquiry")))
    is_waited_for = is_waited_for or any(map(is_in_doubt, [*statuses, *_strings_in(values_of(own, "state.official"))]))
    is_official = RaceState.RUN in told or any(map(is_yes, values_of(own, "state.official")))
    texts = ((name, value) for fields in own for name, value in fields.items() if isinstance(value, str))
    is_provisional = (
        (is_waited_for and not is_official)
        or any(map(is_yes, values_of(own, "state.provisional")))
        or any(value in _PROVISIONAL and not _OF_A_CARD.search(name) for name, value in texts)
    )
    if placings.has_places and (is_provisional or any(map(is_no, values_of(own, "state.official")))):
        told |= {RaceState.PROVISIONAL}
        states.setdefault(RaceState.PROVISIONAL, PROVISIONAL)
    for state in (RaceState.VOID, RaceState.POSTPONED):
        if state in told:
            is_lost = True if state in NOT_RUN else None
            return {"status": states.get(state) or state.capitalize(), "abandoned": is_lost}
    if not (told or placings.has_places) and _is_lost_by_more(sources):
        told |= {RaceState.ABANDONED}
    # Of "Abandoned" and "Official", "Official" is kept: `abandoned` says already that the race was lost.
    telling = (RaceState.WALKOVER, RaceState.PROVISIONAL, RaceState.RUN, RaceState.ABANDONED)
    if RaceState.WALKOVER in told:
        states.setdefault(RaceState.WALKOVER, RaceState.WALKOVER.capitalize())
    if RaceState.PROVISIONAL in told and not states:
        states[RaceState.PROVISIONAL] = PROVISIONAL
    is_run = RaceState.RUN in flagged or False in flags[RaceState.ABANDONED]
    return {
        "status": next((states[state] for state in telling if state in states), next(iter(statuses), None)),
        "abandoned": True if NOT_RUN & told else False if is_run else None,
    }


def _is_lost(words: str) -> bool:
    return state_in(words) in LOST_OR_VOID


def _losses(statuses: Sequence[str], remarks: Sequence[str], sources: Sources, placings: Placings) -> Iterator[str]:
    """The words of each loss of the race in any text, because notes have many names."""
    own, year, is_open = sources.own_names, (read_plain_date(sources.race_date) or "")[:4], not placings.has_places
    for words, is_about_race, beside_places in _texts(statuses, remarks, sources):
        if any(one < year for one in _YEAR.findall(words)):
            continue
        is_note = is_about_race and not _NOT_NOW.search(words)
        for state, clause in express_losses(words, own, is_note=is_note, is_open=is_open):
            is_told = is_open or (state in beside_places and (words in statuses or not _OF_HORSES.search(clause)))
            if is_told and not _is_of_another(clause, sources, is_open=is_open):
                told = words if len(words) <= LONGEST_REMARK else clause
                yield told if state_in(told) is state and run_before_loss(told) is None else state.capitalize()


def _texts(
    statuses: Sequence[str], remarks: Sequence[str], sources: Sources
) -> Iterator[tuple[str, bool, Collection[RaceState]]]:
    """Each text, whether the text is about the race, and which losses the text tells beside places."""
    yield from ((one, True, LOST_OR_VOID) for one in statuses)
    yield from ((one, True, {RaceState.VOID, RaceState.ABANDONED}) for one in remarks)
    for about, objects in ((_ABOUT_THE_RACE, sources.own), (_NOTES, sources.data)):
        for name, value in chain.from_iterable(map(Fields.items, objects)):
            if name in about or may_tell_a_loss(name):
                said = (one for one in _spread([value]) if isinstance(one, str) or name in about)
                texts = (one for one in _strings_in(said) if " " in one or not kind_of(one))
                yield from ((one, name in about, {RaceState.VOID}) for one in texts)


def _is_of_another(loss: str, sources: Sources, *, is_open: bool) -> bool:
    """True for the loss of another race, of the rest of a meeting, or on another day."""
    if sources.look("race.number"):
        loss = in_figures(loss)
    run = run_before_loss(loss)
    is_of_others = run == 0 or (run and not is_open) or _OTHER_RACES.search(loss) is not None
    return (bool(is_of_others) and _is_among_lost(loss, sources) is None) or _names_another(loss, sources)


def _names_another(words: str, sources: Sources) -> bool:
    """By another number, year or day, or by another time before the loss. A later time may be the decision's."""
    if (is_among := _is_among_lost(words, sources)) is not None:
        return not is_among
    if _NOT_NOW.search(words):
        return True
    number, off = sources.look("race.number"), off_of(sources)
    day = read_plain_date(sources.race_date)
    weekday, year = (WEEKDAYS[date.fromisoformat(day).weekday()], day[:4]) if day else (None, None)
    said = ((_NUMBERED.search(words), number), (_YEAR.search(words), year), (_WEEKDAY.match(words), weekday))
    if any(found and own and found[1].casefold() != own for found, own in said):
        return True
    timed = _TIMED.search(words)
    if not timed or off.minute_of_day is None or off.is_same_time(OffTime(text=timed[0])):
        return False
    return state_in(words[: timed.start()]) not in LOST_OR_VOID


def _is_among_lost(loss: str, sources: Sources) -> bool | None:
    lost, number = races_lost(loss), sources.look("race.number")
    return int(number) in lost if lost and number and number.isdecimal() else None


def _is_lost_by_more(sources: Sources) -> bool:
    """By a reason for an abandonment, by the title, or by the state of the race's meeting."""
    if sources.subject is not About.RACE:
        return False
    title = sources.look("race.title") or ""
    is_explained = any(map(flag, values_of(sources.own, "state.reason")))
    return is_explained or _LOST_TITLE.search(title) is not None or _is_meeting_lost(sources)


def _is_meeting_lost(sources: Sources) -> bool:
    """False for a meeting that is lost in part, unless the words tell that the race is lost: it may have been run."""
    places, own = sources.meetings + sources.courses, sources.own_names
    flags = [*values_of(sources.own, "state.meeting_abandoned"), *values_of(places, "state.abandoned")]
    said = chain(values_of(sources.own, "state.of_meeting"), values_of(places, "state.status.own"))
    noted = (one for one in _strings_in(values_of(places, "marks.note")) if not _NOT_NOW.search(one))
    notes = (loss for one in noted for _, loss in express_losses(one, own, is_note=True, is_open=True))
    words = [*_strings_in(flags), *_strings_in(said), *notes]
    told = [fields_of(one).within("abandonment", BY_FULL_NAME) for one in flags if isinstance(one, dict)]
    extent = chain.from_iterable(values_of([*places, *told], fact) for fact in _EXTENT)
    is_part = any(flag(one) and not read_date(one) for one in extent)
    is_part |= any(run_before_loss(one) is not None and _is_among_lost(one, sources) is None for one in words)
    is_said = any(state_in(one) in NOT_RUN and not _names_another(one, sources) for one in words)
    return not is_part and (is_said or any(map(_lost_flag, flags)))


def _lost_flag(value: Any) -> bool | None:
    """None for no flag, and for {"status": "lifted"} and {"risk": "high"}."""
    if isinstance(value, dict) and any(_CHANCE.search(name) for name in fields_of(value)):
        return None
    said = first_of([fields_of(value)], "state.status.own", text) if isinstance(value, dict) else None
    return None if said and is_taken_back(said) else flag_in(value)


def _strings_in(values: Iterable[Any]) -> Iterator[str]:
    """The texts among the values, and in lists and objects among the values."""
    for one in _spread(values):
        yield from filter(None, map(aliases.string, one.values() if isinstance(one, dict) else [one]))


def _is_pending(inquiry: Any) -> bool:
    """True for a flag or a word such as "pending", and for an object with a flag or word: {"status": "pending"}."""
    if isinstance(inquiry, dict):
        fields = fields_of(inquiry)
        said = first_of([fields], "state.status.own", text)
        return _is_pending(said) or any(is_yes(fields.get(word)) for word in _PENDING)
    return is_yes(inquiry) or (isinstance(inquiry, str) and letters(inquiry) in _PENDING)


def _spread(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from value[:MOST_ENTRIES] if isinstance(value, list) else [value]


def _of(parts: Sequence[Part], about: About) -> list[Fields]:
    return [part.fields for part in parts if part.about is about]
