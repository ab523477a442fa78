"""The reader of an answer."""

from bot.events.days import utc_today
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.answers.failure_words import Reader


async def reader_of(desk: Desk, invocation: Invocation) -> Reader:
    """Without Slack's answer the person is no admin."""
    is_admin = await desk.people.is_admin(invocation.user_id)
    return Reader(is_admin is True, tuple(sorted(desk.people.admin_users)), utc_today(desk.clock()))
