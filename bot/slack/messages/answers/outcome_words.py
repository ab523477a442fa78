"""The outcome of a race in lists, with its mark; and the live message of a meeting, made of such lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from operator import itemgetter

from bot.events.event import RacingEvent
from bot.events.race_state import RaceState, state_in
from bot.events.races import Race
from bot.outbox.live_meetings import LiveMeeting, ResultsIn
from bot.outbox.message import Block, Message
from bot.racedata.day_card import CONFLICTS, Outcomes, RaceOutcome, to_come_until
from bot.slack.messages.alerts.result import lost_mark
from bot.slack.messages.kit.blocks import section
from bot.slack.messages.kit.layout import all_fit, lines, message
from bot.slack.messages.kit.marks import (
    ABANDONED,
    CONFLICTING,
    MARKED_CONFLICT,
    MARKED_LOST_MEETING,
    MARKED_LOST_REST,
    MARKED_VOID,
    without_marks,
)
from bot.slack.messages.kit.names import SHORT_MAX, course_name, race_line, race_line_after_off
from bot.slack.messages.kit.result_line import ORDER_MAX, result_line, winner
from bot.slack.messages.kit.text import clip, counted, given, joined, safe
from bot.slack.messages.kit.times import aware, off_text, weekday_and_day

CARD_LINE_MAX = 300

MARKED = frozenset({RaceOutcome.ABANDONED, RaceOutcome.BOTH, RaceOutcome.UNCERTAIN, RaceOutcome.VOID})
"""Outcomes whose words have a mark."""

NO_RESULT_YET = "no result yet"
TO_COME = "to come"


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
    """A race of a list in words: its name, what became of the race, its line."""

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
        """By the moment of the off, where a moment was published. Without a moment a race of a later day is to come."""
        if (off := aware(self.race.off.off_at)) is not None:
            return self.outcome is RaceOutcome.OPEN and off > self.now
        return self.outcome is RaceOutcome.OPEN and (self.race.race_date or "") > self.now.date().isoformat()

    @property
    def is_overdue(self) -> bool:
        """True for an open race whose published moment has come."""
        off = aware(self.race.off.off_at)
        return self.outcome is RaceOutcome.OPEN and off is not None and off <= self.now

    def became(self, run: Callable[[Race], str] = winner) -> str | None:
        """None for an open race. `run`: the words of a race with a result."""
        race, because = self.race, safe(self.race.reason, SHORT_MAX * 2)
        match self.outcome:
            case RaceOutcome.OPEN:
                return None
            case RaceOutcome.VOID:
                return MARKED_VOID
            case RaceOutcome.ABANDONED:
                return joined([lost_mark(race), because], ", ")
            case RaceOutcome.BOTH:
                return f"{MARKED_CONFLICT}: reported abandoned{given(' ({})', because) or ''} and as run: check"
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
        """What became of the race, as `/results` says it."""
        run = partial(result_line, first="result in")
        said = self.became(run) or (TO_COME if self.is_to_come else NO_RESULT_YET)
        return joined([said, self.settled(run)]) if self.outcome is RaceOutcome.BOTH else said


def not_official(race: Race) -> str | None:
    """None for another status, which may be older than the result."""
    is_provisional = state_in(race.status) is RaceState.PROVISIONAL
    return given("Status: {}", safe(race.status, SHORT_MAX)) if is_provisional else None


def marked_lost(outcomes: Outcomes, lost: Sequence[RacingEvent]) -> str | None:
    """`lost`: the abandonments of one meeting. None without any."""
    if not lost:
        return None
    return MARKED_LOST_REST if any(map(outcomes.partly_run, lost)) else MARKED_LOST_MEETING


def outcome_line(race: Race, said: str | None) -> str:
    """For example "14:30  won by *Desert Crown* · Novices' Hurdle · 2m". A small screen may cut the details off."""
    off = off_text(race.off)
    if not said:
        return clip(race_line(race), CARD_LINE_MAX)
    details = race_line_after_off(race) if off else race_line(race)
    return joined([joined([off, said], "  "), clip(details, CARD_LINE_MAX)])


def live_meeting(live: LiveMeeting, now: datetime) -> Message:
    outcomes, meeting = live.outcomes, live.meeting
    races = outcomes.in_order()
    named = course_name(Race(course=meeting.course, region=meeting.region)) or safe(meeting.course.course_id)
    # Courses of two regions share names.
    region = safe(meeting.region, SHORT_MAX)
    place = joined([named, given("({})", region)], " ")
    day = weekday_and_day(date.fromisoformat(meeting.race_date or ""), now.date())
    lost, disputed = outcomes.count(RaceOutcome.ABANDONED), outcomes.count(*CONFLICTS)
    run = outcomes.count(RaceOutcome.SETTLED, RaceOutcome.VOID)
    so_far = f"{run} of {counted(len(races), 'race')} run" if live.is_whole else f"{run} run so far"
    figures = joined(
        [
            marked_lost(outcomes, outcomes.lost),
            so_far if races else None,
            f"{ABANDONED} *{lost} ABANDONED*" if lost else None,
            f"{CONFLICTING} *{disputed} CONFLICT*" if disputed else None,
        ],
        ", ",
    )
    first = joined([f"*{place}*, {day}", figures], ": ")
    views = [RaceView(race, outcome, now) for race, outcome in races]
    still_open = _Open(views, now)
    told = [(one.outcome, _line(one, still_open)) for one in views]
    text = joined([f"{place}, {day}", without_marks(figures)], ": ")
    more = None if live.is_whole else NOT_WHOLE.format(joined(["/racecard", region], " "))
    are_all_lost = lost == len(races) and (live.is_whole or bool(outcomes.lost))
    foot = section(joined([None if are_all_lost else RESULTS_ARE[live.results_in], more], " "))
    return message(text, [lines([first, *_marked_first(first, told, foot)]), foot])


def _line(one: RaceView, still_open: "_Open") -> str:
    said = one.became(result_line) or still_open.words(one.race)
    return f"{one.off}  {said}" if one.outcome in WAS_RUN and one.off else outcome_line(one.race, said)


def _marked_first(first: str, told: Sequence[tuple[RaceOutcome, str]], foot: Block | None) -> list[str]:
    """By off time. Where lines are cut, no race with a mark is cut for a race without a mark."""
    if not all_fit([first, *(line for _, line in told)], foot):
        told = sorted(told, key=lambda one: one[0] not in MARKED)
    return [line for _, line in told]


class _Open:
    """The words of races without an outcome. "To come" is said only while certain (Spec gap G16)."""

    def __init__(self, races: Sequence[RaceView], now: datetime) -> None:
        self._now = now
        settled = [one.race.off.minute_of_day for one in races if one.outcome in WAS_RUN]
        self._last = max((minute for minute in settled if minute is not None), default=None)
        # A race without a moment may be off before the first race with a moment.
        left = [one.race for one in races if one.outcome is RaceOutcome.OPEN and not self._is_past(one.race)]
        coming = [(until, race) for race in left if (until := to_come_until(race)) and until > now]
        has_moments = all(aware(race.off.off_at) for race in left)
        self._next = min(coming, key=itemgetter(0), default=(now, None))[1] if has_moments else None

    def words(self, race: Race) -> str:
        if race is self._next:
            return OFF_NEXT
        until = to_come_until(race)
        return TO_COME if until and until > self._now and not self._is_past(race) else NO_RESULT_YET

    def _is_past(self, race: Race) -> bool:
        """Off, as its moment says, or as a later race with a result says where no moment was published."""
        if (off_at := aware(race.off.off_at)) is not None:
            return off_at <= self._now
        minute = race.off.minute_of_day
        return minute is not None and self._last is not None and minute < self._last
