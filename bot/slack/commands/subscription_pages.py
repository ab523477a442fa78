"""`/racing list`: a page of the channel's subscriptions, and the buttons that edit and remove."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from sqlmodel import Session

from bot.channels import audit_log, mutes, pauses, subscriptions, watches
from bot.channels.conditions.event_conditions import REGIONS_FIELD, is_person
from bot.channels.filters import ALL_REGIONS, ChannelFilter, without_abandonments
from bot.db.tables import OutboxMessage
from bot.errors import CommandError, question
from bot.events.days import utc_today
from bot.outbox import held_queues
from bot.outbox.message import Message
from bot.racedata.lexicon import COURSES, REGIONS
from bot.racedata.near_misses import likely
from bot.slack.channel_membership import members
from bot.slack.commands.form_button import form_is_the_answer, open_form
from bot.slack.commands.invocation import Command, Desk, Invocation, may_change, no_words, says
from bot.slack.commands.subscription_changes import abandonments_here, as_shown, overriding_in
from bot.slack.commands.unsubscribe import end_subscriptions
from bot.slack.language.request import LineRequest
from bot.slack.messages.answers.subscription_answers import (
    EDIT,
    PER_PAGE,
    REMOVE,
    Listed,
    ListPage,
    paused_since,
    subscription_list,
    unsubscribed,
)

REGIONS_S = 1.5
"""For reading the regions anew."""


async def _answer(desk: Desk, invocation: Invocation, number: int) -> Message:
    # Filters stored unchecked while the service was away show as soon as the service is back.
    await desk.reference.regions(REGIONS_S)
    page = await desk.database.read(lambda session: _page(session, desk, invocation.channel_id, number))
    if not await desk.people.is_admin(invocation):
        page = replace(page, last_change=None)
    gone = await _gone(desk, invocation.channel_id, {one.row.created_by for one in page.listed})
    listed = [
        replace(one, orphaned=[*one.orphaned, *filter(None, [gone.get(one.row.created_by)])]) for one in page.listed
    ]
    return subscription_list(replace(page, listed=listed))


async def _plan_edit(desk: Desk, invocation: Invocation) -> ChannelFilter:
    """The subscription of the button's region. Raises CommandError for an ended subscription."""
    find = partial(subscriptions.find, channel_id=invocation.channel_id, region=invocation.text)
    if (row := await desk.database.read(find)) is None:
        raise CommandError("The subscription is not there any more. /racing list shows the subscriptions.")
    return subscriptions.read_filter(row)


async def _plan_remove(desk: Desk, invocation: Invocation) -> LineRequest:
    return LineRequest({REGIONS_FIELD: ((await _plan_edit(desk, invocation)).region,)})


def _page(session: Session, desk: Desk, channel_id: str, number: int) -> ListPage:
    rows = subscriptions.of_channel(session, channel_id)
    every = [subscriptions.read_filter(row) for row in rows]
    number = min(number, audit_log.pages_of(len(every), PER_PAGE))
    on_page = slice((number - 1) * PER_PAGE, number * PER_PAGE)
    filters = every[on_page]
    posts = subscriptions.last_posts(session, channel_id, filters)
    lacking, now = without_abandonments(filters, every), desk.clock()
    regions, courses = REGIONS.items(session), {one.course_id for one in COURSES.items(session)}
    muted = [(row, mutes.read(row)) for row in mutes.of_channel(session, channel_id, now)]
    return ListPage(
        listed=[
            replace(
                _with_post(Listed(row, shown), post, desk),
                overriding=overriding_in(session, [(chosen, other) for other in every]),
                has_abandonments=chosen not in lacking,
                orphaned=_unpublished(chosen, regions, courses),
            )
            for row, chosen, shown, post in zip(rows[on_page], filters, as_shown(session, filters), posts, strict=True)
        ],
        number=number,
        total=len(every),
        mutes=[(row, one, abandonments_here(session, channel_id, one, now)) for row, one in muted],
        last_change=audit_log.last_of_channel(session, channel_id),
        today=utc_today(now),
        pause=_pause(session, channel_id),
        watched=watches.count_in(session, channel_id),
    )


def _pause(session: Session, channel_id: str) -> str | None:
    until, held = pauses.last_end(session, channel_id), held_queues.held_of(session, channel_id)
    if until is None:
        return None
    if held is None or held.because != held_queues.PAUSED:
        # A pause within a closing.
        return paused_since(until)
    entry = audit_log.last_by(session, channel_id, "pause", held.since)
    return paused_since(until, held.since, entry.user_id if entry else None)


def _with_post(one: Listed, post: OutboxMessage | None, desk: Desk) -> Listed:
    """A post from before the subscription was of another subscription."""
    if post is None or (post.sent_at or post.received_at) < one.row.created_at:
        return one
    link = desk.identity.permalink(one.row.channel_id, post.message_ts) if post.message_ts else None
    return replace(one, last_post_at=post.sent_at, last_post_link=link)


def _unpublished(chosen: ChannelFilter, regions: Sequence[str], courses: Collection[str | None]) -> list[str]:
    """What the data service lacks, in words. Without a list nothing is missing."""
    missing = []
    if regions and chosen.region not in {ALL_REGIONS, *regions}:
        meant = question(likely(chosen.region, regions))
        missing.append(f"The data service publishes no region {chosen.region}, so nothing from it arrives.{meant}")
    return missing + [
        f"The data service no longer publishes the course {course.name or course.course_id}."
        for course in (*chosen.courses, *chosen.not_courses)
        if course.course_id and courses and course.course_id not in courses
    ]


async def _gone(desk: Desk, channel_id: str, creators: set[str]) -> dict[str, str]:
    there = await members(desk.slack, channel_id)
    gone: dict[str, str] = {}
    # An operator at the shell is in no channel.
    for user_id in sorted(filter(is_person, creators)):
        person = await desk.people.person(user_id)
        if person is not None and person.is_deactivated:
            gone[user_id] = "Whoever made it is deactivated in Slack."
        elif there is not None and user_id not in there:
            gone[user_id] = "Whoever made it is not in this channel any more."
    return gone


LIST_COMMAND = Command("list", _answer, no_words("list", "It shows all that this channel receives."))
EDIT_BUTTON = Command(EDIT, form_is_the_answer, _plan_edit, open_form, may_change)
REMOVE_BUTTON = Command(REMOVE, says(unsubscribed), _plan_remove, rights=may_change, store=end_subscriptions)
