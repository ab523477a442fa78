"""The message for racecard.published: declarations for a future day."""

from collections.abc import Sequence

from bot.events.event import RacingEvent
from bot.events.facts import Change
from bot.events.races import Race
from bot.events.sentences import counted, listed
from bot.events.spellings import by_card_status
from bot.outbox.message import Block, Message
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import (
    alert_buttons,
    asides,
    earlier_message,
    framed,
    shows_filled_in,
    small_print,
)
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words, labelled
from bot.slack.messages.alerts.runner_table import runner_lines
from bot.slack.messages.alerts.watch_lines import watch_lines
from bot.slack.messages.kit.blocks import command_button, fits, section
from bot.slack.messages.kit.layout import Either, MessagePart, fold, lines
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, CORRECTED, headline
from bot.slack.messages.kit.names import (
    SHORT_MAX,
    card_name,
    course_name,
    day_line,
    race_day,
    race_details,
    race_line,
    race_name,
    reason,
    region_mark,
    runners_count,
)
from bot.slack.messages.kit.text import first_of, given, joined, safe
from bot.slack.messages.kit.times import off_text

_LOST_NAMED, _TIMES_NAMED = 3, 8

CARD_LABEL = "Racecard"


def racecard_published(event: RacingEvent, context: MessageContext) -> Message:
    """A card that newly marks races abandoned begins with the loss."""
    loss, why = _loss(event, context), _why(event)
    changed = _changed(event, context, is_loss_said=loss is not None)
    lost, card = _lost(event, context, loss), _card(event)
    watched, beside = watch_lines(event, context), asides(context, in_text=True)
    leads = bool(context.watched) and not (changed or loss)
    title = _headline(event, context, changed, loss)
    if loss:
        text = [joined([loss, why], ", "), labelled(changed, context), *watched]
    elif changed:
        kind = DISAGREE if context.order_unknown else "CORRECTION"
        name = _place(event) if any(one.marks_lost is False for one in context.changes) else card
        text = [f"{kind}: {name}: {changed}", declared(event), *watched]
    else:
        text = [*watched, f"{card}: {declared(event)}"]
    notes = [None if title.endswith(changed) else labelled(changed, context)]
    said = [
        "\n".join(watched),
        f"{title}: {declared(event)}" if leads else None,
        lost if loss or not _lost_races(event) else f"{ABANDONED} {lost}",
        joined([*notes, *asides(context, link_said=bool(changed))], "\n"),
    ]
    link = earlier_message(context) if changed else None
    small = small_print(event, context, details_filled_in=shows_filled_in(event.races, _line), link=link)
    races, buttons = (
        [section(race_details(event.race)), lines(_lines(event))],
        alert_buttons(event, asked=context.asked),
    )
    parts: list[MessagePart] = [*races, small, buttons]
    is_beside = context.watched or (changed and not (loss or _lost_races(event)))
    if is_beside and (button := _card_button(event)):
        # Where the card is not the news, the card is collapsed, else behind the button.
        pressed = alert_buttons(event, button, asked=context.asked)
        parts = [Either([fold(CARD_LABEL, races)], []), small, Either([buttons], [pressed])]
    return framed(context, None if leads else title, [*text, lost, *beside], said, parts, mentions=context.mentions)


def _card_button(event: RacingEvent) -> Block | None:
    """None where no command finds the card."""
    race = event.race
    button = command_button(CARD_LABEL, day_line("racecard", race.region, race.race_date, race.course))
    return button if race.course.as_typed and race.region and race.race_date and fits(button) else None


def _headline(event: RacingEvent, context: MessageContext, changed: str, loss: str | None) -> str:
    if loss:
        return headline(ABANDONED, loss, _why(event))[0]
    mark = f"{ABANDONED} " if _lost_races(event) else ""
    if not changed:
        return f"{mark}{_card(event)}"
    if context.order_unknown:
        return f"{CONFLICTING} {DISAGREE}: {_card(event)}"
    if back := [one for one in _named(event, context) if one.marks_lost is False]:
        several = f"{counted(len(back), 'race')} are no longer marked abandoned"
        return f"{CORRECTED} CORRECTION: {_place(event)}: {changes_in_words(back) if len(back) == 1 else several}"
    return f"{mark or f'{CORRECTED} '}CORRECTION: {_card(event)}"


def _loss(event: RacingEvent, context: MessageContext) -> str | None:
    """For example "ABANDONED: Ascot 11:30 and 12:30, Sat 21 Nov (GB)", of a loss that no earlier version reports."""
    if _is_lost(event) or context.card_lost:
        race, course = event.race, course_name(event.race)
        name = joined([f"{course} meeting", race_day(race)], ", ") if course and _is_of_meeting(race) else _name(race)
        return f"{_lost_word([race, *event.races], context)}: {name}{region_mark(event)}"
    lost = _lost_races(event)
    if not lost or (context.changes and not any(one.marks_lost for one in context.changes)):
        return None
    times = [time for race in lost if (time := off_text(race.off))]
    named = listed(times) if len(times) == len(lost) <= _TIMES_NAMED else counted(len(lost), "race")
    name = joined([course_name(event.race) or "course not given", named], " ")
    return f"{_lost_word(lost, context)}: {joined([name, race_day(event.race)], ', ')}{region_mark(event)}"


def _lost_word(races: Sequence[Race], context: MessageContext) -> str:
    """POSTPONED where every loss is a postponement."""
    lost = [race.is_postponed for race in races if race.abandoned]
    return "POSTPONED" if lost and all(lost) and not context.card_lost else "ABANDONED"


def _is_of_meeting(race: Race) -> bool:
    return not (race.race_id or off_text(race.off))


def _is_lost(event: RacingEvent) -> bool:
    """The whole card, or the only race, is abandoned."""
    is_every_race = bool(event.races) and not event.in_parts and all(race.abandoned for race in event.races)
    return bool(event.race.abandoned) or is_every_race


def _why(event: RacingEvent) -> str | None:
    """The reason of the card, or the only reason of the lost races."""
    reasons = {safe(race.reason) for race in _lost_races(event)}
    return reason(event) or (reasons.pop() if len(reasons) == 1 else None)


def _lost_races(event: RacingEvent) -> list[Race]:
    return [race for race in event.races if race.abandoned]


def _card(event: RacingEvent) -> str:
    """For example "Racecard: Ayr, Sat 21 Nov (GB), 1 race abandoned"."""
    lost = len(_lost_races(event))
    abandoned = f", {counted(lost, 'race')} abandoned" if lost else ""
    return f"Racecard: {_place(event)}{abandoned}"


def _place(event: RacingEvent) -> str:
    return f"{_name(event.race)}{region_mark(event)}"


def _named(event: RacingEvent, context: MessageContext) -> list[Change]:
    """The changes; a change of a meeting's card names the meeting."""
    meeting = {"of": "the meeting"} if _is_of_meeting(event.race) else {}
    return [one.model_copy(update=meeting if one.field == "race.abandoned" else {}) for one in context.changes]


def _changed(event: RacingEvent, context: MessageContext, *, is_loss_said: bool) -> str:
    """The differences; "" where the header says them."""
    shown = [one for one in _named(event, context) if context.order_unknown or not (is_loss_said and one.marks_lost)]
    return changes_in_words(shown, event.race, disagree=context.order_unknown)


def _name(race: Race) -> str:
    return joined([race_name(race), race_day(race)], ", ") if off_text(race.off) else card_name(race)


def declared(event: RacingEvent) -> str:
    if event.races_from_book:
        # The race book's list may lack races.
        return "declarations available"
    declared = counted(len(event.races), "race") if event.races else runners_count(event.race)
    return f"{declared} declared" if declared else "declarations available"


def _lost(event: RacingEvent, context: MessageContext, loss: str | None) -> str:
    by_card = "The racecard says so" if loss and not context.card_lost else None
    said = joined([by_card, _status(event.race), None if loss else reason(event)])
    if loss:
        return joined([said, None if _is_lost(event) or context.card_lost else declared(event)], ". ")
    lost = [joined([race_line(race), safe(race.reason)]) for race in _lost_races(event)]
    return joined([given("ABANDONED: {}", "; ".join(first_of(lost, _LOST_NAMED))), said], ". ")


def _status(race: Race) -> str | None:
    return given("Status: {}", safe(race.status, SHORT_MAX)) if by_card_status(race.status) else None


def _line(race: Race) -> str:
    is_put_off = race.abandoned and race.is_postponed
    lost = f"{ABANDONED} {'POSTPONED' if is_put_off else 'ABANDONED'}" if race.abandoned else None
    status = None if is_put_off else _status(race)
    # An earlier version may have given the reason, when the race was still marked abandoned.
    return joined([race_line(race), lost, status, safe(race.reason) if lost or status else None])


def _lines(event: RacingEvent) -> list[str]:
    return [*map(_line, event.races)] or runner_lines(event.race.runners, event.race, on_card=True)
