"""The message for racecard.published: declarations for a future day."""

from collections.abc import Iterator

from bot.events.event import RacingEvent
from bot.events.races import Race
from bot.events.spellings import by_card_status
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_buttons import alert_buttons
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import asides, late_mark, shows_filled_in, small_print
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words
from bot.slack.messages.kit.blocks import header, message, section
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, CORRECTED, headline
from bot.slack.messages.kit.names import (
    SHORT_MAX,
    card_name,
    race_day,
    race_details,
    race_line,
    race_name,
    reason,
    region_mark,
    runner_line,
    runners_count,
)
from bot.slack.messages.kit.text import counted, joined, safe
from bot.slack.messages.kit.times import off_text

_LOST_NAMED = 3


def racecard_published(event: RacingEvent, context: MessageContext) -> Message:
    changed = changes_in_words(context.changes, event.race.runners, disagree=context.order_unknown)
    lost = _lost(event)
    head = [
        header(_headline(event, context, changed)),
        section(f"{ABANDONED} {lost}" if any(race.abandoned for race in event.races) else lost),
        section(race_details(event.race)),
        section("\n".join([*filter(None, [_changed(changed, context)]), *asides(context)])),
    ]
    total = len(event.races or event.race.runners)
    details = shows_filled_in(event.races, _line)
    foot = [small_print(event, context, details_filled_in=details), alert_buttons(event)]
    return message(_text(event, context, changed, lost), head, _lines(event), total, foot)


def _text(event: RacingEvent, context: MessageContext, changed: str, lost: str) -> str:
    name = f"{_name(event.race)}{region_mark(event)}"
    card = f"Racecard: {name}: {declared(event)}"
    kind = DISAGREE if context.order_unknown else "CORRECTION"
    first = f"{kind}: {card}. {_changed(changed, context)}" if changed else card
    if _is_lost(event, context):
        first = ", ".join(filter(None, [f"ABANDONED: {name}", reason(event)]))
    return ". ".join([first, *filter(None, [lost]), *asides(context, in_text=True)]) + late_mark(context)


def _headline(event: RacingEvent, context: MessageContext, changed: str) -> str:
    name = f"{_name(event.race)}{region_mark(event)}"
    if _is_lost(event, context):
        return headline(ABANDONED, f"ABANDONED: {name}", reason(event))[0]
    if not changed:
        return f"Racecard: {name}"
    return f"{CONFLICTING} {DISAGREE}: {name}" if context.order_unknown else f"{CORRECTED} CORRECTION: Racecard: {name}"


def _is_lost(event: RacingEvent, context: MessageContext) -> bool:
    """The whole card, or the only race, is abandoned."""
    return bool(event.race.abandoned) or context.card_lost


def _changed(changed: str, context: MessageContext) -> str:
    """The header says of two versions that the versions disagree."""
    return changed if context.order_unknown or not changed else f"Changed: {changed}"


def _name(race: Race) -> str:
    return joined([race_name(race), race_day(race)], ", ") if off_text(race.off) else card_name(race)


def declared(event: RacingEvent) -> str:
    if event.races_from_book:
        # The race book's list may lack races.
        return "declarations available"
    declared = counted(len(event.races), "race") if event.races else runners_count(event.race)
    return f"{declared} declared" if declared else "declarations available"


def _lost(event: RacingEvent) -> str:
    # The header of an abandoned card has the reason.
    why = None if event.race.abandoned else reason(event)
    said = joined([*_became(event.race, "this card" if event.races else "this race"), why])
    lost = [joined([race_line(race), safe(race.reason)]) for race in event.races if race.abandoned]
    if not lost:
        return said
    named = "; ".join(lost[:_LOST_NAMED]) + (f"; and {len(lost) - _LOST_NAMED} more" if len(lost) > _LOST_NAMED else "")
    return joined([said, f"The delivery marks {counted(len(lost), 'race')} abandoned: {named}"], ". ")


def _became(race: Race, name: str) -> list[str]:
    status = safe(race.status, SHORT_MAX) if by_card_status(race.status) else None
    return [f"The delivery marks {name} abandoned"] * bool(race.abandoned) + [f"Status: {status}"] * bool(status)


def _line(race: Race) -> str:
    status = safe(race.status, SHORT_MAX) if by_card_status(race.status) else None
    lost = f"{ABANDONED} ABANDONED" if race.abandoned else None
    return joined([race_line(race), lost, f"Status: {status}" if status else None, safe(race.reason)])


def _lines(event: RacingEvent) -> Iterator[str]:
    if event.races:
        return map(_line, event.races)
    return (
        joined([runner_line(runner, safe(runner.number, SHORT_MAX)), safe(runner.position, SHORT_MAX)])
        for runner in event.race.runners
    )
