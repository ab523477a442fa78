"""The channels with a live message of a version's meeting, and the messages for the thread."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import Session

from bot.channels.filters import ChannelFilter, Meeting, meeting_of
from bot.db.tables import EventVersion
from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.fanout.version_news import News
from bot.fanout.waits import is_urgent
from bot.outbox import live_meetings

_IN_THREADS = frozenset({EventKind.RESULT_RECEIVED, EventKind.RACECARD_PUBLISHED})


@dataclass
class _Touched:
    """`making`: channels without a live message get one. `showing`: channels with a live message get an edit."""

    meeting: Meeting
    newest: EventVersion
    received_at: datetime
    making: set[str] = field(default_factory=set)
    showing: set[str] = field(default_factory=set)


class LiveMessages:
    """Of one transaction. `filters`: all filters of the channels with live messages. False without any."""

    def __init__(self, session: Session, filters: Mapping[str, Sequence[ChannelFilter]]) -> None:
        self._session = session
        self._filters = filters
        self._touched: dict[str, _Touched] = {}

    def __bool__(self) -> bool:
        return bool(self._filters)

    def threads(self, news: News, channels: Sequence[str], held_back: Collection[str]) -> Mapping[str, int]:
        """Channel → the live message for the version's thread. `held_back`: channels without a new live message."""
        event, meeting = news.event, meeting_of(news.event.race)
        key = live_meetings.key_of(meeting) if event.kind is not None and event.drill is None else None
        choosing = self._choosing(event, channels) if key else ()
        if key is None or not choosing:
            return {}
        touched = self._touched.setdefault(key, _Touched(meeting, news.version, news.version.received_at))
        touched.newest, touched.received_at = news.version, news.version.received_at
        touched.showing |= set(choosing)
        making = set(choosing).difference(held_back)
        touched.making |= making
        if not _goes_into_thread(news):
            return {}
        # The live message goes out before the replies.
        live_meetings.make(self._session, key, meeting, sorted(making), news.version.received_at)
        watching = event_store.known(news.version)[1].watched
        return {
            channel: number
            for channel, number in live_meetings.of_channels(self._session, key, choosing).items()
            if channel not in watching
        }

    def finish(self) -> None:
        """Call last in the transaction, because of the locks of `live_meetings.edit`."""
        for key, one in sorted(self._touched.items()):
            live_meetings.make(self._session, key, one.meeting, sorted(one.making), one.received_at)
        for key, one in sorted(self._touched.items()):
            live = live_meetings.of_channels(self._session, key, one.showing)
            if live:
                live_meetings.edit(
                    self._session, key, one.meeting, live, news_id=one.newest.id or 0, received_at=one.received_at
                )
        self._touched.clear()

    def _choosing(self, event: RacingEvent, channels: Iterable[str]) -> list[str]:
        return [
            channel
            for channel in channels
            if any(chosen.show and chosen.matches(event) for chosen in self._filters.get(channel, ()))
        ]


def _goes_into_thread(news: News) -> bool:
    return news.event.kind in _IN_THREADS and news.is_first and not is_urgent(news.event, news.remarks)
