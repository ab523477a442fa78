"""App Home and its forms outlast a membership: whoever has left a channel changes nothing there."""

import asyncio

from bot.slack.channel_membership import members
from bot.slack.commands.invocation import Desk, Invocation

HOME_MEMBERSHIP_S = 0.8
"""Part of the three seconds before the ack."""

NOT_THERE = "You are not in that channel any more, so nothing was changed."


async def has_left(desk: Desk, channel_id: str, invocation: Invocation) -> bool:
    """False for admins. Without Slack's answer in time, a press counts as a typed command does."""
    user_id = invocation.user_id
    if channel_id == user_id:
        return False
    try:
        async with asyncio.timeout(HOME_MEMBERSHIP_S):
            there = await members(desk.slack, channel_id)
            return there is not None and user_id not in there and not await desk.people.is_admin(invocation)
    except TimeoutError:
        return False
