"""What each kind of event tells: a table of every field, and what differs between two versions of an event.

A message shows the fields that are `Told`. A change of such a field rings (a new message) or edits the message. A field
that is `Noise` changes nothing in a channel; its entry gives the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from bot.events.event import EventKind, RacingEvent
from bot.events.pairs import Places, is_shorter, is_whole, paired_races, paired_runners
from bot.events.races import FEW_MINUTES, Course, OffTime, Race, Runner, Value, finishing_position
from bot.events.spellings import (
    NO,
    YES,
    By,
    as_published,
    by_card_status,
    by_flag,
    by_lost_status,
    by_name,
    by_place,
    by_status,
)

SOON = timedelta(hours=24)
"""A race within this time of the receipt of a version is a race of today, in every time zone."""

MOST_OF_FIELD = 50
"""Changes of a field that are stored for a version. Further changes are counted."""


class Rings(StrEnum):
    """When a change of a field is worth a new message. Any other change is an edit."""

    NEVER = "never"
    ALWAYS = "always"
    """A changed value rings. The first value is an edit."""
    FIRST_TOO = "the first too"
    """A changed value rings, and so does the first value."""
    MOVED_TODAY = "moved today"
    """The off time of a race of today rings when it moves by more than FEW_MINUTES."""
    TO_OR_FROM_TODAY = "to or from today"
    """A date rings when it was today's date, or is by now."""


@dataclass(frozen=True)
class Told:
    """A field that messages show: its name in words ("starting price"), and when a change of the field rings.

    `by` is how values are compared (bot.events.spellings). `unless` names another field. Where the other field came,
    the message shows the other field instead.
    """

    words: str
    rings: Rings = Rings.NEVER
    by: By = as_published
    unless: str | None = None


@dataclass(frozen=True)
class Noise:
    """A field that messages do not show, or that a change says nothing by; `because` gives the reason."""

    because: str


Declaration = Mapping[str, Told | Noise]
"""By level and field: "event.reason", "race.going", "course.name", "runner.jockey", "card.off" (a race of a card)."""

RUNNER, CARD = "runner", "card"
"""The levels whose own name, without a field, stands for being listed at all."""

POSITION = "runner.position"

NAMED, NON_RUNNER = "named", "NR"
"""What is said of being listed."""

_NAMES_THE_EVENT = Noise("names the event: another value is another event")
_ENVELOPE = Noise("the envelope's own: it differs from one attempt to the next")
_FILLED_IN = Noise("ours: what was filled in is no part of the delivery")
_OURS = Noise("ours: says how versions are put together")
_BY_PARTS = Noise("compared part by part")
_NO_RUNNERS = Noise("the message names no runners")
_IS_ABANDONED = Noise("each version says so by its kind")
_ONE_RACE = Noise("the event is of one race")
_NOT_SHOWN = Noise("the message does not show it")
_OF_THE_CARD = Noise("the card's own is told")
_NOT_IN_A_LINE = Noise("a race's line does not show it")

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
    "event.in_parts": _OURS,
    "event.drill": _OURS,
    "event.unreadable_because": Noise("ours, about reading"),
}
_COURSE: Declaration = {
    "course.course_id": Told("course id", unless="name"),
    "course.name": Told("course"),
    "course.country": _NOT_SHOWN,
}
_RACE: Declaration = {
    "race.race_id": _NAMES_THE_EVENT,
    "race.meeting_id": Told("meeting id", unless="race_id"),
    "race.region": Told("region"),
    "race.said_region": Noise("the region's code is told"),
    "race.course": _BY_PARTS,
    "race.race_date": Told("date", Rings.TO_OR_FROM_TODAY),
    "race.off": Told("off time", Rings.MOVED_TODAY),
    "race.off_told": _OURS,
    "race.title": Told("title"),
    "race.number": _NOT_SHOWN,
    "race.race_class": Told("class"),
    "race.race_type": Told("type"),
    "race.distance": Told("distance"),
    "race.going": Told("going"),
    "race.surface": Told("surface"),
    "race.status": Told("status", Rings.ALWAYS, by_lost_status),
    "race.abandoned": Told("abandoned", Rings.FIRST_TOO, by_flag),
    "race.reason": Noise("the event's reason is this one"),
    "race.field_size": Told("number of runners"),
    "race.winning_time": Told("winning time"),
    "race.runners": _BY_PARTS,
    "race.from_book": _FILLED_IN,
}
_RUNNERS: Declaration = {
    RUNNER: Told("runner"),
    "runner.horse": Told("name", Rings.ALWAYS, by_name),
    "runner.position": Told("position", Rings.ALWAYS, by_place),
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
    "card.meeting_id": _OF_THE_CARD,
    "card.region": _OF_THE_CARD,
    "card.said_region": _OF_THE_CARD,
    "card.course": _OF_THE_CARD,
    "card.race_date": _OF_THE_CARD,
    "card.off": Told("off time", Rings.MOVED_TODAY),
    "card.off_told": _OURS,
    "card.title": Told("title"),
    "card.number": Told("race number", unless="title"),
    "card.race_class": Told("class"),
    "card.race_type": _NOT_IN_A_LINE,
    "card.distance": Told("distance"),
    "card.going": _NOT_IN_A_LINE,
    "card.surface": _NOT_IN_A_LINE,
    "card.status": Told("status", by=by_card_status),
    "card.abandoned": Told("abandoned", Rings.FIRST_TOO, by_flag),
    "card.reason": Told("reason"),
    "card.field_size": Told("number of runners"),
    "card.winning_time": _NOT_IN_A_LINE,
    "card.runners": _BY_PARTS,
    "card.from_book": _FILLED_IN,
}


def _all(declared: Declaration, entry: Noise) -> Declaration:
    return dict.fromkeys(declared, entry)


DECLARATIONS: Mapping[EventKind, Declaration] = {
    EventKind.RESULT_RECEIVED: {
        **_EVENT,
        "event.reason": _NOT_SHOWN,
        **_COURSE,
        **_RACE,
        "race.race_date": Told("date"),
        "race.off": Told("off time"),
        "race.status": Told("status", Rings.FIRST_TOO, by_status),
        "race.field_size": _NOT_SHOWN,
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
        **_all(_RACE, _NOT_SHOWN),
        **{path: _RACE[path] for path in ("race.meeting_id", "race.region", "race.race_date")},
        "race.abandoned": _IS_ABANDONED,
        **_all(_RUNNERS, _NO_RUNNERS),
        **_CARD,
        "card.off": Told("off time"),
        "card.status": _NOT_IN_A_LINE,
        "card.abandoned": Noise("each race of an abandoned meeting is abandoned"),
    },
    EventKind.RACECARD_PUBLISHED: {
        **_EVENT,
        **_COURSE,
        **_RACE,
        "race.status": Told("status", Rings.ALWAYS, by_card_status),
        "race.winning_time": _NOT_SHOWN,
        **_RUNNERS,
        "runner.position_reason": _NOT_SHOWN,
        "runner.draw": _NOT_SHOWN,
        "runner.official_rating": _NOT_SHOWN,
        "runner.beaten": _NOT_SHOWN,
        **_CARD,
    },
}
"""One declaration for each kind of event: every field of every model is in it."""

WHOLE_LISTS = frozenset({EventKind.RACECARD_PUBLISHED})
"""Kinds whose lists are whole: a race or a runner that a later version leaves out is off the card.

The exceptions are a list of a single entry and a card in parts (bot.events.pairs: `is_whole`, `is_shorter`). Of other
kinds a list may name only some (the placed, the first races), so that silence takes nothing back.
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
_NAMED_TOGETHER = 3


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
    several: bool = False
    """Whether `of` names several runners."""
    more: int = 0
    """How many further changes of the same field are not kept, because there are very many."""

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
    had this version, by its own time or by its first attempt to deliver; None where neither came. `again` is the number
    of an earlier version that was delivered again: the event stays as it was, `changes` are what the two differ in.
    """

    changes: Changes = ()
    order_unknown: bool = False
    contradicts: EventKind | None = None
    had_at: datetime | None = None
    again: int | None = None


def changes_between(old: RacingEvent, new: RacingEvent, *, received_at: datetime) -> tuple[Change, ...]:
    """The values that differ, as far as messages show them. `received_at` is when the new version was received.

    A value that the new version lacks is unchanged, with two exceptions: a place with a new holder, and a race or
    runner left out of a whole list (WHOLE_LISTS).
    """
    if new.kind is None:
        return ()
    between = _Between(DECLARATIONS[new.kind], old, new, received_at)
    return tuple(_bounded(between.changes()))


def brings_placings(old: RacingEvent, new: RacingEvent) -> bool:
    """Whether the new version is the first with placings: people wait for them."""
    return new.kind is EventKind.RESULT_RECEIVED and not _has_places(old) and _has_places(new)


@dataclass(frozen=True)
class _Between:
    """Two versions of an event, compared by a declaration."""

    declared: Declaration
    old: RacingEvent
    new: RacingEvent
    received_at: datetime

    def changes(self) -> Iterator[Change]:
        old, new = self.old.race, self.new.race
        yield from self._compared("event", self.old, self.new)
        yield from self._compared("course", old.course, new.course)
        yield from self._compared("race", old, new, is_soon=self._is_soon(old, new))
        yield from self._runners(old.runners, new.runners)
        yield from self._cards(self.old.races, self.new.races)

    def _compared(
        self, level: str, old: Any, new: Any, of: str | None = None, *, is_soon: bool = False
    ) -> Iterator[Change]:
        for path, entry in self.declared.items():
            if not isinstance(entry, Told) or not path.startswith(f"{level}.") or path == POSITION:
                continue
            name = path.removeprefix(f"{level}.")
            before, now = getattr(old, name), getattr(new, name)
            was, is_now = _shown(before), _shown(now)
            if is_now is None or entry.by(was) == entry.by(is_now) or _is_same_off(before, now):
                continue
            if entry.unless and _is_hidden(old, new, entry.unless, before):
                continue
            rings = self._rings(entry.rings, was, is_now)
            if entry.rings is Rings.MOVED_TODAY:
                rings = is_soon and _moved_far(old, now)
            yield Change(field=path, of=of, before=was, now=is_now, rings=rings)

    def _rings(self, when: Rings, was: str | None, now: str) -> bool:
        if when is Rings.TO_OR_FROM_TODAY:
            return was is not None and self._today in {was, now}
        if when is Rings.ALWAYS:
            return was is not None and _folded(was) != _folded(now)
        return when is Rings.FIRST_TOO

    @property
    def _today(self) -> str:
        return f"{self.received_at:%Y-%m-%d}"

    def _is_soon(self, *races: Race) -> bool:
        """Whether a race is one of today: by its off time where an offset came, else by its date."""
        moments = [race.off.off_at for race in races if race.off.off_at and race.off.off_at.utcoffset() is not None]
        if moments:
            return any(abs(moment - self.received_at) <= SOON for moment in moments)
        dates = [race.race_date for race in (*races, self.new.race, self.old.race)]
        return next(filter(None, dates), None) == self._today

    def _runners(self, old: Sequence[Runner], new: Sequence[Runner]) -> Iterator[Change]:
        """The changes of each runner; places are compared by their holders."""
        if isinstance(self.declared[RUNNER], Noise) or not new:
            return
        # The first placings of a result are news by themselves (`brings_placings`), and no list of changes.
        had_places = self.new.kind is not EventKind.RESULT_RECEIVED or _has_places(self.old)
        pairs = paired_runners(old, new)
        takes_off = self.new.kind in WHOLE_LISTS and is_whole(old, new)
        places = Places(pairs, takes_off=takes_off)
        for before, now in pairs:
            of = runner_label(now or before)
            yield from _position(before, now, of, places) if had_places or (before and before.position) else ()
            if before and now:
                yield from self._compared(RUNNER, before, now, of)
            elif now and old and not (had_places and now.position):
                yield Change(field=RUNNER, of=of, now=NAMED)
            elif before and takes_off:
                yield Change(field=RUNNER, of=of, before=NAMED)

    def _cards(self, old: Sequence[Race], new: Sequence[Race]) -> Iterator[Change]:
        """The changes of each race of a card or of an abandoned meeting."""
        if isinstance(self.declared[CARD], Noise) or not new:
            return
        pairs = paired_races(old, new)
        takes_off = self.new.kind in WHOLE_LISTS and is_shorter(old, pairs, in_parts=self.old.in_parts)
        for before, now in pairs:
            if before and now:
                of = race_label(before)
                yield from self._compared(CARD, before, now, of, is_soon=self._is_soon(now, before))
                yield from self._declared(before, now)
            elif now and old:
                rings = bool(now.abandoned) and not isinstance(self.declared["card.abandoned"], Noise)
                yield Change(field=CARD, of=race_label(now), now=NAMED)
                if rings:
                    yield Change(field="card.abandoned", of=race_label(now), now=YES, rings=True)
            elif before and takes_off:
                yield Change(field=CARD, of=race_label(before), before=NAMED, rings=self._is_soon(before))

    def _declared(self, before: Race, now: Race) -> Iterator[Change]:
        """A change each for the runners of a card's race who are new, gone, non-runners by now, and runners again."""
        if not (before.runners and now.runners):
            return
        pairs = paired_runners(before.runners, now.runners)
        takes_off = self.new.kind in WHOLE_LISTS and is_whole(before.runners, now.runners)
        more = [other for one, other in pairs if one is None]
        gone = [one for one, other in pairs if other is None and takes_off]
        out = [other for one, other in pairs if one and other and not one.is_out and other.is_out]
        back = [other for one, other in pairs if one and other and one.is_out and other.position and not other.is_out]
        where = race_label(before)
        for runners, was, is_now in (
            (more, None, NAMED),
            (gone, NAMED, None),
            (out, NAMED, NON_RUNNER),
            (back, NON_RUNNER, NAMED),
        ):
            if runners:
                of = f"{_together(runners)} in the {where}"
                yield Change(field=RUNNER, of=of, before=was, now=is_now, several=len(runners) > 1)


def _bounded(changes: Iterator[Change]) -> Iterator[Change]:
    """The first MOST_OF_FIELD changes of each field, and how many more there are. Changes that ring count apart."""
    alike: dict[tuple[str, bool, bool], list[Change]] = {}
    for change in changes:
        alike.setdefault((change.field, change.is_addition, change.rings), []).append(change)
    for same in alike.values():
        *first, last = same[:MOST_OF_FIELD]
        yield from first
        yield last.model_copy(update={"more": len(same) - MOST_OF_FIELD}) if len(same) > MOST_OF_FIELD else last


def _is_hidden(old: Any, new: Any, by: str, before: Any) -> bool:
    """Whether the message shows another field in the place of this one."""
    return bool(getattr(new, by)) or (bool(getattr(old, by)) and before is None)


def _is_same_off(before: Any, now: Any) -> bool:
    return isinstance(now, OffTime) and now.is_same_time(before)


def _moved_far(old: Race, now: OffTime) -> bool:
    """Whether the off time is more than FEW_MINUTES from the off time that a new message told last.

    Two texts that can't be subtracted may be far apart. A text and a moment are taken to be near.
    """
    before = old.off_told or old.off
    moved = now.minutes_from(before)
    if moved is None:
        return bool(before.text and now.text)
    return moved > FEW_MINUTES


def _position(before: Runner | None, now: Runner | None, of: str, places: Places) -> Iterator[Change]:
    """The change of a runner's position, where there is one. What rings is a place won or lost."""
    was, is_now = (runner.position if runner else None for runner in (before, now))
    if is_now is None:
        if places.lost(before, now):
            yield Change(field=POSITION, of=of, before=was, rings=True)
        return
    if by_place(was) == by_place(is_now) or places.is_still_shared(before, now):
        return
    place_before, place_now = finishing_position(was) or None, finishing_position(is_now) or None
    # A winner where there was none is worth a bell, and so is a horse beside another in its place.
    is_news = place_now == 1 or place_now in places.had
    rings = place_before != place_now if was is not None else bool(place_now and is_news)
    yield Change(field=POSITION, of=of, before=was, now=is_now, rings=rings)


def _together(runners: Sequence[Runner | None]) -> str:
    """The runners by name; of many, how many they are."""
    if len(runners) > _NAMED_TOGETHER:
        return f"{len(runners)} runners"
    return " and ".join(runner_label(runner) for runner in runners)


def race_label(race: Race) -> str:
    """What tells a race of a card from the others: "11:30 Novices' Hurdle"; else its number or id."""
    said = " ".join(part for part in (_shown(race.off), race.title) if part)
    name = race.number or race.race_id
    return said or (f"race {name}" if name else "a race not named")


def runner_label(runner: Runner | None) -> str:
    """What a runner is called in a change: the horse's name, else "no. 7"."""
    if runner is None:
        return "a horse not named"
    return runner.horse or (f"no. {runner.number}" if runner.number else "a horse not named")


def _has_places(event: RacingEvent) -> bool:
    return any(runner.finishing_position for runner in event.race.runners)


def _shown(value: Any) -> str | None:
    """The value as text; None where nothing came."""
    if isinstance(value, OffTime):
        return value.text or (f"{value.off_at:%H:%M} UTC" if value.off_at else None)
    if isinstance(value, bool):
        return YES if value else NO
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
