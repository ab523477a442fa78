"""The message for result.received: race run, declared void, or walkover."""

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from operator import itemgetter

from bot.events.event import RacingEvent
from bot.events.facts import Change
from bot.events.race_state import NOT_RUN, RaceState, state_in
from bot.events.races import Race, Runner, is_settled_status
from bot.outbox.message import Block, Message
from bot.slack.messages.alerts.alert_buttons import alert_buttons
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import asides, late_mark, other_day, small_print
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words
from bot.slack.messages.alerts.runner_table import RESULT_COLUMNS, runners_table
from bot.slack.messages.kit.blocks import TEXT_OBJECT, header, line_sections, message, room_beside, section
from bot.slack.messages.kit.marks import (
    ABANDONED,
    CONFLICTING,
    CORRECTED,
    MARKED_LOST,
    MARKED_POSTPONED,
    VOIDED,
    headline,
)
from bot.slack.messages.kit.names import (
    SHORT_MAX,
    horse_name,
    race_details,
    race_name,
    region_mark,
    runner_line,
)
from bot.slack.messages.kit.native_blocks import collapsed, with_native
from bot.slack.messages.kit.text import clip, counted, joined, safe

IS_VOID = "Race declared void"
WITHOUT_ORDER = "placings not received"
CHECK_PLACES = "check which is true"
ORDER_MAX = 120
CORRECTION = "CORRECTION"

PLACES_PER_PAGE = 5
"""Of a table with all runners. A race with more runners has the first three in the table, and the others collapsed."""

_NAMED_IN_TEXT = 6
_OTHERS_NAMED = 60
_OTHERS_MAX = 1_500
_POSITION_MAX = 12


def lost_mark(race: Race) -> str:
    """A postponed race is told as postponed: the race may be run on another day."""
    return MARKED_POSTPONED if race.is_postponed else MARKED_LOST


def without_order(race: Race, first: str | None = "Result in") -> str:
    """Of a race without a place: an order that could not be read is told as published."""
    unread = safe(race.unread_order, ORDER_MAX)
    words = f"placings could not be read: {unread}" if unread else WITHOUT_ORDER
    return joined([first, words], ", ")


def _order_or_none(race: Race, placed: Sequence[Runner], first: str | None = None) -> str:
    """The order, or why there is none. Of a disputed result the order is what nobody disputes."""
    order = _order_in_text(placed) if placed else None
    if race.disputed:
        return joined([CHECK_PLACES, f"otherwise {order}" if order else None], ", ")
    return order or (without_order(race, first) if first or race.unread_order else WITHOUT_ORDER)


def result(event: RacingEvent, context: MessageContext) -> Message:
    race = event.race
    if race.is_void:
        return void_race(event, context)
    placed, others = _split(race)
    if race.is_lost:
        return lost_race(event, context)
    changed = changes_in_words(context.changes, race.runners, disagree=context.order_unknown)
    kind = _kind(changed, context)
    order = _order_or_none(race, placed, "Result in")
    facts = joined([race_details(race), _winning_time(race), unusual_status(race)])
    head = [
        *_title(_headline(event, context, kind), order, is_news=bool(changed) or _is_conflict(race, context)),
        section("\n".join([*([_changed(changed, context)] if changed else []), *asides(context, conflict_said=True)])),
        section(facts),
    ]
    text = _text(event, context, placed, changed)
    foot = [small_print(event, context), alert_buttons(event)]

    return _with_runners(message(text, head), foot, placed, others)


def _with_runners(said: Message, foot: Sequence[Block | None], placed: list[Runner], others: list[Runner]) -> Message:
    """The first three in a table and the others in a collapsed container; else all in a table; else all in sections."""
    head = said.blocks
    unplaced = section(clip("\n".join(_others_lines(others)), _OTHERS_MAX))
    front, behind = _front(placed), placed[len(_front(placed)) :]
    runners = [*placed, *others]

    def in_sections() -> Message:
        return message(said.text, head, _lines(placed), len(placed), [unplaced, *foot])

    def in_table() -> Message:
        table = runners_table("Finishing order", runners, RESULT_COLUMNS, room_beside([*head, *foot]), PLACES_PER_PAGE)
        return with_native(message(said.text, [*head, *table], foot=foot), in_sections) if table else in_sections()

    if not placed:
        return in_sections()
    if len(runners) <= PLACES_PER_PAGE or len(front) > PLACES_PER_PAGE:
        return in_table()
    table = runners_table("First home", front, RESULT_COLUMNS, room_beside([*head, *foot]), PLACES_PER_PAGE)
    room = room_beside([*head, *table, unplaced, *foot]) - TEXT_OBJECT
    hidden = [*line_sections(_lines(behind), len(behind), room), *filter(None, [unplaced])]
    rest = collapsed(counted(len(behind) + len(others), "other runner"), hidden)
    return with_native(message(said.text, [*head, *table, rest], foot=foot), in_table) if table else in_table()


def _title(words: str, order: str, *, is_news: bool) -> list[Block | None]:
    """A result is quiet, so that an abandonment stands out. Only a correction or a conflict has a header."""
    return [header(words), section(order)] if is_news else [section(f"*{words}*\n{order}")]


def _text(event: RacingEvent, context: MessageContext, placed: Sequence[Runner], changed: str) -> str:
    race = event.race
    name = f"{race_name(race)}{other_day(event, context)}{region_mark(event)}"
    order = _order_or_none(race, placed)
    now = "The later delivery says" if context.order_unknown else "Now"
    kind = _kind(changed, context)
    if _is_conflict(race, context):
        kind = "CONFLICT"
        name = f"{name} {_conflict_words(race, context)}"
    first = f"{kind}: {name}: " + (f"{changed}. {now} {order}" if changed else order)
    said = [first, *filter(None, [unusual_status(race)]), *asides(context, in_text=True, conflict_said=True)]
    return ". ".join(said) + late_mark(context)


def _headline(event: RacingEvent, context: MessageContext, kind: str) -> str:
    name = f"{race_name(event.race)}{other_day(event, context)}{region_mark(event)}"
    if _is_conflict(event.race, context):
        return f"{CONFLICTING} CONFLICT: {name} {_conflict_words(event.race, context)}"
    mark = {DISAGREE: f"{CONFLICTING} ", CORRECTION: f"{CORRECTED} "}.get(kind, "")
    return f"{mark}{kind}: {name}"


def _is_conflict(race: Race, context: MessageContext) -> bool:
    """An abandonment was told before; the delivery has placings, and marks the race abandoned; or places contradict."""
    return context.contradicts is not None or bool(race.abandoned) or race.disputed is not None


def _conflict_words(race: Race, context: MessageContext) -> str:
    if race.disputed is None or context.contradicts is not None or race.abandoned:
        return "reported abandoned and run"
    return f"the delivery contradicts itself, {safe(race.disputed, ORDER_MAX)}"


def _kind(changed: str, context: MessageContext) -> str:
    if not changed and not any(change.rings for change in context.changes):
        return "Result"
    return DISAGREE if context.order_unknown else CORRECTION


def _changed(changed: str, context: MessageContext) -> str:
    """The header says of two versions that the versions disagree."""
    return changed if context.order_unknown else f"Changed: {changed}"


def order_with_prices(race: Race) -> str | None:
    """For example "1 Horse A (5/2), 2 Horse B (7/1), 3 Horse C"; None without placings."""
    placed, _ = _split(race)
    return _order_in_text(placed, with_prices=True) if placed else None


def _order_in_text(placed: Sequence[Runner], *, with_prices: bool = False) -> str:
    """The first three places, dead heats included: "1 Horse A, 2 Horse B, 3 Horse C"."""
    if not placed:
        return WITHOUT_ORDER
    front = _front(placed)
    named = [_in_order(runner, with_price=with_prices) for runner in front[:_NAMED_IN_TEXT]]
    more = len(front) - len(named)
    return ", ".join(named + ([f"and {more} more"] if more else []))


def _front(placed: Sequence[Runner]) -> Sequence[Runner]:
    return list(takewhile(lambda runner: (runner.finishing_position or 0) <= 3, placed)) or placed[:1]


def _lines(placed: Sequence[Runner]) -> Iterator[str]:
    return (runner_line(runner, safe(runner.position, _POSITION_MAX)) for runner in placed)


def _in_order(runner: Runner, *, with_price: bool) -> str:
    price = safe(runner.starting_price, SHORT_MAX) if with_price else None
    return f"{safe(runner.position, _POSITION_MAX)} {horse_name(runner)}{f' ({price})' if price else ''}"


def _split(race: Race) -> tuple[list[Runner], list[Runner]]:
    """Some sources publish position 0 for unplaced runners."""
    places = [(runner.finishing_position, runner) for runner in race.runners]
    placed = sorted(((place, runner) for place, runner in places if place), key=itemgetter(0))
    return [runner for _, runner in placed], [runner for place, runner in places if not place]


def _others_lines(others: Sequence[Runner]) -> Iterator[str]:
    """Unplaced runners, grouped by position text: "PU: Horse D, Horse E"."""
    groups: dict[str, list[str]] = {}
    for runner in islice(others, _OTHERS_NAMED):
        reason = safe(runner.position_reason, SHORT_MAX)
        named = f"{horse_name(runner)} ({reason})" if reason else horse_name(runner)
        groups.setdefault(safe(runner.position, _POSITION_MAX) or "No position", []).append(named)
    for position, horses in groups.items():
        yield f"{position}: {', '.join(horses)}"
    if len(others) > _OTHERS_NAMED:
        yield f"and {len(others) - _OTHERS_NAMED} more"


def _winning_time(race: Race) -> str | None:
    time = safe(race.winning_time, SHORT_MAX)
    return f"Winning time {time}" if time else None


def unusual_status(race: Race) -> str | None:
    """For example "Status: Postponed"; None for a settled status."""
    walkover = _walkover(race)
    status = None if is_settled_status(race.status) or walkover else safe(race.status, SHORT_MAX)
    is_said = state_in(race.status) in NOT_RUN
    lost = "The delivery marks this race abandoned" if race.abandoned and not is_said else None
    return joined([walkover, f"Status: {status}" if status else None, lost], ". ") or None


def _walkover(race: Race) -> str | None:
    """For example "Walkover: Horse A"; None if several horses may have run."""
    if state_in(race.status) is not RaceState.WALKOVER:
        return None
    alone = race.placed() or race.runners
    return f"Walkover: {horse_name(alone[0])}" if len(alone) == 1 else None


def lost_race(event: RacingEvent, context: MessageContext) -> Message:
    """A result without placings whose status is abandoned or postponed. `text` begins with the word."""
    race = event.race
    word = "POSTPONED" if race.is_postponed else "ABANDONED"
    first = f"{word}: {race_name(race)}{other_day(event, context)}{region_mark(event)}"
    changed = changes_in_words(context.changes, race.runners, disagree=context.order_unknown)
    said = ["The result says so", *([_changed(changed, context)] if changed else [])]
    head = [
        header(headline(ABANDONED, first, safe(race.reason))[0]),
        section(race_details(race)),
        section("\n".join([*said, *asides(context)])),
    ]
    first = ", ".join(filter(None, [first, safe(race.reason)]))
    text = ". ".join([first, *said, *asides(context, in_text=True)]) + late_mark(context)
    return message(text, head, foot=[small_print(event, context), alert_buttons(event)])


def void_race(event: RacingEvent, context: MessageContext) -> Message:
    """`text` begins with "VOID: "."""
    race = event.race
    name = f"VOID: {race_name(race)}{other_day(event, context)}{region_mark(event)}"
    said = [_void_in_words(context), *_other_changes(event, context)]
    head = [
        header(f"{VOIDED} {name}"),
        section(race_details(race)),
        section("\n".join([*said, *asides(context)])),
    ]
    text = ". ".join([name, *said, *asides(context, in_text=True)]) + late_mark(context)
    return message(text, head, foot=[small_print(event, context), alert_buttons(event)])


def _void_in_words(context: MessageContext) -> str:
    if not any(map(_makes_void, context.changes)):
        return IS_VOID
    if context.order_unknown:
        return f"{IS_VOID} in one of two versions, not in the other: check"
    return f"{IS_VOID}; the earlier result no longer stands"


def _other_changes(event: RacingEvent, context: MessageContext) -> list[str]:
    others = [change for change in context.changes if not _makes_void(change)]
    changed = changes_in_words(others, event.race.runners, disagree=context.order_unknown)
    return [f"{DISAGREE if context.order_unknown else 'Changed'}: {changed}"] if changed else []


def _makes_void(change: Change) -> bool:
    return change.field == "race.status" and state_in(change.now) is RaceState.VOID
