"""The differences between two versions, in words."""

from collections.abc import Iterable, Iterator, Sequence

from bot.events.facts import CARD, NAMED, NON_RUNNER, POSITION_FACT, RUNNER, Change, only, runner_label
from bot.events.races import Runner, finishing_position
from bot.events.spellings import NO
from bot.slack.messages.alerts.alert_context import Corrected, MessageContext
from bot.slack.messages.kit.names import HORSE_MAX, SHORT_MAX
from bot.slack.messages.kit.text import counted, safe

_VALUE_MAX = 80
_LABEL_MAX = 120
_MOST = 5
_NAMES_MOST = 3

DISAGREE = "Two versions disagree"
"""For versions in unknown order."""

NOT_NAMED = "horse not named"


def changes_in_words(
    changes: Sequence[Change], runners: Sequence[Runner], *, disagree: bool = False, most: int = _MOST
) -> str:
    """For example "1st was Horse A, now Horse B; going was Good, now Soft"; "" without changes.

    `runners`: of the later version, for the present holders of places. `disagree`: neither version is called the
    earlier: "1st is Horse A in one, Horse B in the other". Additions are left out (`additions_in_words`).
    """
    changed = only(changes, additions=False)
    placings = [change for change in changed if change.field == POSITION_FACT]
    others = [change for change in changed if change.field != POSITION_FACT]
    places = _places(placings, runners, disagree=disagree)
    # A disqualification causes the other moves, so disqualifications come first.
    lost = list(_unplaced(placings, runners, disagree=disagree))
    first = [places.pop(1)] if 1 in places else []
    said = [*lost[:_NAMES_MOST], *first, *lost[_NAMES_MOST:], *places.values()]
    said += [_rewritten(change, disagree=disagree) for change in placings if _keeps_place(change)]
    said += [_other(change, disagree=disagree) for change in others]
    return _first_of(said, most, more=sum(change.more for change in changed))


def correction(context: MessageContext, runners: Sequence[Runner]) -> list[str]:
    changed = changes_in_words(context.changes, runners, disagree=context.order_unknown)
    return [f"{DISAGREE if context.order_unknown else 'Correction'}: {changed}"] if changed else []


def additions_in_words(changes: Sequence[Change], most: int = _MOST) -> str:
    """For example "going Soft; jockeys of 3 runners; names 2 more races"; "" without additions."""
    by_field: dict[str, list[Change]] = {}
    for change in only(changes, additions=True):
        by_field.setdefault(change.field, []).append(change)
    said = [_added(field, added) for field, added in by_field.items()]
    return _first_of(said, most)


def _first_of(said: Sequence[str], most: int, more: int = 0) -> str:
    more += max(len(said) - most, 0)
    return "; ".join([*said[:most], *([f"and {more} more"] if more else [])])


def corrected_in_words(corrected: Corrected, clock: str) -> str:
    changed = changes_in_words(corrected.changes, (), disagree=corrected.order_unknown)
    added = additions_in_words(corrected.changes)
    kind = "Another version" if corrected.order_unknown else "Corrected"
    if not changed:
        return f"Added {clock}: {added}" if added else f"{kind} {clock}"
    said = f"{DISAGREE.lower()}: {changed}" if corrected.order_unknown else changed
    return f"{kind} {clock}: {said}" + (f"; added: {added}" if added else "")


def repeated_in_words(repeated: Corrected, clock: str) -> str:
    changed = changes_in_words(repeated.changes, (), disagree=True)
    said = f"An earlier version was delivered again {clock}"
    return f"{said}: {changed}" if changed else said


def _places(placings: Sequence[Change], runners: Sequence[Runner], *, disagree: bool) -> dict[int, str]:
    moves = [(change, finishing_position(change.before), finishing_position(change.now)) for change in placings]
    said: dict[int, str] = {}
    for place in sorted({now for _, before, now in moves if now and now != before}):
        before = [_name(change.of) for change, was, now in moves if was == place != now]
        came = [change for change, was, now in moves if now == place != was]
        holders = [runner_label(runner) for runner in runners if runner.finishing_position == place]
        now_there = _listed([safe(horse, HORSE_MAX) for horse in holders] or [_name(change.of) for change in came])
        if len(holders) > 1:
            said[place] = _dead_heat(place, before, now_there, disagree=disagree)
        elif before and disagree:
            said[place] = f"{_ordinal(place)} is {_listed(before)} in one, {now_there} in the other"
        elif before:
            said[place] = f"{_ordinal(place)} was {_listed(before)}, now {now_there}"
        else:
            said[place] = _newly_there(place, now_there, came, disagree=disagree)
    return said


def _dead_heat(place: int, before: Sequence[str], now_there: str, *, disagree: bool) -> str:
    if disagree:
        return f"dead heat for {_ordinal(place)} in one, not in the other: {now_there}"
    if before:
        return f"{_ordinal(place)} was {_listed(before)}, now a dead heat: {now_there}"
    return f"dead heat for {_ordinal(place)}: {now_there}"


def _newly_there(place: int, now_there: str, came: Sequence[Change], *, disagree: bool) -> str:
    """A place without a known earlier holder. A single newcomer's earlier place is told."""
    was = _position(came[0].before) if len(came) == 1 and came[0].before else None
    if disagree:
        return f"{_ordinal(place)} is {now_there} in one" + (f", {was} in the other" if was else ", not in the other")
    return f"{_ordinal(place)} is now {now_there}" + (f", which was {was}" if was else "")


def _unplaced(placings: Sequence[Change], runners: Sequence[Runner], *, disagree: bool) -> Iterator[str]:
    """For example "Horse A is now DSQ (was 1st)", with the published reason."""
    reasons = {runner_label(runner): runner.position_reason for runner in runners}
    taken = {finishing_position(change.now) for change in placings if not _keeps_place(change)} - {None}
    for change in placings:
        is_said = change.now is None and finishing_position(change.before) in taken
        if finishing_position(change.now) or is_said:
            continue
        horse, was = _name(change.of), _position(change.before) if change.before else None
        reason = safe(reasons.get(change.of or ""), _VALUE_MAX)
        because = f", because: {reason}" if reason else ""
        if disagree:
            now = safe(change.now, _VALUE_MAX) or "without a place"
            yield f"{horse} is {was or 'placed'} in one, {now} in the other{because}"
        elif change.now is None:
            yield f"{horse} has no place now" + (f" (was {was})" if was else "")
        else:
            yield f"{horse} is now {_value(change.now)}" + (f" (was {was})" if was else "") + because


def _keeps_place(change: Change) -> bool:
    place = finishing_position(change.now)
    return bool(place) and place == finishing_position(change.before)


def _rewritten(change: Change, *, disagree: bool) -> str:
    horse, before, now = _name(change.of), _position(change.before), _position(change.now)
    return f"{horse} is {before} in one, {now} in the other" if disagree else f"{horse} is now {now} (was {before})"


def _other(change: Change, *, disagree: bool) -> str:
    of = safe(change.of, _LABEL_MAX)
    if change.field in {RUNNER, CARD}:
        return _listing(change, of or NOT_NAMED, disagree=disagree)
    if change.field.endswith(".abandoned"):
        now = "no longer" if change.now == NO else "now"
        return f"{of or 'the race'} is {now} marked abandoned"
    label = _label(change)
    before, now = safe(change.before, _VALUE_MAX), _value(change.now)
    if disagree and before:
        return f"{label} is {before} in one, {now} in the other"
    return f"{label} was {before}, now {now}" if before else f"{label} is now {now}"


def _listing(change: Change, of: str, *, disagree: bool) -> str:
    are = "are" if change.several else "is"
    if NON_RUNNER in {change.before, change.now}:
        runner = "non-runners" if change.several else "a non-runner"
        if disagree:
            return f"{of} {are} {runner} in one, not in the other"
        return f"{of} {are} now {runner}" if change.now == NON_RUNNER else f"{of} {are} no longer {runner}"
    listed = "declared" if change.field == RUNNER else "on the card"
    if disagree:
        return f"{of} {are} {listed} in one, not in the other"
    return f"{of} {are} now {listed}" if change.now == NAMED else f"{of} {are} no longer {listed}"


def _added(field: str, added: Sequence[Change]) -> str:
    first = added[0]
    number = len(added) + sum(change.more for change in added)
    if field == CARD:
        return f"names {counted(number, 'more race')}"
    if field == RUNNER:
        named = [safe(change.of, _LABEL_MAX) for change in added]
        return f"names {_listed(named, number)}"
    if field == POSITION_FACT and len(added) <= _NAMES_MOST:
        return ", ".join(f"{_name(change.of)} {_position(change.now)}" for change in added)
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


def _name(horse: str | None) -> str:
    return safe(horse, HORSE_MAX) or NOT_NAMED


def _listed(horses: Iterable[str | None], number: int = 0) -> str:
    named = [horse or NOT_NAMED for horse in horses]
    left = max(number, len(named)) - _NAMES_MOST
    more = [f"{left} more"] if left > 0 else []
    return " and ".join(named[:_NAMES_MOST] + more)


def _position(position: str | None) -> str:
    said = (position or "").strip()
    if said.isascii() and said.isdecimal() and len(said) <= 6:
        return _ordinal(int(said))
    return safe(position, SHORT_MAX) or "place not given"


def _ordinal(place: int) -> str:
    teens = place % 100 in {11, 12, 13}
    return f"{place}" + ("th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th"))


def _value(text: str | None) -> str:
    return safe(text, _VALUE_MAX) or "empty"
