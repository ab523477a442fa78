"""For the answer to a subscription: the results and abandonments of a week that the channel's filters take."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import select
from sqlmodel import Session, col

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.tables import InboxDelivery
from bot.events.event import EventKind, RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.racedata import rest_of_meetings
from bot.racedata.day import known_day
from bot.racedata.day_card import WITH_RESULT, RaceOutcome

RECENT_DAYS = 7

HAS_RESULT = WITH_RESULT | {RaceOutcome.VOID}


@dataclass(frozen=True)
class Recent:
    """`is_whole`: the bot has stored deliveries for RECENT_DAYS days. `abandoned`: of today, by the published date.

    `partly_run`: keys of today's abandoned meetings with a race that was run. `disputed`: today's abandonments of races
    with a result.
    """

    results: int
    abandonments: int
    is_whole: bool
    abandoned: tuple[RacingEvent, ...]
    partly_run: frozenset[str] = frozenset()
    disputed: tuple[RacingEvent, ...] = ()


def recent(session: Session, filters: Sequence[ChannelFilter], today: date, now: datetime) -> Recent:
    results, lost, disputed = set[Hashable](), dict[Hashable, RacingEvent](), dict[Hashable, RacingEvent]()
    regions = {chosen.region for chosen in filters}
    for day in (today - timedelta(days=ago) for ago in range(RECENT_DAYS)):
        for region in [None] if ALL_REGIONS in regions else sorted(regions):
            outcomes = known_day(session, day, region).outcomes()
            meetings = [event for event in outcomes.lost if _takes(filters, event)]
            lost |= {event.key: event for event in meetings}
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
    first = session.execute(select(col(InboxDelivery.received_at)).order_by(col(InboxDelivery.id)).limit(1))
    since = first.scalar_one_or_none()
    abandoned = tuple(event for event in lost.values() if event.race.race_date == today.isoformat())
    return Recent(
        results=len(results),
        abandonments=len(lost),
        is_whole=since is not None and since <= now - timedelta(days=RECENT_DAYS),
        abandoned=abandoned,
        partly_run=rest_of_meetings.partly_run(session, abandoned),
        disputed=tuple(event for event in disputed.values() if event.race.race_date == today.isoformat()),
    )


def _takes(filters: Sequence[ChannelFilter], event: RacingEvent) -> bool:
    return any(chosen.matches(event) for chosen in filters)
