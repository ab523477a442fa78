"""The message for race.abandoned."""

from bot.events.event import RacingEvent
from bot.events.races import Race
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import alert, other_day
from bot.slack.messages.alerts.corrections import correction
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, headline
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
from bot.slack.messages.kit.text import first_of, given, joined, listed, safe
from bot.slack.messages.kit.times import aware, off_text

OPEN_RACES_NAMED = 8


def race_abandoned(event: RacingEvent, context: MessageContext) -> Message:
    """`text` begins with "ABANDONED: " in every case."""
    race = event.race
    conflict = "" if context.contradicts is None else f". {CONFLICTING} CONFLICT: reported as run too"
    title, is_whole = headline(ABANDONED, _first(event, context), reason(event), conflict)
    day = None if other_day(event, context) else race_day(race)
    details = race_details(race.model_copy(update={"title": None}) if _else_named(race) else race)
    facts = joined([_else_named(race), day, details, _status(race), None if is_whole else reason(event)])
    first = joined([_first(event, context), _else_named(race), reason(event)], ", ")
    return alert(
        event,
        context,
        title,
        first,
        facts=[joined([facts, _others(context)], "\n")],
        corrected=correction(context, race),
        conflict_said=True,
    )


def _first(event: RacingEvent, context: MessageContext) -> str:
    """For example "ABANDONED: Kempton 14:30, Sat 28 Nov (GB)"."""
    return f"ABANDONED: {_course_and_time(event.race)}{other_day(event, context)}{region_mark(event)}"


def _others(context: MessageContext) -> str | None:
    """Races by name: the race book's list may lack races, and nobody knows that a race will be run."""
    coming = [race for race in context.others if (aware(race.off.off_at) or context.received_at) >= context.received_at]
    times = list(filter(None, (off_text(race.off) for race in coming)))
    named = listed(first_of(times, OPEN_RACES_NAMED, "{} more"))
    return given("No abandonment reported for {} of this meeting", named)


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
    named = safe(race.title) or given("race {}", safe(race.race_id, ID_MAX))
    nothing_said = course_name(race) is None and off_text(race.off) is None
    return named or ("the delivery did not say which race" if nothing_said else None)
