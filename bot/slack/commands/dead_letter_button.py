"""The button that posts an alert after all, which was given up."""

from functools import partial
from typing import Any

from sqlmodel import Session

from bot.channels import audit_log
from bot.errors import CommandError
from bot.outbox import dead_letters
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command, Desk, Invocation, admins_only
from bot.slack.forms.home_view import POST_AGAIN
from bot.slack.messages.kit.blocks import sentence

NOT_OFFERED = "Nothing was posted: the alert is posted already, was replaced by later news, or is over two days old."


async def _apply(desk: Desk, invocation: Invocation, _planned: Any) -> str:
    """The channel's id. Raises CommandError for an alert not offered any more."""
    channel_id = await desk.database.write(partial(_post_again, desk=desk, invocation=invocation))
    if channel_id is None:
        raise CommandError(NOT_OFFERED)
    return channel_id


async def _answer(_desk: Desk, _invocation: Invocation, committed: str) -> Message:
    return sentence(f"The message goes to {committed} now.", [committed])


def _post_again(session: Session, desk: Desk, invocation: Invocation) -> str | None:
    text, now = invocation.text, desk.clock()
    channel_id = dead_letters.post_again(session, int(text), now) if text.isascii() and text.isdecimal() else None
    if channel_id is not None:
        audit_log.add(
            session,
            at=now,
            user_id=invocation.user_id,
            channel_id=channel_id,
            action="post after all",
            before=f"message {text} given up",
            after=f"message {text} posted after all",
            reference=invocation.reference,
        )
    return channel_id


DEAD_LETTER_BUTTON = Command(
    POST_AGAIN,
    "",
    "Post an alert that was given up",
    _answer,
    apply=_apply,
    rights=admins_only("Only admins may post what was given up."),
)
