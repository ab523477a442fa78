"""`/racing list`: a page of the channel's subscriptions, and the buttons that edit and remove."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from bot.channels import audit_log, mutes, pauses, subscriptions, watches
from bot.channels.conditions.mention_condition import is_person
from bot.channels.filters import ALL_REGIONS, Abandonments, ChannelFilter, Meeting, Overridden, without_abandonments
from bot.db.tables import AuditEntry, ChannelSubscriptionRow, MutedMeetingRow, OutboxMessage
from bot.errors import CommandError
from bot.events.days import utc_today
from bot.outbox import backlog, held_queues
from bot.outbox.message import Message
from bot.racedata import reference_store
from bot.racedata.near_misses import likely, question
from bot.slack.channel_membership import members
from bot.slack.commands.filter_view import abandonments_here, as_shown, overridden_in
from bot.slack.commands.form_button import form_is_the_answer, open_form
from bot.slack.commands.invocation import Command, Desk, Invocation, may_change, no_words
from bot.slack.commands.subscription_changes import audited, change
from bot.slack.commands.unsubscribe import Unsubscribed, said_of_end
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.subscription_answers import (
    EDIT,
    PER_PAGE,
    REMOVE,
    ChannelPause,
    Listed,
    ListPage,
    subscription_list,
)

REGIONS_S = 1.5
"""For reading the regions anew."""


@dataclass(frozen=True)
class _Found:
    rows: Sequence[ChannelSubscriptionRow]
    shown: Sequence[ChannelFilter]
    lacking: Sequence[ChannelFilter]
    overridden: Sequence[Sequence[Overridden]]
    posts: Sequence[OutboxMessage | None]
    number: int
    total: int
    mutes: Sequence[tuple[MutedMeetingRow, Meeting, Abandonments]]
    change: AuditEntry | None
    regions: Sequence[str] | None
    courses: frozenset[str] | None
    pause: ChannelPause | None
    watched: int


async def _answer(desk: Desk, invocation: Invocation, number: int) -> Message:
    # What was stored unchecked while the service was away shows as soon as it is back.
    await desk.reference.regions(REGIONS_S)
    found = await desk.database.read(lambda session: _find(session, desk, invocation.channel_id, number))
    is_admin = await desk.people.is_admin(invocation)
    gone = await _gone(desk, invocation.channel_id, {row.created_by for row in found.rows})
    return subscription_list(
        ListPage(
            listed=[_listed(desk, place, found, gone) for place in range(len(found.rows))],
            number=found.number,
            pages=max(1, -(-found.total // PER_PAGE)),
            total=found.total,
            mutes=found.mutes,
            last_change=found.change if is_admin else None,
            today=utc_today(desk.clock()),
            pause=found.pause,
            watched=found.watched,
        )
    )


async def _edit(desk: Desk, invocation: Invocation, _planned: Any) -> None:
    row = await desk.database.read(lambda session: _row(session, invocation))
    await open_form(desk, invocation, subscriptions.read_filter(row))


async def _remove(desk: Desk, invocation: Invocation, _planned: Any) -> Unsubscribed:
    def remove(session: Session) -> Unsubscribed:
        row = _row(session, invocation)
        with audited(session, desk, invocation, "unsubscribe"):
            subscriptions.remove(session, invocation.channel_id, [row.region])
        left = subscriptions.of_channel(session, invocation.channel_id)
        if not left:
            backlog.drop(session, invocation.channel_id, desk.clock())
        filters = [subscriptions.read_filter(row) for row in left]
        return Unsubscribed(
            1,
            0,
            as_shown(session, filters),
            lacking=without_abandonments(filters, filters),
            watched=watches.count_in(session, invocation.channel_id),
        )

    return await change(desk, invocation, remove)


def _row(session: Session, invocation: Invocation) -> ChannelSubscriptionRow:
    for row in subscriptions.of_channel(session, invocation.channel_id):
        if row.region == invocation.text:
            return row
    raise CommandError("That subscription is not there any more. /racing list shows what is.")


def _find(session: Session, desk: Desk, channel_id: str, number: int) -> _Found:
    every = subscriptions.of_channel(session, channel_id)
    number = min(number, max(1, -(-len(every) // PER_PAGE)))
    rows = every[(number - 1) * PER_PAGE : number * PER_PAGE]
    filters = [subscriptions.read_filter(row) for row in rows]
    others = [subscriptions.read_filter(row) for row in every]
    regions, courses = reference_store.regions(session), reference_store.courses(session)
    now = desk.clock()
    muted = [(row, mutes.read(row)) for row in mutes.of_channel(session, channel_id, now)]
    return _Found(
        rows=rows,
        shown=as_shown(session, filters),
        lacking=without_abandonments(filters, others),
        overridden=[overridden_in(session, [(chosen, other) for other in others]) for chosen in filters],
        posts=subscriptions.last_posts(session, channel_id, filters),
        number=number,
        total=len(every),
        mutes=[(row, one, abandonments_here(session, channel_id, one, now)) for row, one in muted],
        change=audit_log.last_of_channel(session, channel_id),
        regions=regions[0] if regions else None,
        courses=frozenset(one.course_id for one in courses[0] if one.course_id) if courses else None,
        pause=_pause(session, channel_id),
        watched=watches.count_in(session, channel_id),
    )


def _pause(session: Session, channel_id: str) -> ChannelPause | None:
    until, held = pauses.last_end(session, channel_id), held_queues.held_of(session, channel_id)
    if until is None:
        return None
    if held is None or held.because != held_queues.PAUSED:
        # A pause within a closing.
        return ChannelPause(until)
    entry = audit_log.last_by(session, channel_id, "pause", held.since)
    return ChannelPause(until, held.since, entry.user_id if entry else None)


def _listed(desk: Desk, place: int, found: _Found, gone: dict[str, str]) -> Listed:
    row, post = found.rows[place], found.posts[place]
    if post is not None and (post.sent_at or post.received_at) < row.created_at:
        # Of another subscription, before this subscription was made.
        post = None
    chosen = subscriptions.read_filter(row)
    return Listed(
        row=row,
        chosen=found.shown[place],
        overridden=found.overridden[place],
        last_post_at=post.sent_at if post else None,
        last_post_link=desk.identity.permalink(row.channel_id, post.message_ts) if post and post.message_ts else None,
        has_abandonments=chosen not in found.lacking,
        orphaned=[*_unpublished(chosen, found), *([gone[row.created_by]] if row.created_by in gone else [])],
    )


def _unpublished(chosen: ChannelFilter, found: _Found) -> list[str]:
    missing = []
    if found.regions is not None and chosen.region not in {ALL_REGIONS, *found.regions}:
        meant = question(likely(chosen.region, found.regions))
        missing.append(f"The data service publishes no region {chosen.region}, so nothing from it arrives.{meant}")
    named = [one for one in (*chosen.courses, *chosen.not_courses) if one.course_id and found.courses is not None]
    return missing + [
        f"The data service no longer publishes the course {course.name or course.course_id}."
        for course in named
        if course.course_id not in (found.courses or ())
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


LIST_COMMAND = Command(
    "list",
    "",
    "What this channel receives, with buttons to change it",
    _answer,
    no_words("list", "It shows all that this channel receives."),
    examples=("list", "list help"),
    mistakes="No further words. The list shows this channel alone: type `list` in each channel.",
    group=HelpGroup.CHANNEL,
)
EDIT_BUTTON = Command(EDIT, "", "The form of a subscription", form_is_the_answer, apply=_edit, rights=may_change)
REMOVE_BUTTON = Command(REMOVE, "", "End a subscription", said_of_end, apply=_remove, rights=may_change)
