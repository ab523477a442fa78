"""A later version of an event over the one before it: what it does not say is still known, and still shown."""

from bot.domain.events import RacingEvent
from bot.domain.races import Course, Race, Runner

_OF_ONE_VERSION = frozenset({"abandoned", "course", "runners"})
"""Fields of a race that are not simply kept where the later version lacks them."""


def completed(event: RacingEvent, earlier: RacingEvent) -> RacingEvent:
    """The event with what only the earlier version said; what is about the delivery itself stays its own."""
    return event.model_copy(
        update={
            "race": _race(event.race, earlier.race),
            "races": _races(event.races, earlier.races),
            "reason": event.reason or earlier.reason,
        }
    )


def _race(race: Race, earlier: Race) -> Race:
    kept = {
        name: getattr(earlier, name)
        for name, field in Race.model_fields.items()
        if name not in _OF_ONE_VERSION and getattr(race, name) == field.default
    }
    course, runners = _course(race.course, earlier.course), _runners(race.runners, earlier.runners)
    return race.model_copy(update={**kept, "course": course, "runners": runners})


def _course(course: Course, earlier: Course) -> Course:
    """The course, whole where nothing that both say of it differs: the name of another would be a wrong one."""
    pairs = [(getattr(course, name), getattr(earlier, name)) for name in ("course_id", "name")]
    if any(now and before and now != before for now, before in pairs):
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


def _races(races: tuple[Race, ...], earlier: tuple[Race, ...]) -> tuple[Race, ...]:
    """The later ones, each completed, then those that only the earlier version named."""
    left, both = list(earlier), []
    for race in races:
        same = next((one for one in left if _is_same(one, race)), None)
        both.append(_race(race, same) if same else race)
        if same:
            left.remove(same)
    return (*both, *left)


def _is_same(one: Race, other: Race) -> bool:
    """By the surest of what both say."""
    for left, right in zip(_names(one), _names(other), strict=True):
        if left and right:
            return left == right
    return one == other


def _names(race: Race) -> tuple[str | None, ...]:
    """What tells a meeting's races apart, the surest first."""
    return race.race_id, race.off.text, race.number, race.title
