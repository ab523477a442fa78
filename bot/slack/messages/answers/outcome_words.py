"""The outcome of a race in lists, with its mark; and the live message of a meeting, made of such lines."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from operator import itemgetter

from bot.events.event import RacingEvent
from bot.events.race_state import CONFLICTS, STILL_OPEN, RaceOutcome
from bot.events.races import Race
from bot.events.sentences import counted
from bot.outbox.live_meetings import LiveMeeting, ResultsIn
from bot.outbox.message import Message
from bot.racedata.day_card import Outcomes, to_come_until
from bot.slack.messages.alerts.event_alerts import not_official
from bot.slack.messages.kit.blocks import section
from bot.slack.messages.kit.layout import all_fit, lines, message
from bot.slack.messages.kit.marks import ABANDONED, CONFLICTING, MARKED_CONFLICT, MARKED_MEETING, MARKED_PERHAPS, VOIDED
from bot.slack.messages.kit.names import (
    SHORT_MAX,
    course_name,
    doubtful_name,
    lost_part,
    lost_reason,
    marked_not_held,
    outcome_line,
    race_line,
    region_mark,
)
from bot.slack.messages.kit.result_line import ORDER_MAX, result_line, winner
from bot.slack.messages.kit.text import given, joined, safe
from bot.slack.messages.kit.times import off_text, published_moment, weekday_and_day

MARKED = frozenset(RaceOutcome) - {RaceOutcome.OPEN, RaceOutcome.SETTLED}
"""Outcomes whose words have a mark."""

REPORTED_TOO = {RaceOutcome.BOTH: "as run", RaceOutcome.IN_DOUBT: "reinstated"}
"""The other report in a conflict about a loss."""

NO_RESULT_YET = "no result yet"
TO_COME = "to come"


MARKED_UNPLACED = f"{MARKED_PERHAPS}{{}}: the delivery names no course, so any may be meant, check"

WAS_RUN = frozenset({RaceOutcome.SETTLED, RaceOutcome.UNCERTAIN})

RESULTS_ARE = {
    ResultsIn.THREAD: "Results are in the thread.",
    ResultsIn.CHANNEL: "Results are in the channel.",
    ResultsIn.NOWHERE: "This channel is told of no results: they are shown here alone.",
}

OFF_NEXT = "*off next*"
NOT_WHOLE = "I have not read the whole card yet, so races may be missing here: `{}` reads the card."


@dataclass(frozen=True)
class RaceView:
    """A race of a list in words: the name, the outcome, the line."""

    race: Race
    outcome: RaceOutcome
    now: datetime

    @property
    def off(self) -> str | None:
        return off_text(self.race.off)

    @property
    def name(self) -> str:
        return self.off or safe(self.race.title) or race_line(self.race)

    @property
    def is_to_come(self) -> bool:
        """True only while certain (Spec gap G16)."""
        until = to_come_until(self.race)
        return self.outcome in STILL_OPEN and until is not None and until > self.now

    @property
    def is_overdue(self) -> bool:
        """True for an open race whose published moment has come."""
        off = self.race.off.off_at
        return self.outcome in STILL_OPEN and off is not None and off <= self.now

    def became(self, run: Callable[[Race], str] = winner) -> str | None:
        """None for an open race. `run`: the words of a race with a result."""
        race, because = self.race, safe(self.race.reason, SHORT_MAX * 2)
        match self.outcome:
            case RaceOutcome.OPEN:
                return None
            case RaceOutcome.MAY_BE_LOST:
                return f"{MARKED_PERHAPS}: a meeting here is reported abandoned, check"
            case RaceOutcome.VOID | RaceOutcome.ABANDONED:
                return joined([marked_not_held(race), because], ", ")
            case RaceOutcome.BOTH | RaceOutcome.IN_DOUBT:
                lost = f"reported abandoned{given(' ({})', because) or ''}"
                return f"{MARKED_CONFLICT}: {lost} and {REPORTED_TOO[self.outcome]}: check"
            case RaceOutcome.SETTLED:
                return self.settled(run)
            case RaceOutcome.UNCERTAIN if race.disputed:
                return f"{MARKED_CONFLICT}: the result contradicts itself: {safe(race.disputed, ORDER_MAX)}: check"
            case RaceOutcome.UNCERTAIN:
                later = f"The later says {self.settled(run)}"
                return f"{MARKED_CONFLICT}: two versions of the result disagree: check. {later}"

    def settled(self, run: Callable[[Race], str]) -> str:
        """For example "won by *Desert Crown* 5/2F, Status: Provisional"."""
        return joined([run(self.race), not_official(self.race)], ", ")

    @property
    def said(self) -> str | None:
        """A race to come needs no words. A race past its off without a result is marked."""
        return self.became() or (NO_RESULT_YET if self.is_overdue else None)

    @property
    def line(self) -> str:
        return outcome_line(self.race, self.said)

    @property
    def result(self) -> str:
        """The outcome of the race in the words of `/results`."""
        run = partial(result_line, first="result in")
        said = self.became(run) or (TO_COME if self.is_to_come else NO_RESULT_YET)
        return joined([said, self.settled(run)]) if self.outcome is RaceOutcome.BOTH else said


def marked_lost(
    outcomes: Outcomes, lost: Sequence[RacingEvent], each: Sequence[tuple[Race, RaceOutcome]]
) -> str | None:
    """`lost`: the abandonments at a course. `each`: the races of one meeting. None without any abandonment."""
    if not lost:
        return None
    if any(outcome is RaceOutcome.MAY_BE_LOST for _, outcome in each):
        return MARKED_PERHAPS
    in_part = [event for event in lost if event.key in outcomes.partly_run]
    part = lost_part((in_part or lost)[0], partly_run=bool(in_part))
    if all(event.in_doubt for event in lost):
        return f"{MARKED_CONFLICT}: {part} reported abandoned and reinstated"
    return MARKED_MEETING.format(part.removeprefix("whole ").upper())


def unplaced_lines(outcomes: Outcomes, now: datetime) -> Iterator[str]:
    """For example "race not named (region unknown), Fog, received 14:30"."""
    for event in outcomes.unplaced:
        name = f"{doubtful_name(event, outcomes.partly_run)}{region_mark(event)}"
        received_at = event.received_at.isoformat() if event.received_at else None
        received = given("received {}", published_moment(received_at, now))
        yield joined([name, lost_reason(event.race, event.reason), received], ", ")


def live_meeting(live: LiveMeeting, now: datetime) -> Message:
    outcomes, meeting = live.outcomes, live.meeting
    races = outcomes.in_order()
    # Courses of two regions share names.
    region = safe(meeting.region, SHORT_MAX)
    place = joined([course_name(Race(course=meeting.course)), given("({})", region)], " ")
    day = weekday_and_day(date.fromisoformat(meeting.race_date or ""), now.date())
    lost, disputed = outcomes.count(RaceOutcome.ABANDONED), outcomes.count(*CONFLICTS)
    run, void = outcomes.count(*WAS_RUN), outcomes.count(RaceOutcome.VOID)
    so_far = f"{run} of {counted(len(races), 'race')} run" if live.is_whole else f"{run} run so far"
    said = [
        marked_lost(outcomes, outcomes.lost, outcomes.each),
        so_far if races else None,
        f"{ABANDONED} *{lost} ABANDONED*" if lost else None,
        f"{VOIDED} *{void} VOID*" if void else None,
        f"{CONFLICTING} *{disputed} CONFLICT*" if disputed else None,
    ]
    figures = joined(said, ", ")
    first = joined([f"*{place}*, {day}", figures], ": ")
    text = joined([f"{place}, {day}", figures], ": ")
    more = None if live.is_whole else NOT_WHOLE.format(joined(["/racecard", region], " "))
    are_all_lost = lost == len(races) and (live.is_whole or bool(outcomes.lost))
    foot = section(joined([None if are_all_lost else RESULTS_ARE[live.results_in], more], " "))
    told = _lines([RaceView(race, outcome, now) for race, outcome in races])
    if outcomes.unplaced:
        unplaced = [MARKED_UNPLACED.format(""), *unplaced_lines(outcomes, now)]
        told = [*((line, RaceOutcome.MAY_BE_LOST) for line in unplaced), *told]
    if not all_fit([first, *(line for line, _ in told)], foot):
        # By off time. Races without a mark are cut before races with a mark.
        told.sort(key=lambda one: one[1] not in MARKED)
    return message(text, [lines([first, *(line for line, _ in told)]), foot])


def _lines(races: Sequence[RaceView]) -> list[tuple[str, RaceOutcome]]:
    """A race without a moment may be off before others, so no race is off next."""
    moments = [(one.race.off.off_at, one) for one in not_off(races)]
    coming = [(moment, one) for moment, one in moments if moment]
    following = min(coming, key=itemgetter(0))[1] if coming and len(coming) == len(moments) else None
    told = []
    for one in races:
        still_open = OFF_NEXT if one is following else TO_COME if one.is_to_come else NO_RESULT_YET
        said = one.became(result_line) or still_open
        is_short = one.outcome in WAS_RUN and one.off
        told.append((f"{one.off}  {said}" if is_short else outcome_line(one.race, said), one.outcome))
    return told


def not_off(races: Sequence[RaceView], late: timedelta = timedelta()) -> list[RaceView]:
    """The open races of a meeting, but for races that are off: by the moment, or as a later race was run.

    `late`: how long after the published moment a race counts as off.
    """
    run = (one.race.off.minute_of_day for one in races if one.outcome in WAS_RUN)
    last = max((minute for minute in run if minute is not None), default=-1)

    def is_off(one: RaceView) -> bool:
        if (off_at := one.race.off.off_at) is not None:
            return off_at <= one.now - late
        minute = one.race.off.minute_of_day
        return minute is not None and minute < last

    return [one for one in races if one.outcome in STILL_OPEN and not is_off(one)]
