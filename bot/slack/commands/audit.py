"""`/racing audit`, for admins: changes of what a channel receives."""

import re
from typing import Any

from bot.channels import audit_log
from bot.errors import CommandError
from bot.outbox.message import Message
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.messages.answers.listings import audit_page
from bot.slack.messages.answers.subscription_list import page_of
from bot.slack.messages.kit.mentions import named

_ID = re.compile(r"<?[@#]?([UWCGD][A-Z0-9]{1,30})(?:\|[^>]*)?>?", re.ASCII)
_PAGE = re.compile(r"\s*page:\d{1,6}\s*\Z", re.IGNORECASE | re.ASCII)


async def answer(desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Raises CommandError unless the person is an admin."""
    await desk.people.check_is_admin(
        invocation, "Only admins see who changed what. /racing list shows who made each subscription."
    )
    turned = _PAGE.search(invocation.text)
    number = page_of(turned[0]) if turned else 1
    what = _PAGE.sub("", invocation.text).strip() or invocation.channel_id
    channel_id, user_id, words = read_target(what)
    page = await desk.database.read(
        lambda session: audit_log.page(session, channel_id=channel_id, user_id=user_id, number=number)
    )
    return audit_page(page, words, f"audit {what}")


async def check(_desk: Desk, invocation: Invocation) -> None:
    what = _PAGE.sub("", invocation.text).strip()
    read_target(what or invocation.channel_id)


def read_target(what: str) -> tuple[str | None, str | None, str]:
    """Channel id, person's id (both None for "all"), and the same in words. Raises CommandError for other words."""
    if what.lower() == "all":
        return None, None, "anywhere"
    found = _ID.fullmatch(what)
    if found is None:
        raise CommandError(
            "It is /racing audit for this channel, /racing audit all, or /racing audit and the id of a channel or of a "
            "person. Slack shows ids at the end of a channel's details, and in a person's profile as the member ID."
        )
    found_id = found[1]
    who = named(found_id)
    return (None, found_id, f"by {who}") if found_id[0] in "UW" else (found_id, None, f"in {who}")
