"""The message for meeting.abandoned."""

from functools import partial

from bot.events.event import RacingEvent
from bot.events.meeting_parts import own_reason
from bot.events.merge import completed_race
from bot.events.races import Race
from bot.events.same_races import SameRaces
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_buttons import alert_buttons
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import asides, late_mark, shows_filled_in, small_print
from bot.slack.messages.alerts.corrections import correction
from bot.slack.messages.alerts.watch_lines import watch_lines, watched_section
from bot.slack.messages.kit.blocks import header, message, section
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, CORRECTED, headline
from bot.slack.messages.kit.mentions import mentions_in_markup, with_mentions
from bot.slack.messages.kit.names import course_name, lost_part, race_day, race_line, reason, region_mark
from bot.slack.messages.kit.text import counted, joined, listed, safe
from bot.slack.messages.kit.times import off_text

DISPUTED_NAMED = 6


def meeting_abandoned(event: RacingEvent, context: MessageContext) -> Message:
    """The lost races by name; races run before the abandonment, and races reported as both, as counts."""
    races = _races(event, context)
    disputed = [race for race in races if race.race_id in context.disputed]
    lost = [race for race in races if not (_settled(race, context) or race in disputed)]
    named_as_run = len(races) - len(lost) - len(disputed) if context.partly_run else 0
    run = max(named_as_run, event.races_run or 0)
    corrected = correction(context)
    title, is_whole = headline(
        ABANDONED, f"ABANDONED: {_meeting(event.race, context)}{region_mark(event)}", reason(event)
    )
    figures = _races_in_figures(event, context, len(lost), run) or _run_in_words(run)
    facts = [
        figures,
        f"{CONFLICTING} {_in_conflict(disputed)}" if disputed else None,
        None if is_whole else reason(event),
    ]
    head = [
        header(title),
        section(mentions_in_markup(context.mentions)),
        watched_section(event, context),
        section(joined(facts)),
        section("\n".join([*(f"{CORRECTED} {words}" for words in corrected), *asides(context)])),
    ]
    line = partial(_line, event=event)
    details = shows_filled_in(lost, line)
    foot = [small_print(event, context, details_filled_in=details), alert_buttons(event, context.asked)]
    watched = watch_lines(context.watched, event, context)
    notes = [*watched, *filter(None, [_in_conflict(disputed)]), *corrected, *asides(context, in_text=True)]
    text = with_mentions(_text(event, context, (len(lost), run), notes), context.mentions)
    return message(text, head, map(line, lost), len(lost), foot)


def _text(event: RacingEvent, context: MessageContext, races: tuple[int, int], notes: list[str]) -> str:
    lost, run = races
    facts = [
        f"ABANDONED: {_meeting(event.race, context)}{region_mark(event)}",
        reason(event),
        _races_in_figures(event, context, lost, run),
    ]
    return ". ".join([", ".join(filter(None, facts)), *notes]) + late_mark(context)


def _meeting(race: Race, context: MessageContext) -> str:
    part = None if context.partly_run is None else lost_part(partly_run=context.partly_run)
    return joined([course_name(race) or "course not given", part, race_day(race) or "date not given"], ", ")


def _races_in_figures(event: RacingEvent, context: MessageContext, lost: int, run: int) -> str | None:
    """For example "6 races", "6 races lost, 1 run"; None if the list may be incomplete."""
    # The race book's list may lack races.
    if not lost or not event.races or event.races_from_book:
        return None
    if not context.partly_run:
        return counted(lost, "race")
    return joined([f"{counted(lost, 'race')} lost", f"{run} run" if run else None], ", ")


def _races(event: RacingEvent, context: MessageContext) -> list[Race]:
    left = [lost.race.model_copy(update={"reason": lost.reason or lost.race.reason}) for lost in context.lost]
    found, taken, races = SameRaces(left), set[int](), list[Race]()
    for named in event.races:
        same = next((one for one in found.of(named) if id(one) not in taken), None)
        races.append(named if same is None else _with_reason_of(same, completed_race(named, same), event))
        taken.add(id(same))
    return [*races, *sorted((one for one in left if id(one) not in taken), key=lambda race: race.order)]


def _with_reason_of(lost: Race, race: Race, event: RacingEvent) -> Race:
    return race.model_copy(update={"reason": own_reason(lost.reason, event, race) or race.reason})


def _line(race: Race, event: RacingEvent) -> str:
    return joined([race_line(race), safe(own_reason(race.reason, event))])


def _settled(race: Race, context: MessageContext) -> bool:
    return race.race_id in context.settled or race.has_places or race.says_run


def _in_conflict(disputed: list[Race]) -> str | None:
    times = list(filter(None, (off_text(race.off) for race in disputed)))
    is_short = len(times) == len(disputed) <= DISPUTED_NAMED
    named = listed(times) if is_short else counted(len(disputed), "race")
    return f"CONFLICT: {named} reported as run too" if disputed else None


def _run_in_words(run: int) -> str | None:
    return f"{counted(run, 'race')} of this meeting {'was' if run == 1 else 'were'} run" if run else None
