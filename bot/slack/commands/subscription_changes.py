"""What changes of a channel's subscriptions share: checks with Slack, the audit, and the channel's line on its losses.

Announced are pauses, mutes, hours and their ends, and subscriptions narrowed or ended. A wider subscription announces
itself by its messages.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sqlmodel import Session

from bot.channels import audit_log, pauses, subscriptions, watches
from bot.channels.conditions.choices import is_channel
from bot.channels.conditions.event_conditions import COURSE_FIELDS, is_person
from bot.channels.conditions.table import CHOICES
from bot.channels.filters import Abandonments, ChannelFilter, Meeting, abandonments_taken, overrides
from bot.clock import Clock
from bot.db.tables import AuditEntry, SubscriptionState
from bot.errors import CommandError, SlackError
from bot.logs import get_logger
from bot.outbox import backlog, message_store
from bot.outbox.message import Message
from bot.racedata.lexicon import kept, told_apart
from bot.settings import Settings
from bot.slack.commands.invocation import MEMBERSHIP_S, Desk, Invocation
from bot.slack.messages.answers.filter_words import Overriding, in_words
from bot.slack.messages.answers.pause_and_mute import paused_by, resumed_by
from bot.slack.messages.answers.subscription_answers import lost_by
from bot.slack.workspace import members, problem_of_channel, problem_of_person

log = get_logger(__name__)

ADDED_AT_ONCE_MAX = 10
"""People and channels of an escalation. More could not be checked in time."""


class Books(Protocol):
    @property
    def settings(self) -> Settings: ...
    @property
    def clock(self) -> Clock: ...


@dataclass(frozen=True)
class _Held:
    chosen: ChannelFilter
    paused_until: datetime | None
    state: str


@contextmanager
def audited(session: Session, desk: Books, invocation: Invocation, action: str) -> Iterator[int]:
    """Write the block's changes of the channel's subscriptions into the audit, and announce the channel's losses.

    Of a channel with watches alone, the pause and its end. Gives the number of messages that wait in a paused channel.
    """
    channel_id = invocation.channel_id
    before, paused = _subscriptions(session, channel_id), pauses.last_end(session, channel_id)
    waited = backlog.count_waiting(session, channel_id) if paused else 0
    yield waited
    session.flush()
    after, now_paused = _subscriptions(session, channel_id), pauses.last_end(session, channel_id)
    filters, has_any = [one.chosen for one in after], bool(before or after)
    if filters != [one.chosen for one in before]:
        new_hours = _hours(before) != _hours(after)
        backlog.wait_anew(session, channel_id, filters, desk.clock(), new_hours=new_hours)
    was = _words(before, after) if has_any else _of_watches(paused)
    now = _words(after, before) if has_any else _of_watches(now_paused)
    if was or now:
        note(session, desk, invocation, action, before=was, after=now)
    # A channel that has not invited the bot yet has received nothing, and loses nothing.
    if has_any and all(one.state == SubscriptionState.WAITING for one in before):
        return
    told = _lost(session, invocation, before, after)
    if told is None and paused != now_paused:
        by = invocation.user_id
        told = paused_by(by, filters, now_paused) if now_paused else resumed_by(by, waited)
    if told is not None:
        announce(session, desk, invocation, told)


def note(
    session: Session, desk: Books, invocation: Invocation, action: str, *, before: str | None, after: str | None
) -> None:
    entry = AuditEntry(
        at=desk.clock(),
        user_id=invocation.user_id,
        channel_id=invocation.channel_id,
        action=action,
        before=before,
        after=after,
        reference=invocation.reference,
    )
    audit_log.add(session, entry)


def announce(session: Session, desk: Books, invocation: Invocation, told: Message) -> None:
    """Post the line in the channel, unless ANNOUNCE_CHANGES is off. Direct messages get no line.

    The post passes a pause. In a closed channel the post waits.
    """
    if not desk.settings.announce_changes or invocation.is_direct:
        return
    now = desk.clock()
    key = f"changed:{invocation.reference}:{invocation.channel_id}:{now.isoformat()}"
    message_store.add_notice(session, key, [invocation.channel_id], told, now)


def _subscriptions(session: Session, channel_id: str) -> list[_Held]:
    rows = subscriptions.of_channel(session, channel_id)
    return [_Held(subscriptions.read_filter(row), row.paused_until, row.state) for row in rows]


def _of_watches(until: datetime | None) -> str | None:
    return f"watches{_pause_words(until)}" if until else None


def _hours(held: Iterable[_Held]) -> list[tuple[str, list[Sequence[str]]]]:
    hours = [(one.chosen.region, [choice.of(one.chosen) for choice in CHOICES]) for one in held]
    return [(region, values) for region, values in hours if any(values)]


def _words(of: Sequence[_Held], others: Sequence[_Held]) -> str | None:
    known = {(held.chosen, held.paused_until) for held in others}
    by_pause: dict[datetime | None, list[ChannelFilter]] = {}
    for held in of:
        if (held.chosen, held.paused_until) not in known:
            by_pause.setdefault(held.paused_until, []).append(held.chosen)
    return "; ".join(f"{in_words(*filters)}{_pause_words(until)}" for until, filters in by_pause.items()) or None


def _pause_words(until: datetime | None) -> str:
    if until is None:
        return ""
    return f" (paused{'' if until >= pauses.UNTIL_RESUMED else f' until {until:%Y-%m-%d %H:%M} UTC'})"


def _lost(session: Session, invocation: Invocation, before: Sequence[_Held], after: Sequence[_Held]) -> Message | None:
    now = [one.chosen for one in after]
    lost = [one.chosen for one in before if not any(_keeps(other, one.chosen) for other in now)]
    if not lost:
        return None
    watched = watches.count_in(session, invocation.channel_id)
    return lost_by(invocation.user_id, as_shown(session, lost), as_shown(session, now), watched=watched)


def _keeps(after: ChannelFilter, before: ChannelFilter) -> bool:
    """Whether all events still come, and no choice has ended: the end of quiet hours is announced, as of a mute."""
    return after.covers(before) and all(one.of(before) in {(), one.of(after)} for one in CHOICES)


# A channel's filters, for words to people


def as_shown(session: Session, filters: Iterable[ChannelFilter]) -> tuple[ChannelFilter, ...]:
    """The filters for a message alone: an ambiguous course's name is completed by the region, the country or the id."""
    each = [(one, {name: told_apart(session, getattr(one, name)) for name in COURSE_FIELDS}) for one in filters]
    return tuple(one.model_copy(update=courses) for one, courses in each)


def abandonments_here(session: Session, channel_id: str, meeting: Meeting, now: datetime) -> Abandonments:
    rows = subscriptions.of_channel(session, channel_id)
    region = meeting.region or kept(session).region_of_course(meeting.course)
    taken = abandonments_taken(map(subscriptions.read_filter, rows), meeting.model_copy(update={"region": region}))
    if not taken:
        return Abandonments.NOT_ASKED_FOR if taken is False else Abandonments.DEPENDS_ON_REGION
    if any(row.state in subscriptions.CLOSED_STATES for row in rows):
        return Abandonments.ONCE_OPEN
    is_paused = pauses.until(session, channel_id, now) is not None
    return Abandonments.AFTER_THE_PAUSE if is_paused else Abandonments.POSTED


def overriding_in(session: Session, pairs: Iterable[tuple[ChannelFilter, ChannelFilter]]) -> Overriding:
    """The second filter of each pair that brings events left out by the first. For messages alone."""
    region_of = kept(session).region_of_course
    found: dict[ChannelFilter, list[str]] = {}
    for chosen, by in pairs:
        if overrides(by, chosen, region_of):
            found.setdefault(by, []).append(chosen.region)
    return tuple(zip(as_shown(session, found), found.values(), strict=True))


# Checks with Slack. App Home and forms outlast a membership.


async def check_is_there(desk: Desk, invocation: Invocation) -> None:
    """Raise CommandError for a press at Home in the name of a channel that the person has left."""
    if invocation.from_home and await has_left(desk, invocation.channel_id, invocation):
        raise CommandError("You are not in that channel any more, so nothing was changed.")


async def check_escalation(
    desk: Desk, invocation: Invocation, filters: Iterable[ChannelFilter], there: Iterable[ChannelFilter]
) -> None:
    """Raise CommandError for whoever would never be told. Without Slack's answer in time names are taken."""
    new = {one for chosen in filters for one in chosen.escalate if is_channel(one) or is_person(one)}
    new -= {one for chosen in there for one in chosen.escalate}
    if invocation.channel_id in new:
        raise CommandError(
            "An escalation goes to another channel: this channel has the abandonment already. Name people here, or "
            "another channel."
        )
    if len(new) > ADDED_AT_ONCE_MAX:
        raise CommandError(f"These are {len(new)} people and channels. Add at most {ADDED_AT_ONCE_MAX} at a time.")
    told = sorted(new)
    problems = await asyncio.gather(*(_problem(desk, invocation, one) for one in told))
    for one, problem in zip(told, problems, strict=True):
        if problem is not None:
            raise CommandError(problem, named_ids=[one], form=invocation.text)


async def _problem(desk: Desk, invocation: Invocation, told: str) -> str | None:
    try:
        async with asyncio.timeout(invocation.left_s(MEMBERSHIP_S)):
            if is_person(told):
                problem = await problem_of_person(desk.slack, told)
                return f"{told} can't be told: Slack says {problem}." if problem is not None else None
            if await problem_of_channel(desk.slack, told) is not None:
                bot = f"@{desk.identity.name}" if desk.identity.name else "me"
                return f"I can't post in {told}. Invite me there (/invite {bot}), then save this again."
            if await has_left(desk, told, invocation):
                return f"You are not in {told}: ask somebody there to choose it."
    except (TimeoutError, SlackError) as error:
        log.info("escalation_not_checked", reference=invocation.reference, told=told, reason=str(error))
    return None


async def has_left(desk: Desk, channel_id: str, invocation: Invocation) -> bool:
    """False for admins. Without Slack's answer in time, a press counts as a typed command does."""
    user_id = invocation.user_id
    if channel_id == user_id:
        return False
    try:
        async with asyncio.timeout(MEMBERSHIP_S):
            there = await members(desk.slack, channel_id)
            return there is not None and user_id not in there and not await desk.people.is_admin(invocation)
    except TimeoutError:
        return False
