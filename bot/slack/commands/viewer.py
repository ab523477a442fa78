"""Who reads an answer, as far as its words depend on the person."""

from bot.events.days import utc_today
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.answers.failure_words import Reader


async def reader_of(desk: Desk, invocation: Invocation) -> Reader:
    """Whether the person is an admin, and whom to turn to otherwise. Slack's silence counts as no."""
    is_admin = await desk.people.is_admin(invocation.user_id)
    return Reader(is_admin is True, tuple(sorted(desk.people.admin_users)), utc_today(desk.clock()))
