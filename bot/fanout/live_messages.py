"""The live messages of a transaction's meetings, and the messages for the threads of the live messages."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from sqlmodel import Session

from bot.channels.filters import ChannelFilter, Meeting, meeting_of
from bot.db.engine import is_unavailable
from bot.desk.absorb import News
from bot.desk.decide import Live
from bot.events.event import RacingEvent
from bot.events.facts import COURSE_ID_FACT, COURSE_NAME_FACT, DATE_FACT, Change
from bot.events.races import Course, Race
from bot.logs import get_logger
from bot.outbox import live_meetings
from bot.outbox.telling_store import Bump, Bumps

log = get_logger(__name__)


class LiveMessages:
    """A transaction's live messages. `filters`: of the channels with live messages. False without such a channel.

    Every live message of a touched meeting gets an edit.
    """

    def __init__(self, session: Session, filters: Mapping[str, Sequence[ChannelFilter]], now: datetime) -> None:
        self._session = session
        self._filters = filters
        self._now = now
        self._touched: dict[Meeting, datetime] = {}
        self._making = defaultdict[Meeting, set[str]](set)

    def __bool__(self) -> bool:
        return bool(self._filters)

    def of(self, news: News, channels: Collection[str], received_at: datetime) -> Mapping[str, Live]:
        """Channel → the live message of the event's meeting."""
        event = news.event
        meeting = self.refresh(event.race, received_at) if event.kind and event.drill is None else None
        if earlier := earlier_meeting(event.race, news.remarks.changes):
            self._touch(earlier, received_at)
        here = [channel for channel in channels if channel in self._filters]
        if not meeting or not here or not event.race.race_date:
            return {}
        there = {} if news.is_urgent else live_meetings.of_channels(self._session, meeting, here)
        is_over = live_meetings.is_over(meeting, self._now)
        return {
            channel: Live(
                takes=any(chosen.show and chosen.matches(event) for chosen in self._filters[channel]),
                is_there=there.get(channel) is not None,
                may_be_made=channel not in there and not is_over,
            )
            for channel in here
        }

    def make(self, event: RacingEvent, channels: Collection[str], received_at: datetime) -> None:
        """Make the live message of the event's meeting in each channel, at the latest at the transaction's end."""
        if meeting := self.refresh(event.race, received_at):
            self._making[meeting] |= set(channels)

    def threads(self, event: RacingEvent, channels: Collection[str], received_at: datetime) -> Mapping[str, int]:
        """Channel → the channel's live message, made if needed: the live message goes out before the replies."""
        meeting = self.refresh(event.race, received_at)
        return self._made(meeting, channels) if meeting else {}

    def refresh(self, race: Race, received_at: datetime) -> Meeting | None:
        """Edit the live messages of the race's meeting. Returns None for a meeting without course.

        An event without a day counts for the day of the receipt, as in the live message.
        """
        meeting = meeting_of(race)
        if not meeting.race_date:
            meeting = meeting.model_copy(update={"race_date": received_at.astimezone(UTC).date().isoformat()})
        return self._touch(meeting, received_at)

    def _touch(self, meeting: Meeting, received_at: datetime) -> Meeting | None:
        if not self._filters or live_meetings.key_of(meeting) is None:
            return None
        self._touched[meeting] = received_at
        return meeting

    def finish(self, bumps: Bumps) -> None:
        """Make new live messages, and edit the present live messages. An error of ours holds no other message up."""
        if not self._touched:
            return
        try:
            with self._session.begin_nested():
                for meeting, received_at in self._touched.items():
                    bumps.messages |= {number: Bump(received_at) for number in self._edited(meeting)}
        except Exception as error:
            if is_unavailable(error):
                raise
            log.exception(
                "live_messages_not_made", meetings=[live_meetings.key_of(meeting) for meeting in self._touched]
            )
        self._touched = {}

    def _edited(self, meeting: Meeting) -> set[int]:
        live = set(self._made(meeting, self._filters).values())
        if meeting.region is None:
            live |= live_meetings.of_regions(self._session, meeting, self._filters)
        return live

    def _made(self, meeting: Meeting, channels: Collection[str]) -> dict[str, int]:
        """Channel → the channel's live message, made if needed."""
        live = live_meetings.of_channels(self._session, meeting, channels)
        lacking = self._making[meeting].intersection(channels).difference(live)
        if lacking:
            live_meetings.make(self._session, meeting, sorted(lacking), self._touched[meeting])
            live = live_meetings.of_channels(self._session, meeting, channels)
        return {channel: number for channel, number in live.items() if number is not None}


def earlier_meeting(race: Race, changes: Iterable[Change]) -> Meeting | None:
    """The race's meeting before the changes. None without a change of course or day."""
    before = {change.field: change.before for change in changes}
    if not before.keys() & {COURSE_NAME_FACT, COURSE_ID_FACT, DATE_FACT}:
        return None
    course = Course(
        course_id=before.get(COURSE_ID_FACT, race.course.course_id), name=before.get(COURSE_NAME_FACT, race.course.name)
    )
    return Meeting(course=course, race_date=before.get(DATE_FACT, race.race_date), region=race.region)
