"""A transaction's new messages and edits, collected while planning and stored at the end."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import NamedTuple, Protocol

from sqlmodel import Session, col

from bot.db.tables import EventVersion, OutboxMessage
from bot.desk.decide import Because, Release, Show, Telling
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.fanout.chains import FIRST_NEW, Chains
from bot.fanout.known_meetings import VersionNews
from bot.fanout.live_messages import LiveMessages
from bot.outbox import acknowledgements, claim_at_fanout, message_store, said_apart
from bot.outbox.claim_at_fanout import Added, Claiming
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.outbox.message_store import NewPost
from bot.outbox.message_view import Tells
from bot.outbox.revisions import Bump, Bumps


class _New(NamedTuple):
    """A message to be stored. `number`: the telling's number."""

    post: NewPost
    version: EventVersion
    number: int


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


class Outbox(Protocol):
    """See bot.outbox.poster."""

    def claiming(self, now: datetime, at_s: float) -> Claiming:
        """The room for claims of messages and edits that can be sent at once."""

    def begin(self, added: Added) -> None:
        """Send the claimed messages, after the commit."""


class Drafts:
    """New messages and edits, stored by `write`. Until then a new telling has a number of its own."""

    def __init__(self, session: Session, live: LiveMessages, now: datetime) -> None:
        self.bumps = Bumps(session)
        self.chains = Chains(session)
        self._session = session
        self._live = live
        self._now = now
        self._numbers = count(FIRST_NEW)
        self._new: list[_New] = []
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
        number, withheld = next(self._numbers), Because.MUTED if post.muted_by else None
        waits, in_thread = post.not_before, post.thread_of is not None
        self.chains.add(_telling(news, post.channel_id, number, withheld, waits=waits, in_thread=in_thread))
        self._new.append(_New(post, news.version, number))
        return number

    def fold(self, news: VersionNews, channel: str, number: int) -> None:
        """The message of a meeting says the event too."""
        self.chains.fold(_telling(news, channel, number, Because.MEETING, by=number))

    def link(self, version: EventVersion, show: Show, after: int | None) -> None:
        self._shown.append(_Shown(show, version, version.received_at, after, is_link=True))

    def show(self, news: VersionNews, show: Show, at: datetime, after: int | None, *, is_late: bool) -> None:
        self._shown.append(_Shown(show, news.version, at if show.edits else None, after, is_late=is_late))

    def release(self, release: Release) -> None:
        self._released.append(release.telling)
        self._released_in |= self.chains.wait_no_longer(release.telling)

    def hurry(self, told: Iterable[Telling]) -> None:
        """Give unsent messages an abandonment's priority: earlier news of the race comes first."""
        self._hurried |= {one.id for one in told if one.stands and one.is_unsent and not one.is_link}

    def write(
        self,
        claiming: Claiming,
        around: Callable[[Sequence[RacingEvent]], Sequence[RacingEvent]],
        known: FanoutKnowledge,
    ) -> Added:
        """Store all that is planned. Ends the transaction: nothing may wait for a lock after the locks of messages."""
        events = self._events.values()
        event_store.add(self._session, [row for row, _ in events if row.id is None])
        # Where a message waits no longer, or a new message already has more to show, nothing is sent at once.
        followed = {one.show.telling for one in self._shown}
        busy = self._released_in | {one.post.channel_id for one in self._new if one.number in followed}
        tells = Tells(
            {row.id or 0: row for row, _ in events},
            {row.id or 0: event for row, event in events},
            around,
            known,
            self.chains.told,
            self.chains.asked,
        )
        new = [one.post._replace(event_id=one.version.id) for one in self._new]
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
        said_apart.say_unnoted(self._session, self.bumps.write(begun, begun_at), self._now)
        return len(waiting.difference(begun))

    def _number(self, ids: Mapping[str, int]) -> None:
        """New tellings have the ids of their messages from now on."""
        keys = {one.number: one.post.idempotency_key for one in self._new}
        if missing := sorted(keys.values() - ids.keys()):
            ids = {**ids, **message_store.ids_of(self._session, missing)}
        self.chains.numbers = {number: ids[key] for number, key in keys.items()}

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
        self.bumps.add(late)
        asked = self.chains.asked.intersection(stored(one.show.telling) for one in self._shown)
        ended = {stored(one.show.telling) for one in self._shown if one.show.asks_no_longer}
        if locked := asked | ended:
            acknowledgements.lock(self._session, locked)
            acknowledgements.end(self._session, ended)
            # Escalations of an edited message are edited too, also after the channel has stopped asking.
            edited = {number: bump for (number, _), bump in said.items() if bump} | late
            followed = {number: bump for number, bump in edited.items() if number in asked}
            self.bumps.add(acknowledgements.follow(self._session, followed))


def _telling(
    news: VersionNews,
    channel: str,
    number: int,
    withheld: Because | None = None,
    *,
    by: int | None = None,
    waits: datetime | None = None,
    in_thread: bool = False,
) -> Telling:
    event, row = news.event, news.version
    return Telling(
        *(number, channel, event.kind, row.event_key, event.race.race_id, row.version, row.received_at, row.remarks),
        withheld=withheld,
        by=by,
        waits=waits,
        in_thread=in_thread,
        is_unsent=withheld is None,
    )
