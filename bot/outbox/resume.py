"""A lane that was held goes on: the channel is open to us again, or its pause is over.

What waited long is said in one message, and what is younger is posted as usual, all from one transaction: a crash
leaves the lane held with everything in it, or free with everything in its place.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from sqlmodel import Session

from bot.channels import channel_lock, subscriptions
from bot.channels.filters import mentions
from bot.db.engine import is_unavailable
from bot.db.tables import MessageKind
from bot.events import event_store
from bot.events.event import TOPIC_OF, EventKind, RacingEvent, Topic
from bot.events.facts import VersionRemarks
from bot.logs import get_logger
from bot.outbox import backlog, held_queues, message_store
from bot.outbox.backlog import WaitingPost
from bot.outbox.held_queues import UNDELIVERED, Held
from bot.outbox.message import Message
from bot.outbox.message_store import NewPost, Priority

log = get_logger(__name__)

SUMMARY_AFTER = timedelta(hours=3)
"""Within an afternoon's racing a message still helps by itself. Beyond it, dozens of them would bury what is new."""

RESULTS_LISTED = 80
"""The newest ones; more would not fit into one message beside the rest."""

PAUSES_TOGETHER = 5
"""Channels of one transaction: ingest waits while it runs."""

ABANDONMENTS = tuple(kind for kind, topic in TOPIC_OF.items() if topic is Topic.ABANDONMENTS)
"""These are named one by one, and never only counted."""

Told = tuple[RacingEvent, VersionRemarks]


@dataclass(frozen=True)
class Waited:
    """What a summary is made of.

    `abandonments` are all there are, `results` the newest, in order of receipt. `counts` has every event that waited,
    those among them, by kind. An event of a kind that this version does not know is counted by its own name, and a
    delivery without a name under None. `given_up` is how many messages had waited too long, and are in none of these.
    `mentions` are who the channel has these abandonments ring.
    """

    held: Held
    abandonments: tuple[Told, ...]
    results: tuple[Told, ...]
    counts: Mapping[str | None, int]
    given_up: int
    mentions: tuple[str, ...] = ()


Summarise = Callable[[Waited], Sequence[tuple[Message, int]]]
"""Messages that name every abandonment, each with how many of them it names, in their order; at least one message."""


@dataclass(frozen=True)
class Reopening:
    """Frees lanes. Every way in which a held lane goes on leads through here."""

    summarise: Summarise

    def reopen(self, session: Session, channel_id: str, now: datetime) -> int:
        """How many subscriptions start: the bot is in the channel (again). A pause is kept."""
        self._go_on(session, channel_id, now, trying=True)
        return subscriptions.reopen(session, channel_id, now)

    def try_again(self, session: Session, channel_id: str, now: datetime) -> int:
        """How many subscriptions start, of a channel that may be open to us again.

        Its lane is tried first: that the bot is in a channel does not say that it may post there. The first post that
        Slack takes starts the subscriptions; so does the next try, if it finds the lane still open.
        """
        if self._go_on(session, channel_id, now, trying=True):
            return 0
        return subscriptions.reopen(session, channel_id, now)

    def resume(self, session: Session, channel_id: str, now: datetime) -> int:
        """How many subscriptions were paused and are no longer. A channel that is closed to us stays held."""
        ended = subscriptions.end_pause(session, channel_id, now)
        self._go_on(session, channel_id, now)
        return ended

    def end_pauses(self, session: Session, now: datetime) -> int:
        """How many pauses were ended because their time has come; a few at a time."""
        found = held_queues.pauses_over(session, now, PAUSES_TOGETHER)
        channel_lock.take(session, *found)
        # Somebody may have paused a channel anew before the lock was ours.
        over = [channel_id for channel_id in found if subscriptions.paused_until(session, channel_id, now) is None]
        for channel_id in over:
            self.resume(session, channel_id, now)
        return len(over)

    def summarise_late(self, session: Session, event_ids: Sequence[int], since: datetime, now: datetime) -> None:
        """Say several late versions in one message a channel. The versions were queued in this transaction.

        `since` is when the data service had the first version. A single event of a channel is posted by itself.
        """
        held = Held(UNDELIVERED, since)
        for channel_id, late in backlog.of_versions(session, event_ids).items():
            if len(_newest(late)) > 1:
                is_urgent = any(one.kind in ABANDONMENTS for one in late)
                priority = Priority.ABANDONMENT if is_urgent else Priority.OTHER
                name = f"late:{min(event_ids)}"
                self._summarise_or_not(session, channel_id, late, held=held, now=now, name=name, priority=priority)

    def _go_on(self, session: Session, channel_id: str, now: datetime, *, trying: bool = False) -> bool:
        """Whether the queue was held, and goes on. `trying`: a closed one is tried, else only a pause is ended."""
        channel_lock.take(session, channel_id)
        is_paused = subscriptions.paused_until(session, channel_id, now) is not None
        held = held_queues.try_again(session, channel_id) if trying else None
        if is_paused:
            if held is not None:
                held_queues.pause(session, channel_id, now)
            return held is not None
        held = held or held_queues.resume(session, channel_id)
        if held is None:
            return False
        waiting = backlog.of_lane(session, channel_id, now - SUMMARY_AFTER)
        given_up = backlog.count_given_up(session, channel_id, held)
        if not waiting and not given_up:
            return True
        # By the moment of the trial: one closing may see several, and each summary says something else.
        name = f"waited:{now.isoformat()}"
        self._summarise_or_not(session, channel_id, waiting, held=held, now=now, name=name, given_up=given_up)
        return True

    def _summarise_or_not(
        self,
        session: Session,
        channel_id: str,
        waiting: list[WaitingPost],
        *,
        held: Held,
        now: datetime,
        name: str,
        priority: Priority = Priority.WAITED,
        given_up: int = 0,
    ) -> None:
        """Summarise in a savepoint. `name` is the beginning of the summary's name."""
        try:
            with session.begin_nested():
                summary = self._summary(session, channel_id, waiting, held=held, given_up=given_up)
                self._put_summary(session, channel_id, waiting, summary, name=name, priority=priority, now=now)
        except Exception as error:
            if is_unavailable(error):
                raise
            # A bug in the summary must not keep the channel closed: then everything is posted singly.
            log.exception("summary_not_made", channel_id=channel_id, waiting=len(waiting))

    def _put_summary(
        self,
        session: Session,
        channel_id: str,
        waiting: list[WaitingPost],
        summary: Waited,
        *,
        name: str,
        priority: Priority,
        now: datetime,
    ) -> None:
        """Queue the messages of a summary, and fold the waiting posts into the messages."""
        messages = self.summarise(summary)
        keys = [f"{name}:{number}@{channel_id}" for number in range(len(messages))]
        message_store.add(
            session,
            [
                NewPost(channel_id, key, MessageKind.SUMMARY, priority, now, content=message)
                for key, (message, _) in zip(keys, messages, strict=True)
            ],
        )
        ids = backlog.post_ids(session, keys)
        named = iter(one for one in _newest(waiting) if one.kind in ABANDONMENTS)
        for key, (_, count) in zip(keys, messages, strict=True):
            told = {one.event_key for one in islice(named, count)}
            backlog.fold(session, _posts_of(waiting, told), ids[key])
        # What is in no message by name is in the last one's counts.
        backlog.fold(session, [one.post_id for one in waiting], ids[keys[-1]])
        log.info("waited_summarised", channel_id=channel_id, posts=len(waiting), given_up=summary.given_up)

    @staticmethod
    def _summary(session: Session, channel_id: str, waiting: list[WaitingPost], *, held: Held, given_up: int) -> Waited:
        newest = _newest(waiting)
        abandoned = [one for one in newest if one.kind in ABANDONMENTS]
        results = [one for one in newest if one.kind == EventKind.RESULT_RECEIVED][-RESULTS_LISTED:]
        versions = backlog.versions(session, [one.event_id for one in abandoned + results])
        read = {row.id: event_store.read(row) for row in versions}
        return Waited(
            held=held,
            abandonments=tuple(read[one.event_id] for one in abandoned),
            results=tuple(read[one.event_id] for one in results),
            counts=_counts(session, newest),
            given_up=given_up,
            mentions=_mentions(session, channel_id, [read[one.event_id][0] for one in abandoned]),
        )


def _counts(session: Session, newest: Sequence[WaitingPost]) -> Mapping[str | None, int]:
    """How many events there are of each kind. Each event is counted, whether this version knows its kind or not."""
    unknown = backlog.versions(session, [one.event_id for one in newest if one.kind is None])
    names = {row.id: event_store.known(row)[0].name for row in unknown}
    return Counter(one.kind or names.get(one.event_id) for one in newest)


def _mentions(session: Session, channel_id: str, abandoned: Iterable[RacingEvent]) -> tuple[str, ...]:
    """Whom the channel's filters have any of these ring, each once."""
    filters = subscriptions.mentioning(session, [channel_id]).get(channel_id, [])
    return tuple(dict.fromkeys(one for event in abandoned for one in mentions(filters, event)))


def _newest(waiting: list[WaitingPost]) -> list[WaitingPost]:
    """The newest version of each event that has a message waiting, in the order of the lane."""
    own = {one.event_key: one for one in waiting if one.edits_id is None}
    for one in waiting:
        if one.event_key in own and one.version > own[one.event_key].version:
            own[one.event_key] = one
    return list(own.values())


def _posts_of(waiting: list[WaitingPost], event_keys: Collection[str]) -> list[int]:
    return [one.post_id for one in waiting if one.event_key in event_keys]
