"""The messages of the webhook events, and the answer to "Full result"."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from bot.events.event import RacingEvent
from bot.events.facts import Change, only
from bot.events.meeting_parts import own_reason
from bot.events.merge import completed_race
from bot.events.race_state import NOT_HELD, RaceOutcome, RaceState, state_in
from bot.events.races import Race
from bot.events.same_races import SameRaces
from bot.events.sentences import counted, listed
from bot.events.spellings import by_card_status
from bot.outbox.message import Block, Message
from bot.racedata.client.records import KnownCountry
from bot.slack.messages.alerts.alert_context import Corrected, MessageContext
from bot.slack.messages.alerts.alert_notes import alert, alert_buttons, framed, other_day, shows_filled_in, small_print
from bot.slack.messages.alerts.corrections import DISAGREE, changes_in_words, correction, labelled
from bot.slack.messages.alerts.runner_table import runner_lines, runners_table
from bot.slack.messages.alerts.watch_lines import watch_lines
from bot.slack.messages.kit import names
from bot.slack.messages.kit.blocks import action_button, actions, command_button, context_block, fits, header, section
from bot.slack.messages.kit.layout import Either, MessagePart, fold, lines, message
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, CORRECTED, RUN_TOO, headline
from bot.slack.messages.kit.result_line import GAP, ORDER_MAX, RaceField, walkover
from bot.slack.messages.kit.text import capital, first_of, given, joined, safe
from bot.slack.messages.kit.times import moment_for_readers, off_text

_LOST = "Lost"

DISPUTED_NAMED = 6
OPEN_RACES_NAMED = 8


def meeting_abandoned(event: RacingEvent, context: MessageContext) -> Message:
    """The lost races by name; races run before the abandonment, and races reported as both, as counts.

    Of a meeting that was taken back, only the races with an abandonment of their own are lost.
    """
    if event.is_taken_back:
        event = event.model_copy(update={"races": (), "races_run": None})
        context = context.model_copy(update={"back": ()})
    back = SameRaces(context.back)
    races = [race for race in _races(event, context) if not back.of(race)]
    run_too = SameRaces(one.race for one in context.lost if one.key in context.disputed)
    disputed = [race for race in races if run_too.of(race)]
    not_run = [race for race in races if not (race.race_id in context.settled or race.has_places or race.says_run)]
    lost = [race for race in not_run if not run_too.of(race)]
    named_as_run = len(races) - len(lost) - len(disputed) if context.partly_run else 0
    run = max(named_as_run, event.races_run or 0)
    part = None if event.is_taken_back else context.partly_run
    mark, name = names.present_state(event, names.lost_name(event, partly_run=part))
    title, is_whole = headline(mark, name, names.reason(event))
    going_ahead = f"{names.times_or_count(context.back, DISPUTED_NAMED)} going ahead" if context.back else None
    figures = joined([_races_in_figures(event, context, lost, run), going_ahead], ", ")
    conflict = run_too_words(disputed)
    tells_none = event.races_run == 0 and not (run or event.first_lost or event.last_lost or event.lost_from)
    is_untold = event.races_from_book and (tells_none or event.of_some)
    times = lost_times(lost, event, label="Which of these are lost is not said" if is_untold else _LOST)

    def line(race: Race) -> str:
        return joined([off_text(race.off) if times else names.race_line(race), safe(own_reason(race.reason, event))])

    first = f"race {event.first_lost}" if event.first_lost else safe(event.lost_from)
    since = given("from {} on", first)
    were_run = f"{counted(run, 'race')} {'was' if run == 1 else 'were'} run" if run else since
    marked = given(f"{CONFLICTING} {{}}", conflict)
    unsaid = None if is_whole else names.reason(event)
    return alert(
        event,
        context,
        title,
        joined([name, names.reason(event), figures or (None if run else since)], ", "),
        facts=joined([None if times else figures or were_run, _own_status(event), marked, unsaid]),
        said=[correction(context, event)],
        in_text=conflict,
        listed=[*times[:-1], joined([*times[-1:], were_run], "; ")] if times else [*map(line, lost)],
        details_filled_in=shows_filled_in(lost, line),
    )


def run_too_words(disputed: Sequence[Race]) -> str | None:
    return f"CONFLICT: {names.times_or_count(disputed, DISPUTED_NAMED)} reported as run too" if disputed else None


def _own_status(event: RacingEvent) -> str | None:
    """None for "Abandoned" alone, for a status that is part of the reason, and for the new day of a postponed race."""
    status = event.race.status or ""
    is_said = status.casefold() == names.not_held(event.race) or status in (event.reason or "")
    return None if is_said or event.is_taken_back or event.race.is_postponed else safe(status, names.SHORT_MAX)


def _races_in_figures(event: RacingEvent, context: MessageContext, lost: Sequence[Race], run: int) -> str | None:
    """For example "6 races", "6 races lost, 1 run"; None if the list may be incomplete."""
    if event.is_taken_back:
        return given("but {} abandoned", names.times_or_count(lost, DISPUTED_NAMED) if lost else None)
    # The race book's list may lack races.
    if not lost or not event.races or event.races_from_book:
        return f"{counted(event.last_lost, 'race')} lost" if event.last_lost else None
    if not context.partly_run:
        return counted(len(lost), "race")
    return joined([f"{counted(len(lost), 'race')} lost", f"{run} run" if run else None], ", ")


def _races(event: RacingEvent, context: MessageContext) -> list[Race]:
    left = [lost.race.model_copy(update={"reason": lost.reason or lost.race.reason}) for lost in context.lost]
    found, taken, races = SameRaces(left), set[int](), list[Race]()
    for named in event.races:
        same = next((one for one in found.of(named) if id(one) not in taken), None)
        races.append(named if same is None else _with_reason_of(same, completed_race(named, same), event))
        taken.add(id(same))
    return [*races, *sorted((one for one in left if id(one) not in taken), key=lambda race: race.order)]


def _with_reason_of(lost: Race, race: Race, event: RacingEvent) -> Race:
    """The race with the reason of its loss. A reason from a delivery is not marked as from the race book."""
    reason = own_reason(lost.reason, event, race) or race.reason
    is_delivered = reason == lost.reason and "reason" not in lost.from_book
    from_book = tuple(name for name in race.from_book if not (is_delivered and name == "reason"))
    return race.model_copy(update={"reason": reason, "from_book": from_book})


def lost_times(lost: Sequence[Race], event: RacingEvent, *, label: str = _LOST) -> list[str]:
    """The times of the races with one reason, in a line: a list of names would fill a phone.

    Empty for one race, and where races have no time of their own.
    """
    by_reason: dict[str | None, list[str]] = {}
    for race in lost:
        by_reason.setdefault(safe(own_reason(race.reason, event)), []).append(off_text(race.off) or "")
    times = {time for same in by_reason.values() for time in same if time}
    lines = [joined([f"{label}: {', '.join(same)}", because]) for because, same in by_reason.items()]
    return lines if 1 < len(lost) == len(times) else []


def race_abandoned(event: RacingEvent, context: MessageContext) -> Message:
    """`text` begins with "ABANDONED: ", "POSTPONED: " or "VOID: ", unless the loss is taken back or contradicted."""
    others = None if event.is_taken_back else _others(context)
    said = [correction(context, event)]
    return _lost_race(event, context, names.reason(event), said, status=_own_status(event), others=others)


def _lost_race(
    event: RacingEvent,
    context: MessageContext,
    because: str | None,
    said: Sequence[str | None],
    *,
    status: str | None = None,
    others: str | None = None,
) -> Message:
    race = event.race
    is_contradicted = context.contradicts is not None and not context.run_since
    conflict = RUN_TOO if is_contradicted or race.outcome() is RaceOutcome.BOTH else None
    place = f"{names.course_and_time(race)}{other_day(event, context)}{names.region_mark(event)}"
    mark, name = names.present_state(event, place, was_run=context.was_run, run_since=context.run_since)
    title, is_whole = headline(mark, name, because, conflict)
    facts = joined([names.lost_details(race), status, None if is_whole else because])
    text = joined([name, names.else_named(race), because], ", ")
    facts = joined([facts, others], "\n")
    return alert(event, context, title, text, facts=facts, said=said, in_text=conflict, conflict_said=True)


def _others(context: MessageContext) -> str | None:
    """The meeting's other races by time, without a promise: a list may lack races, and a race may be lost later."""
    coming = [race for race in context.others if (race.off.off_at or context.received_at) >= context.received_at]
    times = list(filter(None, (off_text(race.off) for race in coming)))
    named = listed(first_of(times, OPEN_RACES_NAMED, "{} more"))
    return given("No abandonment reported for {} of this meeting", named)


# racecard.published

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
    every = [*map(_card_line, event.races)] or [*runner_lines(event.race.runners, RaceField(event.race), on_card=True)]
    small = small_print(event, context, details_filled_in=shows_filled_in(event.races, _card_line))
    races, buttons, button = [details, lines(every)], alert_buttons(event, context), _card_button(event)
    parts: list[MessagePart] = [*races, small, buttons]
    if button and loss:
        gone = event.races if card.is_lost else card.lost
        others = [one for one in event.races if one not in gone and _card_status(one)]
        told = [*(lost_times(gone, event) or map(_lost_line, gone)), *map(_card_line, others)]
        parts = [details, lines([] if context.in_meeting else told), small, alert_buttons(event, context, button)]
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
        reasons = {names.race_reason(one) for one in self.lost}
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
        said = joined([by_card, _card_status(self.event.race), None if self.loss else names.reason(self.event)])
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


def _card_status(race: Race) -> str | None:
    return given("Status: {}", safe(race.status, names.SHORT_MAX)) if by_card_status(race.status) else None


def _card_line(race: Race) -> str:
    return names.outcome_line(race, _became(race))


def _lost_line(race: Race) -> str:
    return joined([off_text(race.off) or names.race_line(race), _became(race)], "  ")


def _became(race: Race) -> str | None:
    lost = names.marked_not_held(race) if race.abandoned else None
    became = joined([lost, names.moved_to(race) if lost and race.is_postponed else _card_status(race)], ", ")
    # An earlier version may have given the reason, when the race was still marked abandoned.
    return joined([became, safe(race.reason)], ", ") if became else None


# result.received

IS_VOID = "Race declared void"
RESULT, CORRECTION = "Result", "CORRECTION"
FULL_RESULT, FULL_RESULT_WORD = "Full result", "full_result"


def result(event: RacingEvent, context: MessageContext) -> Message:
    race = event.race
    if race.outcome() in NOT_HELD:
        return race_not_run(event, context)
    changes = [one for one in context.changes if context.order_unknown or not _is_official_now(one)]
    changed = changes_in_words(changes, race, disagree=context.order_unknown)
    status, conflict = _status_news(race, context, changes), _conflict(race, context)
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
    """What contradicts the result: an abandonment told before, the delivery's own mark of a loss, or other places."""
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


def _status_news(race: Race, context: MessageContext, changes: Sequence[Change]) -> str | None:
    """None where the changes say the status."""
    if any(one.field == "race.status" for one in changes):
        return None
    was = next((one.before for one in context.changes if _is_official_now(one) and not context.order_unknown), None)
    return given("Official now, was {}", safe(was, names.SHORT_MAX)) or unusual_status(race)


def unusual_status(race: Race) -> str | None:
    """For example "Status: Postponed"; None for a settled status."""
    is_said_already = state_in(race.status) is RaceState.RUN or walkover(race)
    return None if is_said_already else given("Status: {}", safe(race.status, names.SHORT_MAX))


def not_official(race: Race) -> str | None:
    """None for another status, which may be older than the result."""
    is_provisional = state_in(race.status) is RaceState.PROVISIONAL
    return given("Status: {}", safe(race.status, names.SHORT_MAX)) if is_provisional else None


def race_not_run(event: RacingEvent, context: MessageContext) -> Message:
    """A void race, or a result without placings whose status is abandoned or postponed. `text` begins with the word."""
    race = event.race
    others = [change for change in context.changes if not (race.is_void and _makes_void(change))]
    changed = changes_in_words(others, race, disagree=context.order_unknown)
    if race.is_void:
        said = [_void_in_words(context), labelled(changed, context)]
    else:
        said = ["The result says so", capital(changed)]
    return _lost_race(event, context, names.race_reason(race), said)


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
