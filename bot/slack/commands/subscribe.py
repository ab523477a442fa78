"""`/racing subscribe`: checked, committed before the ack, then looked whether the bot is in the channel at all."""

from dataclasses import dataclass
from functools import partial

from sqlmodel import Session

from bot.domain.events import DEFAULT_TOPICS, TOPIC_OF
from bot.domain.filters import ALL_REGIONS, ChannelFilter
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
        return tuple(_save(session, desk, invocation, chosen, wanted) for chosen in filters)

    return Subscribed(await desk.database.write(save), unchecked)


async def answer(desk: Desk, invocation: Invocation, committed: Subscribed) -> Message:
    """What will arrive; or, where the bot is not in the channel, how to invite it."""
    member = await is_member(desk.slack, invocation.channel_id)
    if member is False:
        await desk.database.write(
            lambda session: subscriptions.set_state(
                session,
                invocation.channel_id,
                SubscriptionState.WAITING,
                desk.clock(),
                reason="the bot is not in the channel",
                only=(SubscriptionState.LIVE,),
            )
        )
    uncovered = await desk.database.read(partial(_uncovered, filters=committed.filters))
    return subscribed(committed.filters, committed.unchecked, member, desk.identity.name, uncovered)


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
    unchecked: list[str] = []
    regions: list[str] = []
    for typed in wanted.regions:
        region = await desk.reference.check_region(typed, timeout_s=CHECK_S)
        regions.append(region.region)
        if not region.known:
            unchecked.append(region.region)
    if wanted.everything or not regions:
        regions = [ALL_REGIONS]
    courses = tuple([await _course(desk, typed) for typed in wanted.courses])
    not_courses = tuple([await _course(desk, typed) for typed in wanted.not_courses])
    topics = wanted.topics or DEFAULT_TOPICS
    filters = [
        ChannelFilter(region=region, topics=topics, courses=courses, not_courses=not_courses) for region in regions
    ]
    unchecked.extend(course.name for course in (*courses, *not_courses) if course.course_id is None and course.name)
    return filters, tuple(unchecked)


async def _course(desk: Desk, typed: str) -> Course:
    return await desk.reference.check_course(typed, timeout_s=CHECK_S)


def _save(session: Session, desk: Desk, invocation: Invocation, chosen: ChannelFilter, wanted: Wanted) -> ChannelFilter:
    """Add to what the channel has of that region: topics add up, course filters are replaced where some were typed."""
    for row in subscriptions.of_channel(session, invocation.channel_id):
        if row.region == chosen.region:
            before = subscriptions.read_filter(row)
            chosen = chosen.model_copy(
                update={
                    "topics": before.topics | (wanted.topics or DEFAULT_TOPICS),
                    "courses": chosen.courses or before.courses,
                    "not_courses": chosen.not_courses or before.not_courses,
                }
            )
    subscriptions.save(
        session,
        invocation.channel_id,
        chosen,
        state=SubscriptionState.LIVE,
        user_id=invocation.user_id,
        now=desk.clock(),
    )
    return chosen
