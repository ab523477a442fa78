"""The outcome of a race in lists: its words with their mark, and a line with the outcome before the details."""

from collections.abc import Callable, Sequence
from datetime import datetime

from bot.events.event import RacingEvent
from bot.events.race_state import RaceState, state_in
from bot.events.races import Race
from bot.racedata.day_card import Outcomes, RaceOutcome
from bot.slack.messages.alerts.result import lost_mark
from bot.slack.messages.kit.marks import (
    MARKED_CONFLICT,
    MARKED_LOST_MEETING,
    MARKED_LOST_REST,
    MARKED_VOID,
)
from bot.slack.messages.kit.names import SHORT_MAX, race_line, race_line_after_off
from bot.slack.messages.kit.result_line import ORDER_MAX, winner
from bot.slack.messages.kit.text import clip, given, joined, safe
from bot.slack.messages.kit.times import aware, off_text

CARD_LINE_MAX = 300

MARKED = frozenset({RaceOutcome.ABANDONED, RaceOutcome.BOTH, RaceOutcome.UNCERTAIN, RaceOutcome.VOID})
"""Outcomes whose words have a mark."""

NO_RESULT_YET = "no result yet"
TO_COME = "to come"


def became(race: Race, outcome: RaceOutcome, run: Callable[[Race], str] = winner) -> str | None:
    """None for an open race. `run`: the words of a race with a result."""
    said: dict[RaceOutcome, Callable[[], str | None]] = {
        RaceOutcome.OPEN: lambda: None,
        RaceOutcome.ABANDONED: lambda: lost_words(race),
        RaceOutcome.BOTH: lambda: conflict_words(race),
        RaceOutcome.VOID: lambda: MARKED_VOID,
        RaceOutcome.SETTLED: lambda: settled_words(race, run(race)),
        RaceOutcome.UNCERTAIN: lambda: uncertain_words(race, settled_words(race, run(race))),
    }
    return said[outcome]()


def settled_words(race: Race, said: str) -> str:
    """For example "won by *Desert Crown* 5/2F, Status: Provisional"."""
    return joined([said, not_official(race)], ", ")


def not_official(race: Race) -> str | None:
    """None for another status, which may be older than the result."""
    is_provisional = state_in(race.status) is RaceState.PROVISIONAL
    return given("Status: {}", safe(race.status, SHORT_MAX)) if is_provisional else None


def lost_words(race: Race) -> str:
    return joined([lost_mark(race), safe(race.reason, SHORT_MAX * 2)], ", ")


def conflict_words(race: Race) -> str:
    because = given(" ({})", safe(race.reason, SHORT_MAX * 2)) or ""
    return f"{MARKED_CONFLICT}: reported abandoned{because} and as run: check"


def uncertain_words(race: Race, said: str) -> str:
    """`said`: of the later version, for example "won by *Desert Crown* 5/2F"."""
    if race.disputed:
        return f"{MARKED_CONFLICT}: the result contradicts itself: {safe(race.disputed, ORDER_MAX)}: check"
    return f"{MARKED_CONFLICT}: two versions of the result disagree: check. The later says {said}"


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
    if not off:
        return joined([said, clip(race_line(race), CARD_LINE_MAX)])
    return joined([f"{off}  {said}", clip(race_line_after_off(race), CARD_LINE_MAX)])


def is_to_come(race: Race, now: datetime) -> bool:
    """By the moment of the off, where a moment was published. Without a moment a race of a later day is to come."""
    if (off := aware(race.off.off_at)) is not None:
        return off > now
    return (race.race_date or "") > now.date().isoformat()


def is_overdue(race: Race, outcome: RaceOutcome, now: datetime) -> bool:
    """True for an open race whose published moment has come."""
    off = aware(race.off.off_at)
    return outcome is RaceOutcome.OPEN and off is not None and off <= now
