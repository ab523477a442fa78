"""`/racing status`: all for admins, a short form for other people."""

from functools import partial
from typing import Any

from bot.errors import CommandError
from bot.operations.status_figures import read_status
from bot.outbox.message import Message
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.answers.status_answer import StatusScope, status_answer


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError for further words."""
    await check(desk, invocation)
    is_admin = bool(await desk.people.is_admin(invocation))
    only_channel = None if is_admin else invocation.channel_id
    here = invocation.channel_id if is_admin else None
    found = await desk.database.read(
        partial(read_status, clock=desk.clock, jobs=desk.jobs, channel_id=only_channel, here=here)
    )
    return status_answer(found, StatusScope(dict(desk.degraded()), only_channel))


async def check(_desk: Desk, invocation: Invocation) -> None:
    if invocation.text.strip():
        raise CommandError("/racing status takes no further words. /racing trace and a race's id tells of one race.")
