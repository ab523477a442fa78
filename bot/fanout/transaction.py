"""One transaction of fan-out: fill in events, find the news, plan messages, hand over to the outbox.

The same transaction marks the deliveries done: a crash leaves everything or nothing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from sqlmodel import Session

from bot.channels.subscriptions import UnreadFilter
from bot.clock import Clock
from bot.db.engine import is_unavailable
from bot.deliveries import inbox
from bot.deliveries.inbox import StoredDelivery
from bot.events import event_store, touched
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import brings_placings
from bot.events.touched import What
from bot.events.watched import out_or_back
from bot.fanout import drills
from bot.fanout.completion_edits import EDITED_WITHIN, amend, fill, later_values, noted_with, repeated, watched_in
from bot.fanout.delivery_reader import ReadDelivery
from bot.fanout.known_meetings import KnownMeetings, VersionNews
from bot.fanout.plan import Heard, Plan
from bot.logs import get_logger
from bot.outbox import fanout_knowledge
from bot.outbox.claim_at_fanout import Added, Claiming, QueuedOnly
from bot.outbox.fanout_knowledge import FanoutKnowledge, KnownOfGeneration
from bot.outbox.notices import Notices
from bot.outbox.poster import Outbox
from bot.racedata import race_book_store
from bot.racedata.event_completion import KnownElsewhere

log = get_logger(__name__)

MESSAGES_PER_COMMIT = 2_000
"""The other deliveries wait for the next transaction."""

FIRST_CHANNELS = 10
"""Channels told first of an event. Their posts go out while the next transaction makes the other messages."""

LogLine = tuple[str, Mapping[str, object]]
"""An event and its fields, written after the commit."""


@dataclass(frozen=True)
class FannedOut:
    """`deliveries` counts finished deliveries."""

    deliveries: int = 0
    added: Added = field(default_factory=Added)
    lines: Sequence[LogLine] = ()


class FanoutTransactions:
    """`kept`: memory between transactions, to be forgotten after a failure."""

    def __init__(self, outbox: Outbox, notices: Notices, clock: Clock, monotonic: Callable[[], float]) -> None:
        self.kept = KnownOfGeneration()
        self._outbox = outbox
        self._notices = notices
        self._clock = clock
        self._monotonic = monotonic

    def together(
        self, session: Session, read: Sequence[ReadDelivery], handed_over: Collection[int] = ()
    ) -> FannedOut | None:
        """None while another replica has the turn, or an earlier delivery than `handed_over` waits."""
        taken = inbox.take_in_turn(session, [delivery for delivery, _ in read], self._clock, handed_over)
        # After the database's moment: that moment and the time since are never ahead of the database's clock.
        began_s = self._monotonic()
        if taken is None:
            return None
        waiting = _only(read, taken.inbox_ids)
        if not waiting:
            return FannedOut(len(read))
        known = self.kept.at(session, taken.mark, taken.now)
        unread = [channel_id for channel_id, chosen in known.listening if isinstance(chosen, UnreadFilter)]
        self._notices.unread_filters(session, unread)
        transaction = _Transaction(session, known, self._notices, taken.now, self._clock())
        done = transaction.fan_out(waiting, self._outbox.claiming(taken.now, began_s))
        return replace(done, deliveries=done.deliveries + len(read) - len(waiting))

    def apart(
        self, session: Session, read: Sequence[ReadDelivery], handed_over: Collection[int] = ()
    ) -> FannedOut | None:
        """As `together`, each delivery in a savepoint, without claims."""
        taken = inbox.take_in_turn(session, [delivery for delivery, _ in read], self._clock, handed_over)
        if taken is None:
            return None
        known = fanout_knowledge.read(session, taken.now)
        done = [self._alone(session, each, known, taken.now) for each in _only(read, taken.inbox_ids)]
        waiting = sum(each.added.waiting for each in done)
        return FannedOut(len(done), Added(waiting=waiting), [line for each in done for line in each.lines])

    def within(self, session: Session, read: Sequence[ReadDelivery], now: datetime) -> FannedOut:
        """Fan out without claims, as a part of other work that has the turn (`inbox.take_turn`)."""
        taken = inbox.take(session, [delivery for delivery, _ in read], now)
        waiting = _only(read, taken.inbox_ids)
        known = fanout_knowledge.read(session, now)
        return _Transaction(session, known, self._notices, now, self._clock()).fan_out(waiting)

    def _alone(self, session: Session, read: ReadDelivery, known: FanoutKnowledge, now: datetime) -> FannedOut:
        """A delivery that our code fails on stays in the inbox."""
        delivery, _ = read
        try:
            with session.begin_nested():
                return _Transaction(session, known, self._notices, now, self._clock()).fan_out([read])
        except Exception as error:
            if is_unavailable(error):
                raise
            reference = inbox.reference(delivery.inbox_id)
            log.exception("fanout_failed", reference=reference, attempts=delivery.attempts + 1)
            inbox.mark_failed(session, delivery, now, f"{type(error).__name__}: {error}")
            return FannedOut()


class _Transaction:
    """`now` is the database's moment, `hour` the service's, for the hours that channels chose."""

    def __init__(
        self, session: Session, known: FanoutKnowledge, notices: Notices, now: datetime, hour: datetime
    ) -> None:
        self._session = session
        self._known = known
        self._notices = notices
        self._now = now
        self._hour = hour
        self._meetings = KnownMeetings(session, now - EDITED_WITHIN)
        self._plan = Plan(session, self._meetings, known, hour)
        self._lines: list[LogLine] = []

    def fan_out(self, read: Sequence[ReadDelivery], claiming: Claiming | None = None) -> FannedOut:
        """Without claims, errors in the race book undo a savepoint alone, and later values get another transaction."""
        alone = claiming is None and len(read) == 1
        elsewhere = KnownElsewhere(self._session, self._known.lists, self._known.filters, careful=claiming is None)
        events = self._fill_in(read, elsewhere)
        done = 0
        for (delivery, _), event in zip(read, events, strict=True):
            if self._plan.posts >= MESSAGES_PER_COMMIT:
                break
            at_first = FIRST_CHANNELS if claiming and claiming.room and not done else None
            self._plan_messages(elsewhere, delivery, event, alone=alone, at_first=at_first)
            if self._plan.is_unfinished:
                break
            done += 1
        later = [] if self._plan.is_unfinished else later_values(self._plan, elsewhere)
        if claiming is not None:
            amend(self._plan, later, self._now)
        else:
            touched.note(self._session, What.EVENT, [one.event.key for one in later])
        if left := [delivery.inbox_id for delivery, _ in read[done:]]:
            inbox.put_back(self._session, left)
        added = self._plan.write(claiming or QueuedOnly().claiming(self._now))
        return FannedOut(done, added, self._lines)

    def _fill_in(self, read: Sequence[ReadDelivery], elsewhere: KnownElsewhere) -> list[RacingEvent]:
        """The events, filled in from the race book and stored events. Delivered races enter the race book."""
        events = [drills.recognised(self._session, _raised(event), self._now) for _, event in read]
        coded = [elsewhere.coded(event) for event in events]
        news = self._without_older(coded, elsewhere)
        elsewhere.look_up(lambda: race_book_store.learn(self._session, news, self._now), news)
        return fill(elsewhere, self._meetings, coded)

    def _without_older(self, coded: Sequence[RacingEvent], elsewhere: KnownElsewhere) -> list[RacingEvent]:
        """The race book takes the last received values, so a card or a result older than the told version stays out."""
        stored = self._meetings.read([one for one in coded if not one.is_abandonment])
        elsewhere.listen(stored)
        newest, news = {one.key: one.as_delivered() for one in stored}, []
        for event in coded:
            told = None if event.is_abandonment else newest.get(event.key)
            if told is None or event.is_newer_than(told) is not False or brings_placings(told, event):
                newest[event.key] = event
                news.append(event)
        return news

    def _plan_messages(
        self,
        elsewhere: KnownElsewhere,
        delivery: StoredDelivery,
        event: RacingEvent,
        *,
        alone: bool,
        at_first: int | None = None,
    ) -> None:
        reference = inbox.reference(delivery.inbox_id)
        known = self._meetings.as_known(event, elsewhere.filled)
        if known.key != event.key:
            inbox.add_key(self._session, delivery.inbox_id, known.key)
        event = known
        news = self._meetings.news(event, elsewhere.filled, delivery.inbox_id, delivery.received_at)
        if event.is_abandonment and (told := self._meetings.told(event.key)[0]).is_taken_back:
            # The race book has read the delivery alone: of an older version, or before the flag was compared.
            elsewhere.look_up(lambda: race_book_store.learn(self._session, [told], self._now), [told])
        if not isinstance(news, VersionNews):
            if news is not None and alone:
                self._repeated_alone(elsewhere, news, delivery)
            elif news is not None:
                repeated(self._plan, elsewhere, news, delivery.received_at, now=self._now)
            self._lines.append(("same_event_again", {"reference": reference, "event_key": event.key}))
            return
        watched = watched_in(self._known.watches, elsewhere, news.event, news.version.received_at)
        noted = event_store.noted_in(self._meetings.versions_of(event.key))
        if renewed := noted_with(elsewhere, news.event, noted, watched):
            event_store.note_watched(news.version, renewed)
        is_card = news.event.kind is EventKind.RACECARD_PUBLISHED
        have = partial(self._known.watches.have, received_at=news.version.received_at)
        rung = out_or_back(noted, renewed, have) if is_card else ()
        is_drill = news.event.drill is not None
        takes = drills.channels(news.event, self._known.listening) if is_drill else self._known.taking(news.event)
        self._plan.add(news, Heard(takes, watched, rung, at_first=at_first))
        if self._plan.is_unfinished:
            return
        self._notify(news.event, reference, news.version.posts)
        fields = {"reference": reference, "event_key": event.key, "channels": news.version.posts}
        self._lines.append(("fanned_out", fields))
        for reinstated in self._meetings.taken_back(news.event):
            self._plan_messages(elsewhere, delivery, reinstated, alone=alone)

    def _notify(self, event: RacingEvent, reference: str, channels: int) -> None:
        """Admins hear of a drill, of an event that could not be read, and of an event of no region."""
        if event.drill is not None:
            drills.tell_unknown(self._session, self._notices, event, reference, self._now)
        elif event.kind is None:
            self._notices.unreadable(self._session, event, reference, channels)
        elif event.unreadable_because:
            self._notices.told_plainly(self._session, event.unreadable_because, event.key, reference)
        elif not channels and self._is_nowhere(event):
            self._notices.of_no_region(self._session, event, reference)

    def _is_nowhere(self, event: RacingEvent) -> bool:
        """Whether the unknown region alone keeps the event from every channel."""
        of_regions = (
            (chosen, event.race.model_copy(update={"region": chosen.region})) for chosen in self._known.filters
        )
        return event.race.region is None and any(
            chosen.matches(event.model_copy(update={"race": race})) for chosen, race in of_regions
        )

    def _repeated_alone(self, elsewhere: KnownElsewhere, event: RacingEvent, delivery: StoredDelivery) -> None:
        """`repeated`, in a savepoint of the delivery. After a failure fan-out looks at the event again later."""
        plan = Plan(self._session, self._meetings, self._known, self._hour)
        try:
            with self._session.begin_nested():
                repeated(plan, elsewhere, event, delivery.received_at, now=self._now)
                plan.write(QueuedOnly().claiming(self._now))
        except Exception as error:
            if is_unavailable(error):
                raise
            log.exception("later_values_not_told", reference=inbox.reference(delivery.inbox_id))
            touched.note(self._session, What.EVENT, [event.key])


def log_lines(lines: Iterable[LogLine]) -> None:
    for event, fields in lines:
        log.info(event, **fields)


def _only(read: Iterable[ReadDelivery], inbox_ids: frozenset[int]) -> list[ReadDelivery]:
    return [(delivery, event) for delivery, event in read if delivery.inbox_id in inbox_ids]


def _raised(event: RacingEvent | Exception) -> RacingEvent:
    if isinstance(event, Exception):
        raise event
    return event
