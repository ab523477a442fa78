"""Carries out how each channel is told of a version: by a new message, by an edit, or by an existing message."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial

from sqlmodel import Session

from bot.channels import mutes
from bot.channels.filters import kept_until, request_of
from bot.db.tables import MessageKind
from bot.desk.decide import (
    Choices,
    Decision,
    Post,
    Release,
    Show,
    Telling,
    Withhold,
    decide,
    linked,
    meetings_without_race,
    standing,
)
from bot.events import event_store, named_races
from bot.events.event import EventKind, RacingEvent
from bot.events.meeting_parts import lost_in, lost_with, marked_in
from bot.fanout.drafts import FIRST_NEW, Drafts, LiveMessages
from bot.fanout.known_meetings import KnownMeetings, VersionNews
from bot.outbox.claim_at_fanout import Added, Claiming
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.outbox.message_store import NewPost, Priority


@dataclass(frozen=True)
class Heard:
    """Who hears of a version. `takes`: channels with a filter that takes the event. `watches`: channels with a watch.

    `rung`: a watched runner is out. `only`: no other channel is told or asked. `at_first`: how many channels
    are told now of a new event; the other channels are told later.
    """

    takes: Collection[str]
    watches: Collection[str] = ()
    rung: Collection[str] = ()
    only: str | None = None
    at_first: int | None = None


class Plan:
    """A transaction's messages, stored by `write` at the end. `posts` counts told channels.

    `is_unfinished`: further channels are to be told of the last news.
    """

    def __init__(self, session: Session, meetings: KnownMeetings, known: FanoutKnowledge, now: datetime) -> None:
        """`now`: by the service's clock, for the hours that channels chose."""
        self.session = session
        self.known = known
        self.meetings = meetings
        self.live = LiveMessages(session, known.with_live_messages, now)
        self._now = now
        self._drafts = Drafts(session, self.live, known, meetings.around, now)
        self._chains = self._drafts.chains
        self._linked: set[str] = set()
        self._run_since: set[str] = set()
        self.posts = 0
        self.is_unfinished = False

    def add(self, news: VersionNews, heard: Heard) -> None:
        """Tell channels of a version, or of its later values, and edit earlier messages."""
        event = news.event
        self._drafts.begin(news)
        if news.is_late:
            self.live.refresh(event.race, news.received_at)
        if event.kind is EventKind.MEETING_ABANDONED:
            named_races.add(self.session, event.key, (race.race_id for race in event.races))
        meetings = self._related(news)
        if news.remarks.contradicts is EventKind.MEETING_ABANDONED:
            for one in meetings:
                if lost_in(one)(event.race):
                    named_races.add(self.session, one.key, [event.race.race_id or event.key])
        if event.reports_loss and not news.is_late and (not news.is_first or self.meetings.has_other_of_race(event)):
            of_races = event_store.keys_of([event]), event.race_ids
            self._chains.read(*of_races)
            self._drafts.hurry(self._chains.all_of(*of_races))
        muted = {} if news.remarks.contradicts else mutes.muting(self.known.mutes(self._now), event)
        steps = self._decided(news, heard, meetings, muted)
        own = self._carry(news, steps, muted)
        told = sum(self._is_told(news, heard, channel, found) for channel, found in steps.items())
        self.posts += told
        news.version.posts += told
        if self.is_unfinished:
            return
        self._tell_relatives(news, meetings, own)
        if news.is_late or event.kind in event_store.OF_MEETINGS:
            self._linked.add(event.key)

    def _link_meetings(self) -> None:
        """Have messages on races and racecards link the message of the abandoned meeting."""
        if not (self._linked or self._run_since):
            return
        pairs = self.meetings.pairs(self._linked | self._run_since)
        self._chains.read({event.key for pair in pairs for event in pair})
        for meeting, part in pairs:
            here, versions = self._chains.of({meeting.key}), self.meetings.versions_of(meeting.key)
            earlier = versions[-2:-1] if meeting.key in self._linked else ()
            is_turned = any(_extent(event_store.known(row)[0], part) != _extent(meeting, part) for row in earlier)
            is_turned = is_turned or (meeting.key in self._run_since and part.kind is EventKind.RACECARD_PUBLISHED)
            asking = self.known.with_asking if lost_with(part.race, meeting) else ()
            for channel, chain in self._chains.of({part.key}).items():
                own = standing(here.get(channel, ()))
                if show := linked(own, chain, asks=channel in asking):
                    self._drafts.link(versions[-1], show, own.id if own else None, anew=is_turned)

    def write(self, claiming: Claiming) -> Added:
        """Ends the transaction."""
        self._link_meetings()
        return self._drafts.write(claiming)

    def _related(self, news: VersionNews) -> list[RacingEvent]:
        """The abandoned meetings that say the race, or that the news takes the race out of.

        Reads what channels were told of the event before.
        """
        event, contradicts = news.event, news.remarks.contradicts
        is_result = event.kind is EventKind.RESULT_RECEIVED and (news.is_first or contradicts)
        is_related = is_result or (event.kind is EventKind.RACE_ABANDONED and not contradicts)
        meetings = self.meetings.of(event) if is_related else []
        is_known = news.is_begun or not news.is_first
        if meetings or contradicts or is_known or (self.known.with_hours and news.is_urgent):
            keys = {*event_store.keys_of([event]), *(one.key for one in meetings)}
            self._chains.read(keys, {event.race.race_id})
        return meetings

    def _decided(
        self, news: VersionNews, heard: Heard, meetings: Sequence[RacingEvent], muted: Collection[str]
    ) -> dict[str, list[Decision]]:
        event, received_at, with_other = news.event, news.version.received_at, news.remarks.contradicts or news.is_late
        chain = self._chains.of(event_store.keys_of([event]) if with_other else {event.key})
        told = [(meeting, self._chains.of({meeting.key})) for meeting in meetings]
        channels = {*heard.takes, *heard.watches, *chain, *(channel for _, here in told for channel in here)}
        if heard.only is not None:
            channels &= {heard.only}
        if news.is_begun:
            # Later messages about the race say the event too.
            begun = min((one.id for one in self._chains.all_of({event.key})), default=FIRST_NEW)
            told_since = (one for one in self._chains.all_of(event_store.keys_of([event])) if one.id >= begun)
            channels -= {one.channel_id for one in told_since}
        loss_told = self._loss_told(news) if news.may_repeat_loss else {}
        of_race = self._chains.all_of(event_store.keys_of([event]), [event.race.race_id])
        is_unheard = news.is_first and not (news.is_begun or of_race or loss_told or any(here for _, here in told))
        self.is_unfinished = is_unheard and heard.at_first is not None and len(channels) > heard.at_first
        if self.is_unfinished:
            channels = set(sorted(channels)[: heard.at_first])
        live = self.live.of(news, channels, received_at) if self.live else {}
        noted = event_store.noted_in([news.version])
        asking = self.known.with_asking if event.reports_loss else {}
        # Most channels were told of nothing, and many choose alike.
        at_first, steps = cache(partial(decide, news, chain=())), {}
        for channel in sorted(channels):
            choices = Choices(
                takes=channel in heard.takes,
                listens=channel in self.known.listeners,
                watches=channel in heard.watches,
                noted=channel in noted,
                rung=channel in heard.rung,
                muted=channel in muted,
                loss_told=loss_told.get(channel),
                until=self._until(channel, event, received_at),
                live=live.get(channel),
                asked=request_of(asking[channel], event) if channel in asking else None,
            )
            of_meetings = [(meeting, one) for meeting, here in told if (one := _last(here.get(channel, ())))]
            own = chain.get(channel, ())
            steps[channel] = decide(news, choices, own, of_meetings) if own or of_meetings else at_first(choices)
        making = [
            channel
            for channel, one in live.items()
            if one.takes
            and one.may_be_made
            and any(isinstance(step, Post) and not step.until for step in steps[channel])
        ]
        if making:
            self.live.make(event, making, received_at)
        return steps

    def _loss_told(self, news: VersionNews) -> dict[str, int]:
        """The channels that other events told of every lost race of the news, with the newest telling."""
        event = news.event
        races = [race for race in (event.race, *event.races) if race.abandoned]
        keys = [self.meetings.also_losing(race, event.key) for race in races]
        if not keys or not all(keys):
            return {}
        self._chains.read({key for of_race in keys for key in of_race})
        told = [
            {channel: one.id for channel, chain in self._chains.of(of_race).items() for one in chain if one.tells}
            for of_race in keys
        ]
        return {
            channel: max(one[channel] for one in told) for channel in told[0] if all(channel in one for one in told)
        }

    def _until(self, channel: str, event: RacingEvent, received_at: datetime) -> datetime | None:
        filters = self.known.with_hours.get(channel)
        return kept_until(filters, event, received_at, self._now) if filters else None

    def _carry(
        self, news: VersionNews, steps: Mapping[str, Sequence[Decision]], muted: Mapping[str, str]
    ) -> Mapping[str, int]:
        """Returns the new messages by channel."""
        event, row = news.event, news.version
        posts = {channel: step for channel, found in steps.items() for step in found if isinstance(step, Post)}
        replying = [channel for channel, post in posts.items() if post.in_thread]
        threads = self.live.threads(event, replying, row.received_at) if replying else {}
        own: dict[str, int] = {}
        key, priority = f"{event.key}#{row.version}", _priority(event)
        for channel, found in steps.items():
            post = partial(NewPost, channel, f"{key}@{channel}", MessageKind.EVENT, priority, news.received_at)
            by: int | None = None
            for step in found:
                if isinstance(step, Post):
                    thread_of = threads.get(channel) if step.in_thread else None
                    new = post(not_before=step.until, thread_of=thread_of, asked=step.asked)
                    own[channel] = self._drafts.make(news, new)
                elif isinstance(step, Withhold):
                    by = step.by
                    if by is None:
                        self._drafts.make(news, post(muted_by=muted[channel]))
                    else:
                        self._drafts.fold(news, channel, by)
                elif isinstance(step, Release):
                    self._drafts.release(step)
                else:
                    at, is_late = news.received_at if by else news.at, news.is_late and by is None
                    self._drafts.show(news, step, at, own.get(channel), is_late=is_late)
        return own

    def _is_told(self, news: VersionNews, heard: Heard, channel: str, steps: Sequence[Decision]) -> bool:
        if news.is_late:
            return any(isinstance(step, Post | Withhold) for step in steps)
        return bool(steps) and (channel in self.known.listeners or channel in heard.takes or channel in heard.watches)

    def _tell_relatives(self, news: VersionNews, meetings: Sequence[RacingEvent], own: Mapping[str, int]) -> None:
        event = news.event
        if replaced := self.meetings.replaced(event):
            self._chains.read(replaced)
            for channel, chain in self._chains.of(replaced).items():
                if channel in own and (one := standing(chain)):
                    self._drafts.link(news.version, Show(one.id), own[channel], anew=True)
        if self.known.with_hours and news.is_urgent and not news.is_late:
            for one in self._chains.all_of(event_store.keys_of([event]), [event.race.race_id]):
                if one.waits:
                    self._drafts.release(Release(one.id))
        is_run = event.kind is EventKind.RESULT_RECEIVED
        if (meetings and (is_run or event.is_taken_back)) or (is_run and news.remarks.contradicts):
            self._take_out_race(news, meetings, own)

    def _take_out_race(self, news: VersionNews, meetings: Sequence[RacingEvent], own: Mapping[str, int]) -> None:
        """Messages on abandoned meetings, and on their cards, leave out a race that was run or reinstated."""
        event = news.event
        self.meetings.read(meetings)
        self._run_since |= {meeting.key for meeting in meetings}
        of_race = [self._chains.of({meeting.key}) for meeting in meetings]
        lost = self._chains.of({event.contradicting_key or ""} if news.remarks.contradicts else ())
        for channel in sorted({channel for found in (*of_race, lost) for channel in found}):
            for show in meetings_without_race([found.get(channel, ()) for found in of_race], lost.get(channel, ())):
                if event.is_taken_back:
                    self._drafts.show(news, show, news.version.received_at, own.get(channel), is_late=True)
                else:
                    self._drafts.link(news.version, show, own.get(channel))


def _extent(meeting: RacingEvent, part: RacingEvent) -> object:
    """How much of the part is lost with the meeting, or by the card."""
    if meeting.kind is EventKind.RACECARD_PUBLISHED:
        return part.race.race_id in marked_in(meeting)
    lost = [*map(lost_in(meeting), part.races or (part.race,))]
    return meeting.is_reinstated, meeting.says_partly_run, lost


def _last(chain: Sequence[Telling]) -> Telling | None:
    """The newest telling with a message of its own, else the newest."""
    return standing(chain) or (chain[-1] if chain else None)


def _priority(event: RacingEvent) -> Priority:
    if event.drill is not None:
        # After real abandonments, however many channels the drill tells.
        return Priority.ADMIN
    return Priority.ABANDONMENT if event.reports_loss else Priority.OTHER
