"""`/racing subscribe`: checked, committed before the ack, then looked whether the bot is in the channel at all."""

import asyncio
from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.domain.events import DEFAULT_TOPICS, TOPIC_OF
from bot.domain.filters import ALL_REGIONS, ChannelFilter, is_same_course
from bot.domain.message import Message
from bot.domain.races import Course
from bot.errors import CommandError
from bot.settings import SubscribeBy
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.wanted import Wanted, read_wanted
from bot.slack.membership import creator, is_member
from bot.slack.messages.subscriptions import subscribed
from bot.storage import subscriptions, webhook_subscriptions
from bot.storage.tables import SubscriptionState

CHECK_S = 1.2
"""For looking up regions and courses before the ack, which Slack wants within three seconds."""


@dataclass(frozen=True)
class Subscribed:
    """What was stored: the filters as they stand now, and the words that could not be checked."""

    filters: tuple[ChannelFilter, ...]
    unchecked: tuple[str, ...]


async def commit(desk: Desk, invocation: Invocation) -> Subscribed:
    """Store the subscription. Raises CommandError where a word is not understood, or the person may not."""
    wanted = read_wanted(invocation.text)
    if wanted.is_bare:
        raise CommandError(
            "Say what this channel should receive, for example: /racing subscribe GB IRE results abandonments, or "
            "/racing subscribe all. Regions are the service's codes; topics are results, abandonments and racecards."
        )
    await check_may_subscribe(desk, invocation)
    filters, unchecked = await _filters(desk, wanted)

    def save(session: Session) -> tuple[ChannelFilter, ...]:
        return tuple(_save(session, desk, invocation, chosen) for chosen in filters)

    return Subscribed(await desk.database.write(save), unchecked)


async def answer(desk: Desk, invocation: Invocation, committed: Subscribed) -> Message:
    """What will arrive; or, where the bot is not in the channel, how to invite it."""
    member = await is_member(desk.slack, invocation.channel_id)
    if member is False:
        await desk.database.write(partial(_let_wait, channel_id=invocation.channel_id, desk=desk))
        # Whoever was just invited while we asked has been told of it before the subscription waited for it.
        member = await is_member(desk.slack, invocation.channel_id)
    if member:
        now = desk.clock()
        await desk.database.write(partial(desk.reopening.reopen, channel_id=invocation.channel_id, now=now))
        desk.wake.set()
    uncovered = await desk.database.read(partial(_uncovered, filters=committed.filters))
    is_paused = await desk.database.read(partial(_is_paused, channel_id=invocation.channel_id, desk=desk))
    return subscribed(
        committed.filters, committed.unchecked, member, desk.identity.name, uncovered, is_paused=is_paused
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


def _is_paused(session: Session, channel_id: str, desk: Desk) -> bool:
    return subscriptions.paused_until(session, channel_id, desk.clock()) is not None


def _uncovered(session: Session, filters: tuple[ChannelFilter, ...]) -> list[str]:
    """What was asked for and our own subscription with the service does not deliver, each as "event from region"."""
    missing = []
    for chosen in filters:
        region = None if chosen.region == ALL_REGIONS else chosen.region
        events = [kind for kind, topic in TOPIC_OF.items() if topic in chosen.topics]
        where = f"from {chosen.region}" if region else "from all regions"
        missing += [f"{event} {where}" for event in webhook_subscriptions.uncovered(session, region, events)]
    return missing


async def check_may_subscribe(desk: Desk, invocation: Invocation) -> None:
    """Raise CommandError where SUBSCRIBE_BY does not let this person change what the channel receives."""
    allowed = desk.settings.subscribe_by
    if allowed is SubscribeBy.MEMBERS or invocation.user_id in desk.settings.admin_users:
        return
    if (
        allowed is SubscribeBy.CREATORS
        and await creator(desk.slack, invocation.channel_id, CHECK_S) == invocation.user_id
    ):
        return
    who = "the channel's creator and admins" if allowed is SubscribeBy.CREATORS else "admins"
    raise CommandError(f"Only {who} may change what a channel receives here. Ask one of them.")


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
    if ALL_REGIONS not in regions:
        await _check_courses_are_in(desk, courses, regions)
    filters = [
        ChannelFilter(region=region, topics=wanted.topics or DEFAULT_TOPICS, courses=courses, not_courses=not_courses)
        for region in regions
    ]
    unchecked = [one.region for one in checked if not one.known]
    unchecked += [course.name for course in (*courses, *not_courses) if course.course_id is None and course.name]
    return filters, tuple(unchecked)


async def _check_courses_are_in(desk: Desk, courses: tuple[Course, ...], regions: list[str]) -> None:
    """Raise CommandError for a course that is in none of the regions: nothing of it would ever arrive."""
    for course in courses:
        region = await desk.reference.region_of(course)
        if region is not None and region not in regions:
            raise CommandError(
                f"{course.name} is a course of {region}, not of {' or '.join(regions)}. "
                f'/racing subscribe {region} course:"{course.name}" would be right.'
            )


def _save(session: Session, desk: Desk, invocation: Invocation, chosen: ChannelFilter) -> ChannelFilter:
    """Add to what the channel has of that region: it never receives less by subscribing, but for a course left out."""
    for row in subscriptions.of_channel(session, invocation.channel_id):
        if row.region == chosen.region:
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
        }
    )


def _union(one: tuple[Course, ...], other: tuple[Course, ...]) -> tuple[Course, ...]:
    return (*one, *(course for course in other if not any(is_same_course(course, known) for known in one)))
