"""The message for result.received: race run, declared void, or walkover; and the answer to "Full result"."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from bot.events.event import RacingEvent
from bot.events.facts import Change, only
from bot.events.race_state import NOT_HELD, RaceState, state_in
from bot.events.races import Race, is_settled_status
from bot.outbox.message import Message
from bot.racedata.client.records import KnownCountry
from bot.slack.messages.alerts.alert_context import Corrected, MessageContext
from bot.slack.messages.alerts.alert_notes import alert, alert_buttons, framed, other_day, small_print
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words, labelled
from bot.slack.messages.alerts.runner_table import runner_lines, runners_table
from bot.slack.messages.alerts.watch_lines import watch_lines
from bot.slack.messages.kit import names
from bot.slack.messages.kit.blocks import action_button, actions, context_block, header, section
from bot.slack.messages.kit.layout import Either, MessagePart, fold, lines, message
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, CORRECTED, VOIDED, headline
from bot.slack.messages.kit.result_line import GAP, ORDER_MAX, RaceField, walkover
from bot.slack.messages.kit.text import capital, given, joined, safe
from bot.slack.messages.kit.times import moment_for_readers

IS_VOID = "Race declared void"
RESULT, CORRECTION = "Result", "CORRECTION"
FULL_RESULT, FULL_RESULT_WORD = "Full result", "full_result"


def result(event: RacingEvent, context: MessageContext) -> Message:
    race = event.race
    if race.outcome() in NOT_HELD:
        return race_not_run(event, context)
    changes = [one for one in context.changes if context.order_unknown or not _is_official_now(one)]
    changed = changes_in_words(changes, race, disagree=context.order_unknown)
    status, conflict = _status(race, context, changes), _conflict(race, context)
    kind = "CONFLICT" if conflict else _kind(changed, context, changes)
    name = f"{names.race_name(race)}{other_day(event, context)}{names.region_mark(event)}"
    title = joined([f"{kind}: {name}", conflict], " ")
    abandoned_too = "Check before you act: the result says both" if race.abandoned and not context.contradicts else None
    field = RaceField(race)
    watched, line = watch_lines(event, context, race_named=True), field.line(first="Result in")
    watched_in_text = watch_lines(event, context)
    in_text = field.line(in_text=True)
    now = "The later delivery says" if context.order_unknown else "Now"
    first = f"{title}: {changed}. {now} {in_text}" if changed else f"{title}: {in_text}"
    is_news = bool(changed or conflict)
    leads = [*watched_in_text, first] if kind == RESULT else [first, *watched_in_text]
    loud = f"{CORRECTED if kind == CORRECTION else CONFLICTING} {title}" if is_news else None
    return framed(
        event,
        context,
        loud,
        [*leads, status, abandoned_too],
        [joined(watched)],
        notes=[capital(changed), line if is_news else f"*{name}*{GAP}{line}", status, abandoned_too],
        parts=_runners(event, context, field),
        conflict_said=True,
    )


def _runners(event: RacingEvent, context: MessageContext, field: RaceField) -> list[MessagePart]:
    """Every runner and the buttons in a collapsed container; else the details, and *Full result* as a button.

    *I have it* stands open, without the details.
    """
    details, small = section(names.race_details(event.race)), small_print(event, context)
    button = action_button(FULL_RESULT, FULL_RESULT_WORD, event.key)
    if not field.in_order or context.asked:
        return [None if field.in_order else details, small, alert_buttons(event, context, button)]
    buttons = alert_buttons(event, context)
    whole = fold(FULL_RESULT, [details, lines([*runner_lines(field.in_order, field)]), buttons])
    pressed = actions([button, *(buttons["elements"] if buttons else [])])
    return [Either([whole], [details]), small, Either([], [pressed])]


def _conflict(race: Race, context: MessageContext) -> str | None:
    """An abandonment was told before; the delivery has placings, and marks the race abandoned; or places contradict."""
    if context.contradicts is not None or race.abandoned:
        return "reported abandoned and run"
    return given("the delivery contradicts itself, {}", safe(race.disputed, ORDER_MAX))


def _kind(changed: str, context: MessageContext, changes: Sequence[Change]) -> str:
    if not changed and not any(change.rings for change in changes):
        return RESULT
    return DISAGREE if context.order_unknown else CORRECTION


def _is_official_now(change: Change) -> bool:
    """A provisional result that becomes official is no correction."""
    is_status = change.field == "race.status" and state_in(change.before) is RaceState.PROVISIONAL
    return is_status and state_in(change.now) is RaceState.RUN


def _status(race: Race, context: MessageContext, changes: Sequence[Change]) -> str | None:
    """None where the changes say the status."""
    if any(one.field == "race.status" for one in changes):
        return None
    was = next((one.before for one in context.changes if _is_official_now(one) and not context.order_unknown), None)
    return given("Official now, was {}", safe(was, names.SHORT_MAX)) or unusual_status(race)


def unusual_status(race: Race) -> str | None:
    """For example "Status: Postponed"; None for a settled status."""
    is_said_already = is_settled_status(race.status) or walkover(race)
    return None if is_said_already else given("Status: {}", safe(race.status, names.SHORT_MAX))


def not_official(race: Race) -> str | None:
    """None for another status, which may be older than the result."""
    is_provisional = state_in(race.status) is RaceState.PROVISIONAL
    return given("Status: {}", safe(race.status, names.SHORT_MAX)) if is_provisional else None


def race_not_run(event: RacingEvent, context: MessageContext) -> Message:
    """A void race, or a result without placings whose status is abandoned or postponed. `text` begins with the word."""
    race = event.race
    mark, word = VOIDED if race.is_void else ABANDONED, names.not_held(race).upper()
    others = [change for change in context.changes if not (race.is_void and _makes_void(change))]
    changed = changes_in_words(others, race, disagree=context.order_unknown)
    if race.is_void:
        said = [_void_in_words(context), labelled(changed, context)]
    else:
        said = ["The result says so", capital(changed)]
    first = f"{word}: {names.course_and_time(race)}{other_day(event, context)}{names.region_mark(event)}"
    because = joined([names.moved_to(race), safe(race.reason)], ", ")
    title, is_whole = headline(mark, first, because)
    facts = [joined([names.lost_details(race), None if is_whole else because])]
    text = joined([first, names.else_named(race), because], ", ")
    return alert(event, context, title, text, facts=facts, said=said)


def _void_in_words(context: MessageContext) -> str:
    if not any(map(_makes_void, context.changes)):
        return IS_VOID
    if context.order_unknown:
        return f"{IS_VOID} in one of two versions only: check"
    return f"{IS_VOID}; the earlier result no longer stands"


def _makes_void(change: Change) -> bool:
    return change.field == "race.status" and state_in(change.now) is RaceState.VOID


def full_result(
    event: RacingEvent,
    known: Race | None,
    received_at: datetime,
    countries: Sequence[KnownCountry] = (),
    changed: Corrected | None = None,
) -> Message:
    """`known`: the race by the race book, used if settled; else the race as delivered.

    `countries`: for the label of a partial order. `changed`: differences from the first version.
    """
    race = known if known and (known.placed() or known.is_void) else event.race
    corrected = _corrected(race, changed)
    # No place of a void race counts.
    field = RaceField(race)
    runners = [] if race.is_void else field.in_order
    name = f"{names.race_name(race)}{names.region_mark(event)}"
    line = IS_VOID if race.is_void else field.line(in_text=True, first="Result in")
    is_unknown = changed is not None and changed.order_unknown
    kind = f"{FULL_RESULT}, {DISAGREE.lower() if is_unknown else 'corrected'}" if corrected else FULL_RESULT
    status = not_official(race)
    text = joined([f"{kind}: {name}: {line}", status], ". ")
    time = given("winning time {}", safe(race.winning_time, names.SHORT_MAX))
    head = [header(f"{kind}: {name}"), section(joined([names.race_day(race), time, names.race_details(race)]))]
    head += [section(corrected), None if runners and not race.disputed else section(line), section(status)]
    received = f"Result received {moment_for_readers(received_at)}"
    foot = context_block(names.order_note(countries, {event.race.region}), received)
    listed = lines([*runner_lines(runners, field)])
    table = partial(runners_table, "Every runner", runners, race)
    return message(text, [*head, Either([table], [listed]), foot])


def _corrected(race: Race, changed: Corrected | None) -> str:
    if changed is None or not only(changed.changes, additions=False):
        return ""
    words = changes_in_words(changed.changes, race, disagree=changed.order_unknown)
    kind = "Another version" if changed.order_unknown else "Corrected"
    return f"{kind} {moment_for_readers(changed.at)}: {words}"
