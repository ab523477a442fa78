"""The live messages of the meetings that a transaction tells of, and the messages for their threads."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlmodel import Session

from bot.channels.filters import ChannelFilter, Meeting, meeting_of
from bot.db.engine import is_unavailable
from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import COURSE_ID_FACT, COURSE_NAME_FACT, DATE_FACT, Change, changes_winner
from bot.events.races import Course, Race
from bot.fanout.version_news import News
from bot.fanout.waits import is_urgent
from bot.logs import get_logger
from bot.outbox import live_meetings, message_store
from bot.outbox.revisions import Bump, Bumps

log = get_logger(__name__)

_IN_THREADS = frozenset({EventKind.RESULT_RECEIVED, EventKind.RACECARD_PUBLISHED})


@dataclass
class _Touched:
    """`making`: channels without a live message get one. Every live message of the meeting gets an edit."""

    meeting: Meeting
    received_at: datetime
    making: set[str] = field(default_factory=set)


class LiveMessages:
    """Of one transaction. `filters`: all filters of the channels with live messages. False without any."""

    def __init__(self, session: Session, filters: Mapping[str, Sequence[ChannelFilter]], now: datetime) -> None:
        self._session = session
        self._filters = filters
        self._now = now
        self._touched: dict[Meeting, _Touched] = {}

    def __bool__(self) -> bool:
        return bool(self._filters)

    def threads(self, news: News, channels: Sequence[str], held_back: Collection[str]) -> Mapping[str, int]:
        """Channel → the live message for the version's thread. `held_back`: channels without a new live message."""
        event = news.event
        touched = self.refresh(event.race, news.version.received_at) if event.kind and event.drill is None else None
        choosing = self._choosing(event, channels) if touched else ()
        if earlier := earlier_meeting(event.race, news.remarks.changes):
            self._touch(earlier, news.version.received_at)
        if not (touched and choosing) or not event.race.race_date:
            return {}
        if not live_meetings.is_over(touched.meeting, self._now):
            touched.making |= set(choosing).difference(held_back)
        if event.kind not in _IN_THREADS or is_urgent(event, news.remarks):
            return {}
        if changes_winner(event.race, news.remarks.changes):
            return {}
        # The live message goes out before the replies.
        live = self._made(touched, choosing)
        flat = {*event_store.known(news.version)[1].watched, *self._with_flat(news, live)}
        return {channel: number for channel, number in live.items() if channel not in flat}

    def correcting(self, news: News, channels: Iterable[str]) -> set[str]:
        """Of these, the channels whose live message has shown a winner that the version changes."""
        if not self._filters or news.is_first or not changes_winner(news.event.race, news.remarks.changes):
            return set()
        showing = self._filters.keys() & set(channels)
        return set(live_meetings.of_channels(self._session, meeting_of(news.event.race), showing)) if showing else set()

    def _with_flat(self, news: News, channels: Collection[str]) -> list[str]:
        """Channels that have the event outside a thread. A racecard that changes is for the channel everywhere."""
        if news.is_first or not channels:
            return []
        is_card = news.event.kind is EventKind.RACECARD_PUBLISHED
        had = message_store.threads_of(self._session, news.event.key, channels)
        return [channel for channel, thread_of in had.items() if is_card or thread_of is None]

    def refresh(self, race: Race, received_at: datetime) -> _Touched | None:
        """Edit the live messages of the race's meeting. None for a meeting without course.

        An event without a day counts for the day of the receipt, as in the live message.
        """
        meeting = meeting_of(race)
        if not meeting.race_date:
            meeting = meeting.model_copy(update={"race_date": received_at.astimezone(UTC).date().isoformat()})
        return self._touch(meeting, received_at)

    def _touch(self, meeting: Meeting, received_at: datetime) -> _Touched | None:
        if not self._filters or live_meetings.key_of(meeting) is None:
            return None
        touched = self._touched.setdefault(meeting, _Touched(meeting, received_at))
        touched.received_at = received_at
        return touched

    def finish(self, bumps: Bumps) -> None:
        """Make live messages, and have the others edited. An error of ours holds no other message up."""
        if not self._touched:
            return
        try:
            with self._session.begin_nested():
                self._finish(bumps)
        except Exception as error:
            if is_unavailable(error):
                raise
            log.exception(
                "live_messages_not_made", meetings=[live_meetings.key_of(meeting) for meeting in self._touched]
            )

    def _finish(self, bumps: Bumps) -> None:
        for one in self._touched.values():
            bumps.add({number: Bump(one.received_at) for number in self._edited(one)})

    def _edited(self, one: _Touched) -> set[int]:
        live = set(self._made(one, self._filters).values())
        if one.meeting.region is None:
            live.update(number for _, number in live_meetings.of_regions(self._session, one.meeting, self._filters))
        return live

    def _made(self, one: _Touched, channels: Collection[str]) -> dict[str, int]:
        """Channel → its live message, which is made if needed."""
        live = live_meetings.of_channels(self._session, one.meeting, channels)
        lacking = one.making.intersection(channels).difference(live)
        if lacking:
            live_meetings.make(self._session, one.meeting, sorted(lacking), one.received_at)
            live = live_meetings.of_channels(self._session, one.meeting, channels)
        return {channel: number for channel, number in live.items() if number is not None}

    def _choosing(self, event: RacingEvent, channels: Iterable[str]) -> list[str]:
        return [
            channel
            for channel in channels
            if any(chosen.show and chosen.matches(event) for chosen in self._filters.get(channel, ()))
        ]


def earlier_meeting(race: Race, changes: Iterable[Change]) -> Meeting | None:
    """The meeting of which the race was before the changes; None without a change of course or day."""
    before = {change.field: change.before for change in changes}
    if not before.keys() & {COURSE_NAME_FACT, COURSE_ID_FACT, DATE_FACT}:
        return None
    course = Course(
        course_id=before.get(COURSE_ID_FACT, race.course.course_id), name=before.get(COURSE_NAME_FACT, race.course.name)
    )
    return Meeting(course=course, race_date=before.get(DATE_FACT, race.race_date), region=race.region)
