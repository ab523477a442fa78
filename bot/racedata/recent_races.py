"""Recent races that filters take: from received deliveries and the race book, by published date."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import or_, select
from sqlmodel import Session, col

from bot.channels.filters import ALL_REGIONS, ChannelFilter
from bot.db.tables import EventVersion, InboxDelivery
from bot.events.event import EventKind, RacingEvent
from bot.events.kinds import OUTCOMES
from bot.events.races import Race
from bot.racedata import partly_run_meetings, race_book_store

RECENT_DAYS = 7


@dataclass(frozen=True)
class Recent:
    """`is_whole`: deliveries cover all RECENT_DAYS days. `abandoned` are today's abandonments by published date.

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
    days = [(today - timedelta(days=ago)).isoformat() for ago in range(RECENT_DAYS)]
    found = [*_delivered(session, filters, days), *_in_book(session, filters, days)]
    taken = [event for event in found if any(chosen.matches(event) for chosen in filters)]
    results = [event for event in found if event.kind is EventKind.RESULT_RECEIVED]
    run = {_name(event): event for event in results if not (event.race.is_void or event.race.is_lost)}
    settled = {_name(event) for event in taken if event.kind is EventKind.RESULT_RECEIVED}
    # A race told by both sources counts once, and a lost meeting stands for its races.
    lost = {_name(event): event for event in reversed(taken) if event.is_abandonment}
    of_meetings = {race.race_id for event in lost.values() for race in event.races if race.race_id}
    disputed = [event for name, event in lost.items() if name in run and event.kind is EventKind.RACE_ABANDONED]
    lost = {name: event for name, event in lost.items() if name not in {*of_meetings, *settled, *run}}
    first = session.execute(select(col(InboxDelivery.received_at)).order_by(col(InboxDelivery.id)).limit(1))
    since = first.scalar_one_or_none()
    abandoned = tuple(event for event in lost.values() if event.race.race_date == today.isoformat())
    return Recent(
        results=len(settled),
        abandonments=len(lost),
        is_whole=since is not None and since <= now - timedelta(days=RECENT_DAYS),
        abandoned=abandoned,
        partly_run=partly_run_meetings.partly_run(session, abandoned),
        disputed=tuple(event for event in disputed if event.race.race_date == today.isoformat()),
    )


def _delivered(session: Session, filters: Sequence[ChannelFilter], days: Sequence[str]) -> Iterator[RacingEvent]:
    statement = (
        select(col(EventVersion.event_key), col(EventVersion.data))
        .where(col(EventVersion.race_date).in_(days), col(EventVersion.kind).in_([str(kind) for kind in OUTCOMES]))
        .order_by(col(EventVersion.version))
    )
    regions = {chosen.region for chosen in filters}
    if ALL_REGIONS not in regions:
        region = col(EventVersion.region)
        statement = statement.where(or_(region.in_(sorted(regions)), region.is_(None)))
    newest = {key: data for key, data in session.execute(statement)}  # noqa: C416  rows are no pairs to mypy
    return (RacingEvent.model_validate_json(data) for data in newest.values())


def _in_book(session: Session, filters: Sequence[ChannelFilter], days: Sequence[str]) -> Iterator[RacingEvent]:
    regions = {chosen.region for chosen in filters}
    for day in days:
        for region in [None] if ALL_REGIONS in regions else sorted(regions):
            for race, _ in race_book_store.of_day(session, day, region):
                if kind := _kind(race):
                    yield RacingEvent(key=f"{kind}:{race.race_id}", kind=kind, race=race)


def _kind(race: Race) -> EventKind | None:
    if race.abandoned:
        return EventKind.RACE_ABANDONED
    return EventKind.RESULT_RECEIVED if any(runner.finishing_position for runner in race.runners) else None


def _name(event: RacingEvent) -> str:
    return event.race.race_id or event.key
