"""The versions of a transaction's events. News becomes the next version."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from bot.db.tables import EventVersion
from bot.desk.absorb import Known, Report, absorb, with_order_of
from bot.desk.news import News
from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.watched import WatchedIn
from bot.fanout.known_meetings import KnownMeetings
from bot.racedata.event_completion import KnownElsewhere


@dataclass(frozen=True, kw_only=True)
class VersionNews(News):
    """`version`: as stored. `received_at`: of the last delivery. `at`: since when messages need edits."""

    version: EventVersion
    received_at: datetime
    at: datetime


class Repeat(NamedTuple):
    """A delivery without news. `event`: the stored event, with the values that the delivery adds silently."""

    event: RacingEvent
    received_at: datetime


class KnownEvents:
    """The versions of a transaction's events, stored and new."""

    def __init__(self, meetings: KnownMeetings, elsewhere: KnownElsewhere) -> None:
        """`meetings` have read the versions."""
        self._meetings = meetings
        self._elsewhere = elsewhere
        self._silent: dict[str, RacingEvent] = {}

    def news(self, event: RacingEvent, inbox_id: int, received_at: datetime) -> VersionNews | Repeat | None:
        found = absorb(event, self._known(event), self._elsewhere.filled, received_at=received_at)
        if isinstance(found, News):
            return self._made(found, inbox_id, received_at)
        if found is not None:
            self._keep_order(found.event)
            if event.kind is not None and not found.again:
                self._silent[event.key] = found.event
                return Repeat(found.event, received_at)
        return None

    def noted(self, event_key: str) -> WatchedIn:
        """The watched runners of the event's versions; of each channel those of the latest version with any."""
        return event_store.noted_in(self._meetings.versions_of(event_key))

    def _known(self, event: RacingEvent) -> Known:
        own = self._reports(event.key)
        others = self._reports(event.contradicting_key or "")
        is_first_result = not own and event.kind is EventKind.RESULT_RECEIVED
        return Known(
            own,
            self._silent.get(event.key),
            others[-1] if others else None,
            lost_by=self._meetings.losing(event.race.race_id) if is_first_result else None,
        )

    def _reports(self, event_key: str) -> list[Report]:
        return [Report(row.version, *event_store.known(row)) for row in self._meetings.versions_of(event_key)]

    def _keep_order(self, event: RacingEvent) -> None:
        stored, row = self._meetings.told(event.key)
        if (kept := with_order_of(event, stored)) != stored:
            event_store.amend(row, kept)
            self._meetings.learn(kept)

    def _made(self, found: News, inbox_id: int, received_at: datetime) -> VersionNews:
        event, rows = found.event, self._meetings.versions_of(found.event.key)
        version = rows[-1].version + 1 if rows else 1
        row = event_store.make(event, version, remarks=found.remarks, inbox_id=inbox_id, received_at=received_at)
        self._meetings.made(event, row)
        self._silent.pop(event.key, None)
        return VersionNews(
            event, found.remarks, found.rings, found.is_first, version=row, received_at=received_at, at=received_at
        )
