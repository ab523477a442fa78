"""Fields that a delivery leaves out: taken from an earlier version of the event, or from the race book."""

from collections.abc import Container, Iterable, Sequence

from bot.domain.events import EventKind, RacingEvent
from bot.domain.facts import WHOLE_LISTS
from bot.domain.pairing import paired_races, paired_runners
from bot.domain.races import OF_COURSE, Course, Race, Runner

_OF_ONE_VERSION = frozenset({"abandoned", "course", "runners", "from_book", "region", "said_region"})
"""Fields of a race that are not simply kept where the later version lacks them."""

_SHARED = ("meeting_id", "region", "race_date")
"""Fields that all races of a meeting share, beside the course."""

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
"""Fields of a race that the race book fills in. A race's status comes from the race's own events only."""


def filled_in(
    race: Race, known: Race, *, kind: EventKind | None = None, named: bool = False, is_sure: bool = False
) -> Race:
    """The race of an event of this kind, completed from `known`; `from_book` names the added fields.

    An abandonment takes the reason too, a racecard the runners, a result placed runners. `named`: a meeting or card
    names the race. Placed runners then mark the race as settled. `is_sure`: an id says that `known` is this race. Only
    then is a region filled in where the delivery has a region in words that nobody understands.
    """
    names = list(_OF_RACE)
    if kind in {EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED}:
        names.append("reason")
    if kind is EventKind.RACECARD_PUBLISHED and not named:
        names += ["runners", "field_size"]
    elif (named or kind is EventKind.RESULT_RECEIVED) and known.placed():
        names += ["runners", "winning_time"]
    if named:
        names += ["race_id", "field_size"]
        known = known.model_copy(update={"field_size": known.field_size or len(known.runners) or None})
    return _filled(race, known, names, is_sure=is_sure)


def filled_in_from_meeting(race: Race, races: Iterable[Race], *, is_meeting: bool, is_sure: bool = False) -> Race:
    """The race, or a meeting's shared fields, completed from the fields that all `races` of the meeting have in common.

    Two meetings can share course and day, so only a meeting takes the meeting's id, never a race. `is_sure`: ids say
    that the races are of this meeting.
    """
    races = sorted(races, key=lambda known: known.race_id or "")
    names = _SHARED if is_meeting else _SHARED[1:]
    common = {name: _only(getattr(known, name) for known in races) for name in names}
    return _filled(race, Race(course=_common_course(races), **common), names, is_sure=is_sure)


def in_common(races: Sequence[Race]) -> Race:
    """The fields that all the races have, with the same value in each."""
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
        if getattr(race, name) == Race.model_fields[name].default
        and (value := getattr(known, name)) != Race.model_fields[name].default
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
    """The course of all the races; an empty course where the races name several."""
    common = Course()
    for course in (race.course for race in races):
        if any(now and before and now != before for now, before in zip(_named(course), _named(common), strict=True)):
            return Course()
        common = _course(common, course)
    return common


def _named(course: Course) -> tuple[str | None, str | None]:
    return course.course_id, course.name


def _only(values: Iterable[str | None]) -> str | None:
    """The value, where all values are equal; else None."""
    found = {value for value in values if value is not None}
    return found.pop() if len(found) == 1 else None


def completed(event: RacingEvent, earlier: RacingEvent) -> RacingEvent:
    """The event with what only the earlier version said; what is about the delivery itself stays its own."""
    are_all = event.kind in WHOLE_LISTS
    return event.model_copy(
        update={
            "race": completed_race(event.race, earlier.race, are_all=are_all),
            "races": united(event.races, earlier.races, are_all=are_all),
            "reason": event.reason or earlier.reason,
        }
    )


def completed_race(race: Race, earlier: Race, *, are_all: bool = False) -> Race:
    """The race, completed from the earlier race. `are_all`: a list of runners is whole."""
    kept = {
        name: getattr(earlier, name)
        for name, field in Race.model_fields.items()
        if name not in _OF_ONE_VERSION and getattr(race, name) == field.default
    }
    if race.region is None and race.said_region is None:
        # A region is kept with the words for this region: else one region would have the words for another.
        kept |= {"region": earlier.region, "said_region": earlier.said_region}
    course = _course(race.course, earlier.course)
    are_all = are_all and _overlap(paired_runners(earlier.runners, race.runners))
    runners = completed_runners(race.runners, earlier.runners, are_all=are_all)
    if are_all and race.runners and race.field_size is None:
        # The earlier figure would hide that a runner is gone.
        kept.pop("field_size", None)
    return race.model_copy(update={**kept, "course": course, "runners": runners})


def _course(course: Course, earlier: Course) -> Course:
    """The course, whole where nothing that both say of it differs: the name of another would be a wrong one."""
    if any(now and before and now != before for now, before in zip(_named(course), _named(earlier), strict=True)):
        return course
    return Course(
        course_id=course.course_id or earlier.course_id,
        name=course.name or earlier.name,
        country=course.country or earlier.country,
    )


def completed_runners(
    runners: Sequence[Runner], earlier: Sequence[Runner], *, are_all: bool = False
) -> tuple[Runner, ...]:
    """The later runners, each completed, then those that only the earlier version named, unless the later `are_all`.

    A place that another horse has by now is nobody else's.
    """
    if not runners:
        return tuple(earlier)
    held = {runner.finishing_position for runner in runners}
    pairs = paired_runners(earlier, runners)
    return tuple(_runner(now, before, held) for before, now in pairs if now is not None or not are_all)


def _runner(now: Runner | None, before: Runner | None, held: Container[int | None]) -> Runner:
    known = (now or Runner()).model_dump(exclude_none=True)
    if before is None:
        return Runner(**known)
    kept = before.model_dump(exclude_none=True)
    lost = before.finishing_position is not None and before.finishing_position in held
    if "position" in known or lost:
        # A reason is that of its own position.
        kept = {name: value for name, value in kept.items() if name not in {"position", "position_reason", "beaten"}}
    return Runner(**{**kept, **known})


def united(races: tuple[Race, ...], earlier: tuple[Race, ...], *, are_all: bool = False) -> tuple[Race, ...]:
    """The later races, each completed, then those that only the earlier version named; `are_all`: none of these."""
    if not races:
        return earlier
    pairs = paired_races(earlier, races)
    are_all = are_all and _overlap(pairs)
    both = [completed_race(now, before, are_all=are_all) if before else now for before, now in pairs if now]
    return (*both, *(before for before, now in pairs if before and not now and not are_all))


def is_same_of_card(one: Race, other: Race) -> bool:
    """Whether two races of a meeting are the same race, by the surest field that both have."""
    for left, right in zip(_names(one), _names(other), strict=True):
        if left and right:
            return left == right
    return one == other


def _names(race: Race) -> tuple[str | None, ...]:
    """What tells a meeting's races apart, the surest first."""
    return race.race_id, race.off.text, race.number, race.title


def _overlap(pairs: Iterable[tuple[object | None, object | None]]) -> bool:
    """Whether two lists have anything in common: lists that have nothing in common are parts of a longer one."""
    return any(before and now for before, now in pairs)
