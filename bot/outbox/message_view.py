"""What a message shows when sent: its event in the newest version, and the events beside it.

Posts and edits are rendered from the same view, so every edit says all that is known.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, case, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from bot.channels import subscriptions
from bot.channels.filters import mentions
from bot.db.tables import (
    Acknowledgement,
    AckState,
    EventVersion,
    MessageKind,
    MessageState,
    NamedRace,
    OutboxMessage,
    SaidRow,
)
from bot.events import event_bounds, event_store
from bot.events.event import CONTRADICTIONS, EventKind, RacingEvent
from bot.events.facts import VersionRemarks
from bot.events.kinds import ABANDONMENTS
from bot.events.meeting_parts import is_part_of
from bot.events.races import Race
from bot.events.watched import WatchedRunner
from bot.logs import get_logger
from bot.outbox import message_store
from bot.outbox.fanout_knowledge import FanoutKnowledge
from bot.outbox.states import UNSENT
from bot.racedata import event_completion, reference_store, rest_of_meetings
from bot.racedata.event_completion import KnownElsewhere
from bot.racedata.published_lists import read_lists
from bot.racedata.reference_store import KnownCountry

log = get_logger(__name__)

StoredPost = tuple[OutboxMessage, EventVersion]

_BEARER = aliased(OutboxMessage)
_IS_BEARER = col(_BEARER.id) == message_store.bearer_of(OutboxMessage)
"""The message itself, or the message folded into."""

_WAITING_ID = case((col(_BEARER.state).in_(UNSENT), col(_BEARER.id)))

_IN_SUMMARY = and_(col(OutboxMessage.state) == MessageState.FOLDED, col(_BEARER.kind) == MessageKind.SUMMARY)
_IS_MESSAGE = or_(message_store.STANDS_ALONE, _IN_SUMMARY)
"""A version's own message, or a summary."""


@dataclass(frozen=True)
class MessageView:
    """What the message of `post` shows.

    `own`: the version the message was made for. `newest`: the newest version shown. `later`: all versions after `own`.
    `event`: of `newest`, completed; None if unreadable.

    Of an abandoned meeting: `lost` has the abandonments of its races, `settled` the ids of its races with a result, and
    `disputed` those of races with a result and an abandonment of their own. `partly_run`: a race was run;
    None if not looked up.
    Of an abandoned race: `others`, the meeting's races without result and abandonment.
    Of a race of an abandoned meeting: `in_meeting`, and `meeting_ts` once the meeting's message is sent.

    `rev`: the revision shown. `is_longer`: other events are shown for the first time. `waits_for`: the message that the
    next revision links. `mentions`: by the channel's filters. `watched`: by the channel.
    `country`: of a result, if the country publishes no full finishing order. `previous_ts`: the earlier message that
    this message corrects or contradicts. `superseded`: by the later message. `asked`: an abandonment that is to be
    acknowledged. `has_overrun`: the event is in its plain form, and nothing is looked up.
    """

    post: OutboxMessage
    own: EventVersion
    newest: EventVersion
    event: RacingEvent | None = None
    lost: tuple[RacingEvent, ...] = ()
    settled: frozenset[str] = frozenset()
    partly_run: bool | None = False
    others: tuple[Race, ...] = ()
    disputed: frozenset[str] = frozenset()
    in_meeting: bool = False
    meeting_ts: str | None = None
    rev: int = 0
    is_longer: bool = False
    waits_for: int | None = None
    mentions: tuple[str, ...] = ()
    watched: tuple[WatchedRunner, ...] = ()
    country: KnownCountry | None = None
    previous_ts: str | None = None
    superseded: "Superseded | None" = None
    later: tuple[EventVersion, ...] = ()
    asked: "AskedInView | None" = None
    has_overrun: bool = False

    @property
    def same(self) -> tuple[object, ...]:
        """Equal for two messages with the same words. `meeting_ts` differs by channel."""
        versions = (self.own.id, *(version.id for version in self.later), self.event, self.lost)
        post = (
            self.post.received_at,
            self.post.due_at,
            self.post.may_be_repeat,
            self.in_meeting,
            self.mentions,
            self.watched,
            self.superseded,
            self.asked,
        )
        return (versions, post, self.settled, self.disputed, self.partly_run, self.others, self.country)


@dataclass(frozen=True)
class AskedInView:
    """An abandonment to be acknowledged. `key`: of the message with the button. `by`: who has the abandonment."""

    key: str
    by: str | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class Superseded:
    """The later message. `at`: its receipt. `message_id`: while it waits.

    `by`: the contradicting event; None for a later version. `disagrees`: the order is unknown. `is_posted`: not given
    up.
    """

    version: int
    at: datetime
    message_ts: str | None
    message_id: int | None = None
    by: EventKind | None = None
    disagrees: bool = False
    is_posted: bool = True


@dataclass(frozen=True)
class Tells:
    """What fan-out knows. By version id, for the versions told: `versions`, and `events`, filled in.

    `around`: stored events of the same races and meetings. `previous`: by message key, `MessageView.previous_ts`.
    `asked`: earlier messages to be acknowledged. `is_newest`: no later message tells of the event of the message.
    """

    versions: Mapping[int, EventVersion]
    events: Mapping[int, RacingEvent]
    around: Callable[[Sequence[RacingEvent]], Sequence[RacingEvent]]
    known: FanoutKnowledge
    previous: Mapping[str, str]
    asked: Container[int]
    is_newest: Callable[[int], bool]


def views_of(
    session: Session,
    heads: Sequence[StoredPost],
    shown: "Mapping[int, Sequence[Shown]] | None" = None,
    new: Tells | None = None,
) -> dict[int, MessageView]:
    """By the id of the message. A message taken back from a summary shows itself.

    `shown`: as read. With `new`, a failure of the race book ends the transaction.
    """
    shown = shown_beside(session, [post.id or 0 for post, _ in heads]) if shown is None else shown
    meetings = _meetings(session, [one for some in shown.values() for one in some])
    newest = {post.id or 0 for post, _ in heads if new and new.is_newest(post.id or 0)}
    later = _later(session, heads, shown, newest)
    said = {post.id or 0: _view(post, own, shown.get(post.id or 0, ()), meetings, later) for post, own in heads}
    for head, _ in heads:
        if message_store.has_overrun(head):
            said[head.id or 0] = replace(said[head.id or 0], has_overrun=True, partly_run=None)
    said = {number: replace(one, previous_ts=_previous_ts(session, one, new)) for number, one in said.items()}
    said = _without_races_with_result(session, _with_events(session, said, new), careful=new is None)
    known = new.known if new else None
    said = _with_acknowledgements(session, _with_mentions(session, said, known), new)
    return _with_countries(session, said, known)


class Shown(NamedTuple):
    """An event that a message shows beside its own."""

    said: SaidRow
    message: OutboxMessage
    event: EventVersion


def shown_beside(session: Session, post_ids: Iterable[int]) -> dict[int, list[Shown]]:
    """By message, in the order of versions."""
    found: dict[int, list[Shown]] = {}
    statement = (
        select(SaidRow, OutboxMessage, EventVersion)
        .join(EventVersion, col(EventVersion.id) == col(SaidRow.event_id))
        .join(OutboxMessage, col(OutboxMessage.id) == col(SaidRow.message_id))
        .where(col(SaidRow.message_id).in_(sorted(post_ids)))
        .order_by(col(EventVersion.version), col(EventVersion.id))
    )
    for said, message, event in session.execute(statement):
        found.setdefault(said.message_id, []).append(Shown(said, message, event))
    return found


class _Meeting(NamedTuple):
    """An abandoned meeting's message. `message_id`: while it waits."""

    message_ts: str | None
    message_id: int | None


def _meetings(session: Session, shown: Iterable[Shown]) -> dict[tuple[str, str], _Meeting]:
    """By channel and key."""
    wanted = {
        (one.message.channel_id, one.event.event_key) for one in shown if one.event.kind == EventKind.MEETING_ABANDONED
    }
    if not wanted:
        return {}
    statement = (
        select(col(OutboxMessage.channel_id), col(EventVersion.event_key), col(_BEARER.message_ts), _WAITING_ID)
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .join(_BEARER, _IS_BEARER)
        .where(
            col(EventVersion.event_key).in_(sorted({key for _, key in wanted})),
            col(OutboxMessage.channel_id).in_(sorted({channel_id for channel_id, _ in wanted})),
            _IS_MESSAGE,
            or_(col(_BEARER.message_ts).is_not(None), _WAITING_ID.is_not(None)),
        )
        # The newest message that was posted, else the newest.
        .order_by(col(_BEARER.message_ts).is_not(None), col(OutboxMessage.id))
    )
    return {(channel_id, key): _Meeting(ts, number) for channel_id, key, ts, number in session.execute(statement)}


LaterMessages = Mapping[tuple[str, str], Sequence[Superseded]]
"""By channel and event key, the earliest version first."""


def _later(
    session: Session, messages: Iterable[StoredPost], shown: Mapping[int, Sequence[Shown]], newest: Collection[int]
) -> LaterMessages:
    """Later versions, and contradicting events. `newest`: messages without a later version."""
    about = {
        (post.channel_id, one.event.event_key)
        for post, own in messages
        for one in shown.get(post.id or 0, ())
        if (one.event.event_key == own.event_key and post.id not in newest) or _contradicts(one.event, own)
    }
    if not about:
        return {}
    statement = (
        select(
            col(OutboxMessage.channel_id),
            col(EventVersion.event_key),
            col(EventVersion.version),
            col(EventVersion.received_at),
            col(_BEARER.message_ts),
            _WAITING_ID,
            col(EventVersion.kind),
            col(EventVersion.remarks),
        )
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .join(_BEARER, _IS_BEARER)
        .where(
            col(EventVersion.event_key).in_(sorted({key for _, key in about})),
            col(OutboxMessage.channel_id).in_(sorted({channel_id for channel_id, _ in about})),
            _IS_MESSAGE,
            col(OutboxMessage.state).not_in([MessageState.DEAD_LETTER, MessageState.MUTED]),
        )
        .order_by(col(EventVersion.version), col(OutboxMessage.id))
    )
    found: dict[tuple[str, str], list[Superseded]] = {}
    for channel_id, key, version, received_at, ts, number, kind, remarks in session.execute(statement):
        disagrees = VersionRemarks.model_validate_json(remarks or "{}").order_unknown
        found.setdefault((channel_id, key), []).append(
            Superseded(version, received_at, ts, number, EventKind(kind) if kind else None, disagrees)
        )
    return found


def _superseded(
    message: OutboxMessage, own: EventVersion, edit: EventVersion, later: LaterMessages
) -> Superseded | None:
    """The channel's message about the edit's event, if later than `message`."""
    messages = later.get((message.channel_id, edit.event_key), ())
    if edit.event_key == own.event_key:
        found = next((one for one in messages if own.version < one.version <= edit.version), None)
        return replace(found, by=None) if found else None
    found = next((one for one in messages if one.version == edit.version), None)
    if found is None and edit.kind and _contradicts(edit, own):
        return Superseded(edit.version, edit.received_at, None, by=EventKind(edit.kind), is_posted=False)
    return found


def _contradicts(version: EventVersion, other: EventVersion) -> bool:
    kind = EventKind(other.kind) if other.kind else None
    return kind is not None and kind in CONTRADICTIONS and CONTRADICTIONS[kind] == version.kind


def _view(
    message: OutboxMessage,
    own: EventVersion,
    shown: Sequence[Shown],
    meetings: Mapping[tuple[str, str], _Meeting],
    later: LaterMessages,
) -> MessageView:
    versions = [own]
    in_meeting, meeting_ts = False, None
    superseded: Superseded | None = None
    rev, waits_for = message.wanted_rev, None
    for said, _, event in shown:
        linked: int | None = None
        by = _superseded(message, own, event, later)
        if by is not None:
            superseded = by
            # The later message is sent first.
            linked = by.message_id if by.message_ts is None and by.is_posted else None
        elif event.event_key == own.event_key:
            versions.append(event)
        elif event.kind == EventKind.MEETING_ABANDONED:
            meeting = meetings.get((message.channel_id, event.event_key))
            in_meeting, meeting_ts = True, meeting.message_ts if meeting else None
            linked = meeting.message_id if meeting and meeting.message_ts is None else None
        if linked is not None and said.rev > message.sent_rev:
            rev, waits_for = min(rev, said.rev - 1), linked
    after = {version.version: version for version in versions if version.version > own.version}
    return MessageView(
        message,
        own,
        max(versions, key=lambda version: version.version),
        later=tuple(after.values()),
        watched=event_store.watched_in(message.channel_id, [own, *after.values()]),
        in_meeting=in_meeting,
        meeting_ts=meeting_ts,
        rev=rev,
        is_longer=any(message.sent_rev < one.said.rev <= rev for one in shown),
        waits_for=waits_for,
        superseded=superseded,
    )


def _previous_ts(session: Session, one: MessageView, new: Tells | None) -> str | None:
    """The channel's message of an earlier version, or of the contradicted event."""
    own = one.own
    if new and (found := new.previous.get(one.post.idempotency_key)):
        return found
    contradicts = event_store.contradicted_by(own)
    ways: list[ColumnElement[bool]] = []
    if own.version > 1:
        ways.append(and_(col(EventVersion.event_key) == own.event_key, col(EventVersion.version) < own.version))
    if contradicts is EventKind.MEETING_ABANDONED:
        naming = select(col(NamedRace.event_key)).where(col(NamedRace.race_id) == own.race_id)
        ways.append(col(EventVersion.event_key).in_(naming))
    elif contradicts is not None:
        key = own.event_key.replace(own.kind or "", contradicts, 1)
        ways.append(
            and_(message_store.is_event_of_race(contradicts, key, own.race_id), col(OutboxMessage.id) < one.post.id)
        )
    if not ways:
        return None
    statement = (
        select(col(_BEARER.message_ts))
        .select_from(OutboxMessage)
        .join(EventVersion, col(EventVersion.id) == col(OutboxMessage.event_id))
        .join(_BEARER, _IS_BEARER)
        .where(
            or_(*ways),
            _IS_MESSAGE,
            col(OutboxMessage.channel_id) == one.post.channel_id,
            col(_BEARER.message_ts).is_not(None),
        )
        .order_by(col(_BEARER.id) != col(OutboxMessage.id), col(OutboxMessage.id).desc())
        .limit(1)
    )
    message_ts: str | None = session.execute(statement).scalar_one_or_none()
    if message_ts is None and contradicts is EventKind.RACE_ABANDONED:
        return _ts_of_meeting(session, one)
    return message_ts


def _ts_of_meeting(session: Session, one: MessageView) -> str | None:
    """The message of the abandoned meeting that says the abandonment of the race."""
    key = one.own.event_key.replace(one.own.kind or "", EventKind.RACE_ABANDONED, 1)
    saying = message_store.meetings_saying(session, one.own.race_id, key)
    here = [number for number, channel_id in saying.items() if channel_id == one.post.channel_id]
    statement = select(col(_BEARER.message_ts)).where(col(_BEARER.id).in_(here), col(_BEARER.message_ts).is_not(None))
    message_ts: str | None = session.execute(statement.order_by(col(_BEARER.id).desc()).limit(1)).scalar_one_or_none()
    return message_ts


def _with_events(session: Session, said: Mapping[int, MessageView], new: Tells | None) -> dict[int, MessageView]:
    """Add the completed events, and the races of abandoned meetings.

    The race book is read only for stored events without place, time or races.
    """
    told = new.events if new else {}
    stored = {one.newest.id: event for one in said.values() if (event := _newest_event(one, told))}
    whole = [event for event in stored.values() if event.unreadable_because is None]
    lacking = [event for event in whole if event_completion.lacks(event) and event not in told.values()]
    meetings = [event for event in whole if event.kind is EventKind.MEETING_ABANDONED]
    abandoned = [event for event in whole if event.kind is EventKind.RACE_ABANDONED]
    if not (lacking or meetings or abandoned):
        return {number: replace(one, event=stored.get(one.newest.id)) for number, one in said.items()}
    about = [*lacking, *meetings, *abandoned]
    around = new.around(about) if new else _around(session, about)
    if lacking:
        known = KnownElsewhere(session, new.known.lists if new else read_lists(session), careful=new is None)
        known.listen(around)
        known.read(lacking)
        # Other events keep their fields: the race book was not read for them.
        stored |= {
            number: known.filled(event.as_delivered(), event) for number, event in stored.items() if event in lacking
        }
    called_off = [event for event in around if event.kind is EventKind.RACE_ABANDONED]
    lost = {
        event.key: tuple(race for race in called_off if is_part_of(race, event))
        for event in stored.values()
        if event.kind is EventKind.MEETING_ABANDONED and event.unreadable_because is None
    }
    abandoned = [
        event
        for event in stored.values()
        if event.kind is EventKind.RACE_ABANDONED and event.unreadable_because is None
    ]
    others = rest_of_meetings.open_races(session, abandoned, around, careful=new is None)
    return {
        number: replace(
            one,
            event=stored.get(one.newest.id),
            lost=lost.get(one.newest.event_key, ()),
            others=others.get(one.newest.event_key, ()),
        )
        for number, one in said.items()
    }


def _around(session: Session, about: Sequence[RacingEvent]) -> list[RacingEvent]:
    found = event_store.around(session, event_store.around_of(about))
    newest = event_store.newest_first(rows[-1] for rows in found.values())
    events = event_bounds.first_of((event_store.known(row)[0] for row in newest), event_store.OUTCOMES_RACES_MAX)
    return sorted(events, key=lambda event: event.key)


def _without_races_with_result(
    session: Session, said: Mapping[int, MessageView], *, careful: bool
) -> dict[int, MessageView]:
    """A race with a result is not lost."""
    meetings = {
        number: one.event
        for number, one in said.items()
        if one.event and one.event.kind is EventKind.MEETING_ABANDONED and not one.has_overrun
    }
    lost = [event for number in meetings for event in said[number].lost]
    ids = [event.race.race_id for event in lost if event.race.race_id]
    partly_run, with_result = rest_of_meetings.run_races(session, list(meetings.values()), ids, careful=careful)
    without_id = _results_without_id(session, lost)
    return dict(said) | {
        number: replace(
            said[number],
            settled=with_result,
            partly_run=meetings[number].key in partly_run,
            disputed=frozenset(event.race.race_id for event in said[number].lost if event.race.race_id in with_result)
            - {None},
            lost=tuple(event for event in said[number].lost if event.key not in without_id),
        )
        for number in meetings
    }


def _results_without_id(session: Session, lost: Iterable[RacingEvent]) -> set[str]:
    """The keys of lost races without an id, whose result is stored under the result's key."""
    results = {
        event.contradicting_key: event.key for event in lost if event.race.race_id is None and event.contradicting_key
    }
    return {results[key] for key in event_store.latest(session, results)} if results else set()


def _reports_loss(one: MessageView) -> bool:
    return one.newest.kind in ABANDONMENTS or (one.event is not None and one.event.reports_loss)


def _with_mentions(
    session: Session, said: Mapping[int, MessageView], known: FanoutKnowledge | None
) -> dict[int, MessageView]:
    abandoned = {number: one for number, one in said.items() if _reports_loss(one)}
    channels = {one.post.channel_id for one in abandoned.values()}
    filters = known.mentioning if known else subscriptions.mentioning(session, channels)
    mentioning = {number: one for number, one in abandoned.items() if one.post.channel_id in filters}
    return dict(said) | {
        number: replace(one, mentions=mentions(filters[one.post.channel_id], event))
        for number, one in mentioning.items()
        if (event := one.event)
    }


def _with_acknowledgements(
    session: Session, said: Mapping[int, MessageView], new: Tells | None
) -> dict[int, MessageView]:
    """An abandonment that a newer message tells of has no button any more."""
    abandoned = {one.post.id or 0 for one in said.values() if _reports_loss(one)}
    if new:
        may_ask = [one.post.id for one in said.values() if new.known.with_asking and one.post.sent_at is None]
        abandoned = {number for number in abandoned if number in new.asked or number in may_ask}
    if not abandoned:
        return dict(said)
    statement = select(Acknowledgement).where(
        col(Acknowledgement.message_id).in_(sorted(abandoned)), col(Acknowledgement.state) != AckState.REPLACED
    )
    rows = {row.message_id: row for row in session.execute(statement).scalars()}
    return dict(said) | {
        number: replace(one, asked=AskedInView(one.post.idempotency_key, row.taken_by, row.taken_at))
        for number, one in said.items()
        if (row := rows.get(one.post.id or 0))
    }


def _with_countries(
    session: Session, said: Mapping[int, MessageView], known: FanoutKnowledge | None
) -> dict[int, MessageView]:
    """Add the country to results without a full finishing order."""
    results = {number: one for number, one in said.items() if one.newest.kind == EventKind.RESULT_RECEIVED}
    countries = (known.lists.countries if known else _countries(session)) if results else None
    partly = {one.country_code: one for one in countries or () if one.full_result_order is False}
    return dict(said) | {
        number: replace(one, country=partly.get(one.event.race.region if one.event else None))
        for number, one in results.items()
    }


def _countries(session: Session) -> Sequence[KnownCountry] | None:
    kept = reference_store.countries(session)
    return kept[0] if kept else None


def _newest_event(one: MessageView, told: Mapping[int, RacingEvent]) -> RacingEvent | None:
    """None if unreadable: the message is sent all the same."""
    if (event := told.get(one.newest.id or 0)) is not None:
        return event
    try:
        event, _ = event_store.read(one.newest)
    except ValueError:
        log.exception("stored_event_not_readable", post=one.post.idempotency_key)
        return None
    return event_bounds.plain(event, message_store.OVERRAN) if one.has_overrun else event
