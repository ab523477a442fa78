"""The messages for meeting.abandoned and race.abandoned."""

from collections.abc import Sequence
from functools import partial

from bot.events.event import RacingEvent
from bot.events.meeting_parts import own_reason
from bot.events.merge import completed_race
from bot.events.races import Race
from bot.events.same_races import SameRaces
from bot.events.sentences import counted, listed
from bot.outbox.message import Message
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.alerts.alert_notes import alert, other_day, shows_filled_in
from bot.slack.messages.alerts.corrections import correction
from bot.slack.messages.kit import names
from bot.slack.messages.kit.marks import CONFLICTING, RUN_TOO, headline
from bot.slack.messages.kit.text import first_of, given, joined, safe
from bot.slack.messages.kit.times import aware, off_text

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
    is_untold = event.races_from_book and event.races_run == 0 and not (run or event.last_lost or event.lost_from)
    times = lost_times(lost, event, label="Which of these are lost is not said" if is_untold else _LOST)
    line = partial(_line, event=event, named=not times)
    were_run = f"{counted(run, 'race')} {'was' if run == 1 else 'were'} run" if run else None
    marked = given(f"{CONFLICTING} {{}}", conflict)
    unsaid = None if is_whole else names.reason(event)
    return alert(
        event,
        context,
        title,
        joined([name, names.reason(event), figures], ", "),
        facts=[joined([None if times else figures or were_run, _status(event), marked, unsaid])],
        said=[correction(context, event.race)],
        in_text=[conflict],
        listed=[*times[:-1], joined([*times[-1:], were_run], "; ")] if times else [*map(line, lost)],
        details_filled_in=shows_filled_in(lost, line),
    )


def run_too_words(disputed: Sequence[Race]) -> str | None:
    return f"CONFLICT: {names.times_or_count(disputed, DISPUTED_NAMED)} reported as run too" if disputed else None


def _status(event: RacingEvent) -> str | None:
    """None for "Abandoned" alone, and for a status that is part of the reason."""
    status = safe(event.race.status, names.SHORT_MAX)
    is_said = (status or "").casefold() == "abandoned" or (status or "") in (event.reason or "")
    return None if is_said or event.is_taken_back else status


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


def _line(race: Race, event: RacingEvent, *, named: bool) -> str:
    line = names.race_line(race) if named else off_text(race.off)
    return joined([line, safe(own_reason(race.reason, event))])


def race_abandoned(event: RacingEvent, context: MessageContext) -> Message:
    """`text` begins with "ABANDONED: ", unless the loss was taken back."""
    race = event.race
    conflict = None if context.contradicts is None or context.run_since else RUN_TOO
    place = f"{names.course_and_time(race)}{other_day(event, context)}{names.region_mark(event)}"
    mark, name = names.present_state(event, place, was_run=context.was_run, run_since=context.run_since)
    title, is_whole = headline(mark, name, names.reason(event), conflict)
    else_named, status = names.else_named(race), _status(event)
    facts = joined([names.lost_details(race), status, None if is_whole else names.reason(event)])
    first = [name, else_named, status if race.is_postponed else None, names.reason(event)]
    return alert(
        event,
        context,
        title,
        joined(first, ", "),
        facts=[joined([facts, None if event.is_taken_back else _others(context)], "\n")],
        said=[correction(context, race)],
        in_text=[conflict],
        conflict_said=True,
    )


def _others(context: MessageContext) -> str | None:
    """Races by name: the race book's list may lack races, and nobody knows that a race will be run."""
    coming = [race for race in context.others if (aware(race.off.off_at) or context.received_at) >= context.received_at]
    times = list(filter(None, (off_text(race.off) for race in coming)))
    named = listed(first_of(times, OPEN_RACES_NAMED, "{} more"))
    return given("No abandonment reported for {} of this meeting", named)
