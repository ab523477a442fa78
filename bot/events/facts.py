"""The changes between two versions of an event, and the remarks that are stored with a version.

A change of a field that is `Told` rings (a new message) or edits the message.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import product
from typing import Any

from pydantic import Field

from bot.events.days import days_in
from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import CARD, DECLARATIONS, RUNNER, WHOLE_LISTS, DeclaredFields, Noise, Rings, ToldField
from bot.events.meeting_parts import is_before_loss
from bot.events.merge import put_back
from bot.events.pairs import Places, is_shorter, is_whole_field, paired_races, paired_runners
from bot.events.race_state import NOT_RUN, is_doubtful_or_reinstated, state_in
from bot.events.races import FEW_MINUTES, OUT, RESERVED, OffTime, Race, Runner, Value, finishing_position
from bot.events.spellings import NO, YES, by_place
from bot.events.watched import WatchedRunner

SOON = timedelta(hours=24)
"""Around the receipt: a race of today, in every time zone."""

MOST_OF_FIELD = 50

POSITION_FACT = "runner.position"
HORSE_FACT = "runner.horse"
COURSE_NAME_FACT, COURSE_ID_FACT, DATE_FACT = "course.name", "course.course_id", "race.race_date"

NAMED, NON_RUNNER = "named", OUT

PLACED = "Result"
"""The status of placings without a status."""

LOST_ANEW = "Abandoned"
"""The status of a new loss without a status, where the earlier loss was taken back."""

_NAMED_TOGETHER = 3


class Change(Value):
    """Both values as published.

    `field`: a path of the declaration ("runner.jockey"). `of`: the horse or the race, if the event has several. `now`
    is None for a value that the later version takes back. `several`: `of` names several runners. `more`: the number of
    changes of the field beyond MOST_OF_FIELD.
    """

    field: str
    of: str | None = None
    before: str | None = None
    now: str | None = None
    rings: bool = False
    several: bool = False
    more: int = 0

    @property
    def is_addition(self) -> bool:
        return self.before is None and not self.rings

    @property
    def marks_lost(self) -> bool | None:
        """False if a mark is taken back."""
        return self.now == YES if self.field in {"card.abandoned", "race.abandoned"} else None

    @property
    def words(self) -> str:
        return _words().get(self.field, self.field)


Changes = tuple[Change, ...]


class VersionRemarks(Value):
    """Stored with a version.

    `order_unknown`: the payloads do not tell the newer of the two versions. `had_at`: the service's time of the
    version, or of its first attempt to deliver. `run_since`: a contradicted result is later than this loss, by the
    service's moments. `again`: the number of an earlier version that came again. `watched`: the watched runners of
    channels.
    """

    changes: Changes = ()
    order_unknown: bool = False
    contradicts: EventKind | None = None
    run_since: bool = False
    had_at: datetime | None = None
    again: int | None = None
    watched: dict[str, tuple[WatchedRunner, ...]] = Field(default_factory=dict)


def changes_between(old: RacingEvent, new: RacingEvent, *, received_at: datetime) -> tuple[Change, ...]:
    """The differences that messages show.

    A value missing in the new version is unchanged. Exceptions: a place with a new holder, and a race or runner left
    out of a whole list.
    """
    if new.kind is None:
        return ()
    between = _Between(DECLARATIONS[new.kind].fields, old, new, received_at)
    return tuple(_bounded(between.changes()))


def brings_placings(old: RacingEvent, new: RacingEvent) -> bool:
    return _has_placings(new) and not old.race.has_places and new.race.has_places


def changes_winner(race: Race, changes: Iterable[Change]) -> bool:
    """True also for another name of the winner. `race`: after the changes."""
    winners = {runner.horse for runner in race.runners if runner.finishing_position == 1}
    return any(
        (change.field == POSITION_FACT and 1 in {finishing_position(change.before), finishing_position(change.now)})
        or (change.field == HORSE_FACT and change.now in winners)
        for change in changes
    )


@dataclass(frozen=True)
class _Between:
    declared: DeclaredFields
    old: RacingEvent
    new: RacingEvent
    received_at: datetime

    def changes(self) -> Iterator[Change]:
        old, new = self.old.race, self.new.race
        yield from self._compared("event", self.old, self.new)
        if self.new.kind is EventKind.MEETING_ABANDONED:
            yield from self._extent()
        yield from self._compared("course", old.course, new.course)
        yield from self._compared("race", old, new, is_soon=self._is_soon(old, new))
        yield from self._runners(old, new)
        yield from self._cards(self.old.races, self.new.races)

    def _extent(self) -> Iterator[Change]:
        """The loss of a whole meeting after the loss of a part, and the reverse."""
        old, new = self.old, self.new
        is_widened = new.races_run is None and old.races_run is not None and not new.is_taken_back
        back = put_back(old, new)
        for race in back:
            yield Change(field="card.abandoned", of=race_label(race), before=YES, now=NO, rings=True)
        if (self._is_narrowed and not back) or (is_widened and (not new.races or self._names_more)):
            is_by_first = old.first_lost or new.first_lost
            name, of_whole = ("first_lost", "1") if is_by_first else ("races_run", "none")
            before, now = (of_whole if one.races_run is None else _shown(getattr(one, name)) for one in (old, new))
            yield Change(field=f"event.{name}", before=before, now=now, rings=True)

    @property
    def _names_more(self) -> bool:
        """Whether a list of races, after the loss of a part without a list, names further lost races."""
        lost = (race for race in self.new.races if not race.says_run)
        return not self.old.races and any(is_before_loss(race, self.old) is not False for race in lost)

    @property
    def _is_narrowed(self) -> bool:
        return self.old.races_run is None and self.new.races_run is not None

    def _compared(
        self, level: str, old: Any, new: Any, of: str | None = None, *, is_soon: bool = False
    ) -> Iterator[Change]:
        for path, entry in self.declared.items():
            if not isinstance(entry, ToldField) or not path.startswith(f"{level}.") or path == POSITION_FACT:
                continue
            name = path.removeprefix(f"{level}.")
            before, now = getattr(old, name), getattr(new, name)
            if name == "status" and new.outdates_status(old):
                now = PLACED if new.has_places else LOST_ANEW
            # A result's status says so alone.
            elif name == "abandoned" and new.puts_back(old):
                now = False if self._has_whole_lists or state_in(old.status) not in NOT_RUN else now
            was, is_now = _shown(before), _shown(now)
            if is_now is None or entry.by(was) == entry.by(is_now) or _is_same_off(before, now):
                continue
            if entry.rings is Rings.FEWER and self._is_narrowed:
                # See `_extent`.
                continue
            if entry.unless and _is_hidden(old, new, entry.unless, before):
                continue
            rings = self._rings(entry.rings, was, is_now)
            if entry.rings is Rings.MOVED_TODAY:
                rings = is_soon and _moved_far(old, now)
            # The reason may say which part is lost: "Evening session".
            elif path == "event.reason" and new.of_some:
                rings = was is not None
            yield Change(field=path, of=of, before=was, now=is_now, rings=rings)

    def _rings(self, when: Rings, was: str | None, now: str) -> bool:
        if when is Rings.TO_OR_FROM_TODAY:
            return was is not None and not self._today.isdisjoint({was, now})
        if when is Rings.TAKEN_BACK_TOO and is_doubtful_or_reinstated(now):
            return True
        if when in {Rings.ALWAYS, Rings.TAKEN_BACK_TOO}:
            return was is not None and _folded(was) != _folded(now)
        if when is Rings.FEWER:
            return (was or "").isdecimal() and now.isdecimal() and int(was or 0) > int(now)
        return when is Rings.FIRST_TOO

    @property
    def _has_whole_lists(self) -> bool:
        return self.new.kind in WHOLE_LISTS

    @property
    def _today(self) -> set[str]:
        """The dates at the region's courses, one or two; the date in UTC if the region's zones are not known."""
        return days_in(self.new.race.region, self.received_at) or {f"{self.received_at:%Y-%m-%d}"}

    def _is_soon(self, *races: Race) -> bool:
        """True if the off is near: by an off time with an offset, else by the date."""
        moments = [race.off.off_at for race in races if race.off.off_at]
        if moments:
            return any(abs(moment - self.received_at) <= SOON for moment in moments)
        dates = [race.race_date for race in (*races, self.new.race, self.old.race)]
        return next(filter(None, dates), None) in self._today

    def _runners(self, old: Race, new: Race) -> Iterator[Change]:
        if isinstance(self.declared[RUNNER], Noise) or not new.runners:
            return
        # The first placings of a result are news as a whole (`brings_placings`).
        had_places = not _has_placings(self.new) or self.old.race.has_places
        pairs = paired_runners(old.runners, new.runners)
        takes_off = self._has_whole_lists and is_whole_field(old, new)
        places = Places(pairs, takes_off=takes_off)
        for before, now in pairs:
            of = runner_label(now or before)
            yield from _position(before, now, of, places) if had_places or (before and before.position) else ()
            if before and now:
                yield from self._compared(RUNNER, before, now, of)
            elif now and old.runners and not (had_places and now.position):
                yield Change(field=RUNNER, of=of, now=NAMED)
            elif before and takes_off:
                yield Change(field=RUNNER, of=of, before=NAMED)

    def _cards(self, old: Sequence[Race], new: Sequence[Race]) -> Iterator[Change]:
        if isinstance(self.declared[CARD], Noise) or not new:
            return
        pairs = paired_races(old, new)
        takes_off = self._has_whole_lists and is_shorter(old, pairs, in_parts=self.old.in_parts)
        for before, now in pairs:
            if before and now:
                of = race_label(before)
                yield from self._compared(CARD, before, now, of, is_soon=self._is_soon(now, before))
                yield from self._declared(before, now)
            elif now and old:
                is_lost = now.abandoned or (self.old.races_run is not None and not now.says_run)
                rings = is_lost and not isinstance(self.declared["card.abandoned"], Noise)
                yield Change(field=CARD, of=race_label(now), now=NAMED)
                if rings:
                    yield Change(field="card.abandoned", of=race_label(now), now=YES, rings=True)
            elif before and takes_off:
                yield Change(field=CARD, of=race_label(before), before=NAMED, rings=self._is_soon(before))

    def _declared(self, before: Race, now: Race) -> Iterator[Change]:
        """Runners that are new, gone, now non-runners, and runners again; replaced jockeys, and changed draws."""
        if not (before.runners and now.runners):
            return
        pairs = paired_runners(before.runners, now.runners)
        takes_off = self._has_whole_lists and is_whole_field(before, now)
        more = [other for one, other in pairs if one is None]
        gone = [one for one, other in pairs if other is None and takes_off]
        both = [(one, other) for one, other in pairs if one and other]
        out = [other for one, other in both if not one.is_out and other.is_out]
        back = [(one, other) for one, other in both if other.is_back(one)]
        where = race_label(before)
        for runners, was, is_now in (
            (more, None, NAMED),
            (gone, NAMED, None),
            (out, NAMED, NON_RUNNER),
            ([now for one, now in back if one.position != RESERVED], NON_RUNNER, NAMED),
            ([now for one, now in back if one.position == RESERVED], RESERVED, NAMED),
        ):
            if runners:
                of = f"{_together(runners)} in the {where}"
                yield Change(field=RUNNER, of=of, before=was, now=is_now, several=len(runners) > 1)
        for (one, other), name in product(both, ("jockey", "draw")):
            was, is_now = getattr(one, name), getattr(other, name)
            if was and is_now and was != is_now:
                of = f"{runner_label(other)} in the {where}"
                yield Change(field=f"{RUNNER}.{name}", of=of, before=was, now=is_now)


def _bounded(changes: Iterator[Change]) -> Iterator[Change]:
    """The first MOST_OF_FIELD changes of each field. Changes that ring count apart."""
    alike: dict[tuple[str, bool, bool], list[Change]] = {}
    for change in changes:
        alike.setdefault((change.field, change.is_addition, change.rings), []).append(change)
    for same in alike.values():
        *first, last = same[:MOST_OF_FIELD]
        yield from first
        yield last.model_copy(update={"more": len(same) - MOST_OF_FIELD}) if len(same) > MOST_OF_FIELD else last


def _is_hidden(old: Any, new: Any, by: str, before: Any) -> bool:
    return _shown(getattr(new, by)) is not None or (_shown(getattr(old, by)) is not None and before is None)


def _is_same_off(before: Any, now: Any) -> bool:
    return isinstance(now, OffTime) and now.is_same_time(before)


def _moved_far(old: Race, now: OffTime) -> bool:
    """True if the race moved by more than FEW_MINUTES since the last new message.

    Two texts that are no times of day count as far apart.
    """
    before = old.off_told or old.off
    moved = now.minutes_from(before)
    if moved is None:
        return bool(before.text and now.text)
    return moved > FEW_MINUTES


def _position(before: Runner | None, now: Runner | None, of: str, places: Places) -> Iterator[Change]:
    """A place won or lost rings."""
    was, is_now = (runner.position if runner else None for runner in (before, now))
    if is_now is None:
        if places.lost(before, now):
            yield Change(field=POSITION_FACT, of=of, before=was, rings=True)
        elif before and now and now.is_back(before):
            yield Change(field=RUNNER, of=of, before=RESERVED if was == RESERVED else NON_RUNNER, now=NAMED)
        return
    if by_place(was) == by_place(is_now) or places.is_still_shared(before, now):
        return
    place_before, place_now = finishing_position(was), finishing_position(is_now)
    # The first winner rings, and so does a second horse in a place.
    is_news = place_now == 1 or place_now in places.had
    rings = place_before != place_now if was is not None else bool(place_now and is_news)
    yield Change(field=POSITION_FACT, of=of, before=was, now=is_now, rings=rings)


def _together(runners: Sequence[Runner | None]) -> str:
    if len(runners) > _NAMED_TOGETHER:
        return f"{len(runners)} runners"
    return " and ".join(runner_label(runner) for runner in runners)


def race_label(race: Race) -> str:
    """For example "11:30 Novices' Hurdle"; else the number or the id."""
    said = " ".join(part for part in (_shown(race.off), race.title) if part)
    name = race.number or race.race_id
    return said or (f"race {name}" if name else "a race not named")


def runner_label(runner: Runner | None) -> str:
    if runner is None:
        return "a horse not named"
    return runner.horse or (f"no. {runner.number}" if runner.number else "a horse not named")


def _has_placings(event: RacingEvent) -> bool:
    return event.kind is not None and DECLARATIONS[event.kind].has_placings


def _shown(value: Any) -> str | None:
    if isinstance(value, OffTime):
        return value.text or (f"{value.off_at:%H:%M} UTC" if value.off_at else None)
    if isinstance(value, bool):
        return YES if value else NO
    if value == 0:
        return "not given"
    if isinstance(value, tuple):
        return str(len(value)) if value else None
    return str(value) if value is not None and value != "" else None


def _folded(value: str) -> str:
    return " ".join(value.split()).casefold()


@lru_cache
def _words() -> dict[str, str]:
    told = (item for declared in DECLARATIONS.values() for item in declared.fields.items())
    return {path: entry.words for path, entry in told if isinstance(entry, ToldField)}


def only(changes: Sequence[Change], *, additions: bool) -> list[Change]:
    return [change for change in changes if change.is_addition is additions]
