"""`/racing audit`, for admins: changes of what a channel receives."""

import re

from bot.channels import audit_log
from bot.errors import CommandError
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command, Desk, Invocation, admins_only
from bot.slack.language.tokens import read_list_words
from bot.slack.messages.answers.help_answer import HelpGroup
from bot.slack.messages.answers.listings import audit_page
from bot.slack.messages.kit.text import named

NAME = "audit"

_ID = re.compile(r"<?[@#]?([UWCGD][A-Z0-9]{1,30})(?:\|[^>]*)?>?", re.ASCII)

AuditTarget = tuple[str | None, str | None, str]
"""The id of a channel and of a person (both None for "all"), and the same in words."""


async def _plan(_desk: Desk, invocation: Invocation) -> tuple[str, AuditTarget, int]:
    """The typed words, their meaning, and the page."""
    words, page = read_list_words(invocation.text)
    what = words or invocation.channel_id
    return what, read_target(what), page


async def _answer(desk: Desk, _invocation: Invocation, planned: tuple[str, AuditTarget, int]) -> Message:
    what, (channel_id, user_id, words), number = planned
    page = await desk.database.read(
        lambda session: audit_log.page(session, channel_id=channel_id, user_id=user_id, number=number)
    )
    return audit_page(page, words, f"audit {what}")


def read_target(what: str) -> AuditTarget:
    """Raises CommandError for other words."""
    if what.lower() == "all":
        return None, None, "anywhere"
    found = _ID.fullmatch(what)
    if found is None:
        raise CommandError(
            "It is /racing audit for this channel, /racing audit all, or /racing audit and the id of a channel or of a "
            "person. Slack shows ids at the end of a channel's details, and in a person's profile as the member ID.",
            lines={"This channel": NAME, "All channels": f"{NAME} all"},
        )
    found_id = found[1]
    who = named(found_id)
    return (None, found_id, f"by {who}") if found_id[0] in "UW" else (found_id, None, f"in {who}")


AUDIT_COMMAND = Command(
    NAME,
    "[all|channel ID|user ID]",
    "Who changed what a channel receives, and when; for admins",
    _answer,
    _plan,
    rights=admins_only("Only admins see who changed what. /racing list shows who made each subscription."),
    examples=("audit", "audit all"),
    mistakes="Type ids such as C0123456789, no names. A channel's details and a person's profile show ids.",
    group=HelpGroup.BOT,
)
