"""The message for race.abandoned."""

from bot.events.event import RacingEvent
from bot.events.races import Race
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_buttons import alert_buttons
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import asides, late_mark, other_day, small_print
from bot.slack.messages.alerts.corrections import correction
from bot.slack.messages.alerts.watch_lines import watch_lines, watched_section
from bot.slack.messages.kit.blocks import header, message, section
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, CORRECTED, headline
from bot.slack.messages.kit.mentions import mentions_in_markup, with_mentions
from bot.slack.messages.kit.names import (
    ID_MAX,
    SHORT_MAX,
    course_name,
    race_by_number,
    race_day,
    race_details,
    reason,
    region_mark,
)
from bot.slack.messages.kit.text import joined, listed, safe
from bot.slack.messages.kit.times import aware, off_text

OPEN_RACES_NAMED = 8


def race_abandoned(event: RacingEvent, context: MessageContext) -> Message:
    """`text` begins with "ABANDONED: " in every case."""
    race = event.race
    corrected = correction(context, race)
    conflict = "" if context.contradicts is None else f". {CONFLICTING} CONFLICT: reported as run too"
    title, is_whole = headline(ABANDONED, _first(event, context), reason(event), conflict)
    said = None if is_whole else reason(event)
    day = None if other_day(event, context) else race_day(race)
    details = race_details(race.model_copy(update={"title": None}) if _else_named(race) else race)
    facts = [_else_named(race), day, details, _status(race), said]
    head = [
        header(title),
        section(mentions_in_markup(context.mentions)),
        watched_section(event, context),
        section("\n".join(filter(None, [joined(facts), _others(context)]))),
        section("\n".join([*(f"{CORRECTED} {words}" for words in corrected), *asides(context, conflict_said=True)])),
    ]
    notes = [*watch_lines(context.watched, event, context), *corrected, *asides(context, in_text=True)]
    text = with_mentions(_text(event, context, notes), context.mentions)
    return message(text, head, foot=[small_print(event, context), alert_buttons(event, context.asked)])


def _text(event: RacingEvent, context: MessageContext, notes: list[str]) -> str:
    facts = [_first(event, context), _else_named(event.race), reason(event)]
    return ". ".join([", ".join(filter(None, facts)), *notes]) + late_mark(context)


def _first(event: RacingEvent, context: MessageContext) -> str:
    """For example "ABANDONED: Kempton 14:30, Sat 28 Nov (GB)"."""
    return f"ABANDONED: {_course_and_time(event.race)}{other_day(event, context)}{region_mark(event)}"


def _others(context: MessageContext) -> str | None:
    """Races by name: the race book's list may lack races, and nobody knows that a race will be run."""
    coming = [race for race in context.others if (aware(race.off.off_at) or context.received_at) >= context.received_at]
    times = list(filter(None, (off_text(race.off) for race in coming)))
    more = [f"{len(times) - OPEN_RACES_NAMED} more"] if len(times) > OPEN_RACES_NAMED else []
    named = listed([*times[:OPEN_RACES_NAMED], *more])
    return f"No abandonment reported for {named} of this meeting" if times else None


def _course_and_time(race: Race) -> str:
    """Missing values are named, because readers overlook a gap."""
    course, off = course_name(race), off_text(race.off)
    if course and off:
        return f"{course} {off}"
    return f"{course or 'course not given'}, {off or race_by_number(race) or 'time not given'}"


def _status(race: Race) -> str | None:
    status = safe(race.status, SHORT_MAX)
    return status if status and status.casefold() != "abandoned" else None


def _else_named(race: Race) -> str | None:
    """An identifier for a race without course or time."""
    if course_name(race) and off_text(race.off):
        return None
    race_id = safe(race.race_id, ID_MAX)
    named = safe(race.title) or (f"race {race_id}" if race_id else None)
    nothing_said = course_name(race) is None and off_text(race.off) is None
    return named or ("the delivery did not say which race" if nothing_said else None)
