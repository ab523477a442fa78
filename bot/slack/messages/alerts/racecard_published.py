"""The message for racecard.published: declarations for a future day."""

from collections.abc import Iterator

from bot.events.event import RacingEvent
from bot.events.races import Race
from bot.events.spellings import by_card_status
from bot.outbox.message import Block, Message
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import alert_buttons, asides, late_mark, shows_filled_in, small_print
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words
from bot.slack.messages.alerts.watch_lines import watch_lines, watched_section
from bot.slack.messages.kit.blocks import (
    TEXT_OBJECT,
    actions,
    command_button,
    fits,
    header,
    line_sections,
    message,
    room_beside,
    section,
)
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
from bot.slack.messages.kit.native_blocks import collapsed, with_native
from bot.slack.messages.kit.result_line import RaceField
from bot.slack.messages.kit.text import counted, first_of, given, joined, safe
from bot.slack.messages.kit.times import off_text

_LOST_NAMED = 3

CARD_LABEL = "Racecard"


def racecard_published(event: RacingEvent, context: MessageContext) -> Message:
    changed = changes_in_words(context.changes, event.race, disagree=context.order_unknown)
    lost = _lost(event, context)
    is_news = bool(changed) or _is_lost(event, context)
    leads = bool(context.watched) and not is_news
    title = _headline(event, context, changed)
    head = [
        None if leads else header(title),
        watched_section(event, context),
        section(f"{title}: {declared(event)}" if leads else ""),
        section(f"{ABANDONED} {lost}" if _lost_races(event, context) else lost),
        section(joined([_changed(changed, context), *asides(context)], "\n")),
    ]
    text = _text(event, context, changed, lost)
    small = small_print(event, context, details_filled_in=shows_filled_in(event.races, _line))
    if context.watched and (button := _card_button(event)):
        return _with_card_behind(message(text, head), event, small, button)
    total = len(event.races or event.race.runners)
    return message(
        text, [*head, section(race_details(event.race))], _lines(event), total, [small, alert_buttons(event)]
    )


def _with_card_behind(said: Message, event: RacingEvent, small: Block | None, button: Block) -> Message:
    """For a watch: the card is collapsed, else behind the button."""
    pressed = actions([button, *(alert_buttons(event) or {"elements": []})["elements"]])

    def in_sections() -> Message:
        return message(said.text, said.blocks, foot=[small, pressed])

    details, total = section(race_details(event.race)), len(event.races or event.race.runners)
    above = [details] if details else []
    room = room_beside([*said.blocks, *above, small, pressed]) - TEXT_OBJECT
    inner = [*above, *line_sections(_lines(event), total, room)]
    if not inner:
        return in_sections()
    native = message(said.text, [*said.blocks, collapsed(CARD_LABEL, inner)], foot=[small, alert_buttons(event)])
    return with_native(native, in_sections)


def _card_button(event: RacingEvent) -> Block | None:
    """None where no command finds the card."""
    race = event.race
    course = (race.course.course_id or race.course.name or "").replace('"', "")
    button = command_button(CARD_LABEL, f'racecard {race.region} {race.race_date} "{course}"')
    return button if course and race.region and race.race_date and fits(button) else None


def _text(event: RacingEvent, context: MessageContext, changed: str, lost: str) -> str:
    name = f"{_name(event.race)}{region_mark(event)}"
    card = f"{_card(event, context)}: {declared(event)}"
    kind = DISAGREE if context.order_unknown else "CORRECTION"
    first = f"{kind}: {card}. {_changed(changed, context)}" if changed else card
    if _is_lost(event, context):
        first = joined([f"ABANDONED: {name}", reason(event)], ", ")
    watched = watch_lines(context.watched, event, context)
    leads = not changed and not _is_lost(event, context)
    said = [*watched, first] if leads else [first, *watched]
    return joined([*said, lost, *asides(context, in_text=True)], ". ") + late_mark(context)


def _headline(event: RacingEvent, context: MessageContext, changed: str) -> str:
    if _is_lost(event, context):
        return headline(ABANDONED, f"ABANDONED: {_name(event.race)}{region_mark(event)}", reason(event))[0]
    card, lost = _card(event, context), _lost_races(event, context)
    if not changed:
        return f"{ABANDONED} {card}" if lost else card
    if context.order_unknown:
        return f"{CONFLICTING} {DISAGREE}: {card}"
    return f"{ABANDONED if lost else CORRECTED} CORRECTION: {card}"


def _card(event: RacingEvent, context: MessageContext) -> str:
    """For example "Racecard: Ayr, Sat 21 Nov (GB), 1 race abandoned"."""
    lost = len(_lost_races(event, context))
    abandoned = f", {counted(lost, 'race')} abandoned" if lost else ""
    return f"Racecard: {_name(event.race)}{region_mark(event)}{abandoned}"


def _lost_races(event: RacingEvent, context: MessageContext) -> list[Race]:
    """None of a card that is abandoned as a whole: the header says so."""
    return [] if _is_lost(event, context) else [race for race in event.races if race.abandoned]


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


def _lost(event: RacingEvent, context: MessageContext) -> str:
    # The header of an abandoned card has the reason.
    why = None if event.race.abandoned else reason(event)
    said = joined(["The racecard says so" if event.race.abandoned else None, _status(event.race), why])
    lost = [joined([race_line(race), safe(race.reason)]) for race in _lost_races(event, context)]
    return joined([given("ABANDONED: {}", "; ".join(first_of(lost, _LOST_NAMED))), said], ". ")


def _status(race: Race) -> str | None:
    return given("Status: {}", safe(race.status, SHORT_MAX)) if by_card_status(race.status) else None


def _line(race: Race) -> str:
    lost = f"{ABANDONED} ABANDONED" if race.abandoned else None
    return joined([race_line(race), lost, _status(race), safe(race.reason)])


def _lines(event: RacingEvent) -> Iterator[str]:
    if event.races:
        return map(_line, event.races)
    field = RaceField(event.race)
    return (
        joined(
            [
                runner_line(runner, safe(runner.number, SHORT_MAX), field.horse(runner), field.price(runner)),
                safe(runner.position, SHORT_MAX),
            ]
        )
        for runner in event.race.runners
    )
