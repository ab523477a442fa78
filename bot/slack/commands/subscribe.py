"""`/racing subscribe`: checked, committed before the ack, then looked whether the bot is in the channel at all.

Typed, or chosen in the form that it opens where nothing was typed (bot.slack.commands.form): both lead through here.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.domain.days import utc_today
from bot.domain.events import DEFAULT_TOPICS, TOPIC_OF
from bot.domain.filters import ALL_REGIONS, ChannelFilter, is_same_course
from bot.domain.message import Message
from bot.domain.races import Course
from bot.errors import CommandError
from bot.slack.commands.changing import audited
from bot.slack.commands.form import open_form
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.wanted import Wanted, read_wanted
from bot.slack.membership import is_member
from bot.slack.messages.subscriptions import Said, subscribed
from bot.storage import subscriptions, webhook_subscriptions
from bot.storage.recent import recent
from bot.storage.tables import SubscriptionState

CHECK_S = 1.2
"""For looking up regions and courses before the ack, which Slack wants within three seconds."""


@dataclass(frozen=True)
class Subscribed:
    """What was stored: the filters as they stand now, and the words that could not be checked."""

    filters: tuple[ChannelFilter, ...]
    unchecked: tuple[str, ...]


async def commit(desk: Desk, invocation: Invocation) -> Subscribed | None:
    """Store the subscription, or open the form (None) where nothing was typed.

    Raises CommandError where a word is not understood, or the person may not.
    """
    wanted = read_wanted(invocation.text)
    await desk.people.check_may_change(invocation.user_id, invocation.channel_id)
    if wanted.is_bare:
        await open_form(desk, invocation, None)
        return None
    filters, unchecked = await _filters(desk, wanted)
    return await store(desk, invocation, filters, unchecked)


async def answer(desk: Desk, invocation: Invocation, committed: Subscribed | None) -> Message | None:
    """What will arrive, and what there was; where the bot is not in the channel, how to invite it."""
    if committed is None:
        return None
    member = await is_member(desk.slack, invocation.channel_id)
    if member is False:
        await desk.database.write(partial(_let_wait, channel_id=invocation.channel_id, desk=desk))
        # Whoever was just invited while we asked has been told of it before the subscription waited for it.
        member = await is_member(desk.slack, invocation.channel_id)
    if member:
        now = desk.clock()
        await desk.database.write(partial(desk.reopening.reopen, channel_id=invocation.channel_id, now=now))
        desk.wake.set()

    def read(session: Session) -> Said:
        return _said(session, desk, invocation.channel_id, committed, is_member=member)

    return subscribed(await desk.database.read(read))


async def store(
    desk: Desk,
    invocation: Invocation,
    filters: Sequence[ChannelFilter],
    unchecked: Sequence[str],
    *,
    instead_of: str | None = None,
) -> Subscribed:
    """Commit these filters: beside what the channel has, or in the place of its subscription to a region."""

    def save(session: Session) -> tuple[ChannelFilter, ...]:
        action = "subscribe" if instead_of is None else "edit"
        with audited(session, desk, invocation, action):
            if instead_of is not None and instead_of not in {chosen.region for chosen in filters}:
                subscriptions.remove(session, invocation.channel_id, [instead_of])
            return tuple(
                _save(session, desk, invocation, chosen, replaces=chosen.region == instead_of) for chosen in filters
            )

    return Subscribed(await desk.database.write(save), tuple(unchecked))


def _said(session: Session, desk: Desk, channel_id: str, committed: Subscribed, *, is_member: bool | None) -> Said:
    now = desk.clock()
    return Said(
        filters=committed.filters,
        unchecked=committed.unchecked,
        uncovered=_uncovered(session, committed.filters),
        recent=recent(session, committed.filters, utc_today(now), now),
        is_member=is_member,
        is_paused=subscriptions.paused_until(session, channel_id, now) is not None,
        bot_name=desk.identity.name,
    )


def _let_wait(session: Session, channel_id: str, desk: Desk) -> None:
    """The bot is not in the channel: its subscriptions wait for that."""
    subscriptions.set_state(
        session,
        channel_id,
        SubscriptionState.WAITING,
        desk.clock(),
        reason="the bot is not in the channel",
        only=(SubscriptionState.LIVE,),
    )


def _uncovered(session: Session, filters: tuple[ChannelFilter, ...]) -> list[str]:
    """What was asked for and our own subscription with the service does not deliver, each as "event from region"."""
    missing = []
    for chosen in filters:
        region = None if chosen.region == ALL_REGIONS else chosen.region
        events = [kind for kind, topic in TOPIC_OF.items() if topic in chosen.topics]
        where = f"from {chosen.region}" if region else "from all regions"
        missing += [f"{event} {where}" for event in webhook_subscriptions.uncovered(session, region, events)]
    return missing


async def _filters(desk: Desk, wanted: Wanted) -> tuple[list[ChannelFilter], tuple[str, ...]]:
    # One deadline for all the words together: they are checked before the ack.
    loop = asyncio.get_running_loop()
    until = loop.time() + CHECK_S

    def left_s() -> float:
        return max(0.01, until - loop.time())

    checked = [await desk.reference.check_region(typed, timeout_s=left_s()) for typed in wanted.regions]
    regions = [one.region for one in checked]
    if wanted.everything or not regions:
        regions = [ALL_REGIONS]
    courses = tuple([await desk.reference.check_course(typed, timeout_s=left_s()) for typed in wanted.courses])
    not_courses = tuple([await desk.reference.check_course(typed, timeout_s=left_s()) for typed in wanted.not_courses])
    await check_courses_are_in(desk, courses, regions)
    topics = wanted.topics or DEFAULT_TOPICS
    filters = [
        ChannelFilter(region=region, topics=topics, courses=courses, not_courses=not_courses) for region in regions
    ]
    return filters, (*(one.region for one in checked if not one.known), *unchecked_courses(*courses, *not_courses))


def unchecked_courses(*courses: Course) -> list[str]:
    """The courses that were taken as typed, for want of a list."""
    return [course.name for course in courses if course.course_id is None and course.name]


async def check_courses_are_in(desk: Desk, courses: Sequence[Course], regions: Sequence[str]) -> None:
    """Raise CommandError for a course that is in none of the regions: nothing of it would ever arrive."""
    if ALL_REGIONS in regions:
        return
    for course in courses:
        region = await desk.reference.region_of(course)
        if region is not None and region not in regions:
            raise CommandError(
                f"{course.name} is a course of {region}, not of {' or '.join(regions)}. "
                f'/racing subscribe {region} course:"{course.name}" would be right.',
                typed=regions[0] if len(regions) == 1 else "",
                meant={region: region},
            )


def _save(
    session: Session, desk: Desk, invocation: Invocation, chosen: ChannelFilter, *, replaces: bool
) -> ChannelFilter:
    """Add to what the channel has of that region: it never receives less by subscribing, but for a course left out."""
    for row in subscriptions.of_channel(session, invocation.channel_id):
        if row.region == chosen.region and not replaces:
            chosen = _added(subscriptions.read_filter(row), chosen)
    subscriptions.save(
        session,
        invocation.channel_id,
        chosen,
        state=SubscriptionState.LIVE,
        user_id=invocation.user_id,
        now=desk.clock(),
    )
    return chosen


def _added(before: ChannelFilter, chosen: ChannelFilter) -> ChannelFilter:
    """Both filters together. One that names no course takes them all."""
    narrow = before.courses and chosen.courses
    return chosen.model_copy(
        update={
            "topics": before.topics | chosen.topics,
            "courses": _union(before.courses, chosen.courses) if narrow else (),
            "not_courses": _union(before.not_courses, chosen.not_courses),
            "mentions": tuple(dict.fromkeys((*before.mentions, *chosen.mentions))),
        }
    )


def _union(one: tuple[Course, ...], other: tuple[Course, ...]) -> tuple[Course, ...]:
    return (*one, *(course for course in other if not any(is_same_course(course, known) for known in one)))
