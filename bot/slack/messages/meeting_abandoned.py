"""The message for meeting.abandoned: a whole card is lost."""

from bot.domain.events import RacingEvent
from bot.domain.message import Message
from bot.domain.races import Race
from bot.slack.messages.asides import asides, late_mark, small_print
from bot.slack.messages.blocks import fields, header, message, section
from bot.slack.messages.context import MessageContext
from bot.slack.messages.corrections import changes_in_words
from bot.slack.messages.names import course_name, race_date, race_line, reason, region_mark
from bot.slack.messages.text import counted


def meeting_abandoned(event: RacingEvent, context: MessageContext) -> Message:
    """Which meeting, why, and the races that are lost; those that had settled before are named as such."""
    lost = [race for race in event.races if not _settled(race)]
    changed = changes_in_words(context, ())
    notes = [*([f"Correction: {changed}"] if changed else []), *asides(context)]
    race = event.race
    named = [
        ("Course", course_name(race) or "course not given"),
        ("Date", race_date(race) or "date not given"),
        ("Reason", reason(event)),
    ]
    head = [
        header(f"ABANDONED: {_course_and_date(race)}{region_mark(event)}"),
        fields(named),
        section("\n".join([*_settled_before(event, lost), *notes])),
    ]
    lines = (race_line(race) for race in lost)
    return message(_text(event, context, lost, notes), head, lines, len(lost), [small_print(event, context)])


def _text(event: RacingEvent, context: MessageContext, lost: list[Race], notes: list[str]) -> str:
    facts = [
        f"ABANDONED: {_course_and_date(event.race)}{region_mark(event)}",
        counted(len(lost), "race") if lost else None,
        reason(event),
    ]
    return ". ".join([", ".join(filter(None, facts)), *notes]) + late_mark(event, context)


def _course_and_date(race: Race) -> str:
    """The meeting, "Ascot, whole meeting, 2026-11-21"; what is missing is said to be."""
    return f"{course_name(race) or 'course not given'}, whole meeting, {race_date(race) or 'date not given'}"


def _settled(race: Race) -> bool:
    return any(runner.finishing_position for runner in race.runners)


def _settled_before(event: RacingEvent, lost: list[Race]) -> list[str]:
    settled = len(event.races) - len(lost)
    return [f"{counted(settled, 'race')} of this meeting settled before"] if settled else []
