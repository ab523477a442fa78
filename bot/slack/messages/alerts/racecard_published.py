"""The message for racecard.published: declarations for a future day."""

from bot.events.event import RacingEvent
from bot.events.races import Race
from bot.events.sentences import counted
from bot.events.spellings import by_card_status
from bot.outbox.message import Block, Message
from bot.slack.messages.alerts.abandonment import lost_times, run_too_words
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import alert_buttons, framed, shows_filled_in, small_print
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words, labelled
from bot.slack.messages.alerts.runner_table import runner_lines
from bot.slack.messages.alerts.watch_lines import watch_lines
from bot.slack.messages.kit import names
from bot.slack.messages.kit.blocks import command_button, fits, section
from bot.slack.messages.kit.layout import Either, MessagePart, fold, lines
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, CORRECTED, headline
from bot.slack.messages.kit.result_line import RaceField
from bot.slack.messages.kit.text import first_of, given, joined, safe
from bot.slack.messages.kit.times import off_text

_LOST_NAMED, _TIMES_NAMED = 3, 8

CARD_LABEL = "Racecard"


def racecard_published(event: RacingEvent, context: MessageContext) -> Message:
    """A card that newly marks races abandoned begins with the loss."""
    card, details = _Card(event, context), section(names.race_details(event.race))
    loss, changed, lost, title = card.loss, card.changed, card.said(), card.headline()
    watched = watch_lines(event, context)
    leads = bool(context.watched) and not (changed or loss)
    if loss:
        text = [joined([loss, card.why], ", "), card.conflict, labelled(changed, context), *watched]
    elif changed:
        kind = DISAGREE if context.order_unknown else "CORRECTION"
        name = card.place if any(one.marks_lost is False for one in context.changes) else card.title
        text = [f"{kind}: {name}: {changed}", declared(event), *watched]
    else:
        text = [*watched, f"{card.title}: {declared(event)}"]
    said = [
        "\n".join(watched),
        f"{title}: {declared(event)}" if leads else None,
        lost if loss or not card.lost else f"{ABANDONED} {lost}",
    ]
    notes = [None if title.endswith(changed) else labelled(changed, context)]
    every = [*map(_line, event.races)] or [*runner_lines(event.race.runners, RaceField(event.race), on_card=True)]
    small = small_print(event, context, details_filled_in=shows_filled_in(event.races, _line))
    races, buttons, button = [details, lines(every)], alert_buttons(event, context), _card_button(event)
    parts: list[MessagePart] = [*races, small, buttons]
    if button and loss:
        gone = event.races if card.is_lost else card.lost
        others = [one for one in event.races if one not in gone and _status(one)]
        told = [] if context.in_meeting else [*(lost_times(gone, event) or map(_lost_line, gone)), *map(_line, others)]
        parts = [details, lines(told), small, alert_buttons(event, context, button)]
    elif button and (context.watched or (changed and not card.lost)):
        # Where the card is not the news, the card is collapsed, else behind the button.
        pressed = alert_buttons(event, context, button)
        parts = [Either([fold(CARD_LABEL, races)], []), small, Either([buttons], [pressed])]
    shown = None if leads else title
    return framed(event, context, shown, [*text, lost], said, notes=notes, parts=parts)


def _card_button(event: RacingEvent) -> Block | None:
    """None where no command finds the card."""
    race = event.race
    button = command_button(CARD_LABEL, names.day_line("racecard", race.region, race.race_date, race.course))
    return button if race.course.as_typed and race.region and race.race_date and fits(button) else None


class _Card:
    """The parts of a card's sentences. `loss`: of a newly reported loss; `changed`: "" without words.

    `lost`: the abandoned races. `is_lost`: the whole card, or the only race, is abandoned. `is_in_part`: a part
    of the meeting is abandoned.
    """

    def __init__(self, event: RacingEvent, context: MessageContext) -> None:
        race = event.race
        self.event, self.context = event, context
        self.lost = [one for one in event.races if one.abandoned]
        marked = [one for one in (race, *event.races) if one.abandoned]
        self.conflict = run_too_words([one for one in marked if one.race_id in context.disputed])
        is_every_race = bool(event.races) and not event.in_parts and len(self.lost) == len(event.races)
        is_whole = context.in_meeting and not context.partly_run
        self.is_lost = bool(race.abandoned and not self.lost) or is_every_race or is_whole
        self.is_in_part = event.is_of_meeting and context.in_meeting and not self.is_lost
        reasons = {joined([names.moved_to(one), safe(one.reason)], ", ") for one in self.lost}
        self.why = names.reason(event) or (reasons.pop() if len(reasons) == 1 else None)
        self.name = names.dated_name(race) if off_text(race.off) else names.card_name(race)
        self.place = f"{self.name}{names.region_mark(event)}"
        abandoned = f"{counted(len(self.lost), 'race')} abandoned" if self.lost else None
        self.title = joined([f"{CARD_LABEL}: {self.place}", abandoned], ", ")
        self.loss = self._loss()
        # A change of a meeting's card names the meeting.
        meeting = {"of": "the meeting"} if event.is_of_meeting else {}
        own = [one.model_copy(update=meeting) for one in context.changes if one.field == "race.abandoned"]
        changes = own + [one for one in context.changes if one.marks_lost is None or not own]
        self.back = [one for one in changes if one.marks_lost is False]
        shown = [one for one in changes if context.order_unknown or not (self.loss and one.marks_lost)]
        self.changed = changes_in_words(shown, race, disagree=context.order_unknown)

    def headline(self) -> str:
        if self.loss:
            return headline(ABANDONED, self.loss, self.why, self.conflict)[0]
        mark = f"{ABANDONED} " if self.lost else ""
        if not self.changed:
            return f"{mark}{self.title}"
        if self.context.order_unknown:
            return f"{CONFLICTING} {DISAGREE}: {self.title}"
        if self.back:
            several = f"{counted(len(self.back), 'race')} are no longer marked abandoned"
            news = changes_in_words(self.back) if len(self.back) == 1 else several
            return f"{CORRECTED} CORRECTION: {self.place}: {news}"
        return f"{mark or f'{CORRECTED} '}CORRECTION: {self.title}"

    def said(self) -> str:
        """The words on lost races, and on an unusual status."""
        by_card = "The racecard says so" if self.loss and not self.context.in_meeting else None
        said = joined([by_card, _status(self.event.race), None if self.loss else names.reason(self.event)])
        if self.loss:
            return joined([said, None if self.is_lost else declared(self.event)], ". ")
        lost = [joined([names.race_line(race), safe(race.reason)]) for race in self.lost]
        return joined([given("ABANDONED: {}", "; ".join(first_of(lost, _LOST_NAMED))), self.conflict, said], ". ")

    def _loss(self) -> str | None:
        """For example "ABANDONED: Ascot 11:30 and 12:30, Sat 21 Nov (GB)"."""
        event, changes, course = self.event, self.context.changes, names.course_name(self.event.race)
        is_new = self.lost and (not changes or any(one.marks_lost for one in changes))
        if not (self.is_lost or self.is_in_part or is_new):
            return None
        lost = [event.race, *event.races] if self.is_lost else self.lost
        put_off = [race.is_postponed for race in lost if race.abandoned]
        word = "POSTPONED" if put_off and all(put_off) and not self.context.in_meeting else "ABANDONED"
        if self.is_lost and not event.is_of_meeting:
            return f"{word}: {names.lost_name(event, partly_run=None)}"
        part = names.times_or_count(lost, _TIMES_NAMED) if lost else names.PART
        what = "meeting" if self.is_lost else part
        day = names.race_day(event.race) or "date not given"
        return f"{word}: {course or 'course not given,'} {what}, {day}{names.region_mark(event)}"


def declared(event: RacingEvent) -> str:
    if event.races_from_book:
        # The race book's list may lack races.
        return "declarations available"
    declared = counted(len(event.races), "race") if event.races else names.runners_count(event.race)
    return f"{declared} declared" if declared else "declarations available"


def _status(race: Race) -> str | None:
    return given("Status: {}", safe(race.status, names.SHORT_MAX)) if by_card_status(race.status) else None


def _line(race: Race) -> str:
    return names.outcome_line(race, _became(race))


def _lost_line(race: Race) -> str:
    return joined([off_text(race.off) or names.race_line(race), _became(race)], "  ")


def _became(race: Race) -> str | None:
    lost = names.lost_mark(race) if race.abandoned else None
    became = joined([lost, names.moved_to(race) if lost and race.is_postponed else _status(race)], ", ")
    # An earlier version may have given the reason, when the race was still marked abandoned.
    return joined([became, safe(race.reason)], ", ") if became else None
