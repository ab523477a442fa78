"""Questions to Slack about channels and people."""

from functools import partial
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.channels.conditions.event_conditions import is_direct_message
from bot.errors import SlackChannelClosed, SlackDoubtful, SlackError, SlackScopeMissing
from bot.slack.web_client import WEB_API_TIMEOUT_S, SlackClient

MEMBERS_LOOKUP_S = 5.0

MEMBER_PAGES_MAX = 5
"""Pages of a thousand members each."""

POST_ANYWHERE_SCOPE = "chat:write.public"

SCOPES_HEADER = "x-oauth-scopes"


async def is_member(slack: SlackClient, channel_id: str, timeout_s: float = MEMBERS_LOOKUP_S) -> bool | None:
    """As `ask_membership`. None without an answer."""
    try:
        return await ask_membership(slack, channel_id, timeout_s)
    except SlackError:
        return None


async def ask_membership(slack: SlackClient, channel_id: str, timeout_s: float = MEMBERS_LOOKUP_S) -> bool:
    """True in a direct message with the bot too. False in a direct message between other people.

    Raises SlackError without an answer.
    """
    try:
        if is_direct_message(channel_id):
            # conversations.info would need a scope of its own; im:history has another use too (bot.slack.listeners).
            first = partial(slack.web.conversations_history, channel=channel_id, limit=1)
            await slack.call("conversations.history", first, timeout_s=timeout_s)
            return True
        channel, _ = await _channel(slack, channel_id, timeout_s)
    except SlackChannelClosed:
        return False
    return bool(channel.get("is_member")) and not channel.get("is_archived")


async def problem_of_channel(
    slack: SlackClient, channel_id: str, *, timeout_s: float = WEB_API_TIMEOUT_S
) -> str | None:
    """None if Slack would take a post. Raises SlackError without an answer."""
    try:
        channel, answer = await _channel(slack, channel_id, timeout_s)
    except SlackChannelClosed as error:
        return error.code
    except SlackScopeMissing:
        # The next post finds out.
        return None
    if channel.get("is_archived"):
        return "is_archived"
    anywhere = not channel.get("is_private") and POST_ANYWHERE_SCOPE in (answer.headers or {}).get(SCOPES_HEADER, "")
    return None if channel.get("is_member") or anywhere else "not_in_channel"


async def problem_of_person(slack: SlackClient, user_id: str, *, timeout_s: float = WEB_API_TIMEOUT_S) -> str | None:
    """None if messages arrive. Raises SlackError without an answer."""
    method = "users.info"
    try:
        answer = await slack.call(method, lambda: slack.web.users_info(user=user_id), timeout_s=timeout_s)
    except SlackChannelClosed as error:
        return error.code
    user = _object_in(answer, "user", method)
    if user.get("deleted"):
        return "deactivated"
    return "a bot" if user.get("is_bot") else None


async def creator(slack: SlackClient, channel_id: str, timeout_s: float) -> str | None:
    """Raises SlackError without an answer."""
    channel, _ = await _channel(slack, channel_id, timeout_s)
    made_by = channel.get("creator")
    return made_by if isinstance(made_by, str) else None


async def members(slack: SlackClient, channel_id: str) -> frozenset[str] | None:
    """None without an answer, or for too many members."""
    found: set[str] = set()
    cursor: str | None = None
    try:
        for _ in range(MEMBER_PAGES_MAX):
            page = partial(slack.web.conversations_members, channel=channel_id, cursor=cursor, limit=1000)
            answer = await slack.call("conversations.members", page, timeout_s=MEMBERS_LOOKUP_S)
            found.update(answer.get("members") or ())
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                return frozenset(found)
    except SlackError:
        return None
    return None


async def _channel(slack: SlackClient, channel_id: str, timeout_s: float) -> tuple[dict[str, Any], AsyncSlackResponse]:
    method = "conversations.info"
    answer = await slack.call(method, lambda: slack.web.conversations_info(channel=channel_id), timeout_s=timeout_s)
    return _object_in(answer, "channel", method), answer


def _object_in(answer: AsyncSlackResponse, name: str, method: str) -> dict[str, Any]:
    """Raises SlackDoubtful for an answer without the object."""
    found = answer.get(name)
    if not isinstance(found, dict):
        raise SlackDoubtful(method, f"answer without a {name}")
    return found
