"""Closes, pauses and reopens channels: queue, subscriptions and notices in one transaction.

A closed channel loses no message. A closing ends when Slack takes a message, and not with a trial. A held queue goes
on: old messages become one summary, young messages are sent by themselves. Messages that waited for the channel's hour
become one summary too.

All in one transaction: after a crash the queue is held with all its messages, or goes on with all its messages.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from sqlmodel import Session

from bot.channels import channel_lock, pauses, subscriptions, watches
from bot.channels.filters import ChannelFilter, chosen_by, mentions
from bot.clock import Clock
from bot.db.engine import is_unavailable
from bot.db.tables import EventVersion, MessageKind
from bot.deliveries import inbox
from bot.errors import LockTaken
from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.kinds import ABANDONMENTS
from bot.events.watched import WatchedRunner
from bot.logs import get_logger
from bot.outbox import acknowledgements, backlog, held_queues, message_store
from bot.outbox.backlog import Waiting
from bot.outbox.held_queues import CARDS, CHOICE_ENDED, DIGEST, KEPT, QUIET, UNDELIVERED, Held
from bot.outbox.message import Message
from bot.outbox.message_store import NewPost, Priority
from bot.outbox.notices import Notices
from bot.racedata import day_views

log = get_logger(__name__)

SUMMARY_AFTER = timedelta(hours=3)
"""Within an afternoon's racing a message still helps. Older messages would bury the news."""

RESULTS_PER_SUMMARY = 80
"""More entries do not fit into one message."""

KEPT_PER_SUMMARY = 40
"""Events that the channel chose to hear of later are all named, with room for long names."""

PAUSES_PER_COMMIT = 5
"""Intake waits while the transaction runs."""

EventWithRemarks = tuple[RacingEvent, VersionRemarks]


@dataclass(frozen=True)
class Backlog:
    """The contents of a summary.

    `results` has the newest only. `counts` has all events by kind; an unknown kind counts under its own name, and a
    delivery without a name under None. `given_up`: messages that waited too long, in addition. `cards` are named
    where the channel chose to hear of them later, or watches a runner; `lost` are the keys of cards whose meeting was
    abandoned since. `partly_run`: keys of abandoned meetings with a race that was run. `watched`: the channel's
    watched runners by event key.
    """

    held: Held
    abandonments: tuple[EventWithRemarks, ...]
    results: tuple[EventWithRemarks, ...]
    counts: Mapping[str | None, int]
    given_up: int
    mentions: tuple[str, ...] = ()
    cards: tuple[EventWithRemarks, ...] = ()
    lost: frozenset[str] = frozenset()
    partly_run: frozenset[str] = frozenset()
    watched: Mapping[str, Sequence[WatchedRunner]] = field(default_factory=dict)


Summarise = Callable[[Backlog], Sequence[tuple[Message, int]]]
"""At least one message, each with the number of named abandonments, in order."""


class _Lot(NamedTuple):
    """Messages to be summarised. `given_up`: so many more waited too long."""

    channel_id: str
    waiting: list[Waiting]
    held: Held
    given_up: int = 0


@dataclass(frozen=True)
class Reopening:
    """The only way by which a held queue goes on."""

    summarise: Summarise

    def reopen(self, session: Session, channel_id: str, now: datetime) -> int:
        """The bot is in the channel. Returns how many subscriptions start. A pause stays."""
        self._go_on(session, channel_id, now, trying=True)
        return subscriptions.reopen(session, channel_id, now)

    def try_again(self, session: Session, channel_id: str, now: datetime) -> int:
        """Put a closed queue on trial. Returns how many subscriptions start.

        Membership does not prove that the bot may post. The first accepted post starts the subscriptions, or a later
        call.
        """
        if self._go_on(session, channel_id, now, trying=True):
            return 0
        return subscriptions.reopen(session, channel_id, now)

    def resume(self, session: Session, channel_id: str, now: datetime) -> int:
        """Returns how many subscriptions and watches were paused. A closed channel stays closed."""
        ended = subscriptions.end_pause(session, channel_id, now)
        self._go_on(session, channel_id, now)
        return ended

    def end_pauses(self, session: Session, now: datetime) -> int:
        """End some pauses whose time is over. Returns how many."""
        found = held_queues.pauses_over(session, now, PAUSES_PER_COMMIT)
        channel_lock.take(session, *found)
        # Somebody may have paused the channel again.
        over = [channel_id for channel_id in found if pauses.until(session, channel_id, now) is None]
        for channel_id in over:
            self.resume(session, channel_id, now)
        return len(over)

    def summarise_late(self, session: Session, event_ids: Sequence[int], since: datetime, now: datetime) -> None:
        """Say several late versions, queued in this transaction, in one message a channel.

        `since`: when the data service had the first version. A single event, and an abandonment to be acknowledged, are
        sent singly.
        """
        held = Held(UNDELIVERED, since)
        for channel_id, found in backlog.of_versions(session, event_ids).items():
            asking = acknowledgements.of_messages(session, [one.post.id for one in found])
            late = [one for one in found if one.post.id not in asking]
            if len(_newest(late)) > 1:
                self._summarise(session, _Lot(channel_id, late, held), now)

    def tell_due(self, session: Session, clock: Clock) -> int:
        """Tell the events whose moment has come, several events of a channel together. Returns the number of channels.

        Raises LockTaken while another replica fans out: new edits would miss their message.
        """
        if inbox.take_turn(session, clock) is None:
            raise LockTaken("another replica fans out")
        now = clock()
        found = backlog.channels_due(session, now, PAUSES_PER_COMMIT)
        channel_lock.take(session, *found)
        for channel_id, since in found.items():
            self._tell_kept(session, channel_id, backlog.release(session, channel_id, now), since=since, now=now)
        return len(found)

    def _tell_kept(
        self, session: Session, channel_id: str, kept: list[Waiting], *, since: datetime, now: datetime
    ) -> None:
        """A single event is sent by itself, unless in a digest."""
        filters = subscriptions.filters_of(session, channel_id)
        together: dict[str, list[str]] = {}
        for key, version in _newest(kept).items():
            together.setdefault(_kept_for(version, filters), []).append(key)
        for because, keys in together.items():
            if because != DIGEST and len(_of(kept, keys)) == 1:
                continue
            for start in range(0, len(keys), KEPT_PER_SUMMARY):
                lot = _of(kept, keys[start : start + KEPT_PER_SUMMARY])
                self._summarise(session, _Lot(channel_id, lot, Held(because, since)), now)

    def _go_on(self, session: Session, channel_id: str, now: datetime, *, trying: bool = False) -> bool:
        """False if the queue was not held."""
        channel_lock.take(session, channel_id)
        is_paused = pauses.until(session, channel_id, now) is not None
        held = held_queues.try_again(session, channel_id) if trying else None
        if is_paused:
            if held is not None:
                held_queues.pause(session, channel_id, now)
            return held is not None
        held = held or held_queues.resume(session, channel_id)
        if held is None:
            return False
        backlog.lock(session, channel_id)
        # The job `tell_due` tells the events that came due since.
        backlog.release(session, channel_id, now - SUMMARY_AFTER)
        waiting = backlog.of_queue(session, channel_id, now - SUMMARY_AFTER)
        given_up = backlog.count_given_up(session, channel_id, held)
        if waiting or given_up:
            self._summarise(session, _Lot(channel_id, waiting, held, given_up), now)
        return True

    def _summarise(self, session: Session, lot: _Lot, now: datetime) -> None:
        """Summarise in a savepoint."""
        channel_id, waiting, _, given_up = lot
        # No other summary has the same first message now.
        name = f"summary:{now.isoformat()}:{waiting[0].post.id if waiting else 0}"
        try:
            with session.begin_nested():
                messages = self.summarise(_summary(session, lot))
                kind, priority = MessageKind.SUMMARY, _priority(lot)
                made = [
                    NewPost(channel_id, f"{name}:{number}@{channel_id}", kind, priority, now, content=message.as_json())
                    for number, (message, _) in enumerate(messages)
                ]
                ids = message_store.add(session, made)
                numbers = [ids[one.idempotency_key] for one in made]
                named = iter(key for key, version in _newest(waiting).items() if version.kind in ABANDONMENTS)
                for number, (_, count) in zip(numbers, messages, strict=True):
                    backlog.fold(session, _of(waiting, list(islice(named, count))), number)
                # The last message counts the events without a name in any message.
                backlog.fold(session, waiting, numbers[-1])
        except Exception as error:
            if is_unavailable(error):
                raise
            # A bug in the summary must not keep the channel closed.
            log.exception("summary_not_made", channel_id=channel_id, waiting=len(waiting))
        else:
            log.info("backlog_summarised", channel_id=channel_id, posts=len(waiting), given_up=given_up)


def _priority(lot: _Lot) -> Priority:
    """The summary of a held queue comes before all that the queue has."""
    if lot.held.because not in {UNDELIVERED, *KEPT}:
        return Priority.BACKLOG_SUMMARY
    is_urgent = any(version.kind in ABANDONMENTS for one in lot.waiting for version in (one.own, *one.beside))
    return Priority.ABANDONMENT if is_urgent else Priority.OTHER


def _summary(session: Session, lot: _Lot) -> Backlog:
    channel_id, waiting, held, given_up = lot
    newest = list(_newest(waiting).values())
    watched = {row.event_key: event_store.watched_in(channel_id, [row]) for row in newest}
    results = [row for row in newest if row.kind == EventKind.RESULT_RECEIVED][-RESULTS_PER_SUMMARY:]
    cards = [row for row in newest if row.kind == EventKind.RACECARD_PUBLISHED]
    cards = [row for row in cards if held.because in KEPT or watched[row.event_key]]
    abandonments = tuple(event_store.known(row) for row in newest if row.kind in ABANDONMENTS)
    events = [event for event, _ in abandonments]
    filters = subscriptions.mentioning(session, [channel_id]).get(channel_id, [])
    return Backlog(
        held=held,
        abandonments=abandonments,
        results=tuple(map(event_store.known, results)),
        # Unknown kinds are counted by name.
        counts=Counter(row.kind or event_store.known(row)[0].name for row in newest),
        given_up=given_up,
        mentions=tuple(dict.fromkeys(one for event in events for one in mentions(filters, event))),
        cards=tuple(map(event_store.known, cards)),
        # An abandonment edits the message.
        lost=frozenset(
            one.own.event_key for one in waiting if any(version.kind in ABANDONMENTS for version in one.beside)
        ),
        partly_run=day_views.partly_run(session, events),
        watched=watched,
    )


def _newest(waiting: Iterable[Waiting]) -> dict[str, EventVersion]:
    """The newest version of each event with a waiting message, in order."""
    waiting = list(waiting)
    newest = {one.own.event_key: one.own for one in waiting}
    for version in (version for one in waiting for version in (one.own, *one.beside)):
        if version.event_key in newest and version.version > newest[version.event_key].version:
            newest[version.event_key] = version
    return newest


def _of(waiting: Iterable[Waiting], event_keys: Collection[str]) -> list[Waiting]:
    return [one for one in waiting if one.own.event_key in event_keys]


def _kept_for(version: EventVersion, filters: Sequence[ChannelFilter]) -> str:
    chosen = chosen_by(filters, event_store.known(version)[0], version.received_at)
    if version.kind == EventKind.RESULT_RECEIVED and chosen and chosen.digest:
        return DIGEST
    if version.kind == EventKind.RACECARD_PUBLISHED and chosen and chosen.cards:
        return CARDS
    return QUIET if chosen and chosen.quiet else CHOICE_ENDED


def close_channel(session: Session, notices: Notices, channel_id: str, reason: str, now: datetime) -> None:
    """Admins and subscribers are told once a closing."""
    suspended = subscriptions.suspend(session, channel_id, reason, now)
    since = held_queues.close(session, channel_id, reason, now)
    backlog.unfold(session, channel_id)
    notices.divert(session, channel_id, reason, since)
    escalating = _escalating(session, channel_id)
    # After a failed trial the subscriptions are still suspended: nobody is told again.
    if suspended or (since == now and (escalating or watches.has_any(session, channel_id))):
        notices.channel_closed(session, channel_id, Held(reason, since), _creators(session, channel_id), escalating)
    log.warning("channel_closed", channel_id=channel_id, reason=reason, suspended=suspended)


def end_closing(session: Session, notices: Notices, channel_id: str, since: datetime, now: datetime) -> None:
    """Slack took a message on trial. Does nothing if the channel was closed again meanwhile."""
    if held_queues.end_trial(session, channel_id):
        started = subscriptions.reopen(session, channel_id, now)
        notices.channel_open(session, channel_id, since, _creators(session, channel_id))
        log.info("channel_takes_posts_again", channel_id=channel_id, subscriptions_started=started)


def pause_channel(session: Session, channel_id: str, until: datetime | None, now: datetime) -> int:
    """How many subscriptions and watches are paused (`until` None: until resumed). Their events wait."""
    paused = subscriptions.pause(session, channel_id, until, now)
    if paused:
        held_queues.pause(session, channel_id, now)
        backlog.unfold(session, channel_id)
    return paused


def is_used(session: Session, channel_id: str) -> bool:
    """True with subscriptions, watches, or escalations of other channels."""
    return bool(
        subscriptions.of_channel(session, channel_id)
        or watches.has_any(session, channel_id)
        or _escalating(session, channel_id)
    )


def _escalating(session: Session, channel_id: str) -> list[str]:
    """Channels whose escalations go here, or wait here although the subscription has ended."""
    naming = {row.channel_id for row in subscriptions.escalating_to(session, channel_id)}
    return sorted(naming.union(acknowledgements.waiting_in(session, channel_id)))


def _creators(session: Session, channel_id: str) -> list[str]:
    escalating = subscriptions.escalating_to(session, channel_id)
    created = {*subscriptions.creators(session, channel_id), *watches.creators(session, channel_id)}
    return sorted(created | {row.created_by for row in escalating})
