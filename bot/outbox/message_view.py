"""The contents of a message when sent: its event in the newest version, and the events beside.

Posts and edits are rendered from the same view: every edit has all known news.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from sqlalchemy import bindparam, select
from sqlmodel import Session, col

from bot.channels import subscriptions
from bot.channels.filters import mentions
from bot.db.named_values import parsed
from bot.db.tables import Acknowledgement, AckState, EventVersion, OutboxMessage
from bot.desk.decide import Because, Telling
from bot.events import event_bounds, event_store, named_races
from bot.events.event import CONTRADICTIONS, EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.kinds import ABANDONMENTS
from bot.events.meeting_parts import is_part_of, marked_in, marked_lost, results_denied, with_races_back
from bot.events.race_state import NOT_HELD
from bot.events.races import Race, Value
from bot.events.watched import WatchedRunner
from bot.logs import get_logger
from bot.outbox import message_store, telling_store
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.outbox.telling_store import ShownBeside, shown_beside
from bot.racedata import day_views, event_completion
from bot.racedata.client.records import KnownCountry
from bot.racedata.event_completion import KnownElsewhere
from bot.racedata.lexicon import COUNTRIES, kept

log = get_logger(__name__)

StoredPost = tuple[OutboxMessage, EventVersion]

EventsAround = Callable[[Sequence[RacingEvent]], Sequence[RacingEvent]]


@dataclass(frozen=True)
class AskedInView:
    """An abandonment to be acknowledged. `key`: of the message with the button. `by`: who has the abandonment."""

    key: str
    by: str | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class Superseded:
    """The later message. `at`: its receipt. `by`: the contradicting event; None for a later version.

    `disagrees`: the order is unknown. `is_posted`: not given up.
    """

    at: datetime
    message_ts: str | None
    by: EventKind | None = None
    disagrees: bool = False
    is_posted: bool = True


class Beside(Value):
    """The contents of a message beside its event.

    Of an abandoned meeting: `lost` has the abandonments of races, and the results of lost races; `back` the races that
    were reinstated since, `settled` the ids of races with a result, and `disputed` the keys of events of `lost` for
    races with an abandonment and a result; of a card, the ids of such races.
    `partly_run`: a race was run; None if not looked up.
    Of an abandoned race: `others`, the meeting's races without result and abandonment. `was_run`: of a loss that was
    taken back, a result of the race came.
    Of a race of an abandoned meeting, and of a card: `in_meeting`; of a card also `partly_run`.

    `mentions`: rung by an abandonment (bot.channels.filters). `watched`: the runners that the channel watches.
    `country`: of a result, if the country publishes no full finishing order. `superseded`: by a later message.
    `asked`: an abandonment to be acknowledged.
    """

    lost: tuple[RacingEvent, ...] = ()
    back: tuple[Race, ...] = ()
    settled: frozenset[str] = frozenset()
    partly_run: bool | None = False
    others: tuple[Race, ...] = ()
    was_run: bool = False
    disputed: frozenset[str] = frozenset()
    in_meeting: bool = False
    mentions: tuple[str, ...] = ()
    watched: tuple[WatchedRunner, ...] = ()
    country: KnownCountry | None = None
    superseded: Superseded | None = None
    asked: AskedInView | None = None


@dataclass
class MessageView:
    """The contents of the message of `post`.

    `own`: the version the message was made for. `newest`: the newest version shown. `later`: all versions after `own`.
    `event`: of `newest`, completed.

    `rev`: the revision shown. `waits_for`: the message that the next revision links. `previous_ts`: the earlier message
    that this message corrects or contradicts. `meeting`: the abandoned meeting of the race or card. `meeting_ts`: the
    meeting's message, once sent.
    """

    post: OutboxMessage
    own: EventVersion
    newest: EventVersion
    event: RacingEvent
    beside: Beside = field(default_factory=Beside)
    meeting: RacingEvent | None = None
    meeting_ts: str | None = None
    rev: int = 0
    waits_for: int | None = None
    previous_ts: str | None = None
    later: tuple[EventVersion, ...] = ()

    @property
    def has_overrun(self) -> bool:
        """The event is in its plain form, and nothing is looked up."""
        return message_store.has_overrun(self.post)

    @property
    def same(self) -> tuple[object, ...]:
        """Equal for two messages with the same words. `meeting_ts` differs by channel."""
        versions = (self.own.id, *(version.id for version in self.later), self.event)
        return versions, self.post.received_at, self.post.due_at, self.post.may_be_repeat, self.beside

    def say(self, **beside: object) -> None:
        self.beside = self.beside.model_copy(update=beside)


@dataclass(frozen=True)
class Tells:
    """Fan-out's knowledge. By version id, for the transaction's news: `versions`, and `events`, filled in.

    `around`: stored events of the same races and meetings. `told`: see `telling_store.told`. `asked`: earlier messages
    to be acknowledged. `shown`: see `shown_beside`, of claimed edits.
    """

    versions: Mapping[int, EventVersion]
    events: Mapping[int, RacingEvent]
    around: EventsAround
    known: FanoutKnowledge
    told: Callable[[Collection[str], Collection[str], Collection[str]], Sequence[Telling]]
    asked: Container[int]
    shown: Mapping[int, Sequence[ShownBeside]] = field(default_factory=dict)


def views_of(session: Session, heads: Sequence[StoredPost], new: Tells | None = None) -> dict[int, MessageView]:
    """The views by the message's id. A message taken back from a summary shows itself.

    With `new`, a failure of the race book ends the transaction.
    """
    shown = new.shown if new else shown_beside(session, [post.id for post, _ in heads])
    told = _told(session, heads, shown, new)
    events = dict(new.events) if new else {}
    views = [_view(post, own, shown.get(post.id, ()), told.get(post.channel_id, ()), events) for post, own in heads]
    _add_events(session, views, new)
    _add_run_races(session, views, careful=new is None)
    _add_mentions(session, views, new)
    _add_acknowledgements(session, views, new)
    _add_countries(session, views, new)
    return {view.post.id: view for view in views}


def _told(
    session: Session, heads: Sequence[StoredPost], shown: Mapping[int, Sequence[ShownBeside]], new: Tells | None
) -> Mapping[str, Sequence[Telling]]:
    """For each channel the messages that messages correct, contradict or link, and the superseding messages."""
    keys, race_ids, lost_races = set[str](), set[str | None](), set[str]()
    for post, own in heads:
        keys |= {one.event.event_key for one in shown.get(post.id, ())}
        if own.version > 1:
            keys.add(own.event_key)
        contradicts = event_store.contradicted_by(own)
        if contradicts is EventKind.MEETING_ABANDONED:
            lost_races.add(own.race_id or own.event_key)
        elif contradicts is not None:
            keys.add(own.event_key.replace(own.kind or "", contradicts, 1))
            race_ids.add(own.race_id)
    if lost_races:
        keys |= named_races.naming(session, lost_races)
    found: dict[str, list[Telling]] = {}
    if keys:
        read = new.told if new else partial(telling_store.told, session)
        for one in read(keys, {race_id for race_id in race_ids if race_id}, {post.channel_id for post, _ in heads}):
            found.setdefault(one.channel_id, []).append(one)
    return found


def _later(own: EventVersion, event: EventVersion, told: Iterable[Telling]) -> Telling | None:
    """The channel's message about the event, if later than the message of `own`."""
    messages = [one for one in told if one.event_key == event.event_key and one.is_own and one.tells]
    first = own.version + 1 if event.event_key == own.event_key else event.version
    later = [one for one in messages if first <= one.version <= event.version]
    return min(later, key=lambda one: one.version, default=None)


def _contradicts(version: EventVersion, other: EventVersion) -> bool:
    """Whether the version contradicts a message of `other`.

    An abandoned meeting contradicts a result until the loss is taken back, and a card the result of a race marked lost.
    """
    if version.kind == EventKind.MEETING_ABANDONED:
        return other.kind == EventKind.RESULT_RECEIVED and not event_store.known(version)[0].is_taken_back
    if version.kind == EventKind.RACECARD_PUBLISHED:
        return other.kind == EventKind.RESULT_RECEIVED and other.race_id in marked_in(event_store.known(version)[0])
    kind = EventKind(other.kind) if other.kind else None
    is_opposite = kind is not None and kind in CONTRADICTIONS and CONTRADICTIONS[kind] == version.kind
    return is_opposite and event_store.contradicted_by(version) == kind


def _replaces(version: EventVersion, other: EventVersion) -> bool:
    """Whether the version's message supersedes a message of `other`.

    A loss taken back ends the conflict of a result, and the mark of a card that marks no other race lost. A new loss
    ends the news of a loss taken back.
    """
    if version.event_key == other.event_key or version.kind == other.kind:
        return True
    if version.kind != EventKind.MEETING_ABANDONED or other.kind == EventKind.RESULT_RECEIVED:
        is_card = other.kind == EventKind.RACECARD_PUBLISHED
        return marked_in(event_store.known(other)[0]) == {version.race_id} if is_card else other.kind in CONTRADICTIONS
    return event_store.known(other)[0].is_taken_back


def _view(
    message: OutboxMessage,
    own: EventVersion,
    shown: Sequence[ShownBeside],
    told: Sequence[Telling],
    events: dict[int, RacingEvent],
) -> MessageView:
    """`events` by version id, filled in."""
    versions = [own]
    meeting: RacingEvent | None = None
    meeting_ts: str | None = None
    superseded: Superseded | None = None
    rev, waits_for = message.wanted_rev, None
    for said, _, _, event in shown:
        linked: Telling | None = None
        is_other = event.event_key != own.event_key
        by = _later(own, event, told)
        if is_other and _contradicts(event, own):
            linked, kind = by, EventKind(event.kind or "")
            ts, is_posted = by.message_ts if by else None, by is not None
            superseded = Superseded(event.received_at, ts, kind, _disagrees(by), is_posted)
        elif by and _replaces(event, own):
            linked, superseded = by, Superseded(by.received_at, by.message_ts, None, _disagrees(by))
        elif not is_other:
            versions.append(event)
        elif event.kind == EventKind.MEETING_ABANDONED:
            here = [one for one in told if one.event_key == event.event_key and one.is_own]
            # The newest message that was posted, else the newest.
            posted = [one for one in here if one.message_ts] or [one for one in here if one.is_unsent]
            linked = posted[-1] if posted else None
            meeting, meeting_ts = event_store.known(event)[0], linked.message_ts if linked else None
            if meeting.is_reinstated:
                meeting, meeting_ts = None, None
        # The other message is sent first.
        if linked and linked.unsent and said.rev > message.sent_rev:
            rev, waits_for = min(rev, said.rev - 1), linked.unsent
    after = {version.version: version for version in versions if version.version > own.version}
    newest = max(versions, key=lambda version: version.version)
    if (number := newest.id or 0) not in events:
        whole, is_overrun = event_store.known(newest)[0], message_store.has_overrun(message)
        events[number] = event_bounds.plain(whole, message_store.OVERRAN) if is_overrun else whole
    return MessageView(
        message,
        own,
        newest,
        events[number],
        later=tuple(after.values()),
        beside=Beside(
            partly_run=None if message_store.has_overrun(message) else False,
            watched=event_store.watched_in(message.channel_id, [own, *after.values()]),
            in_meeting=meeting is not None,
            superseded=superseded,
        ),
        meeting=meeting,
        meeting_ts=meeting_ts,
        rev=rev,
        waits_for=waits_for,
        previous_ts=_previous_ts(message, own, told),
    )


def _disagrees(later: Telling | None) -> bool:
    remarks = parsed(VersionRemarks, later.remarks, event_key=later.event_key) if later and later.remarks else None
    return remarks is not None and remarks.order_unknown


def _previous_ts(message: OutboxMessage, own: EventVersion, told: Sequence[Telling]) -> str | None:
    """The channel's message of an earlier version, or of the contradicted event."""
    contradicts = event_store.contradicted_by(own)
    posted = [one for one in told if one.message_ts and not one.is_link]
    earlier = [one for one in posted if one.event_key == own.event_key and one.version < own.version and one.is_own]
    if contradicts is not None:
        earlier += [one for one in posted if one.kind is contradicts and one.id < message.id]
    # A message, else a summary, else the message of a meeting.
    order = (None, Because.SUMMARY, Because.MEETING)
    best = min(earlier, key=lambda one: (order.index(one.withheld), -one.id), default=None)
    return best.message_ts if best else None


def _add_events(session: Session, views: Sequence[MessageView], new: Tells | None) -> None:
    """The completed events, and the races of abandoned meetings.

    The race book is read only for stored events without place, time or races.
    """
    told = new.events if new else {}
    stored = {view.newest.id or 0: view.event for view in views}

    def whole(*kinds: EventKind) -> list[RacingEvent]:
        return [one for one in stored.values() if one.kind in kinds and one.unreadable_because is None]

    lacking = {
        number: event
        for number, event in stored.items()
        if number not in told and event.unreadable_because is None and event_completion.lacks(event)
    }
    lost: dict[str, tuple[RacingEvent, ...]] = {}
    back: dict[str, tuple[Race, ...]] = {}
    others: Mapping[str, tuple[Race, ...]] = {}
    run: dict[str, str | None] = {}
    was_run = set[str]()
    cards = [view for view in views if view.newest.kind == EventKind.RACECARD_PUBLISHED]
    of_cards = {view.newest.event_key: view.meeting for view in cards if view.meeting}
    marking = {one.key: one for one in whole(EventKind.RACECARD_PUBLISHED) if one.reports_loss}
    if about := [*lacking.values(), *whole(*ABANDONMENTS), *of_cards.values(), *marking.values()]:
        around = new.around(about) if new else _around(session, about)
        if lacking:
            known = KnownElsewhere(session, new.known.lists if new else kept(session), careful=new is None)
            known.listen(around)
            known.read(list(lacking.values()))
            # Other events keep their fields: the race book was not read for them.
            stored |= {number: known.filled(event.as_delivered(), event) for number, event in lacking.items()}
        results = [one for one in around if one.kind is EventKind.RESULT_RECEIVED]
        run = {one.key: one.race.race_id for one in results if one.race.outcome() not in NOT_HELD}
        for meeting in (*whole(EventKind.MEETING_ABANDONED), *of_cards.values()):
            parts = [one for one in around if one.kind is EventKind.RACE_ABANDONED and is_part_of(one, meeting)]
            called_off = (one for one in parts if not one.is_taken_back)
            lost[meeting.key] = (*called_off, *results_denied(meeting, around))
            to_come = (one for one in parts if one.is_taken_back and one.contradicting_key not in run)
            back[meeting.key] = tuple(one.race for one in to_come if one.is_later_than(meeting))
        was_run = {
            one.key for one in whole(EventKind.RACE_ABANDONED) if one.is_taken_back and one.contradicting_key in run
        }
        others = day_views.open_races(session, whole(EventKind.RACE_ABANDONED), around, careful=new is None)
    for view in views:
        view.event = stored[view.newest.id or 0]
        key = view.newest.event_key
        if key in marking:
            view.say(disputed=frozenset(race_id for race_id in run.values() if race_id))
            lost_before = (one for one in around if one.kind is EventKind.RACE_ABANDONED and one.is_taken_back)
            since = {one.race.race_id: one.race for one in lost_before if _is_since(one, marking[key], view.newest)}
            view.event = with_races_back(view.event, since)
        key = of_cards[key].key if key in of_cards else key
        if key in lost or key in others:
            beside = {"lost": lost.get(key, ()), "back": back.get(key, ()), "others": others.get(key, ())}
            view.say(**beside, was_run=key in was_run)


def _is_since(one: RacingEvent, card: RacingEvent, row: EventVersion) -> bool:
    """Whether the event is later than the racecard: by the service's order, else by receipt."""
    is_later = one.is_later_than(card)
    return bool(one.received_at and one.received_at > row.received_at) if is_later is None else is_later


def _around(session: Session, about: Sequence[RacingEvent]) -> list[RacingEvent]:
    found = event_store.around(session, event_store.around_of(about))
    newest = event_store.newest_first(rows[-1] for rows in found.values())
    events = event_bounds.first_of((event_store.known(row)[0] for row in newest), event_store.OUTCOMES_RACES_MAX)
    return sorted(events, key=lambda event: event.key)


def _add_run_races(session: Session, views: Iterable[MessageView], *, careful: bool) -> None:
    """A race with a result is not lost, in the messages on abandoned meetings and on their cards."""
    meetings = [
        (view, meeting) for view in views if not view.has_overrun and (meeting := _meeting_of(view, view.event))
    ]
    lost = [event for view, _ in meetings for event in view.beside.lost]
    ids = [event.race.race_id for event in lost if event.race.race_id]
    partly_run, with_result = day_views.run_races(session, [event for _, event in meetings], ids, careful=careful)
    without_id = _results_without_id(session, lost)
    for view, event in meetings:
        if view.event is not event:
            view.say(partly_run=event.key in partly_run)
            if event.key in partly_run:
                run_or_back = with_result.union(race.race_id for race in view.beside.back)
                view.event = marked_lost(view.event, event, run_or_back)
            continue
        of_view = view.beside.lost
        run = {one.key for one in of_view if one.race.race_id in with_result or one.kind is EventKind.RESULT_RECEIVED}
        view.say(
            settled=with_result,
            partly_run=event.key in partly_run,
            disputed=run.union(one.key for one in of_view if one.key in without_id),
        )


def _meeting_of(view: MessageView, event: RacingEvent) -> RacingEvent | None:
    """The abandoned meeting that the message shows, as its own event or beside a card."""
    if event.kind is EventKind.MEETING_ABANDONED:
        return event
    return view.meeting if event.kind is EventKind.RACECARD_PUBLISHED else None


def _results_without_id(session: Session, lost: Iterable[RacingEvent]) -> set[str]:
    """The keys of lost races without an id, whose result is stored under the result's key."""
    results = {
        event.contradicting_key: event.key for event in lost if event.race.race_id is None and event.contradicting_key
    }
    return {results[key] for key in event_store.latest(session, results)} if results else set()


def _reports_loss(one: MessageView) -> bool:
    return one.newest.kind in ABANDONMENTS or one.event.reports_loss


def _add_mentions(session: Session, views: Iterable[MessageView], new: Tells | None) -> None:
    abandoned = [view for view in views if _reports_loss(view)]
    channels = {view.post.channel_id for view in abandoned}
    filters = new.known.mentioning if new else subscriptions.mentioning(session, channels)
    for view in abandoned:
        if view.post.channel_id in filters:
            view.say(mentions=mentions(filters[view.post.channel_id], view.event))


def _add_acknowledgements(session: Session, views: Iterable[MessageView], new: Tells | None) -> None:
    """An abandonment told again by a newer message has no button any more."""
    asking = {view.post.id: view for view in views if _reports_loss(view) and _may_ask(view.post, new)}
    if not asking:
        return
    for row in session.execute(_ASKED, {"messages": sorted(asking)}).scalars():
        view = asking[row.message_id]
        view.say(asked=AskedInView(view.post.idempotency_key, row.taken_by, row.taken_at))


_ASKED = select(Acknowledgement).where(
    col(Acknowledgement.message_id).in_(bindparam("messages", expanding=True)),
    col(Acknowledgement.state) != AckState.REPLACED,
)


def _may_ask(post: OutboxMessage, new: Tells | None) -> bool:
    return new is None or post.id in new.asked or bool(new.known.with_asking and post.sent_at is None)


def _add_countries(session: Session, views: Iterable[MessageView], new: Tells | None) -> None:
    """The country of results without a full finishing order."""
    results = [view for view in views if view.newest.kind == EventKind.RESULT_RECEIVED]
    countries = (new.known.lists.countries if new else COUNTRIES.items(session)) if results else ()
    partly = {one.country_code: one for one in countries if one.full_result_order is False}
    for view in results:
        if country := partly.get(view.event.race.region):
            view.say(country=country)
