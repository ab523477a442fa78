"""The news of each watched runner: "⭐ Misty Ghost WON the 12:40 Wolverhampton, 11/4 · 5 ran"."""

from bot.events import races
from bot.events.event import EventKind, RacingEvent
from bot.events.race_state import NOT_HELD, RaceState, state_in
from bot.events.watched import WatchedRunner, name_key
from bot.slack.messages.alerts.alert_context import MessageContext
from bot.slack.messages.kit.marks import WATCHED
from bot.slack.messages.kit.names import PERSON_MAX, SHORT_MAX, course_name, not_held, ordinal, race_day
from bot.slack.messages.kit.result_line import FIRST_PLACES, RaceField, walked_over
from bot.slack.messages.kit.text import first_of, given, joined, safe
from bot.slack.messages.kit.times import off_text

RUNNERS_NAMED = 8


def watch_lines(event: RacingEvent, context: MessageContext, *, race_named: bool = False) -> list[str]:
    """Words on the first watched runners, and the count of others. `race_named`: a result's line names the race."""
    lines = []
    for number, one in enumerate(context.watched):
        # Beside a result's line the horse's name is enough: *Full result* names the people.
        named = one.model_copy(update={"by": ()}) if race_named and not one.is_lost else one
        lines.append(f"{WATCHED} {what_happened(named, event, context, again=race_named or number > 0)}")
    return first_of(lines, RUNNERS_NAMED, f"{WATCHED} and {{}} more")


def what_happened(one: WatchedRunner, event: RacingEvent, context: MessageContext, *, again: bool = False) -> str:
    """The horse, then what happened to it, then the race. `again`: the race of the result is named already."""
    race, runner = _found(one, event)
    field = RaceField(race)
    horse = field.named(one.horse) if one.horse else "horse not named"
    by = joined([safe(words, PERSON_MAX + SHORT_MAX) for words in one.by], ", ")
    is_result = event.kind is EventKind.RESULT_RECEIVED
    is_today = event.race.race_date == f"{context.received_at:%Y-%m-%d}"
    where = joined([off_text(race.off), course_name(race)], " ") or "race not named"
    where = joined([where, None if is_today else race_day(race)], ", ")
    at = None if again and is_result else where
    if one.is_lost:
        listed = "declared" if event.kind is EventKind.RACECARD_PUBLISHED else "named"
        left = f"with {by}" if by and not one.is_gone else listed
        return joined([f"{horse} is no longer {left}", at], ": ")
    name = joined([horse, given("({})", by)], " ")
    if event.is_abandonment:
        back = "run after all" if context.was_run else "going ahead"
        state = back if event.is_taken_back else "abandoned"
        if context.contradicts or event.in_doubt:
            state = f"reported abandoned and {'run' if context.contradicts else 'reinstated'}, check"
        # The alert has named course and day.
        return joined([f"{name}, race {state}", off_text(race.off)], ": ")
    if is_result:
        return f"{name}{_in_result(one, runner, field, at, context)}"
    if event.race.abandoned or race.abandoned or (context.in_meeting and not context.partly_run):
        return f"{name}, race {not_held(race)}: {where}"
    if one.is_back and context.order_unknown:
        return f"{name}, reported declared again, check: {where}"
    return f"{name}{_on_card(one, runner, where)}"


def _found(one: WatchedRunner, event: RacingEvent) -> tuple[races.Race, races.Runner]:
    """The race with the runner, as far as known. A race of a card has the card's course and day."""
    wanted = name_key(one.horse).bare if one.horse else None
    every = event.races or (event.race,)
    known = [(race, runner) for race in every for runner in race.runners if runner.horse]
    same = [(race, runner) for race, runner in known if name_key(runner.horse or "").bare == wanted]
    race, runner = next((found for found in same if one.off in {None, found[0].off.text}), (None, races.Runner()))
    if race is None:
        race = next((race for race in every if one.off in {None, race.off.text}), races.Race())
    off = race.off if race.off.text or not one.off else race.off.model_copy(update={"text": one.off})
    card = {"course": race.course if course_name(race) else event.race.course, "off": off}
    day = {"race_date": race.race_date or event.race.race_date, "region": race.region or event.race.region}
    return race.model_copy(update=card | day), runner


def _in_result(
    one: WatchedRunner, runner: races.Runner, field: RaceField, where: str | None, context: MessageContext
) -> str:
    """`where`: None beside the line of the result, which has the prices of its horses."""
    race, position = field.race, one.position
    if race.outcome() in NOT_HELD:
        return f", race {not_held(race)}"
    if context.contradicts is not None or race.abandoned or race.disputed or context.order_unknown:
        place = races.finishing_position(position)
        said = f"reported {ordinal(place) if place else safe(position, SHORT_MAX) or 'unplaced'}"
        return joined([f", {said}, check", where], ": ")
    if races.is_non_runner(position):
        return _out(position, where)
    unfinished = safe(position, SHORT_MAX) if races.did_not_finish(position) else None
    verb, before = _finished(position, runner, race)
    if where is None:
        return joined([f" {unfinished or verb}", None if runner in field.front else field.price(runner)], ", ")
    status = None if races.is_settled_status(race.status) else safe(race.status, SHORT_MAX)
    figures = joined([unfinished, field.price(runner), f"{field.ran} ran" if field.ran else None, status])
    return joined([f" {verb} {before} {where}", figures], ", ")


def _finished(position: str | None, runner: races.Runner, race: races.Race) -> tuple[str, str]:
    """The verb, and the words between the verb and the name of the race."""
    place = races.finishing_position(position)
    if state_in(race.status) is RaceState.WALKOVER and (place == 1 or walked_over(race) == runner):
        return "WALKED OVER", "in the"
    if place and (races.is_shared(position) or sum(one.finishing_position == place for one in race.runners) > 1):
        return f"DEAD-HEATED for {ordinal(place)}", "in the"
    if place == 1:
        return "WON", "the"
    if place:
        return f"{'placed' if place <= FIRST_PLACES else 'finished'} {ordinal(place)}", "in the"
    if races.is_disqualified(position):
        return joined(["disqualified", given("({})", safe(runner.position_reason, SHORT_MAX))], " "), "from the"
    if races.did_not_finish(position):
        return "did not finish", "the"
    known = {one.finishing_position for one in race.runners}
    return "unplaced" if known >= set(range(1, FIRST_PLACES + 1)) else "has no published place", "in the"


def _out(position: str | None, where: str | None) -> str:
    return joined([f" is a {'reserve' if position == races.RESERVED else 'non-runner'}", where], ": ")


def _on_card(one: WatchedRunner, runner: races.Runner, where: str) -> str:
    position = runner.position or one.position
    if races.is_non_runner(position):
        return _out(position, where)
    is_watched = any(words.startswith("jockey ") for words in one.by)
    jockey = None if is_watched else safe(runner.jockey, PERSON_MAX)
    draw = given("draw {}", safe(runner.draw, SHORT_MAX))
    return joined([f" declared{' again' * one.is_back}: {where}", jockey, draw], ", ")
