"""A race read from any plausible shape, because the interface does not show a race's fields (Spec gap G2).

An unknown value stays None: nothing is guessed. names.ini has the names. The state of the race, run, provisional or
lost, is read of every status, flag and remark.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any

from bot.events.days import WEEKDAYS
from bot.events.lost_part import extent_in
from bot.events.race_state import (
    LOST_OR_VOID,
    NOT_RUN,
    RaceState,
    express_losses,
    is_decided,
    is_doubtful_or_reinstated,
    is_in_doubt,
    is_pending,
    is_reinstated,
    may_tell_loss,
    reason_in,
    state_in,
)
from bot.events.races import PROVISIONAL, Course, OffTime, Race
from bot.events.reading.fields import LONGEST_NAME, NAMES_OF, Fields, fields_of, first_of, fold, values_of
from bot.events.reading.json_values import LONGEST_READ, MOST_NOTES, flag, flag_in, is_no, is_yes, string, text
from bot.events.reading.off_times import read_clock, read_clock_of_date, read_date, read_plain_date
from bot.events.reading.record_objects import (
    BY_FULL_NAME,
    NAMING_HORSES,
    About,
    Part,
    kind_of,
    may_tell_a_loss,
    parts_of,
)
from bot.events.reading.runner_list import Placings, read_placings
from bot.events.reading.sources import (
    Sources,
    meeting_id_of,
    race_id_of,
    read_course_name,
    read_short_number,
    sources_of,
)

_LOOKED_UP = (
    *("region", "title", "number", "race_class", "race_type", "distance", "going", "surface", "winning_time"),
    *("reason", "field_size"),
)
"""Fields of a race that are read as the first value found."""

_NO_PLACE = re.compile(
    r"\b(?:race|heat|event|off|at|to(?:day|morrow|night)|\w{3,6}day|gmt|utc|cet|local|time|(?:[abceijmnp]|ae|ce)[ds]t)\b"
    "|[0-9]",
    re.IGNORECASE,
)
"""Words beside a time that are no course."""

_RACE_TITLE = re.compile(
    r"\b(?:handicap|h'?cap|stakes|hurdle|(?:steeple)?chase|plate|cup|trophy|shield|maiden|novices?|nursery|bumper|derby"
    r"|oaks|guineas|allowance|claiming|selling|juvenile|conditions|prix|preis|premio|lopp)\b|ステークス|記念|賞",
    re.IGNORECASE,
)
"""A word of a race's title. No course is called so."""


def read_off(record: Mapping[str, Any]) -> OffTime:
    return sources_of(_race_parts(record)).off


def read_race(record: Mapping[str, Any]) -> Race:
    parts = _race_parts(record)
    return race_from(sources_of(parts), race_id=race_id_of(parts), meeting_id=meeting_id_of(parts))


def _race_parts(record: Mapping[str, Any]) -> list[Part]:
    holds_race = isinstance(fields_of(record).get("race"), dict)
    return parts_of(record, About.DATA if holds_race else About.RACE)


def race_from(sources: Sources, *, race_id: str | None, meeting_id: str | None) -> Race:
    read = {name: sources.look(f"race.{name}") for name in _LOOKED_UP}
    placings = read_placings(sources.own + sources.data)
    state = state_of(sources, placings)
    read["number"] = read["number"] or first_of(sources.own, "objects.race", read_short_number)
    course, off = sources.course, sources.off
    said = first_of(sources.own, "objects.race", string)
    if said and " " in said and not read["number"]:
        read["title"] = read["title"] or said
    # The race book knows the course of a race with an id, whose title may be "3:30 Lucky Seven Club".
    if course == Course() and (called := called_in((said if race_id else read["title"]) or "")):
        course, off, read["title"] = called[0], off if off != OffTime() else called[1], None
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


def called_in(said: str) -> tuple[Course, OffTime] | None:
    """The course and the time of a race that is called by both: "13:00 York", "York 13:00"."""
    for off, _, name in (said.partition(" "), said.rpartition(" ")[::-1]):
        if (clock := read_clock(off)) and not _NO_PLACE.search(name) and not is_title(name):
            course = read_course_name(name)
            return (Course(name=course), OffTime(text=clock)) if course else None
    return None


def is_title(said: Any) -> bool:
    return isinstance(said, str) and _RACE_TITLE.search(said) is not None


_FLAGS = (RaceState.VOID, RaceState.ABANDONED, RaceState.POSTPONED, RaceState.RUN, RaceState.WALKOVER)

_EXTENT = tuple(f"state.{fact}" for fact in ("first_lost", "last_run", "lost_from", "partly", "races_run"))


_CHANCE = re.compile("risk|likel|possib|probab|threat|chance")
"""In a field's name these words make the loss a mere chance."""

_LOST_TITLE = re.compile(
    r"^(?:ABANDONED|CANCELLED|CANCELED)(?:[ :,-]|$)|(?:^|[-\u2013:] |\()(?i:abandoned|cancelled|canceled)\)?$"
)
"""How a list writes a lost race before, behind or in the place of the title."""

_CODE = re.compile("[A-Z]{2,3}")
"""May be the Australian or American `state` of the course: "NSW". Such letters count only as a known status: "ABD"."""

_NOTES = frozenset(NAMES_OF["marks.note"] + NAMES_OF["state.inquiry"] + NAMES_OF["state.message"])
"""Only under these names are texts read in objects too."""

_ABOUT_THE_RACE = _NOTES.union(
    *map(NAMES_OF.__getitem__, ("race.reason", "race.reason.own", "race.going", "race.race_type.own"))
)
"""In the race's own object "Abandoned" alone under these names is a loss."""

_PROVISIONAL = frozenset(
    spelled for word in NAMES_OF["words.provisional"] for spelled in (word, word.upper(), word.capitalize())
)
"""Whole values that mean "provisional" under any name: {"certainty": "provisional"}."""

OFFICIAL, AMENDED, PHOTO_FINISH = "Official", "Amended result", "Photo finish"

_STANDINGS = {"o": OFFICIAL, "f": OFFICIAL, **dict.fromkeys(("p", "u", "i", *NAMES_OF["words.fast"]), PROVISIONAL)}
"""Codes of a result with places: official, final, provisional, unofficial, interim, a fast result."""

_OF_A_CARD = re.compile("going|draw|declar|entr|weight|class|type|title|name")
"""In the name of a field: not the order, but the going or the draw may be provisional."""

SHORTEST_NOTE = 6
"""Characters of "Lifted". "On" and "Run" may be said of anything."""

LONGEST_DELAY_MIN = 120
"""A new time without a day, further off or before the off, may be of another day: the race counts as postponed."""

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
_TIMED = re.compile(r"\b(?:(?:[01]?[0-9]|2[0-3])[:.][0-5][0-9]|(?<=the )[0-9]{1,2} ?pm)\b", re.IGNORECASE)
_WEEKDAY = re.compile(rf"(?:the |last )?({'|'.join(WEEKDAYS)})\b", re.IGNORECASE)


def state_of(sources: Sources, placings: Placings) -> dict[str, Any]:
    """`status` and `abandoned`, by every status, stage, result text and flag of the race's own objects.

    A void race is void whatever else is said. If a race is reported both lost and run, both statements are kept, and
    the message tells both. Of a race without any sign of a run, the status of the meeting counts too.
    """
    inner = _state_objects(sources)
    own, is_open = [*sources.own, *inner], not placings.has_places
    meetings = sources.own if sources.subject is About.MEETING else []
    published = map(text, _spread([*sources.values("state.status"), *values_of(meetings, "state.of_meeting")]))
    statuses = [one for one in published if one and flag(one) and (state_in(one) or not _CODE.fullmatch(one))]
    words = _spread(chain(values_of(sources.own, "state.result"), *sources.off_values))
    remarks = [*filter(None, map(string, chain(words, *map(Fields.values, inner))))]
    results = [fields_of(value) for value in values_of(sources.own, "lists.results") if isinstance(value, dict)]
    codes = chain(values_of(sources.own, "state.of_result"), values_of(results, "state.of_result.own"))
    standings = (_STANDINGS.get(fold((text(one) or "")[:LONGEST_NAME])) for one in codes if not is_open)
    remarks += filter(None, standings)
    losses = [*_losses(statuses, remarks, sources, is_open=is_open)]
    statuses = [one for one in statuses if not _is_lost(one) or (is_open and not _names_another(one, sources))]
    said = [*statuses, *(one for one in remarks if len(one) <= LONGEST_REMARK and not _is_lost(one)), *losses]
    states = {state: words for words in reversed(said) if (state := state_in(words))}
    flags = {state: [*map(_lost_flag, values_of(own, f"state.{state}"))] for state in _FLAGS}
    flags[RaceState.ABANDONED] += map(_lost_flag, values_of(meetings, "state.meeting_abandoned"))
    flagged = {state for state, found in flags.items() if any(found)}
    told = states.keys() | flagged | ({placings.state} - {None})
    if (placings.has_places or placings.unread) and _is_provisional(sources, own, said, is_run=RaceState.RUN in told):
        told |= {RaceState.PROVISIONAL}
        states.setdefault(RaceState.PROVISIONAL, PROVISIONAL)
    elif placings.has_places and told <= {RaceState.RUN}:
        is_amended = any(map(is_yes, values_of(own, "state.amended")))
        if is_amended or (not told and any(map(is_yes, _official(own)))):
            told, states = {RaceState.RUN}, {RaceState.RUN: AMENDED if is_amended else OFFICIAL}
    for state in (RaceState.VOID, RaceState.POSTPONED):
        if state in told:
            moved = moved_to(sources) if state in NOT_RUN else []
            is_late = state in NOT_RUN and state not in states and bool(moved) and _is_delay(moved, sources)
            word = "Delayed" if is_late else states.get(state) or state.capitalize()
            status = f"{word}{', now' if ' ' in word else ' to'} {' '.join(moved)}" if moved else word
            return {"status": status, "abandoned": True if state in NOT_RUN and not is_late else None}
    if is_open and not told and _is_lost_by_more(sources):
        told |= {RaceState.ABANDONED}
    if RaceState.WALKOVER in told:
        states.setdefault(RaceState.WALKOVER, RaceState.WALKOVER.capitalize())
    if RaceState.PROVISIONAL in told and not states:
        states[RaceState.PROVISIONAL] = PROVISIONAL
    # Of "Abandoned" and "Official", "Official" is kept: `abandoned` says already that the race was lost.
    telling = (RaceState.WALKOVER, RaceState.PROVISIONAL, RaceState.RUN, RaceState.ABANDONED)
    is_run = RaceState.RUN in flagged or False in flags[RaceState.ABANDONED]
    # Words that take a loss back are the status, a note's too: "Race reinstated".
    back = filter(is_reinstated, chain(_short_notes(sources), statuses)) if is_open and not told else ()
    photo = [PHOTO_FINISH] if not (is_open or told) and any(map(is_yes, values_of(own, "state.photo"))) else []
    others = [*back, *statuses, *photo]
    return {
        "status": next((states[state] for state in telling if state in states), next(iter(others), None)),
        "abandoned": True if NOT_RUN & told else False if is_run else None,
    }


def _short_notes(sources: Sources) -> Iterator[str]:
    notes = chain.from_iterable(
        values_of(sources.own, fact) for fact in ("marks.note", "state.message", "race.reason", "race.reason.own")
    )
    return (one for one in _strings_in(notes) if SHORTEST_NOTE <= len(one) <= LONGEST_REMARK)


def moved_to(sources: Sources) -> list[str]:
    """The new day and time of a postponed race, the day first."""
    said = values_of([*sources.own, *sources.data], "state.moved_to")
    values = chain.from_iterable(one.values() if isinstance(one, dict) else [one] for one in said)
    read = chain.from_iterable((read_date(one), read_clock_of_date(one) or read_clock(one)) for one in values)
    return sorted(filter(None, dict.fromkeys(read)), key=len, reverse=True)


def course_moved_to(sources: Sources) -> str | None:
    values = values_of([*sources.own, *sources.data], "state.moved_course")
    courses = (fields_of(one).get("course", one) if isinstance(one, dict) else one for one in values)
    return next(filter(None, (None if read_date(one) else read_course_name(one) for one in courses)), None)


def _is_delay(moved_to: Sequence[str], sources: Sources) -> bool:
    """True if the new time is on the race's own day, or without a day soon after the off."""
    if days := [one for one in moved_to if not read_clock(one)]:
        return days == [sources.race_date]
    off, late = sources.off.minute_of_day, OffTime(text=moved_to[0]).minute_of_day
    return off is not None and late is not None and 0 <= late - off <= LONGEST_DELAY_MIN


def _state_objects(sources: Sources) -> list[Fields]:
    """Objects in the place of a status, and the last entry of a history."""
    inner = [fields_of(value) for value in values_of(sources.own, "state.objects") if isinstance(value, dict)]
    spoken = chain(values_of(inner, "text.spoken"), values_of(inner, "state.status.own"))
    histories = (value for value in values_of(sources.own, "state.history") if isinstance(value, list))
    further = [*spoken, *(value[-1] for value in histories if value)]
    return inner + [fields_of(value) for value in further if isinstance(value, dict)]


def _is_provisional(sources: Sources, own: Sequence[Fields], said: Sequence[str], *, is_run: bool) -> bool:
    # A flag beside the winner is about the winner: {"race": {…}, "result": {"official": false, "winner": …}}.
    beside = [one for one in sources.data if not _is_decided(one)]
    results = [one for one in beside if not NAMING_HORSES.isdisjoint(one.facts)]
    own, said = [*own, *results], [*said, *filter(None, map(text, values_of(results, "state.status.own")))]
    official = _official(own)
    told = [*own, *sources.delivery]
    texts = ((name, value) for fields in told for name, value in fields.items() if isinstance(value, str))
    inquiries = _spread(values_of([*own, *beside], "state.inquiry"))
    # The last message with a standing counts: "Stewards enquiry", then "Result stands".
    messages = [*_strings_in(chain(values_of(own, "state.message"), values_of(own, "marks.note")))]
    awaited = (one for one in [*_spread(values_of(own, "state.awaited")), *messages[-1:]] if not is_yes(one))
    announced = [*filter(None, (RaceState.RUN if is_decided(one) else state_in(one) for one in messages))]
    is_waited_for = announced[-1:] == [RaceState.PROVISIONAL] or any(map(_is_pending, chain(inquiries, awaited)))
    is_waited_for |= any(map(is_in_doubt, [*said, *filter(None, map(string, official))]))
    is_waited_for |= any(map(is_no, values_of(own, "state.declared")))
    is_waited_for |= any(map(flag, values_of(own, "state.provisional_at")))
    return (
        (is_waited_for and not is_run and not any(map(is_yes, official)))
        or any(map(is_no, official))
        or any(map(is_yes, values_of(told, "state.provisional")))
        or any(value in _PROVISIONAL and ("result" in name or not _OF_A_CARD.search(name)) for name, value in texts)
    )


def _official(objects: Sequence[Fields]) -> list[Any]:
    """The flags, and True for the moment when the result became official."""
    return [*values_of(objects, "state.official"), *map(flag, filter(flag, values_of(objects, "state.official_at")))]


def _is_lost(words: str) -> bool:
    return state_in(words) in LOST_OR_VOID


def _losses(statuses: Sequence[str], remarks: Sequence[str], sources: Sources, *, is_open: bool) -> Iterator[str]:
    """The words of each loss of the race in any text, because notes have many names.

    A long text and ten remarks are read, in all: 4 MB of such texts held the bot up for seconds.
    """
    left = LONGEST_READ + 10 * LONGEST_REMARK
    for words, is_about_race, beside_places in _texts(statuses, remarks, sources):
        if len(words) > left:
            continue
        left -= max(len(words), LONGEST_REMARK)
        year = (read_plain_date(sources.race_date) or "")[:4]
        if any(one < year for one in _YEAR.findall(words)):
            continue
        is_note = is_about_race and not _NOT_NOW.search(words)
        for state, clause in express_losses(words, sources.own_names, is_note=is_note, is_open=is_open):
            is_told = is_open or (state in beside_places and (words in statuses or not _OF_HORSES.search(clause)))
            if is_told and not _is_of_another(clause, sources, is_open=is_open):
                told = words if len(words) <= LONGEST_REMARK else clause
                yield told if state_in(told) is state and extent_in(told).run is None else state.capitalize()


def _texts(
    statuses: Sequence[str], remarks: Sequence[str], sources: Sources
) -> Iterator[tuple[str, bool, Collection[RaceState]]]:
    """Each text, whether the text is about the race, and which losses the text tells beside places."""
    yield from ((one, True, LOST_OR_VOID) for one in filter(may_tell_loss, statuses))
    yield from ((one, True, {RaceState.VOID, RaceState.ABANDONED}) for one in filter(may_tell_loss, remarks))
    for about, objects in ((_ABOUT_THE_RACE, sources.own), (_NOTES, sources.data)):
        for name, value in chain.from_iterable(map(Fields.items, objects)):
            if name in about or may_tell_a_loss(name):
                said = [one for one in _spread([value]) if isinstance(one, str) or name in about]
                for one in filter(may_tell_loss, _strings_in(said)):
                    if one not in statuses and (" " in one or not kind_of(one)):
                        yield one, name in about, {RaceState.VOID}


def _is_of_another(loss: str, sources: Sources, *, is_open: bool) -> bool:
    """True for the loss of another race, of the rest of a meeting, or on another day."""
    run = extent_in(loss).run
    is_of_others = run == 0 or (run and not is_open) or _OTHER_RACES.search(loss) is not None
    return (bool(is_of_others) and _is_among_lost(loss, sources) is None) or _names_another(loss, sources)


def _names_another(words: str, sources: Sources) -> bool:
    """True for another number, year or day, or another time before the loss. A later time may be the decision's."""
    if (is_among := _is_among_lost(words, sources)) is not None:
        return not is_among
    if _NOT_NOW.search(words):
        return True
    number, off = sources.number, sources.off
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
    number = sources.number
    return extent_in(loss).loses(int(number)) if number and number.isdecimal() else None


def _is_lost_by_more(sources: Sources) -> bool:
    """True by a reason for an abandonment, by the title, or by the state of the race's meeting."""
    if sources.subject is not About.RACE:
        return False
    title = sources.look("race.title") or ""
    is_explained = any(map(flag, values_of(sources.own, "state.reason")))
    return is_explained or _LOST_TITLE.search(title) is not None or _is_meeting_lost(sources)


def _is_meeting_lost(sources: Sources) -> bool:
    """False for a meeting that is lost in part, unless the words tell this race as lost: the race may have been run."""
    places = sources.meetings + sources.courses
    flags = [*values_of(sources.own + places, "state.meeting_abandoned"), *values_of(places, "state.abandoned")]
    said = chain(values_of(sources.own + places, "state.of_meeting"), values_of(places, "state.status.own"))
    noted = (one for one in _strings_in(values_of(places, "marks.note")) if not _NOT_NOW.search(one))
    notes = (loss for one in noted for _, loss in express_losses(one, sources.own_names, is_note=True, is_open=True))
    words = [*_strings_in(flags), *_strings_in(said), *notes]
    told = [fields_of(one).within("abandonment", BY_FULL_NAME) for one in flags if isinstance(one, dict)]
    extent = chain.from_iterable(values_of([*places, *told], fact) for fact in _EXTENT)
    is_part = any(flag(one) and not read_date(one) for one in extent)
    is_part |= any(extent_in(one).run is not None and _is_among_lost(one, sources) is None for one in words)
    is_said = any(state_in(one) in NOT_RUN and not _names_another(one, sources) for one in words)
    return not is_part and (is_said or any(map(_lost_flag, flags)))


def _lost_flag(value: Any) -> bool | None:
    """None for no flag, and for {"status": "lifted"} and {"risk": "high"}."""
    if isinstance(value, dict) and any(_CHANCE.search(name) for name in fields_of(value)):
        return None
    said = first_of([fields_of(value)], "state.status.own", text) if isinstance(value, dict) else None
    return None if said and is_doubtful_or_reinstated(said) else flag_in(value)


def _strings_in(values: Iterable[Any]) -> Iterator[str]:
    """The texts among the values, and in lists and objects among the values."""
    for one in _spread(values):
        yield from filter(None, map(string, one.values() if isinstance(one, dict) else [one]))


def _is_pending(inquiry: Any) -> bool:
    """True for a flag or a word such as "pending", for {"status": "pending"} and {"called": true, "ruling": null}."""
    if isinstance(inquiry, dict):
        fields = fields_of(inquiry)
        told = [name for name, value in fields.items() if flag(value)]
        is_open = any([*map(_is_pending, fields.of("state.decision")), *map(is_pending, told)])
        return is_open and not (_is_decided(fields) or any(map(is_decided, told)))
    return is_yes(inquiry) or (isinstance(inquiry, str) and is_pending(inquiry))


def _is_decided(inquiry: Fields) -> bool:
    """True for an inquiry with a decision: {"enquiry": true, "status": "Result stands"}."""
    return any(is_decided(value) for value in inquiry.of("state.decision") if isinstance(value, str))


def _spread(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from value[:MOST_NOTES] if isinstance(value, list) else [value]
