"""For the answer to a subscription: the results and abandonments of a week that the channel's filters take."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.events.days import utc_today
from bot.events.event import EventKind, RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.racedata.day import known_day
from bot.racedata.day_card import WITH_RESULT, RaceOutcome

RECENT_DAYS = 7

HAS_RESULT = WITH_RESULT | {RaceOutcome.VOID}


@dataclass(frozen=True)
class Recent:
    """`is_whole`: the bot has stored deliveries for RECENT_DAYS days. `abandoned`: of today, by the published date.

    `partly_run`: keys of abandoned meetings with a race that was run. `disputed`: today's abandonments of races
    with a result.
    """

    results: int
    abandonments: int
    is_whole: bool
    abandoned: tuple[RacingEvent, ...]
    partly_run: frozenset[str] = frozenset()
    disputed: tuple[RacingEvent, ...] = ()


def recent(session: Session, filters: Sequence[ChannelFilter], now: datetime, first_at: datetime | None) -> Recent:
    """`first_at`: the receipt of the first stored delivery."""
    results, lost, disputed = set[Hashable](), dict[Hashable, RacingEvent](), dict[Hashable, RacingEvent]()
    partly_run, today = set[str](), utc_today(now)
    regions = {chosen.region for chosen in filters}
    region = None if ALL_REGIONS in regions or len(regions) > 1 else next(iter(regions), None)
    for day in (today - timedelta(days=ago) for ago in range(RECENT_DAYS)):
        outcomes = known_day(session, day, region).outcomes()
        meetings = [event for event in outcomes.lost if _takes(filters, event)]
        lost |= {event.key: event for event in meetings}
        partly_run |= {event.key for event in meetings if outcomes.partly_run(event)}
        for race, outcome in outcomes.in_order():
            name = race.race_id or (day, race.course, race.off, race.number)
            abandonment = RacingEvent(key="", kind=EventKind.RACE_ABANDONED, race=race, reason=race.reason)
            result = RacingEvent(key="", kind=EventKind.RESULT_RECEIVED, race=race)
            if outcome in HAS_RESULT and _takes(filters, result):
                results.add(name)
            if outcome is RaceOutcome.BOTH and _takes(filters, abandonment):
                disputed[name] = abandonment
            # A lost meeting stands for its races.
            of_meeting = any(is_part_of(abandonment, meeting) for meeting in meetings)
            if outcome is RaceOutcome.ABANDONED and not of_meeting and _takes(filters, abandonment):
                lost[name] = abandonment
    return Recent(
        results=len(results),
        abandonments=len(lost),
        is_whole=first_at is not None and first_at <= now - timedelta(days=RECENT_DAYS),
        abandoned=tuple(event for event in lost.values() if event.race.race_date == today.isoformat()),
        partly_run=frozenset(partly_run),
        disputed=tuple(event for event in disputed.values() if event.race.race_date == today.isoformat()),
    )


def _takes(filters: Sequence[ChannelFilter], event: RacingEvent) -> bool:
    return any(chosen.matches(event) for chosen in filters)
