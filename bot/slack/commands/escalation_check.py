"""Whether the bot may post in the channels that an escalation names, and whether the person is there."""

import asyncio
from collections.abc import Iterable
from functools import partial

from bot.channels import subscriptions
from bot.channels.conditions.acknowledge_conditions import is_channel
from bot.channels.filters import ChannelFilter
from bot.errors import CommandError, SlackError
from bot.logs import get_logger
from bot.slack.channel_membership import problem_of_channel
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.left_channel import has_left
from bot.slack.messages.kit.mentions import named

log = get_logger(__name__)

ESCALATION_CHECK_S = 0.8
"""Part of the three seconds before the ack."""

CHANNELS_CHECKED = 10


async def check_escalation(desk: Desk, invocation: Invocation, filters: Iterable[ChannelFilter]) -> None:
    """Raise CommandError for a channel that would never be told. Without Slack's answer in time channels are taken."""
    new = {one for chosen in filters for one in chosen.escalate if is_channel(one)}
    if new:
        rows = await desk.database.read(partial(subscriptions.of_channel, channel_id=invocation.channel_id))
        new -= {one for row in rows for one in subscriptions.read_filter(row).escalate}
    if invocation.channel_id in new:
        raise CommandError(
            "An escalation goes to another channel: this channel has the abandonment already. Name people here, or "
            "another channel."
        )
    for problem in await asyncio.gather(*(_problem(desk, invocation, one) for one in sorted(new)[:CHANNELS_CHECKED])):
        if problem is not None:
            raise CommandError(problem)


async def _problem(desk: Desk, invocation: Invocation, channel_id: str) -> str | None:
    try:
        async with asyncio.timeout(invocation.left_s(ESCALATION_CHECK_S)):
            if await problem_of_channel(desk.slack, channel_id) is not None:
                bot = f"@{desk.identity.name}" if desk.identity.name else "me"
                return f"I can't post in {named(channel_id)}. Invite me there (/invite {bot}), then save this again."
            if await has_left(desk, channel_id, invocation.user_id):
                return f"You are not in {named(channel_id)}: ask somebody there to choose it."
    except (TimeoutError, SlackError) as error:
        log.info("escalation_not_checked", reference=invocation.reference, channel_id=channel_id, reason=str(error))
    return None
