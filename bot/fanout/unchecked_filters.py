"""Checks filters that people typed while no list of regions or courses was known.

Letter case, and another name or code of a region, are corrected. The channel is told of other wrong words once the
region and all courses are checked. Missed events are posted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from sqlmodel import Session

from bot.channels import audit_log, channel_lock, subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter, joint
from bot.channels.subscriptions import UnreadFilter
from bot.db.tables import AuditEntry, ChannelSubscriptionRow, EventVersion
from bot.deliveries import inbox
from bot.errors import question
from bot.events import event_store
from bot.events.event import RacingEvent
from bot.events.races import Course
from bot.events.sentences import counted
from bot.fanout.known_meetings import KnownMeetings, VersionNews
from bot.fanout.plan import Heard, Plan
from bot.logs import get_logger
from bot.outbox import fanout_knowledge, telling_store
from bot.outbox.claim_at_fanout import QueuedOnly
from bot.outbox.notices import Notices, Urgency
from bot.racedata.client.records import KnownCourse
from bot.racedata.event_completion import KnownElsewhere, lacks
from bot.racedata.lexicon import REGIONS, Lexicon, kept
from bot.racedata.near_misses import find_courses, likely

log = get_logger(__name__)

BOT = "the bot"
"""The author of corrections in the audit."""


class _Missed(NamedTuple):
    """A channel's missed events, by key: the first missed version, the newest version, and the event filled in anew."""

    channel_id: str
    first: Mapping[str, EventVersion]
    newest: Mapping[str, EventVersion]
    events: Mapping[str, RacingEvent]


def check_filters(session: Session, notices: Notices, now: datetime) -> bool:
    """False while another replica fans out: both would miss an event matched with the old filter.

    A subscription that waits for the bot is not checked: no message reaches the channel.
    """
    if inbox.take_turn(session, lambda: now) is None:
        return False
    for row in _locked(session, subscriptions.unchecked_and_waiting):
        since_now = subscriptions.read_filter(row).model_copy(update={"unchecked_since": now})
        subscriptions.put_filter(session, row, since_now, row.updated_at)
    if REGIONS.kept(session) is not None:
        checks = _Checks(session, notices, kept(session), now)
        for row in _locked(session, partial(subscriptions.to_be_checked, regions=checks.lists.regions)):
            checks.check(row)
        checks.post_missed()
    return True


def _locked(
    session: Session, find: Callable[[Session], Sequence[ChannelSubscriptionRow]]
) -> Sequence[ChannelSubscriptionRow]:
    """The found subscriptions, with their channels locked."""
    channel_ids = sorted({row.channel_id for row in find(session)})
    channel_lock.take(session, *channel_ids)
    # Rows may have changed before the locks.
    session.expire_all()
    return [row for row in find(session) if row.channel_id in channel_ids]


class _Checks:
    """The checks of one transaction. `post_missed` ends the transaction."""

    def __init__(self, session: Session, notices: Notices, lists: Lexicon, now: datetime) -> None:
        self.lists = lists
        self._session = session
        self._notices = notices
        self._now = now
        self._missed: list[_Missed] = []

    def check(self, row: ChannelSubscriptionRow) -> None:
        before = subscriptions.read_filter(row)
        region = self._region_of(row)
        if region is None:
            if before.unchecked_since is not None:
                checked = before.model_copy(update={"unchecked_since": None})
                subscriptions.put_filter(self._session, row, checked, self._now)
            key, said = _key(row, row.region), _no_region(row.region, self.lists)
            self._notices.tell_channel(self._session, key, row.channel_id, said, urgency=Urgency.WARNING)
            return
        mended = before.model_copy(update={"region": region})
        if before.unchecked_since is not None and _typed_courses(before) and not self.lists.courses:
            self._mend_silently(row, mended)
            return
        after, wrong = mended, list[Course]()
        if before.unchecked_since is not None:
            checked = mended.model_copy(update={"unchecked_since": None, "typed_region": None})
            after, wrong = with_listed_courses(checked, _typed_courses(before), self.lists.courses)
        if after == before:
            return
        is_joined = self._store(row, after)
        missed: _Missed | None = None
        # Else the beginning of the gap is unknown.
        if before.unchecked_since is not None:
            missed = self._missed_by(row.channel_id, after, before.unchecked_since)
            self._missed.append(missed)
        typed = before.model_copy(update={"region": before.typed_region or before.region})
        count = len(missed.events) if missed else None
        if said := _said(typed, after, wrong, count, is_joined=is_joined):
            key = _key(row, f"{_moment(before.unchecked_since)}:{_words(typed)}")
            # A gap that nobody filled, or a course without events: somebody should act.
            urgency = Urgency.WARNING if wrong or missed is None else Urgency.NOTE
            self._notices.tell_channel(self._session, key, row.channel_id, said, urgency=urgency)
        self._audit(row, before, after)
        log.info("filter_checked", channel_id=row.channel_id, region=after.region, missed=count)

    def _mend_silently(self, row: ChannelSubscriptionRow, mended: ChannelFilter) -> None:
        """Correct the region while no list of courses is known. The channel is told later, with the courses.

        A subscription to be joined with another stays as typed until then.
        """
        before = subscriptions.read_filter(row)
        if mended.region == before.region or subscriptions.find(self._session, row.channel_id, mended.region):
            return
        after = mended.model_copy(update={"typed_region": before.typed_region or before.region})
        subscriptions.put_filter(self._session, row, after, self._now)
        self._audit(row, before, after)

    def _audit(self, row: ChannelSubscriptionRow, before: ChannelFilter, after: ChannelFilter) -> None:
        entry = AuditEntry(
            at=self._now,
            user_id=BOT,
            channel_id=row.channel_id,
            action="mend region" if after.region != before.region else "mend course",
            before=f"the region {_words(before)}",
            after=f"the region {_words(after)}",
            reference=f"subscription-{row.id}",
        )
        audit_log.add(self._session, entry)

    def _region_of(self, row: ChannelSubscriptionRow) -> str | None:
        """The published region; None where the word is ambiguous or names a part of a country."""
        if row.region == ALL_REGIONS or self.lists.is_region(row.region):
            return row.region
        meant = self.lists.region_called(row.region)
        if meant is None:
            return None
        # A correction would overwrite an unreadable filter, which admins hear of (Notices.unread_filters).
        there = [one for one in (row, subscriptions.find(self._session, row.channel_id, meant)) if one]
        return None if any(isinstance(subscriptions.read_filter(one), UnreadFilter) for one in there) else meant

    def _store(self, row: ChannelSubscriptionRow, after: ChannelFilter) -> bool:
        """True if two subscriptions became one."""
        other = subscriptions.find(self._session, row.channel_id, after.region)
        if other is None or other.id == row.id:
            subscriptions.put_filter(self._session, row, after, self._now)
            return False
        subscriptions.put_filter(self._session, other, joint(subscriptions.read_filter(other), after), self._now)
        subscriptions.remove(self._session, row.channel_id, [row.region])
        return True

    def _missed_by(self, channel_id: str, chosen: ChannelFilter, since: datetime) -> _Missed:
        """The matching events received since `since`, without events found before."""
        first = {row.event_key: row for row in reversed(event_store.received_since(self._session, since))}
        newest = event_store.latest(self._session, first)
        anew = self._anew(newest)
        missed = {key: event for key, event in anew.items() if chosen.matches(event)}
        told = [one.event_key for one in telling_store.told(self._session, missed, channels=[channel_id])]
        for key in (*told, *(key for one in self._missed if one.channel_id == channel_id for key in one.events)):
            missed.pop(key, None)
        return _Missed(channel_id, first, newest, missed)

    def post_missed(self) -> None:
        """By the newest versions."""
        if not self._missed:
            return
        channels = {missed.channel_id for missed in self._missed}
        known = fanout_knowledge.read(self._session, self._now)
        known = replace(known, listening=[one for one in known.listening if one[0] in channels])
        meetings = KnownMeetings(self._session, self._now)
        plan = Plan(self._session, meetings, known, self._now)
        for missed in self._missed:
            meetings.read(missed.events.values())
            for key, event in sorted(missed.events.items(), key=lambda one: missed.first[one[0]].id or 0):
                for news in _told(missed.first[key], missed.newest[key], event):
                    plan.add(news, Heard([missed.channel_id], only=missed.channel_id))
        plan.write(QueuedOnly().claiming(self._now))

    def _anew(self, newest: Mapping[str, EventVersion]) -> dict[str, RacingEvent]:
        """The events, filled in anew: an event may be older than the list of regions."""
        known = fanout_knowledge.read(self._session, self._now)
        elsewhere = KnownElsewhere(self._session, known.lists, known.filters)
        stored = {key: event_store.known(row)[0] for key, row in newest.items()}
        readable = {key: event for key, event in stored.items() if event.unreadable_because is None}
        coded = {key: elsewhere.coded(event) for key, event in readable.items()}
        lacking = {key: event for key, event in coded.items() if lacks(event)}
        elsewhere.listen(coded.values())
        elsewhere.read(list(lacking.values()))
        filled = {key: elsewhere.filled(event.as_delivered(), event) for key, event in lacking.items()}
        changed = {key: event for key, event in (coded | filled).items() if event != stored[key]}
        for key, event in changed.items():
            event_store.amend(newest[key], event)
        return stored | changed


def _typed_courses(chosen: ChannelFilter) -> list[Course]:
    return [one for one in (*chosen.courses, *chosen.not_courses) if one.course_id is None]


def with_listed_courses(
    chosen: ChannelFilter, typed: Iterable[Course], courses: Iterable[KnownCourse]
) -> tuple[ChannelFilter, list[Course]]:
    """The filter with its `typed` courses as listed in the region, and the courses that are not listed."""
    there = [one for one in courses if chosen.region in {ALL_REGIONS, one.region}]
    found = {one: _listed(one, there) for one in typed}
    changes = {
        "courses": tuple(found.get(one) or one for one in chosen.courses),
        "not_courses": tuple(found.get(one) or one for one in chosen.not_courses),
    }
    return chosen.model_copy(update=changes), [one for one, course in found.items() if course is None]


def _listed(typed: Course, courses: Sequence[KnownCourse]) -> Course | None:
    found = find_courses(courses, typed.course_id or typed.name or "")
    return found[0].as_course if len(found) == 1 else None


def _said(
    before: ChannelFilter, after: ChannelFilter, wrong: Sequence[Course], missed: int | None, *, is_joined: bool
) -> str:
    typed, published = _words(before), _words(after)
    said = []
    if typed != published:
        said.append(
            f"This channel was subscribed to {typed} while I could not check the name. The data service says "
            f"{published}: the subscription is to {published} now."
        )
    if is_joined:
        said.append(
            f"This channel had a subscription to {after.region} already. The two are one now, with the events of both."
        )
    said += [
        f"This channel's subscription to {after.region} names the course {one.name}, but the data service publishes no "
        "such course there. Edit in /racing list changes the subscription."
        for one in wrong
    ]
    if missed:
        said.append(f"Missed here meanwhile, and posted now: {counted(missed, 'message')}.")
    elif missed is None and said:
        said.append("Earlier events from there were not posted here. /results abandonments lists today's abandonments.")
    return " ".join(said)


def _no_region(typed: str, lists: Lexicon) -> str:
    meant = lists.parts_of(typed) or likely(typed, lists.regions)
    return (
        f"This channel is subscribed to {typed}, but the data service publishes no such region, so nothing "
        f"arrives.{question(meant)} Edit and Remove in /racing list change the subscription."
    )


def _words(chosen: ChannelFilter) -> str:
    courses = [one.name or one.course_id or "?" for one in (*chosen.courses, *chosen.not_courses)]
    return ", ".join([chosen.region, *courses])


def _key(row: ChannelSubscriptionRow, about: str) -> str:
    """Without the row's id: SQLite reuses ids of removed rows."""
    return f"region:{row.channel_id}:{_moment(row.created_at)}:{about}"


def _moment(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat() if at else ""


def _told(first: EventVersion, newest: EventVersion, event: RacingEvent) -> list[VersionNews]:
    """The first missed version, edited by the newest: so the heading does not say "correction".

    Of a contradiction, only the newest version.
    """

    def news(row: EventVersion, *, rings: bool, is_first: bool) -> VersionNews:
        at, remarks = row.received_at, event_store.remarks_of(row)
        return VersionNews(event, remarks, rings, is_first, version=row, received_at=at, at=at)

    if first.version == newest.version or event_store.remarks_of(newest).contradicts:
        return [news(newest, rings=True, is_first=False)]
    return [news(first, rings=True, is_first=True), news(newest, rings=False, is_first=False)]
