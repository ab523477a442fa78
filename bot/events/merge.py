"""Fields that a delivery leaves out, from an earlier version of the event or from the race book."""

from collections.abc import Iterable, Sequence

from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import DECLARATIONS, WHOLE_LISTS
from bot.events.pairs import Places, is_shorter, is_whole_field, paired_races, paired_runners
from bot.events.race_state import NOT_RUN, state_in
from bot.events.races import FEW_MINUTES, OF_COURSE, RESERVED, Course, OffTime, Race, Runner
from bot.events.spellings import by_place

_OF_THE_ORDER = ("disputed", "unread_order")
"""About the runners of one delivery: later runners say both anew."""

_OF_THE_POSITION = frozenset({"position", "position_reason", "beaten", "runs"})

_MERGED_BY_RULE = frozenset(
    {"abandoned", "course", "off", "off_told", "runners", "from_book", "region", "said_region", *_OF_THE_ORDER}
)
"""Fields with a rule of their own. Any other field is kept if the later version lacks the field."""

_SHARED = ("meeting_id", "region", "race_date")

_DEFAULTS = {name: field.default for name, field in Race.model_fields.items()}

_OF_RACE = (
    *_SHARED,
    "off",
    "title",
    "number",
    "race_class",
    "race_type",
    "distance",
    "going",
    "surface",
)
"""Filled in for every kind of event. A status comes from the race's own events only."""


def filled_in(
    race: Race, known: Race, *, kind: EventKind | None = None, named: bool = False, is_sure: bool = False
) -> Race:
    """The race, completed from `known`; `from_book` names the added fields.

    `named`: a meeting or card names the race, and placed runners mark the race as settled. `is_sure`: an id says that
    `known` is this race; only then a region replaces words without a meaning.
    """
    declared = DECLARATIONS[kind] if kind else None
    of_kind = declared.from_book if declared else ()
    names = [*_OF_RACE, *(name for name in of_kind if not (named and name == "runners"))]
    if "runners" in names:
        names += _size(race)
    elif (named or (declared and declared.has_placings)) and known.placed():
        names += ["runners", "winning_time"]
    if named:
        names += ["race_id", *_size(race)]
        known = known.model_copy(update={"field_size": known.field_size or len(known.runners) or None})
    elif declared and declared.has_placings:
        names.append("field_size")
        known = known.model_copy(update={"field_size": declared_size(known)})
    return _filled(race, known, names, is_sure=is_sure)


def declared_size(race: Race) -> int | None:
    """Before the race was run: runners and reserves, or the published number where more are published than named."""
    if race.has_places or len(race.runners) < (race.field_size or 0):
        return race.field_size
    return sum(not runner.is_out or runner.position == RESERVED for runner in race.runners) or None


def of_declarations(race: Race, news: Race, known: Race) -> set[str]:
    """The fields of `race`, merged from `news` and `known`, that count declared horses: some may not have run."""
    if not race.has_places:
        return set()
    sized = news if news.field_size is not None else known
    gave = [one for one, other in ((news, known), (known, news)) if len(race.went) > len(other.went)]
    sources = [("field_size", sized), *(("runners", one) for one in gave)]
    return {name for name, source in sources if name in source.from_book or not source.has_places}


def _size(race: Race) -> list[str]:
    return [] if race.runners else ["field_size"]


def filled_in_from_meeting(race: Race, races: Iterable[Race], *, is_meeting: bool, is_sure: bool = False) -> Race:
    """The race, or a meeting's shared fields, completed from fields in common to all `races`.

    Two meetings can share course and day, so a race never takes the meeting's id.
    """
    races = sorted(races, key=lambda known: known.race_id or "")
    if not races:
        return race
    names = _SHARED if is_meeting else _SHARED[1:]
    common = {name: _only(getattr(known, name) for known in races) for name in names}
    return _filled(race, Race(course=_common_course(races), **common), names, is_sure=is_sure)


def in_common(races: Sequence[Race]) -> Race:
    first, *others = races
    same = {
        name: getattr(first, name)
        for name in Race.model_fields
        if name != "course" and all(getattr(other, name) == getattr(first, name) for other in others)
    }
    return Race(**same, course=_common_course(races))


def _filled(race: Race, known: Race, names: Iterable[str], *, is_sure: bool) -> Race:
    added = {
        name: value
        for name in names
        if (value := getattr(known, name)) != _DEFAULTS[name]
        and getattr(race, name) == _DEFAULTS[name]
        and (is_sure or name != "region" or race.said_region is None)
    }
    course = _course(race.course, known.course)
    of_course = [
        f"{OF_COURSE}{name}" for name in Course.model_fields if getattr(course, name) != getattr(race.course, name)
    ]
    if not added and not of_course:
        return race
    marks = tuple(sorted({*race.from_book, *added, *of_course}))
    return race.model_copy(update={**added, "course": course, "from_book": marks})


def _common_course(races: Iterable[Race]) -> Course:
    common = Course()
    for course in (race.course for race in races):
        if _differ(course, common):
            return Course()
        common = _course(common, course)
    return common


def _differ(one: Course, other: Course) -> bool:
    both = ((one.course_id, other.course_id), (one.name, other.name))
    return any(now and before and now != before for now, before in both)


def _only(values: Iterable[str | None]) -> str | None:
    found = {value for value in values if value is not None}
    return found.pop() if len(found) == 1 else None


def completed(event: RacingEvent, earlier: RacingEvent) -> RacingEvent:
    """The event with values of the earlier version, and the latest order of both."""
    are_all = event.kind in WHOLE_LISTS
    if earlier.races_run is not None and not event.says_partly_run:
        # A loss of the whole meeting is of more races than the earlier version named.
        earlier = earlier.model_copy(update={"races": ()})
    if goes_ahead := put_back(earlier, event):
        earlier = earlier.model_copy(update={"races": tuple(race for race in earlier.races if race not in goes_ahead)})
    races, in_parts = _card(event, earlier, are_all=are_all)
    return event.model_copy(
        update={
            "race": completed_race(event.race, earlier.race, are_all=are_all),
            "races": races,
            "in_parts": in_parts,
            "reason": event.reason or (None if event.race.puts_back(earlier.race) else earlier.reason),
            **event.latest_order(earlier),
        }
    )


def put_back(earlier: RacingEvent, later: RacingEvent) -> list[Race]:
    """The lost races of the earlier version of an abandoned meeting that the later version spares."""
    pairs = paired_races(earlier.races, (*later.races, *later.spared)) if later.spared else ()
    return [before for before, now in pairs if before and now in later.spared and not before.says_run]


def _card(event: RacingEvent, earlier: RacingEvent, *, are_all: bool) -> tuple[tuple[Race, ...], bool]:
    pairs = paired_races(earlier.races, event.races)
    takes_off = are_all and bool(event.races) and is_shorter(earlier.races, pairs, in_parts=earlier.in_parts)
    races = united(event.races, earlier.races, are_all=are_all, takes_off=takes_off)
    is_left_out = any(now is None for _, now in pairs) and not takes_off
    is_part = earlier.in_parts or any(before is None for before, _ in pairs)
    return races, are_all and is_left_out and is_part


def completed_race(race: Race, earlier: Race, *, are_all: bool = False) -> Race:
    kept = {
        name: getattr(earlier, name)
        for name, default in _DEFAULTS.items()
        if name not in _MERGED_BY_RULE and getattr(race, name) == default
    }
    if race.region is None and race.said_region is None:
        # Together: else one region would have the words for another.
        kept |= {"region": earlier.region, "said_region": earlier.said_region}
    if not (race.runners or race.unread_order):
        kept |= {name: getattr(earlier, name) for name in _OF_THE_ORDER}
    if race.outdates_status(earlier) or (race.abandoned is False and state_in(earlier.status) in NOT_RUN):
        kept.pop("status", None)
    takes_off = are_all and is_whole_field(earlier, race)
    if takes_off and race.field_size is None:
        # The earlier number would hide that a runner is gone.
        kept.pop("field_size", None)
    abandoned = earlier.abandoned if race.abandoned is None else race.abandoned
    if race.puts_back(earlier):
        abandoned = False if are_all else race.abandoned
        kept.pop("reason", None)
    return race.model_copy(
        update={
            **kept,
            "abandoned": abandoned,
            "course": _course(race.course, earlier.course),
            "off": _off(race.off, earlier.off),
            "off_told": _off_told(race.off, earlier),
            "runners": completed_runners(race.runners, earlier.runners, are_all=takes_off, is_card=are_all),
        }
    )


def _off(off: OffTime, earlier: OffTime) -> OffTime:
    if off == OffTime():
        return earlier
    if not off.is_same_time(earlier):
        return off
    return off.with_(earlier)


def _off_told(off: OffTime, earlier: Race) -> OffTime | None:
    if off == OffTime():
        return earlier.off_told
    told = earlier.off_told or earlier.off
    return told if 0 < (off.minutes_from(told) or 0) <= FEW_MINUTES else None


def _course(course: Course, earlier: Course) -> Course:
    """Completed unless id or name differ: another course's name would be wrong."""
    if _differ(course, earlier):
        return course
    return Course(
        course_id=course.course_id or earlier.course_id,
        name=course.name or earlier.name,
        country=course.country or earlier.country,
    )


def completed_runners(
    runners: Sequence[Runner], earlier: Sequence[Runner], *, are_all: bool = False, is_card: bool = False
) -> tuple[Runner, ...]:
    """The later runners, completed, then the earlier version's others, unless the later `are_all`.

    A place has one holder. Except on a card (`is_card`), a runner known by number alone gives way to a named horse in
    the runner's place.
    """
    if not runners:
        return tuple(earlier)
    pairs = paired_runners(earlier, runners)
    places = Places(pairs, takes_off=are_all)
    return tuple(
        _runner(now, before, places)
        for before, now in pairs
        if now is not None or not (are_all or (places.is_named_now(before) and not is_card))
    )


def _runner(now: Runner | None, before: Runner | None, places: Places) -> Runner:
    if before is None and now is not None:
        return now
    known, before = (now or Runner()).model_dump(exclude_none=True), before or Runner()
    kept = before.model_dump(exclude_none=True)
    if places.is_still_shared(before, now):
        known.pop("position")
    is_other = "position" in known and by_place(known["position"]) != by_place(before.position)
    if is_other or places.lost(before, now) or (now and now.is_back(before)):
        kept = {name: value for name, value in kept.items() if name not in _OF_THE_POSITION}
    return Runner(**{**kept, **known})


def united(
    races: tuple[Race, ...], earlier: tuple[Race, ...], *, are_all: bool = False, takes_off: bool = False
) -> tuple[Race, ...]:
    """The later races, completed, then the earlier version's others, unless the later `takes_off`."""
    if not races:
        return earlier
    pairs = paired_races(earlier, races)
    both = [completed_race(now, before, are_all=are_all) if before else now for before, now in pairs if now]
    return (*both, *(before for before, now in pairs if before and not now and not takes_off))
