"""`/racing unsubscribe`: regions, topics, or all; what is left is said back."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session

from bot.book.guess import guess
from bot.domain.events import Topic
from bot.domain.filters import ALL_REGIONS, ChannelFilter
from bot.domain.message import Message
from bot.domain.races import Course
from bot.errors import CommandError
from bot.slack.commands.changing import audited
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.shown import as_shown
from bot.slack.commands.tokens import join
from bot.slack.commands.wanted import Wanted, read_wanted
from bot.slack.messages.filter_words import in_plain_words, region_words
from bot.slack.messages.subscriptions import unsubscribed
from bot.storage import subscriptions, waited
from bot.storage.tables import ChannelSubscriptionRow

ALIKE = 0.75
"""How like a word has to be to what it is taken for, from 0 to 1: more than elsewhere, because that is then ended."""


@dataclass(frozen=True)
class Unsubscribed:
    """How many subscriptions ended, how many have changed and go on, and the filters that are left."""

    ended: int
    changed: int
    left: tuple[ChannelFilter, ...]


async def commit(desk: Desk, invocation: Invocation) -> Unsubscribed:
    """Remove what was named. Raises CommandError where nothing was, or where it is not there."""
    wanted = read_wanted(invocation.text)
    await desk.people.check_may_change(invocation.user_id, invocation.channel_id)

    def remove(session: Session) -> Unsubscribed:
        with audited(session, desk, invocation, "unsubscribe"):
            return _remove(session, desk, invocation.channel_id, wanted)

    return await desk.database.write(remove)


async def answer(_desk: Desk, _invocation: Invocation, committed: Unsubscribed) -> Message:
    """What is left."""
    return unsubscribed(committed.ended, committed.left, changed=committed.changed)


def _remove(session: Session, desk: Desk, channel_id: str, wanted: Wanted) -> Unsubscribed:
    rows = subscriptions.of_channel(session, channel_id)
    if not rows:
        raise CommandError("This channel has no subscriptions. /racing subscribe GB would make one.")
    there = ", ".join(region_words(row.region) for row in rows)
    if wanted.is_bare:
        # The word for all regions ends every subscription, not that to all regions alone.
        one = [f"/racing {join(['unsubscribe', row.region])}, or " for row in rows if row.region != ALL_REGIONS]
        alone = " Remove in /racing list ends that to all regions alone." if 0 < len(one) < len(rows) else ""
        raise CommandError(
            f"Say what to end: this channel has subscriptions to {there}. For example {''.join(one[:1])}/racing "
            f"unsubscribe all for every one of them.{alone}"
        )
    if wanted.everything and wanted.regions:
        named = join(wanted.regions)
        raise CommandError(
            f'"all" is every subscription of this channel ({there}), and you named {named} too, so nothing was '
            f"changed. Type /racing unsubscribe all, or /racing unsubscribe {named}."
        )
    regions = [row.region for row in rows]
    unknown = [typed for typed in wanted.regions if typed not in regions]
    if unknown:
        found = guess(unknown, {word: word for word in (*map(region_words, regions), *Topic)}, ALIKE)
        raise CommandError(
            f"This channel has no subscription to {', '.join(unknown)}.{found.question} It has: {there}.",
            offers=found.offers,
        )
    chosen = [row for row in rows if not wanted.regions or row.region in wanted.regions]
    if wanted.courses or wanted.not_courses:
        chosen = _with_these_courses(chosen, wanted)
    elif wanted.topics:
        chosen = _with_these_topics(chosen, wanted.topics)
    for row in chosen:
        _end(session, desk, row, wanted)
    left = subscriptions.of_channel(session, channel_id)
    if not left:
        # Of a paused channel this may be much: nobody wants to be flooded with what they have ended.
        waited.drop(session, channel_id, waited.UNSUBSCRIBED)
    ended = len(rows) - len(left)
    return Unsubscribed(ended, len(chosen) - ended, as_shown(session, map(subscriptions.read_filter, left)))


def _with_these_topics(
    rows: Sequence[ChannelSubscriptionRow], topics: frozenset[Topic]
) -> list[ChannelSubscriptionRow]:
    """The subscriptions that take any of these. Raises CommandError where none does."""
    found = [row for row in rows if subscriptions.read_filter(row).topics & topics]
    if not found:
        has = in_plain_words(subscriptions.read_filter(row) for row in rows)
        named = " and ".join(sorted(topics))
        raise CommandError(f"This channel receives no {named} there, so nothing was changed. It receives {has}.")
    return found


def _with_these_courses(rows: Sequence[ChannelSubscriptionRow], wanted: Wanted) -> list[ChannelSubscriptionRow]:
    """The subscriptions whose filters name a course that was typed. Raises CommandError where a course is in none."""
    filters = [subscriptions.read_filter(row) for row in rows]
    for typed, named in (
        *((typed, [one.courses for one in filters]) for typed in wanted.courses),
        *((typed, [one.not_courses for one in filters]) for typed in wanted.not_courses),
    ):
        if not any(_is_called(course, typed) for courses in named for course in courses):
            raise CommandError(
                f"No subscription of this channel names the course {typed}, so nothing was changed. /racing list shows "
                'what there is; /racing subscribe GB -course:"Name" would leave one out.'
            )
    return [row for row, one in zip(rows, filters, strict=True) if _without_courses(one, wanted) != one]


def _without_courses(before: ChannelFilter, wanted: Wanted) -> ChannelFilter:
    """The filter without the courses that were typed, in either of its lists."""
    courses = tuple(one for one in before.courses if not any(_is_called(one, typed) for typed in wanted.courses))
    not_courses = tuple(
        one for one in before.not_courses if not any(_is_called(one, typed) for typed in wanted.not_courses)
    )
    return before.model_copy(update={"courses": courses, "not_courses": not_courses})


def _is_called(course: Course, typed: str) -> bool:
    return typed.casefold() in {name.casefold() for name in (course.name, course.course_id) if name}


def _end(session: Session, desk: Desk, row: ChannelSubscriptionRow, wanted: Wanted) -> None:
    """Take topics or courses out of a subscription; with nothing named, or nothing left to receive, remove it."""
    before = subscriptions.read_filter(row)
    after = _without_courses(before, wanted)
    # Without its last course a filter would take every course: that is more, not less.
    ends = bool(before.courses) and not after.courses
    if wanted.topics:
        after = after.model_copy(update={"topics": before.topics - wanted.topics})
    elif after == before:
        ends = True
    if ends or not after.topics:
        subscriptions.remove(session, row.channel_id, [row.region])
        return
    subscriptions.save(session, row.channel_id, after, user_id=row.created_by, now=desk.clock())
