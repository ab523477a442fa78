"""Whether people may choose in a channel, and whom an escalation tells: App Home and forms outlast a membership."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

from bot.channels import subscriptions
from bot.channels.conditions.choices import is_channel
from bot.channels.conditions.event_conditions import is_person
from bot.channels.filters import ChannelFilter
from bot.errors import CommandError, SlackError
from bot.logs import get_logger
from bot.slack.channel_membership import is_member, members, problem_of_channel, problem_of_person
from bot.slack.commands.invocation import MEMBERSHIP_S, Desk, Invocation

log = get_logger(__name__)

ADDED_AT_ONCE_MAX = 10
"""More could not be checked in time."""


async def check_is_there(desk: Desk, invocation: Invocation) -> None:
    """Raise CommandError for a press at Home in the name of a channel that the person has left."""
    if invocation.from_home and await has_left(desk, invocation.channel_id, invocation):
        raise CommandError("You are not in that channel any more, so nothing was changed.")


async def check_escalation(desk: Desk, invocation: Invocation, filters: Iterable[ChannelFilter]) -> None:
    """Raise CommandError for whoever would never be told. Without Slack's answer in time names are taken."""
    new = {one for chosen in filters for one in chosen.escalate if is_channel(one) or is_person(one)}
    if new:
        there = await desk.database.read(partial(subscriptions.filters_of, channel_id=invocation.channel_id))
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
            return await (_of_person(desk, told) if is_person(told) else _of_channel(desk, invocation, told))
    except (TimeoutError, SlackError) as error:
        log.info("escalation_not_checked", reference=invocation.reference, told=told, reason=str(error))
    return None


async def _of_person(desk: Desk, user_id: str) -> str | None:
    problem = await problem_of_person(desk.slack, user_id)
    return f"{user_id} can't be told: Slack says {problem}." if problem is not None else None


async def _of_channel(desk: Desk, invocation: Invocation, channel_id: str) -> str | None:
    if await problem_of_channel(desk.slack, channel_id) is not None:
        bot = f"@{desk.identity.name}" if desk.identity.name else "me"
        return f"I can't post in {channel_id}. Invite me there (/invite {bot}), then save this again."
    if await has_left(desk, channel_id, invocation):
        return f"You are not in {channel_id}: ask somebody there to choose it."
    return None


async def is_own_direct(desk: Desk, invocation: Invocation) -> bool:
    """Whether the channel is the person's direct message with the bot, as far as Slack says in time.

    At Home an admin presses buttons for the direct messages of other people too.
    """
    channel_id, left_s = invocation.channel_id, invocation.left_s(MEMBERSHIP_S)
    if not invocation.is_direct:
        return False
    if not invocation.from_home:
        return await is_member(desk.slack, channel_id, left_s) is not False
    try:
        async with asyncio.timeout(left_s):
            return invocation.user_id in (await members(desk.slack, channel_id) or ())
    except TimeoutError:
        return False


async def with_direct(desk: Desk, invocation: Invocation, planned: Any) -> tuple[Any, bool]:
    """The plan, and whether the channel is the person's direct message with the bot."""
    return planned, await is_own_direct(desk, invocation)


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
