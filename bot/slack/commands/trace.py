"""`/racing trace`. Admins see all channels, other people their own."""

from typing import Any

from bot.db.database_clock import database_now
from bot.errors import CommandError
from bot.outbox import ledger
from bot.outbox.message import Message
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.answers.trace_answer import trace_answer

AROUND_AN_ID = "`'\"“”‘’ "  # noqa: RUF001  as an id is copied, and as phones write quotes


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError without an id."""
    await check(desk, invocation)
    wanted = invocation.text.strip(AROUND_AN_ID)
    only_channel = None if await desk.people.is_admin(invocation.user_id) else invocation.channel_id
    found = await desk.database.read(
        lambda session: ledger.trace(session, wanted, database_now(session, desk.clock), channel_id=only_channel)
    )
    return trace_answer(found, wanted, desk.identity.permalink, only_channel)


async def check(_desk: Desk, invocation: Invocation) -> None:
    if not invocation.text.strip(AROUND_AN_ID):
        raise CommandError(
            "Say which race: /racing trace and its id, as it stands in the small print of a message. A meeting's id, "
            "an event's key or a delivery's reference (inbox-1) will do too."
        )
