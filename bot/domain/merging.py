"""Fields that a delivery leaves out: taken from an earlier version of the event, or from the race book."""

from collections.abc import Iterable

from bot.domain.events import EventKind, RacingEvent
from bot.domain.races import OF_COURSE, Course, Race, Runner

_OF_ONE_VERSION = frozenset({"abandoned", "course", "runners", "from_book"})
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


def filled_in(race: Race, known: Race, *, kind: EventKind | None = None, named: bool = False) -> Race:
    """The race of an event of this kind, completed from `known`; `from_book` names the added fields.

    An abandonment takes the reason too, a racecard the runners, a result placed runners. `named`: a meeting or card
    names the race. Placed runners then mark the race as settled.
    """
    names = list(_OF_RACE)
    if kind in {EventKind.RACE_ABANDONED, EventKind.MEETING_ABANDONED}:
        names.append("reason")
    if kind is EventKind.RACECARD_PUBLISHED and not named:
        names += ["runners", "field_size"]
    elif (named or kind is EventKind.RESULT_RECEIVED) and known.placed():
        names.append("runners")
    if named:
        names += ["race_id", "field_size"]
        known = known.model_copy(update={"field_size": known.field_size or len(known.runners) or None})
    return _filled(race, known, names)


def filled_in_from_meeting(race: Race, races: Iterable[Race], *, is_meeting: bool) -> Race:
    """The race, or a meeting's shared fields, completed from the fields that all `races` of the meeting have in common.

    Two meetings can share course and day, so only a meeting takes the meeting's id, never a race.
    """
    races = sorted(races, key=lambda known: known.race_id or "")
    names = _SHARED if is_meeting else _SHARED[1:]
    common = {name: _only(getattr(known, name) for known in races) for name in names}
    return _filled(race, Race(course=_common_course(races), **common), names)


def _filled(race: Race, known: Race, names: Iterable[str]) -> Race:
    added = {
        name: value
        for name in names
        if getattr(race, name) == Race.model_fields[name].default
        and (value := getattr(known, name)) != Race.model_fields[name].default
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
    return event.model_copy(
        update={
            "race": completed_race(event.race, earlier.race),
            "races": united(event.races, earlier.races),
            "reason": event.reason or earlier.reason,
        }
    )


def completed_race(race: Race, earlier: Race) -> Race:
    """The race, completed from the earlier race."""
    kept = {
        name: getattr(earlier, name)
        for name, field in Race.model_fields.items()
        if name not in _OF_ONE_VERSION and getattr(race, name) == field.default
    }
    course, runners = _course(race.course, earlier.course), _runners(race.runners, earlier.runners)
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


def _runners(runners: tuple[Runner, ...], earlier: tuple[Runner, ...]) -> tuple[Runner, ...]:
    """The later ones, unless only the earlier ones have positions."""
    had_positions = any(runner.position for runner in earlier)
    return earlier if not runners or (had_positions and not any(runner.position for runner in runners)) else runners


def united(races: tuple[Race, ...], earlier: tuple[Race, ...]) -> tuple[Race, ...]:
    """The later ones, each completed, then those that only the earlier version named."""
    left, both = list(earlier), []
    for race in races:
        same = next((one for one in left if is_same_of_card(one, race)), None)
        both.append(completed_race(race, same) if same else race)
        if same:
            left.remove(same)
    return (*both, *left)


def is_same_of_card(one: Race, other: Race) -> bool:
    """Whether two races of a meeting are the same race, by the surest field that both have."""
    for left, right in zip(_names(one), _names(other), strict=True):
        if left and right:
            return left == right
    return one == other


def _names(race: Race) -> tuple[str | None, ...]:
    """What tells a meeting's races apart, the surest first."""
    return race.race_id, race.off.text, race.number, race.title
