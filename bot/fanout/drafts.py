"""The chains of channels, as stored and as changed by a transaction, and the live messages of its meetings.

New messages are stored at the end of the transaction.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from sqlmodel import Session, col

from bot.channels.filters import ChannelFilter, Meeting, meeting_of
from bot.db.engine import is_unavailable
from bot.db.tables import EventVersion, OutboxMessage
from bot.desk.absorb import News
from bot.desk.decide import Because, Live, Release, Show, Telling
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.events.facts import COURSE_ID_FACT, COURSE_NAME_FACT, DATE_FACT, Change
from bot.events.races import Course, Race
from bot.fanout.known_meetings import VersionNews
from bot.logs import get_logger
from bot.outbox import acknowledgements, claim_at_fanout, live_meetings, message_store, said_anew, telling_store
from bot.outbox.claim_at_fanout import Added, Claiming
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.outbox.message_store import NewPost
from bot.outbox.message_view import EventsAround, Tells
from bot.outbox.telling_store import Bump, Bumps

log = get_logger(__name__)

Chain = Mapping[str, list[Telling]]
"""By channel, the oldest telling first."""

FIRST_NEW = 2**62
"""Tellings that are not stored yet have numbers from here on, in the order of their messages."""


class Chains:
    """Each event and race is read once.

    `links`: messages of other events that show an event, with the event's key. `asked`: messages to be acknowledged.
    `sent`: message to channel. `numbers`: a new telling's number → the stored message's number.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_key = defaultdict[str, dict[int, Telling]](dict)
        self._of_race = defaultdict[str | None, set[str]](set)
        self._read_keys = set[str]()
        self._read_races = set[str]()
        self.links = set[tuple[int, str]]()
        self.asked = set[int]()
        self.sent = dict[int, str]()
        self.numbers: Mapping[int, int] = {}

    def read(self, event_keys: Collection[str], race_ids: Collection[str | None] = ()) -> None:
        keys, races = set(event_keys) - self._read_keys, {one for one in race_ids if one} - self._read_races
        if not keys and not races:
            return
        self._read_keys |= keys
        self._read_races |= races
        for one in telling_store.told(self._session, keys, races):
            number = one.id
            if one.is_link:
                self.links.add((number, one.event_key))
            elif number not in self._by_key[one.event_key]:
                self.add(one)
            if one.is_asked:
                self.asked.add(number)
            if one.message_ts and one.withheld is not Because.SUMMARY:
                self.sent[number] = one.channel_id

    def begin(self, event_key: str) -> None:
        """No channel was told of the event."""
        self._read_keys.add(event_key)

    def add(self, one: Telling) -> None:
        self._by_key[one.event_key][one.id] = one
        self._of_race[one.race_id].add(one.event_key)

    def fold(self, one: Telling) -> None:
        """The message of a meeting says the event too."""
        number = one.id
        main = next(found[number] for found in self._by_key.values() if number in found)
        self.add(one._replace(message_ts=main.message_ts, is_unsent=main.is_unsent))

    def wait_no_longer(self, number: int) -> set[str]:
        """Returns the telling's channel, if the telling is known."""
        channels = set[str]()
        for found in self._by_key.values():
            if (one := found.get(number)) is not None:
                found[number] = one._replace(waits=None)
                channels.add(one.channel_id)
        return channels

    def of(self, event_keys: Iterable[str]) -> Chain:
        found = defaultdict[str, list[Telling]](list)
        for one in self.all_of(event_keys):
            found[one.channel_id].append(one)
        return found

    def all_of(self, event_keys: Iterable[str], race_ids: Iterable[str | None] = ()) -> list[Telling]:
        """The tellings of the events, and of all events of the races, the oldest first."""
        keys = {*event_keys, *(key for race_id in race_ids if race_id for key in self._of_race[race_id])}
        return sorted((one for key in keys for one in self._by_key.get(key, {}).values()), key=lambda one: one.id)

    def told(self, event_keys: Collection[str], race_ids: Collection[str], channels: Collection[str]) -> list[Telling]:
        """As `telling_store.told`, without links."""
        self.read(event_keys, race_ids)
        told = (self._as_stored(one) for one in self.all_of(event_keys, race_ids) if one.channel_id in channels)
        return sorted(told, key=lambda one: one.id)

    def stored(self, number: int) -> int:
        """The number of the telling's message, once new messages are stored."""
        return self.numbers.get(number, number)

    def _as_stored(self, one: Telling) -> Telling:
        number = self.stored(one.id)
        return one._replace(id=number) if number != one.id else one


class _Shown(NamedTuple):
    """A version shown by a message. `at`: since when the message needs an edit; None for no edit.

    `after`: the telling whose message goes first. `is_link`: noted once for each event. `is_late`: an edit for later
    values, noted each time.
    """

    show: Show
    version: EventVersion
    at: datetime | None
    after: int | None
    is_link: bool = False
    is_late: bool = False


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


class Drafts:
    """New messages and edits, stored by `write`. Until then a new telling has a number of its own."""

    def __init__(
        self, session: Session, live: LiveMessages, known: FanoutKnowledge, around: EventsAround, now: datetime
    ) -> None:
        self.bumps = Bumps(session)
        self.chains = Chains(session)
        self._session = session
        self._live = live
        self._known = known
        self._around = around
        self._now = now
        self._new: list[tuple[NewPost, EventVersion]] = []
        self._shown: list[_Shown] = []
        self._released: list[int] = []
        self._hurried = set[int]()
        self._released_in: set[str] = set()
        self._events: dict[int, tuple[EventVersion, RacingEvent]] = {}

    def begin(self, news: VersionNews) -> None:
        """Store the version of the news with the messages, by `write`."""
        row = news.version
        self._events[id(row)] = row, news.event
        if row.id is None and news.is_first:
            self.chains.begin(row.event_key)

    def make(self, news: VersionNews, post: NewPost) -> int:
        number, withheld = FIRST_NEW + len(self._new), Because.MUTED if post.muted_by else None
        one = _telling(news, post.channel_id, number)._replace(waits=post.not_before, in_thread=bool(post.thread_of))
        self.chains.add(one._replace(withheld=withheld, is_unsent=withheld is None))
        self._new.append((post, news.version))
        return number

    def fold(self, news: VersionNews, channel: str, number: int) -> None:
        """The message of a meeting says the event too."""
        self.chains.fold(_telling(news, channel, number)._replace(withheld=Because.MEETING))

    def link(self, version: EventVersion, show: Show, after: int | None, *, anew: bool = False) -> None:
        """Once for each event, unless `anew`."""
        self._shown.append(_Shown(show, version, version.received_at, after, is_link=not anew))

    def show(self, news: VersionNews, show: Show, at: datetime, after: int | None, *, is_late: bool) -> None:
        self._shown.append(_Shown(show, news.version, at if show.edits else None, after, is_late=is_late))

    def release(self, release: Release) -> None:
        self._released.append(release.telling)
        self._released_in |= self.chains.wait_no_longer(release.telling)

    def hurry(self, told: Iterable[Telling]) -> None:
        """Give unsent messages an abandonment's priority: earlier news of the race comes first."""
        self._hurried |= {one.id for one in told if one.stands and one.is_unsent and not one.is_link}

    def write(self, claiming: Claiming) -> Added:
        """Store all that is planned. Ends the transaction: nothing may wait for a lock after the locks of messages."""
        events = self._events.values()
        event_store.add(self._session, [row for row, _ in events if row.id is None])
        # Where a message waits no longer, or a new message already has more to show, nothing is sent at once.
        followed = {one.show.telling for one in self._shown}
        new = [post._replace(event_id=version.id) for post, version in self._new]
        busy = self._released_in | {one.channel_id for number, one in enumerate(new, FIRST_NEW) if number in followed}
        tells = Tells(
            {row.id or 0: row for row, _ in events},
            {row.id or 0: event for row, event in events},
            self._around,
            self._known,
            self.chains.told,
            self.chains.asked,
        )
        added = claim_at_fanout.add(self._session, new, tells, claiming, but=busy)
        self._number(added.ids)
        self._live.finish(self.bumps)
        if self._shown:
            self._write_shown()
        if released := sorted(map(self.chains.stored, self._released)):
            message_store.release(self._session, col(OutboxMessage.id).in_(released), due_at=self._now)
        self.bumps.hurried = set(map(self.chains.stored, self._hurried))
        claiming = replace(claiming, room=claiming.room - len(added.claims))
        begun = claim_at_fanout.lease_for_edits(self._session, self._to_edit(), claiming)
        waiting = added.waiting + self._finish(begun.values(), claiming.now)
        edits = claim_at_fanout.claim_edits(self._session, begun, tells, claiming)
        return replace(added, claims=[*added.claims, *edits], waiting=waiting)

    def _to_edit(self) -> dict[str, int]:
        """Channel → its only message to be edited, if nothing has to be sent before the edit."""
        found: dict[str, list[int]] = {}
        for number, bump in self.bumps.messages.items():
            if number in self.chains.sent and (bump.after_id is None or bump.after_id in self.chains.sent):
                found.setdefault(self.chains.sent[number], []).append(number)
        shown = {number for number, _ in self.bumps.said}
        return {channel: some[0] for channel, some in found.items() if len(some) == 1 and some[0] in shown}

    def _finish(self, begun: Collection[int], begun_at: datetime) -> int:
        """`begun`: messages whose edit is claimed. Returns how many other messages may need an edit now."""
        made = set(self.chains.numbers.values())
        waiting = {number for number, bump in self.bumps.messages.items() if bump.after_id not in made}
        said_anew.say_unnoted(self._session, self.bumps.write(begun, begun_at), self._now)
        return len(waiting.difference(begun))

    def _number(self, ids: Mapping[str, int]) -> None:
        """New tellings have the ids of their messages from now on."""
        keys = [post.idempotency_key for post, _ in self._new]
        if missing := sorted(set(keys) - ids.keys()):
            ids = {**ids, **message_store.ids_of(self._session, missing)}
        self.chains.numbers = {number: ids[key] for number, key in enumerate(keys, FIRST_NEW)}

    def _write_shown(self) -> None:
        said: dict[tuple[int, int], Bump | None] = {}
        late: dict[int, Bump] = {}
        links, stored = self.chains.links, self.chains.stored
        for one in self._shown:
            number, after = stored(one.show.telling), stored(one.after) if one.after else None
            bump = Bump(one.at, after) if one.at else None
            of_event = number, one.version.event_key
            if one.is_late and bump:
                late[number] = bump
            elif not (one.is_link and of_event in links):
                pair = number, one.version.id or 0
                said[pair] = bump or said.get(pair)
                links.add(of_event)
        self.bumps.show(said)
        self.bumps.messages |= late
        asked = self.chains.asked.intersection(stored(one.show.telling) for one in self._shown)
        ended = {stored(one.show.telling) for one in self._shown if one.show.asks_no_longer}
        if locked := asked | ended:
            acknowledgements.lock(self._session, locked)
            acknowledgements.end(self._session, ended)
            # Escalations of an edited message are edited too, also after the channel has stopped asking.
            followed = {number: bump for number, bump in self.bumps.messages.items() if number in asked}
            self.bumps.messages |= acknowledgements.follow(self._session, followed)


def _telling(news: VersionNews, channel: str, number: int) -> Telling:
    event, row = news.event, news.version
    told = event.kind, row.event_key, event.race.race_id, row.version, row.received_at, row.remarks
    return Telling(number, channel, *told)
