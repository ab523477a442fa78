"""Checks filters that people typed while no list of regions or courses was known.

Letter case, and another name or code of a region, are corrected. The channel is told of other wrong words once the
region and all courses are checked. Missed events are posted.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial

from sqlmodel import Session

from bot.channels import audit_log, channel_lock, subscriptions
from bot.channels.filters import ALL_REGIONS, ChannelFilter, joint
from bot.channels.subscriptions import UnreadFilter
from bot.db.tables import AuditEntry, ChannelSubscriptionRow
from bot.deliveries import inbox
from bot.errors import question
from bot.events.races import Course
from bot.events.sentences import counted
from bot.fanout import missed_events
from bot.fanout.missed_events import Missed
from bot.logs import get_logger
from bot.outbox.notices import Notices, Urgency
from bot.racedata.client.records import KnownCourse
from bot.racedata.lexicon import REGIONS, Lexicon, kept
from bot.racedata.near_misses import likely

log = get_logger(__name__)

BOT = "the bot"
"""The author of corrections in the audit."""


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
        lists = kept(session)
        rows = _locked(session, partial(subscriptions.to_be_checked, regions=lists.regions))
        found: list[Missed] = []
        for row in rows:
            _check(session, notices, row, lists, now, found=found)
        if found:
            missed_events.post(session, found, now)
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


def _check(
    session: Session,
    notices: Notices,
    row: ChannelSubscriptionRow,
    lists: Lexicon,
    now: datetime,
    *,
    found: list[Missed],
) -> None:
    """Adds what the channel has missed to `found`."""
    before = subscriptions.read_filter(row)
    region = _region_of(session, row, lists)
    if region is None:
        if before.unchecked_since is not None:
            subscriptions.put_filter(session, row, before.model_copy(update={"unchecked_since": None}), now)
        said = _no_region(row.region, lists)
        notices.tell_channel(session, _key(row, row.region), row.channel_id, said, urgency=Urgency.WARNING)
        return
    mended = before.model_copy(update={"region": region})
    if before.unchecked_since is not None and _typed_courses(before) and not lists.courses:
        _mend_silently(session, row, mended, now)
        return
    after, wrong = mended, list[Course]()
    if before.unchecked_since is not None:
        checked = mended.model_copy(update={"unchecked_since": None, "typed_region": None})
        after, wrong = with_listed_courses(checked, _typed_courses(before), lists.courses)
    if after == before:
        return
    is_joined = _store(session, row, after, now)
    missed: Missed | None = None
    # Else the beginning of the gap is unknown.
    if before.unchecked_since is not None:
        missed = missed_events.find(session, row.channel_id, after, found, since=before.unchecked_since, now=now)
        found.append(missed)
    typed = before.model_copy(update={"region": before.typed_region or before.region})
    count = len(missed.events) if missed else None
    if said := _said(typed, after, wrong, count, is_joined=is_joined):
        key = _key(row, f"{_moment(before.unchecked_since)}:{_words(typed)}")
        # A gap that nobody filled, or a course without events: somebody should act.
        urgency = Urgency.WARNING if wrong or missed is None else Urgency.NOTE
        notices.tell_channel(session, key, row.channel_id, said, urgency=urgency)
    _audit(session, row, before, after, now)
    log.info("filter_checked", channel_id=row.channel_id, region=after.region, missed=count)


def _mend_silently(session: Session, row: ChannelSubscriptionRow, mended: ChannelFilter, now: datetime) -> None:
    """Correct the region while no list of courses is known. The channel is told later, with the courses.

    A subscription to be joined with another stays as typed until then.
    """
    before = subscriptions.read_filter(row)
    if mended.region == before.region or subscriptions.find(session, row.channel_id, mended.region):
        return
    after = mended.model_copy(update={"typed_region": before.typed_region or before.region})
    subscriptions.put_filter(session, row, after, now)
    _audit(session, row, before, after, now)


def _audit(
    session: Session, row: ChannelSubscriptionRow, before: ChannelFilter, after: ChannelFilter, now: datetime
) -> None:
    entry = AuditEntry(
        at=now,
        user_id=BOT,
        channel_id=row.channel_id,
        action="mend region" if after.region != before.region else "mend course",
        before=f"the region {_words(before)}",
        after=f"the region {_words(after)}",
        reference=f"subscription-{row.id}",
    )
    audit_log.add(session, entry)


def _region_of(session: Session, row: ChannelSubscriptionRow, lists: Lexicon) -> str | None:
    """The published region; None where the word is ambiguous or names a part of a country."""
    if row.region == ALL_REGIONS or lists.is_region(row.region):
        return row.region
    meant = lists.region_called(row.region)
    if meant is None:
        return None
    # A correction would overwrite an unreadable filter, which admins hear of (Notices.unread_filters).
    there = [one for one in (row, subscriptions.find(session, row.channel_id, meant)) if one]
    return None if any(isinstance(subscriptions.read_filter(one), UnreadFilter) for one in there) else meant


def _store(session: Session, row: ChannelSubscriptionRow, after: ChannelFilter, now: datetime) -> bool:
    """True if two subscriptions became one."""
    other = subscriptions.find(session, row.channel_id, after.region)
    if other is None or other.id == row.id:
        subscriptions.put_filter(session, row, after, now)
        return False
    subscriptions.put_filter(session, other, joint(subscriptions.read_filter(other), after), now)
    subscriptions.remove(session, row.channel_id, [row.region])
    return True


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
    """The only course of this id, name or shortcode, if need be in another letter case."""
    word = typed.course_id or typed.name or ""
    for read in (str, str.casefold):
        for field in ("course_id", "name", "shortcode"):
            found = [one for one in courses if read(getattr(one, field) or "") == read(word)]
            if len(found) == 1:
                return Course(course_id=found[0].course_id, name=found[0].name, country=found[0].country)
    return None


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
