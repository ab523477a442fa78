"""The differences between two versions, in racing's words where these fit, else value by value."""

from collections.abc import Iterable, Iterator, Sequence

from bot.events.event import RacingEvent
from bot.events.facts import HORSE_FACT, NAMED, NON_RUNNER, POSITION_FACT, Change, only, runner_label
from bot.events.kinds import CARD, RUNNER
from bot.events.race_state import LOST_OR_VOID, RaceState, is_reinstated, state_in
from bot.events.races import RESERVED, Course, OffTime, Race, finishing_position, is_disqualified, is_shared
from bot.events.sentences import counted, listed
from bot.events.spellings import NO
from bot.slack.messages.alerts.alert_context import Corrected, MessageContext
from bot.slack.messages.kit.marks import CORRECTED
from bot.slack.messages.kit.names import HORSE_MAX, SHORT_MAX, ordinal
from bot.slack.messages.kit.result_line import RaceField
from bot.slack.messages.kit.text import first_of, given, joined, safe
from bot.slack.messages.kit.times import in_readers_zone

_VALUE_MAX = 80
_LABEL_MAX = 120
_MOST = 5
_NAMES_MOST = 3
_SEVERAL = 2

DISAGREE = "Two versions disagree"
"""For versions in unknown order."""

NOT_NAMED = "horse not named"
NO_PLACE = "no place"

_UNKNOWN = Race()
_OF_A_RACE = ("race_id", "number", "title", "runners")
"""Fields that a meeting lacks."""


def changes_in_words(changes: Sequence[Change], race: Race = _UNKNOWN, *, disagree: bool = False) -> str:
    """For example "placings reversed: Horse B promoted to 1st, Horse A placed 2nd"; "" without changes.

    `race`: of the later version, for the present holders of places. `disagree`: neither version is called the
    earlier: "1st is Horse A or Horse B". Additions are left out (`additions_in_words`).
    """
    changed = only(changes, additions=False)
    said = _Differences(changed, race, disagree=disagree).said() if changed else []
    total = len(said) + sum(change.more for change in changed)
    return "; ".join(first_of(said, _MOST, total=total))


def correction(context: MessageContext, event: RacingEvent) -> str | None:
    """The title says the status that takes a loss back."""
    changes = [one for one in context.changes if not (event.is_taken_back and one.field == "race.status")]
    changed = changes_in_words(changes, event.race, disagree=context.order_unknown)
    return given(f"{CORRECTED} {{}}", labelled(changed, context, "Correction"))


def labelled(changed: str, context: MessageContext, label: str = "Changed") -> str | None:
    """For example "Changed: going was Good, now Soft"; of an unknown order, that two versions disagree."""
    return given(f"{DISAGREE if context.order_unknown else label}: {{}}", changed)


def additions_in_words(changes: Sequence[Change]) -> str:
    """For example "going Soft; jockeys of 3 runners; names 2 more races"; "" without additions."""
    by_field: dict[str, list[Change]] = {}
    for change in only(changes, additions=True):
        by_field.setdefault(change.field, []).append(change)
    return "; ".join(first_of([_added(field, added) for field, added in by_field.items()], _MOST))


def corrected_in_words(corrected: Corrected, race: Race) -> str:
    """`race`: of the later version, which the edited message shows."""
    clock = in_readers_zone(corrected.at)
    changed = changes_in_words(corrected.changes, race, disagree=corrected.order_unknown)
    added = additions_in_words(corrected.changes)
    kind = "Another version" if corrected.order_unknown else "Corrected"
    if not changed:
        return f"Added {clock}: {added}" if added else f"{kind} {clock}"
    said = f"{DISAGREE.lower()}: {changed}" if corrected.order_unknown else changed
    return f"{kind} {clock}: {said}" + (f"; added: {added}" if added else "")


def repeated_in_words(repeated: Corrected, race: Race) -> str:
    """`race`: of the newest version, which the message still shows."""
    now = {change.of: change.now for change in repeated.changes if change.field == POSITION_FACT}
    runners = ((one, runner_label(one)) for one in race.runners)
    repeats = tuple(one.model_copy(update={"position": now.get(of, one.position)}) for one, of in runners)
    changed = changes_in_words(repeated.changes, race.model_copy(update={"runners": repeats}), disagree=True)
    said = f"An earlier version was delivered again {in_readers_zone(repeated.at)}"
    return f"{said}. {DISAGREE}: {changed}" if changed else said


class _Move:
    """A changed position. `was`, `now`: places, None for any other position. `up`: places gained, None without both.

    `because`: the published reason.
    """

    def __init__(self, change: Change, field: RaceField) -> None:
        runners = field.race.runners
        same = next((runner for runner in runners if runner_label(runner) == change.of), None)
        self.change = change
        self.horse = field.named(change.of) if change.of else NOT_NAMED
        self.was, self.now = finishing_position(change.before), finishing_position(change.now)
        self.up = self.was - self.now if self.was and self.now else None
        self.because = given(" ({})", safe(same.position_reason, _VALUE_MAX)) or "" if same else ""
        self.shares = self.now and sum(runner.finishing_position == self.now for runner in runners) > 1


class _Differences:
    """Of the later version: "1st was Horse A, now Horse B". With `disagree`: "1st is Horse A or Horse B"."""

    def __init__(self, changes: Sequence[Change], race: Race, *, disagree: bool) -> None:
        self._disagree = disagree
        self._field = RaceField(race)
        is_race = race.course == Course() or any(getattr(race, name) for name in _OF_A_RACE) or race.off != OffTime()
        self._subject = "the race" if is_race else "the meeting"
        moves = [_Move(change, self._field) for change in changes if change.field == POSITION_FACT]
        self._moved = [one for one in moves if one.up != 0]
        self._kept = [one for one in moves if one.up == 0]
        self._others = [change for change in changes if change.field != POSITION_FACT]

    def said(self) -> list[str]:
        shared = {one.now for one in self._moved if one.shares}
        kept = [one for one in self._kept if not (one.shares and one.now in shared)]
        placings = (_either_way if self._disagree else _by_stewards)(self._moved) or self._place_by_place()
        return [*placings, *map(self._rewritten, kept), *map(self._other, self._others)]

    def _place_by_place(self) -> list[str]:
        places = {place: self._place(place) for place in sorted({one.now for one in self._moved if one.now})}
        # A disqualification causes the other moves, so disqualifications come first.
        lost = list(self._unplaced())
        first = [places.pop(1)] if 1 in places else []
        said = [*lost[:_NAMES_MOST], *first, *lost[_NAMES_MOST:], *places.values()]
        return said if self._disagree or len(said) < _SEVERAL else [f"placings amended: {said[0]}", *said[1:]]

    def _place(self, place: int) -> str:
        came = [one for one in self._moved if one.now == place]
        there = [self._field.horse(runner) for runner in self._field.race.runners if runner.finishing_position == place]
        left = [one.horse for one in self._moved if one.was == place]
        # Also horses that shared the place before, and have the place still.
        before = [*left, *(horse for horse in there if horse not in {one.horse for one in came})] if left else []
        now_there = _listed(there or [one.horse for one in came])
        if len(there) > 1:
            return self._dead_heat(place, before, now_there)
        if before:
            return self._differs(ordinal(place), _holders(before), now_there)
        # The place has no known earlier holder. A single newcomer's earlier place is told.
        was = _position(came[0].change.before) if len(came) == 1 and came[0].change.before else None
        if self._disagree and was:
            return f"{now_there} is {was} or {ordinal(place)}"
        return joined([self._now(ordinal(place), now_there), given("which was {}", was)], ", ")

    def _dead_heat(self, place: int, before: Sequence[str], now_there: str) -> str:
        if self._disagree and len(before) > 1:
            return f"dead heat for {ordinal(place)} in both; {_listed(before)}, or {now_there}"
        if self._disagree:
            return f"dead heat for {ordinal(place)} in one only: {now_there}"
        if before:
            return f"{ordinal(place)} was {_holders(before)}, now a dead heat: {now_there}"
        return f"dead heat for {ordinal(place)}: {now_there}"

    def _unplaced(self) -> Iterator[str]:
        """For example "Horse A is now PU, was 1st", with the published reason."""
        taken = {one.now for one in self._moved} - {None}
        for one in self._moved:
            is_said = one.change.now is None and one.was in taken
            if one.now or is_said:
                continue
            was = _position(one.change.before) if one.change.before else None
            if self._disagree:
                now = safe(one.change.now, _VALUE_MAX) or "without a place"
                yield f"{one.horse} is {was or 'placed'} or {now}{one.because}"
            else:
                now = "is now disqualified" if is_disqualified(one.change.now) else f"is now {_value(one.change.now)}"
                now = "has no place now" if one.change.now is None else now
                yield joined([f"{one.horse} {now}", given("was {}", was)], ", ") + one.because

    def _rewritten(self, one: _Move) -> str:
        before, now = _position(one.change.before), _position(one.change.now)
        return self._differs(one.horse, before, now) if self._disagree else f"{one.horse} is now {now}, was {before}"

    def _other(self, change: Change) -> str:
        of = safe(change.of, _LABEL_MAX)
        if change.field in {RUNNER, CARD}:
            return self._listing(change, of or NOT_NAMED)
        if change.field.endswith(".abandoned"):
            return self._now(of or self._subject, "marked abandoned", still=change.now != NO)
        was, is_now = (state_in(one) if change.field == "race.status" else None for one in (change.before, change.now))
        if self._disagree and was and is_now and was != is_now and {was, is_now} & LOST_OR_VOID:
            return f"{self._subject} is {_state(was)} or {_state(is_now)}"
        if was in LOST_OR_VOID and _takes_back(change.now) and not self._disagree:
            return f"{self._subject} is no longer {'' if was is RaceState.VOID else 'reported '}{was}"
        label, before, now = _label(change), safe(change.before, _VALUE_MAX), _value(change.now)
        if change.field == HORSE_FACT and before and not self._disagree:
            return f"name amended: {now}, was {before}"
        return self._differs(label, before, now) if before else self._now(label, now)

    def _listing(self, change: Change, of: str) -> str:
        words, are = "declared" if change.field == RUNNER else "on the card", "are" if change.several else "is"
        is_out = bool({NON_RUNNER, RESERVED} & {change.before, change.now})
        if is_out:
            runner = "reserve" if change.before == RESERVED else "non-runner"
            words = f"{runner}s" if change.several else f"a {runner}"
        return self._now(of, words, are=are, still=change.now == (NON_RUNNER if is_out else NAMED))

    def _differs(self, label: str, before: str, now: str) -> str:
        return f"{label} is {before} or {now}" if self._disagree else f"{label} was {before}, now {now}"

    def _now(self, of: str, words: str, *, are: str = "is", still: bool = True) -> str:
        """For example "A is now declared", "A is no longer declared", "A is declared in one only"."""
        if self._disagree:
            return f"{of} {are} {words} in one only"
        return f"{of} {are} {'now' if still else 'no longer'} {words}"


def _takes_back(status: str | None) -> bool:
    """Whether a status is none of a lost race. "Declared" beside a loss takes no loss back."""
    state = state_in(status)
    return state not in LOST_OR_VOID if state or status is None else is_reinstated(status)


def _by_stewards(moved: Sequence[_Move]) -> list[str]:
    """Placings reversed, a horse placed behind others, disqualified or reinstated; empty for any other difference."""
    up, down = [one for one in moved if (one.up or 0) > 0], _by_place([one for one in moved if (one.up or 0) < 0])
    out = [one for one in moved if is_disqualified(one.change.now)]
    back = [one for one in moved if one.now and is_disqualified(one.change.before)]
    if not _is_apart(moved):
        return []
    if out and len(out + up) == len(moved):
        each = [f"{one.horse} disqualified{f' from {_place(one.was)}' if one.was else ''}{one.because}" for one in out]
        return [*first_of(each, _NAMES_MOST, "and {} more disqualified"), *_promoted(up)]
    if back and len(back + down) == len(moved):
        named = [f"{one.horse} reinstated in {_place(one.now)}{one.because}" for one in back]
        return [*named, *(f"{one.horse} placed {_place(one.now)}" for one in down)]
    if len(down) != 1 or len(up + down) != len(moved) or {one.now for one in moved} != {one.was for one in moved}:
        return []
    (last,) = down
    if len(up) == 1:
        because = last.because or up[0].because
        return [f"placings reversed: {_promoted(up)[0]}, {last.horse} placed {_place(last.now)}{because}"]
    return [f"{last.horse} placed {_place(last.now)}, was {_place(last.was)}{last.because}", *_promoted(up)]


def _either_way(moved: Sequence[_Move]) -> list[str]:
    """Two versions with the same two horses, the other way round."""
    if len(moved) != _SEVERAL or not _is_apart(moved) or {one.now for one in moved} != {one.was for one in moved}:
        return []
    first, second = _by_place(moved)
    if not (first.now and second.now):
        return []
    return [f"{ordinal(first.now)} is {second.horse} or {first.horse}, {ordinal(second.now)} the other"]


def _is_apart(moved: Sequence[_Move]) -> bool:
    """True where no place is shared."""
    places = [one.now for one in moved if one.now]
    return len(set(places)) == len(places) and not any(one.shares for one in moved)


def _promoted(up: Sequence[_Move]) -> list[str]:
    """For example "Horse B promoted to 1st, Horse C to 2nd"."""
    named = [f"{one.horse}{' promoted' * (at == 0)} to {_place(one.now)}" for at, one in enumerate(_by_place(up))]
    return [", ".join(first_of(named, _NAMES_MOST, "{} more up"))] if up else []


def _place(place: int | None) -> str:
    return ordinal(place) if place else NO_PLACE


def _by_place(moved: Sequence[_Move]) -> list[_Move]:
    return sorted(moved, key=lambda one: one.now or 0)


def _holders(horses: Sequence[str]) -> str:
    return f"{'a dead heat: ' if len(horses) > 1 else ''}{_listed(horses)}"


def _state(state: RaceState) -> str:
    return str(state) if state in LOST_OR_VOID else "run"


def _added(field: str, added: Sequence[Change]) -> str:
    first = added[0]
    number = len(added) + sum(change.more for change in added)
    if field == CARD:
        return f"names {counted(number, 'more race')}"
    if field == RUNNER:
        return f"names {_listed([safe(change.of, _LABEL_MAX) for change in added], number)}"
    if field == POSITION_FACT and len(added) <= _NAMES_MOST:
        return ", ".join(f"{safe(change.of, HORSE_MAX) or NOT_NAMED} {_position(change.now)}" for change in added)
    if len(added) == 1:
        return f"{_label(first)} {_value(first.now)}"
    what = "runner" if field.startswith(f"{RUNNER}.") else "race"
    return f"{_plural(safe(first.words, SHORT_MAX) or 'values')} of {counted(number, what)}"


def _label(change: Change) -> str:
    words, of = safe(change.words, SHORT_MAX) or "something", safe(change.of, _LABEL_MAX)
    return f"{words} of {of}" if of else words


def _plural(noun: str) -> str:
    first, *rest = noun.split(" for ", 1)
    plural = f"{first}es" if first.endswith("s") else f"{first}s"
    return " for ".join([plural, *rest])


def _listed(horses: Iterable[str | None], number: int = 0) -> str:
    named = [horse or NOT_NAMED for horse in horses]
    return listed(first_of(named, _NAMES_MOST, "{} more", number))


def _position(position: str | None) -> str:
    said = (position or "").strip()
    if said.isascii() and said.isdecimal() and len(said) <= 6:
        return ordinal(int(said))
    if is_shared(position) and (place := finishing_position(position)):
        return f"joint {ordinal(place)}"
    return safe(position, SHORT_MAX) or "place not given"


def _value(text: str | None) -> str:
    return safe(text, _VALUE_MAX) or "empty"
