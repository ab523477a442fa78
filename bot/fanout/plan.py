"""Plans how each channel is told of a version: by a new message, by an edit, or by an existing message."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from sqlmodel import Session

from bot.channels.ack_request import AckRequest
from bot.db.tables import EventVersion, MessageKind
from bot.events import event_store, named_races
from bot.events.event import CONTRADICTIONS, EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.meeting_parts import says_all_of
from bot.fanout.asking import Asking
from bot.fanout.known_meetings import KnownMeetings
from bot.fanout.live_messages import LiveMessages
from bot.fanout.version_news import News
from bot.fanout.waits import Hours, is_urgent
from bot.outbox import message_store, revisions
from bot.outbox.claim_at_fanout import Tells
from bot.outbox.message_store import NewPost, Priority, Told
from bot.outbox.revisions import Bump, Bumps


@dataclass(frozen=True)
class MessagePlace:
    """`folded`: the message shows the version already."""

    post_id: int
    folded: bool = False


class Amended(NamedTuple):
    """A version with later values. `received_at`: of the last delivery. `is_seen`: every message shows a difference."""

    event: RacingEvent
    row: EventVersion
    received_at: datetime
    is_seen: bool


@dataclass(frozen=True)
class _Planned:
    """A version's messages by channel.

    `muted`: by whom. `waiting`: until when. `threads`: the live message. `asking`: what is to be acknowledged.
    `received_at`: of the delivery that brings the messages, if the delivery brings no version.
    """

    news: News
    places: Mapping[str, MessagePlace | None]
    muted: Mapping[str, str]
    waiting: Mapping[str, datetime]
    threads: Mapping[str, int] = field(default_factory=dict)
    asking: Mapping[str, AckRequest] = field(default_factory=dict)
    received_at: datetime | None = None


def finish(plans: "Sequence[Plan]") -> int:
    """Of one transaction, which ends then: nothing may wait for a lock after the locks of messages.

    Returns how many messages are to show more.
    """
    for plan in plans:
        plan.live.finish(plan.bumps)
        plans[0].bumps.take(plan.bumps)
    return plans[0].bumps.write() if plans else 0


class Plan:
    """A transaction's messages, stored by one statement, or by more where a version looks for earlier messages.

    `posts` counts told channels, `written` stored messages. `bumps` and `live` wait for `finish`.
    """

    def __init__(
        self, session: Session, meetings: KnownMeetings, hours: Hours, live: LiveMessages, asking: Asking
    ) -> None:
        self._session = session
        self.live = live
        self._asking = asking
        self._hours = hours
        self._meetings = meetings
        self._new: list[_Planned] = []
        self._versions: list[EventVersion] = []
        self._linked: set[str] = set()
        self._ids: dict[str, int] = {}
        self._told_of: dict[str, Sequence[Told]] = {}
        self.bumps = Bumps(session)
        self.posts = 0
        self.written = 0

    def add(
        self,
        news: News,
        channels: list[str],
        muted: Mapping[str, str],
        *,
        left: Collection[str] = (),
        rung: Collection[str] = (),
    ) -> None:
        """Tell channels of a version, and edit earlier messages.

        `muted`: channel to person; edits, no new messages. `left`: channels that listen no more; their superseded
        messages are edited. `rung`: channels that a version rings although it rings no others.
        """
        if news.version.id is None:
            self._versions.append(news.version)
        if muted and news.rings and not news.is_first and news.event.kind is EventKind.RESULT_RECEIVED:
            # Whoever was told of a winner is told that the winner has changed.
            muted = {channel: by for channel, by in muted.items() if channel not in self._messages(news.event.key)}
        if news.event.kind is EventKind.MEETING_ABANDONED:
            named_races.add(self._session, news.event.key, (race.race_id for race in news.event.races))
        if self._hours and is_urgent(news.event, news.remarks):
            self.carry_out()
            keys = {news.event.key, news.event.contradicting_key or news.event.key}
            message_store.wait_no_longer(self._session, keys, news.event.race.race_id, now=self._hours.now)
        places = self._places(news, muted, rung)
        superseded = self._superseded(news, rung)
        waiting = self._waiting(news, channels)
        held_back = {*places, *muted, *waiting}
        threads = self.live.threads(news, channels, held_back) if self.live else {}
        asking = self._asking.of(news.event, channels)
        self._new.append(
            _Planned(news, {channel: places.get(channel) for channel in channels}, muted, waiting, threads, asking)
        )
        self.posts += len(channels)
        if news.event.kind in event_store.OF_MEETINGS:
            self._linked.add(news.event.key)
        elif news.event.kind is EventKind.RESULT_RECEIVED:
            self._take_out(news)
        told = {*channels, *left} - set(places)
        if asking:
            self._asking.replace(one for one in superseded if one[0] in told and one[0] in asking)
        if mended := [(channel, number) for channel, number in superseded if channel in told]:
            self.carry_out()
            at, version = news.version.received_at, news.version
            self._show(version, {number: Bump(at, self._own(version, channel)) for channel, number in mended})

    def misled(self, news: News) -> set[str]:
        """Channels, whatever their filters, with messages that a version contradicts or changes."""
        race_id, contradicted = news.event.race.race_id, news.remarks.contradicts
        keys = set[str]() if news.is_first else {news.event.key}
        if contradicted is not None:
            keys |= {news.event.contradicting_key or news.event.key}
        if contradicted is EventKind.MEETING_ABANDONED:
            keys |= set(self._meetings.naming(race_id))
        if not keys:
            return set()
        if keys == {news.event.key} and contradicted is None:
            return {one.channel_id for one in self._told(news.event.key)}
        self.carry_out()
        told = message_store.channels_told(self._session, keys)
        if contradicted is not None and race_id is not None:
            told |= message_store.channels_told_of_race(self._session, race_id, contradicted)
        return told

    def carry_out(self) -> None:
        new, _ = self.rest()
        self._write(new)

    def rest(self) -> tuple[list[NewPost], Tells]:
        """The planned messages that are not stored yet."""
        event_store.add(self._session, self._versions)
        self._versions.clear()
        new = [
            _post(planned, channel)
            for planned in self._new
            for channel, place in planned.places.items()
            if place is None
        ]
        for planned in self._new:
            self._show_in_places(planned)
        tells = Tells(
            {planned.news.version.id or 0: planned.news.version for planned in self._new},
            {planned.news.version.id or 0: planned.news.event for planned in self._new},
            self._meetings.events(),
        )
        self._new.clear()
        return new, tells

    def _show_in_places(self, planned: _Planned) -> None:
        version = planned.news.version
        places = [place for place in planned.places.values() if place is not None]
        if places:
            self._told_of.clear()
        revisions.fold(self._session, version.id or 0, [place.post_id for place in places if place.folded])
        bump = Bump(planned.received_at or version.received_at)
        edited = {place.post_id: bump for place in places if not place.folded}
        self._show(version, edited, may_ask=planned.news.event.is_abandonment)

    def _show(self, version: EventVersion, messages: Mapping[int, Bump], *, may_ask: bool = True) -> None:
        """`may_ask`: among the messages are abandonments."""
        if messages:
            self._told_of.clear()
            new = self.bumps.show(version.id or 0, messages)
            if may_ask:
                self._asking.follow(self.bumps, {number: messages[number] for number in new})

    def _waiting(self, news: News, channels: Sequence[str]) -> Mapping[str, datetime]:
        """Channels whose message waits, and until when.

        A change of what a channel was told does not wait, and neither does a winner that a live message has shown. Any
        other change of what waits, waits with it.
        """
        waiting = self._hours.waiting(news.event, news.version, news.remarks, channels)
        if news.is_first or not self._hours:
            return waiting
        self.carry_out()
        told = message_store.channels_reached(self._session, news.event.key, waiting) if waiting else set()
        own = {channel: until for channel, until in waiting.items() if channel not in told}
        # The earlier version may wait although its hour is over.
        earlier = message_store.waiting_of(self._session, news.event.key)
        watched = event_store.known(news.version)[1].watched if earlier else {}
        hurried = (earlier.keys() & watched.keys()) | self.live.correcting(news, {*own, *earlier})
        if hurried:
            message_store.wait_no_longer(self._session, {news.event.key}, None, now=self._hours.now, only=hurried)
        return {channel: until for channel, until in (own | earlier).items() if channel not in hurried}

    def _write(self, new: Sequence[NewPost]) -> None:
        if new:
            message_store.make_queues(self._session, {post.channel_id for post in new})
            self._told_of.clear()
        made = message_store.insert(self._session, new)
        self._ids |= made
        self.written += len(made)

    def _places(self, news: News, muted: Mapping[str, str], rung: Collection[str] = ()) -> dict[str, MessagePlace]:
        """Messages by channel that only need an edit."""
        places: dict[str, MessagePlace] = {}
        if news.event.kind is EventKind.RACE_ABANDONED and not news.remarks.contradicts and not self._changed(news):
            for meeting in reversed(self._meetings.of(news.event)):
                folded = says_all_of(meeting, news.event)
                messages = self._messages(meeting.key, locked=folded)
                places |= {channel: MessagePlace(post_id, folded) for channel, post_id in messages.items()}
        if muted or not news.rings:
            own = self._messages(news.event.key)
            having = {channel for channel in own if channel in muted or not (news.rings or channel in rung)}
            places |= {channel: MessagePlace(own[channel], folded=not news.remarks.changes) for channel in having}
        if news.only_adds or _is_small(news):
            said = {one.channel_id: one.message_id for one in self._told(news.event.key)}
            # Whoever watches a runner is told of the change.
            watched = set(rung) if news.only_adds else set(event_store.known(news.version)[1].watched)
            silent = {channel: MessagePlace(said[channel], folded=True) for channel in said.keys() - watched}
            places = silent | places
        return places

    def _superseded(self, news: News, rung: Collection[str]) -> list[tuple[str, int]]:
        if not news.rings:
            return [one for one in self._messages(news.event.key).items() if one[0] in rung] if rung else []
        if news.version.version == 1 and not news.remarks.contradicts:
            return []
        earlier = list(self._messages(news.event.key).items())
        if news.remarks.contradicts in CONTRADICTIONS:
            key, race_id = news.event.contradicting_key, news.event.race.race_id
            earlier += message_store.messages_of_race(self._session, news.remarks.contradicts, key, race_id).items()
        return earlier

    @staticmethod
    def _changed(news: News) -> bool:
        return news.rings and news.version.version > 1

    def amend(
        self, amended: Amended, moved: set[str], watching: set[str], muted: Mapping[str, str], *, now: datetime
    ) -> None:
        """Edit the messages of a version after later values.

        `moved`: channels that match now. `watching`: channels that watch a newly known runner. Both get a message if
        not told.
        """
        event, row, received_at, is_seen = amended
        self.carry_out()
        self.live.refresh(event.race, received_at)
        if event.kind is EventKind.MEETING_ABANDONED:
            named_races.add(self._session, event.key, (race.race_id for race in event.races))
        if watching and self._hours:
            message_store.wait_no_longer(self._session, {event.key}, None, now=self._hours.now, only=watching)
        if is_seen or watching:
            self._mend_seen(event, now, None if is_seen else watching)
        news = News(row, event, VersionRemarks(), rings=False, is_first=False)
        as_stored = replace(news, remarks=event_store.known(row)[1])
        matching = moved | watching
        if new := matching - (message_store.channels_told(self._session, {event.key}) if matching else set()):
            places = self._places(news, muted)
            waiting = self._waiting(news, sorted(new))
            told = {channel: places.get(channel) for channel in sorted(new)}
            held_back = {*places, *muted, *waiting}
            threads = self.live.threads(as_stored, sorted(new), held_back) if self.live else {}
            asking = self._asking.of(event, told)
            self._new.append(_Planned(news, told, muted, waiting, threads, asking, received_at))
            self.posts += len(new)
            row.posts += len(new)
        self._linked.add(event.key)

    def _mend_seen(self, event: RacingEvent, seen_at: datetime, only: set[str] | None) -> None:
        """`only`: in these channels; None for every channel."""
        if event.kind is EventKind.RACE_ABANDONED:
            messages = message_store.bearers(self._session, event.key)
        else:
            messages = {post_id: channel for channel, post_id in self._messages(event.key).items()}
        shown = {number: Bump(seen_at) for number, channel in messages.items() if only is None or channel in only}
        self.bumps.add(shown)
        self._asking.follow(self.bumps, shown)

    def link(self) -> None:
        """Have messages on races and racecards link the message of the abandoned meeting."""
        keys, self._linked = self._linked, set()
        pairs = self._meetings.pairs(keys)
        if not pairs:
            return
        self.carry_out()
        ids = {part.race.race_id for _, part in pairs if part.race.race_id}
        kinds = event_store.kinds_of_races(self._session, ids)
        messages = message_store.messages_of(self._session, {event.key for pair in pairs for event in pair})
        for meeting, part in pairs:
            if (part.race.race_id, EventKind.RESULT_RECEIVED) in kinds:
                continue
            # A race's message is edited only beside the meeting's message.
            is_card = part.kind is EventKind.RACECARD_PUBLISHED
            here = messages.get(meeting.key, {})
            found = messages.get(part.key, {}).items()
            of_both = [(channel, post_id) for channel, post_id in found if is_card or channel in here]
            self._mend_once(self._meetings.row_of(meeting), {number: here.get(channel) for channel, number in of_both})
            if self._asking and not is_card:
                self._asking.replace((channel, post_id) for channel, post_id in of_both if post_id < here[channel])

    def _told(self, event_key: str) -> Sequence[Told]:
        """Read once, until something is told."""
        self.carry_out()
        if event_key not in self._told_of:
            self._told_of[event_key] = message_store.told_of(self._session, event_key)
        return self._told_of[event_key]

    def _messages(self, event_key: str, *, locked: bool = False) -> dict[str, int]:
        if not locked:
            return {one.channel_id: one.message_id for one in self._told(event_key) if one.stands_alone}
        self.carry_out()
        return message_store.messages_of(self._session, {event_key}, locked=locked).get(event_key, {})

    def _take_out(self, news: News) -> None:
        """Take a race with a result out of messages on abandoned meetings, which then say "rest of the meeting"."""
        race_id = news.event.race.race_id
        keys = {meeting.key for meeting in self._meetings.of(news.event)} if news.is_first else set[str]()
        saying = set[tuple[str, int]]()
        if news.remarks.contradicts:
            keys |= set(self._meetings.naming(race_id))
            self.carry_out()
            lost = message_store.meetings_saying(self._session, race_id, news.event.contradicting_key or news.event.key)
            saying |= {(channel, post_id) for post_id, channel in lost.items()}
        for key in keys:
            saying |= set(self._messages(key).items())
        if saying:
            self.carry_out()
            self._mend_once(news.version, {number: self._own(news.version, channel) for channel, number in saying})

    def _mend_once(self, version: EventVersion, messages: Mapping[int, int | None]) -> None:
        """Each message links the event once, whatever the version. `messages`: with the message that goes first."""
        if not messages:
            return
        saying = revisions.saying(self._session, version.event_key)
        bumps = {number: Bump(version.received_at, after) for number, after in messages.items() if number not in saying}
        self._show(version, bumps)

    def _own(self, version: EventVersion, channel_id: str) -> int | None:
        """The new message of a version."""
        return self._ids.get(_key(version, channel_id))


def _is_small(news: News) -> bool:
    """A change that only edits a result's message. Where a summary told the result, nothing is told."""
    is_statement = news.remarks.contradicts is not None or news.remarks.again is not None
    return not (news.is_first or news.rings or is_statement) and news.event.kind is EventKind.RESULT_RECEIVED


def _priority(event: RacingEvent) -> Priority:
    if event.drill is not None:
        # After real abandonments, however many channels the drill tells.
        return Priority.ADMIN
    return Priority.ABANDONMENT if event.is_abandonment else Priority.OTHER


def _key(version: EventVersion, channel_id: str) -> str:
    return f"{version.event_key}#{version.version}@{channel_id}"


def _post(planned: _Planned, channel_id: str) -> NewPost:
    news = planned.news
    return NewPost(
        channel_id,
        _key(news.version, channel_id),
        MessageKind.EVENT,
        _priority(news.event),
        planned.received_at or news.version.received_at,
        news.version.id,
        muted_by=planned.muted.get(channel_id),
        not_before=planned.waiting.get(channel_id),
        thread_of=planned.threads.get(channel_id),
        asked=planned.asking.get(channel_id),
    )
