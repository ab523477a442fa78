"""`/racing status`: all for admins, a short form for other people."""

from functools import partial
from typing import Any

from bot.operations.status_figures import read_status
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command, Desk, Invocation, no_words
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.status_answer import StatusScope, status_answer

NAME = "status"


async def _answer(desk: Desk, invocation: Invocation, _planned: Any) -> Message:
    is_admin = bool(await desk.people.is_admin(invocation))
    only_channel = None if is_admin else invocation.channel_id
    here = invocation.channel_id if is_admin else None
    found = await desk.database.read(
        partial(read_status, clock=desk.clock, jobs=desk.jobs, channel_id=only_channel, here=here)
    )
    return status_answer(found, StatusScope(dict(desk.degraded()), only_channel))


STATUS_COMMAND = Command(
    NAME,
    "",
    "How the bot is doing: the last day's deliveries and posts, what waits and why, quota, and for admins jobs",
    _answer,
    no_words(NAME, "/racing trace and a race's id tells of one race."),
    examples=("status", "status help"),
    mistakes="No further words. `status` tells of the bot, `trace` of a race, `usage` of the quota.",
    group=HelpGroup.BOT,
)
