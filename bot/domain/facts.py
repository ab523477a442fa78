"""What each kind of event tells: a table of every field, and what differs between two versions of an event.

A message shows the fields that are `Told`. A change of such a field rings (a new message) or edits the message. A field
that is `Noise` changes nothing in a channel; its entry gives the reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from bot.domain.events import EventKind, RacingEvent
from bot.domain.pairing import paired_races, paired_runners
from bot.domain.races import Course, OffTime, Race, Runner, Value

FEW_MINUTES = 5
"""A race of today that moves by more minutes than this is told by a new message."""


class Rings(StrEnum):
    """When a change of a field is worth a new message. Any other change is an edit."""

    NEVER = "never"
    ALWAYS = "always"
    MOVED_TODAY = "moved today"
    """A time of a race of today, by more than FEW_MINUTES."""


@dataclass(frozen=True)
class Told:
    """A field that messages show: its name in words ("starting price"), and when a change of the field rings."""

    words: str
    rings: Rings = Rings.NEVER


@dataclass(frozen=True)
class Noise:
    """A field that messages do not show, or that a change says nothing by; `because` gives the reason."""

    because: str


Declaration = Mapping[str, Told | Noise]
"""By level and field: "event.reason", "race.going", "course.name", "runner.jockey", "card.off" (a race of a card)."""

RUNNER, CARD = "runner", "card"
"""The levels whose own name, without a field, stands for being listed at all."""

POSITION = "runner.position"

_NAMES_THE_EVENT = Noise("names the event: another value is another event")
_ENVELOPE = Noise("the envelope's own: it differs from one attempt to the next")
_FILLED_IN = Noise("ours: what was filled in is no part of the delivery")
_BY_PARTS = Noise("compared part by part")
_NO_RUNNERS = Noise("the message names no runners")
_IS_ABANDONED = Noise("each version says so by its kind")
_ONE_RACE = Noise("the event is of one race")

_EVENT: Declaration = {
    "event.key": _NAMES_THE_EVENT,
    "event.kind": _NAMES_THE_EVENT,
    "event.name": _NAMES_THE_EVENT,
    "event.race": _BY_PARTS,
    "event.races": _BY_PARTS,
    "event.reason": Told("reason"),
    "event.occurred_at": Noise("says which version is the newer"),
    "event.sequence": Noise("says which version is the newer"),
    "event.first_attempt_at": _ENVELOPE,
    "event.data_as_of": _ENVELOPE,
    "event.races_from_book": _FILLED_IN,
    "event.unreadable_because": Noise("ours, about reading"),
}
_COURSE: Declaration = {
    "course.course_id": Told("course id"),
    "course.name": Told("course"),
    "course.country": Told("country"),
}
_RACE: Declaration = {
    "race.race_id": _NAMES_THE_EVENT,
    "race.meeting_id": Told("meeting id"),
    "race.region": Told("region"),
    "race.said_region": Noise("the region's code is told"),
    "race.course": _BY_PARTS,
    "race.race_date": Told("date"),
    "race.off": Told("off time", Rings.MOVED_TODAY),
    "race.title": Told("title"),
    "race.number": Told("race number"),
    "race.race_class": Told("class"),
    "race.race_type": Told("type"),
    "race.distance": Told("distance"),
    "race.going": Told("going"),
    "race.surface": Told("surface"),
    "race.status": Told("status", Rings.ALWAYS),
    "race.abandoned": Told("abandoned", Rings.ALWAYS),
    "race.reason": Noise("the event's reason is this one"),
    "race.field_size": Told("number of runners"),
    "race.winning_time": Told("winning time"),
    "race.runners": _BY_PARTS,
    "race.from_book": _FILLED_IN,
}
_RUNNERS: Declaration = {
    RUNNER: Told("runner"),
    "runner.horse": Told("name"),
    "runner.position": Told("position", Rings.ALWAYS),
    "runner.position_reason": Told("reason for the position"),
    "runner.number": Told("number"),
    "runner.draw": Told("draw"),
    "runner.jockey": Told("jockey"),
    "runner.trainer": Told("trainer"),
    "runner.starting_price": Told("starting price"),
    "runner.official_rating": Told("official rating"),
    "runner.beaten": Told("beaten distance"),
}
_CARD: Declaration = {
    CARD: Told("race"),
    "card.race_id": Noise("tells the races of a card apart"),
    "card.meeting_id": Noise("the card's own is told"),
    "card.region": Noise("the card's own is told"),
    "card.said_region": Noise("the card's own is told"),
    "card.course": Noise("the card's own is told"),
    "card.race_date": Noise("the card's own is told"),
    "card.off": Told("off time", Rings.MOVED_TODAY),
    "card.title": Told("title"),
    "card.number": Told("race number"),
    "card.race_class": Told("class"),
    "card.race_type": Noise("a line of a card does not show the type"),
    "card.distance": Told("distance"),
    "card.going": Noise("a line of a card does not show the going"),
    "card.surface": Noise("a line of a card does not show the surface"),
    "card.status": Told("status"),
    "card.abandoned": Told("abandoned", Rings.ALWAYS),
    "card.reason": Told("reason"),
    "card.field_size": Told("number of runners"),
    "card.winning_time": Noise("a line of a card does not show the winning time"),
    "card.runners": _BY_PARTS,
    "card.from_book": _FILLED_IN,
}


def _all(declared: Declaration, entry: Noise) -> Declaration:
    return dict.fromkeys(declared, entry)


DECLARATIONS: Mapping[EventKind, Declaration] = {
    EventKind.RESULT_RECEIVED: {
        **_EVENT,
        **_COURSE,
        **_RACE,
        "race.off": Told("off time"),
        **_RUNNERS,
        **_all(_CARD, _ONE_RACE),
    },
    EventKind.RACE_ABANDONED: {
        **_EVENT,
        **_COURSE,
        **_RACE,
        "race.off": Told("off time"),
        "race.abandoned": _IS_ABANDONED,
        "race.field_size": _NO_RUNNERS,
        "race.winning_time": _NO_RUNNERS,
        **_all(_RUNNERS, _NO_RUNNERS),
        **_all(_CARD, _ONE_RACE),
    },
    EventKind.MEETING_ABANDONED: {
        **_EVENT,
        **_COURSE,
        **_RACE,
        "race.off": Noise("the races have off times, the meeting has none"),
        "race.abandoned": _IS_ABANDONED,
        "race.field_size": _NO_RUNNERS,
        "race.winning_time": _NO_RUNNERS,
        **_all(_RUNNERS, _NO_RUNNERS),
        **_CARD,
        "card.off": Told("off time"),
        "card.abandoned": Noise("each race of an abandoned meeting is abandoned"),
    },
    EventKind.RACECARD_PUBLISHED: {**_EVENT, **_COURSE, **_RACE, **_RUNNERS, **_CARD},
}
"""One declaration for each kind of event: every field of every model is in it."""

WHOLE_LISTS = frozenset({EventKind.RACECARD_PUBLISHED})
"""Kinds whose lists are whole: a race or a runner that a later version leaves out is off the card.

Elsewhere a list may name only some (the placed, the first races), so that silence takes nothing back.
"""

_OLD_NAMES = {
    "status": "race.status",
    "reason": "event.reason",
    "off": "race.off",
    "race_date": "race.race_date",
    "region": "race.region",
    "going": "race.going",
    "course": "course.name",
    "course id": "course.course_id",
    "title": "race.title",
}
_OLD_POSITION = "position of "


class Change(Value):
    """A value that differs between two versions of an event, both as published.

    `field` is a path of the declaration ("runner.jockey"); `of` the horse or the race that the field is of, where there
    are several. `before` is None where the earlier version lacks the value, `now` where the later one takes it back.
    """

    field: str
    of: str | None = None
    before: str | None = None
    now: str | None = None
    rings: bool = False

    @property
    def is_addition(self) -> bool:
        """Whether the value was not known before; a place that another horse had is no mere addition."""
        return self.before is None and not self.rings

    @property
    def words(self) -> str:
        """What the field is called."""
        return _words().get(self.field, self.field)


def _changes(value: Any) -> Any:
    """Changes in the form in which earlier versions of the bot stored them: name → (before, now)."""
    if not isinstance(value, Mapping):
        return value
    return [
        Change(field=POSITION, of=name.removeprefix(_OLD_POSITION), before=before, now=now, rings=True)
        if name.startswith(_OLD_POSITION)
        else Change(field=_OLD_NAMES.get(name, name), before=before, now=now, rings=name == "status")
        for name, (before, now) in value.items()
    ]


Changes = Annotated[tuple[Change, ...], BeforeValidator(_changes)]


class VersionRemarks(Value):
    """What is to be said of a version of an event, beside the event itself.

    `changes`: see `changes_between`. `order_unknown`: the payloads do not tell which of the two versions is the newer.
    `contradicts` is the event of the same race that can't be true together with this one. `had_at` is when the service
    had this version, by its own time or by its first attempt to deliver; None where neither came.
    """

    changes: Changes = ()
    order_unknown: bool = False
    contradicts: EventKind | None = None
    had_at: datetime | None = None


def changes_between(old: RacingEvent, new: RacingEvent, *, today: str) -> tuple[Change, ...]:
    """The values that differ, as far as messages show them. `today` is the date of receipt, "YYYY-MM-DD".

    A value that the new version lacks is not a changed one, but for two cases: a place that another horse has now, and
    what a list leaves out that is whole (WHOLE_LISTS).
    """
    if new.kind is None:
        return ()
    declared = DECLARATIONS[new.kind]
    is_today = (new.race.race_date or old.race.race_date) == today
    return (
        *_compared(declared, "event", old, new, is_today=is_today),
        *_compared(declared, "course", old.race.course, new.race.course, is_today=is_today),
        *_compared(declared, "race", old.race, new.race, is_today=is_today),
        *_runners(declared, old, new),
        *_cards(declared, old, new, is_today=is_today),
    )


def brings_placings(old: RacingEvent, new: RacingEvent) -> bool:
    """Whether the new version is the first with placings: people wait for them."""
    return new.kind is EventKind.RESULT_RECEIVED and not _has_positions(old) and _has_positions(new)


def _compared(
    declared: Declaration, level: str, old: Any, new: Any, of: str | None = None, *, is_today: bool = False
) -> Iterator[Change]:
    for path, entry in _told(declared, level):
        name = path.removeprefix(f"{level}.")
        before, now = getattr(old, name), getattr(new, name)
        was, is_now = _shown(before), _shown(now)
        if is_now is None or was == is_now or (isinstance(now, OffTime) and now.is_same_time(before)):
            continue
        yield Change(
            field=path, of=of, before=was, now=is_now, rings=_rings(entry.rings, before, now, is_today=is_today)
        )


def _told(declared: Declaration, level: str) -> Iterator[tuple[str, Told]]:
    for path, entry in declared.items():
        if isinstance(entry, Told) and path.startswith(f"{level}."):
            yield path, entry


def _rings(when: Rings, before: Any, now: Any, *, is_today: bool) -> bool:
    was, is_now = _shown(before), _shown(now)
    if isinstance(now, bool):
        return when is Rings.ALWAYS
    if was is None or is_now is None:
        return False
    if when is Rings.MOVED_TODAY:
        moved = now.minutes_from(before)
        # Times that can't be subtracted may be far apart.
        return is_today and (moved is None or moved > FEW_MINUTES)
    return when is Rings.ALWAYS and _folded(was) != _folded(is_now)


def _runners(declared: Declaration, old: RacingEvent, new: RacingEvent) -> Iterator[Change]:
    """What differs of each runner; the places go by who holds them."""
    if isinstance(declared[RUNNER], Noise) or not new.race.runners:
        return
    others = {path: entry for path, entry in declared.items() if path != POSITION}
    had, has = _holders(old.race.runners), _holders(new.race.runners)
    # The first placings of a result are news by themselves (`brings_placings`), and no list of changes.
    had_positions = new.kind is not EventKind.RESULT_RECEIVED or _has_positions(old)
    pairs = paired_runners(old.race.runners, new.race.runners)
    is_whole = new.kind in WHOLE_LISTS and any(before and now for before, now in pairs)
    for before, now in pairs:
        of = _horse(now or before)
        yield from _position(before, now, of, had, has) if had_positions else ()
        if before and now:
            yield from _compared(others, RUNNER, before, now, of)
        elif now and old.race.runners and not (had_positions and now.position):
            yield Change(field=RUNNER, of=of, now="named")
        elif before and is_whole:
            yield Change(field=RUNNER, of=of, before="named")


def _position(
    before: Runner | None, now: Runner | None, of: str, had: Mapping[int, int], has: Mapping[int, int]
) -> Iterator[Change]:
    """The change of a runner's position, where there is one. What rings is a place won or lost."""
    was, is_now = (runner.position if runner else None for runner in (before, now))
    place_before, place_now = (runner.finishing_position if runner else None for runner in (before, now))
    if was == is_now or (is_now is None and not (place_before and has.get(place_before))):
        return
    rings = place_before != place_now if was is not None else bool(place_now and had.get(place_now))
    yield Change(field=POSITION, of=of, before=was, now=is_now, rings=rings)


def _cards(declared: Declaration, old: RacingEvent, new: RacingEvent, *, is_today: bool) -> Iterator[Change]:
    """What differs of each race that a card, or an abandoned meeting, names."""
    if isinstance(declared[CARD], Noise) or not new.races:
        return
    pairs = paired_races(old.races, new.races)
    is_whole = new.kind in WHOLE_LISTS and any(before and now for before, now in pairs)
    for before, now in pairs:
        if before and now:
            of = race_label(before)
            yield from _compared(declared, CARD, before, now, of, is_today=is_today)
            yield from _declared(before, now, is_whole=is_whole)
        elif now and old.races:
            yield Change(field=CARD, of=race_label(now), now="named")
        elif before and is_whole:
            yield Change(field=CARD, of=race_label(before), before="named", rings=is_today)


def _declared(before: Race, now: Race, *, is_whole: bool) -> Iterator[Change]:
    """The runners of a card's race that are declared now, and those that are no longer."""
    if not (before.runners and now.runners):
        return
    for one, other in paired_runners(before.runners, now.runners):
        of = f"{_horse(other or one)} in the {race_label(before)}"
        if one is None:
            yield Change(field=RUNNER, of=of, now="named")
        elif other is None and is_whole:
            yield Change(field=RUNNER, of=of, before="named")


def race_label(race: Race) -> str:
    """What tells a race of a card from the others: "11:30 Novices' Hurdle"; else its number or id."""
    said = " ".join(part for part in (_shown(race.off), race.title) if part)
    return said or (f"race {race.number}" if race.number else race.race_id or "a race not named")


def _horse(runner: Runner | None) -> str:
    if runner is None:
        return "a horse not named"
    return runner.horse or (f"no. {runner.number}" if runner.number else "a horse not named")


def _holders(runners: Iterable[Runner]) -> dict[int, int]:
    """How many runners have each place."""
    held: dict[int, int] = {}
    for runner in runners:
        if place := runner.finishing_position:
            held[place] = held.get(place, 0) + 1
    return held


def _has_positions(event: RacingEvent) -> bool:
    return any(runner.position for runner in event.race.runners)


def _shown(value: Any) -> str | None:
    """The value as text; None where nothing came."""
    if isinstance(value, OffTime):
        return value.text or (value.off_at.isoformat() if value.off_at else None)
    if isinstance(value, bool):
        return "yes" if value else None
    if isinstance(value, tuple):
        return str(len(value)) if value else None
    return str(value) if value is not None and value != "" else None


def _folded(value: str) -> str:
    return " ".join(value.split()).casefold()


@lru_cache
def _words() -> dict[str, str]:
    told = (item for declared in DECLARATIONS.values() for item in declared.items())
    return {path: entry.words for path, entry in told if isinstance(entry, Told)}


MODELS: Mapping[str, type[BaseModel]] = {
    "event": RacingEvent,
    "course": Course,
    "race": Race,
    RUNNER: Runner,
    CARD: Race,
}
"""The model of each level: a declaration has each of its fields."""


def only(changes: Sequence[Change], *, additions: bool) -> list[Change]:
    """The changes that add a value, or those that change or take back one."""
    return [change for change in changes if change.is_addition is additions]
