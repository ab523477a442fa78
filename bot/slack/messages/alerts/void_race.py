"""The message for a void race: no place counts."""

from bot.events.event import RacingEvent
from bot.events.facts import Change
from bot.events.races import VOID_STATUSES, letters
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_buttons import alert_buttons
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.asides import asides, late_mark, small_print
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words
from bot.slack.messages.kit.blocks import header, message, section
from bot.slack.messages.kit.names import race_details, race_name, region_mark
from bot.slack.messages.kit.text import joined
from bot.slack.messages.kit.times import off_for_readers

IS_VOID = "Race declared void"


def void_race(event: RacingEvent, context: MessageContext) -> Message:
    """`text` begins with "VOID: "."""
    race = event.race
    name, off = f"VOID: {race_name(race)}{region_mark(event)}", off_for_readers(race.off)
    said = [_void_in_words(context), *_other_changes(event, context)]
    head = [
        header(name),
        section(joined([race_details(race), f"Off {off}" if off else None], "\n")),
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
    return change.field == "race.status" and letters(change.now) in VOID_STATUSES
