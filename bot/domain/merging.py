"""A later version of an event over the one before it: what it does not say is still known, and still shown."""

from collections.abc import Container, Iterable, Sequence

from bot.domain.events import RacingEvent
from bot.domain.facts import WHOLE_LISTS
from bot.domain.pairing import paired_races, paired_runners
from bot.domain.races import Course, Race, Runner

_OF_ONE_VERSION = frozenset({"abandoned", "course", "runners"})
"""Fields of a race that are not simply kept where the later version lacks them."""


def completed(event: RacingEvent, earlier: RacingEvent) -> RacingEvent:
    """The event with what only the earlier version said; what is about the delivery itself stays its own."""
    are_all = event.kind in WHOLE_LISTS
    return event.model_copy(
        update={
            "race": _race(event.race, earlier.race, are_all=are_all),
            "races": _races(event.races, earlier.races, are_all=are_all),
            "reason": event.reason or earlier.reason,
        }
    )


def _race(race: Race, earlier: Race, *, are_all: bool) -> Race:
    kept = {
        name: getattr(earlier, name)
        for name, field in Race.model_fields.items()
        if name not in _OF_ONE_VERSION and getattr(race, name) == field.default
    }
    course = _course(race.course, earlier.course)
    are_all = are_all and _overlap(paired_runners(earlier.runners, race.runners))
    runners = completed_runners(race.runners, earlier.runners, are_all=are_all)
    if are_all and race.runners and race.field_size is None:
        # The earlier figure would hide that a runner is gone.
        kept.pop("field_size", None)
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


def _races(races: tuple[Race, ...], earlier: tuple[Race, ...], *, are_all: bool) -> tuple[Race, ...]:
    """The later races, each completed, then those that only the earlier version named; `are_all`: none of these."""
    if not races:
        return earlier
    pairs = paired_races(earlier, races)
    are_all = are_all and _overlap(pairs)
    both = [_race(now, before, are_all=are_all) if before else now for before, now in pairs if now]
    return (*both, *(before for before, now in pairs if before and not now and not are_all))


def _overlap(pairs: Iterable[tuple[object | None, object | None]]) -> bool:
    """Whether two lists have anything in common: lists that have nothing in common are parts of a longer one."""
    return any(before and now for before, now in pairs)
