"""Whether the bot is in a channel, who made the channel, and whether posts get there: asked of Slack."""

from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.errors import SlackChannelClosed, SlackError, SlackScopeMissing
from bot.slack.web_client import SlackClient

MEMBERSHIP_S = 5.0

MEMBER_PAGES_MAX = 5
"""Of a thousand members each."""

DIRECT_MESSAGE = "D"
"""How the ids of direct messages begin. People can type commands in those between two of them, too."""

POST_ANYWHERE_SCOPE = "chat:write.public"
"""The scope for posting in public channels without being a member."""

SCOPES_HEADER = "x-oauth-scopes"
"""The header in which Slack names the token's scopes, with every answer."""


async def is_member(slack: SlackClient, channel_id: str, timeout_s: float = MEMBERSHIP_S) -> bool | None:
    """Whether the bot is in a channel, or a direct message is one with it; None where Slack does not say."""
    try:
        if channel_id.startswith(DIRECT_MESSAGE):
            await _first_message(slack, channel_id, timeout_s)
            return True
        channel = await _channel(slack, channel_id, timeout_s)
    except SlackChannelClosed:
        return False
    except SlackError:
        return None
    if channel.get("is_archived"):
        return False
    return bool(channel.get("is_member"))


async def problem_of_channel(slack: SlackClient, channel_id: str) -> str | None:
    """Why a post in a channel would be refused; None where it would not. Raises SlackError where Slack does not say."""
    try:
        answer = await slack.call("conversations.info", lambda: slack.web.conversations_info(channel=channel_id))
    except SlackChannelClosed as error:
        return error.code
    except SlackScopeMissing:
        # The next post finds out.
        return None
    channel: dict[str, Any] = answer.get("channel") or {}
    if channel.get("is_archived"):
        return "is_archived"
    anywhere = not channel.get("is_private") and POST_ANYWHERE_SCOPE in (answer.headers or {}).get(SCOPES_HEADER, "")
    return None if channel.get("is_member") or anywhere else "not_in_channel"


async def problem_of_person(slack: SlackClient, user_id: str) -> str | None:
    """Why no direct message reaches a person; None where one does. Raises SlackError where Slack does not say."""
    try:
        answer = await slack.call("users.info", lambda: slack.web.users_info(user=user_id))
    except SlackChannelClosed as error:
        return error.code
    user: dict[str, Any] = answer.get("user") or {}
    if user.get("deleted"):
        return "deactivated"
    return "a bot" if user.get("is_bot") else None


async def creator(slack: SlackClient, channel_id: str, timeout_s: float) -> str | None:
    """The user id of whoever made a channel, where somebody did. Raises SlackError where Slack does not say."""
    made_by = (await _channel(slack, channel_id, timeout_s)).get("creator")
    return made_by if isinstance(made_by, str) else None


async def members(slack: SlackClient, channel_id: str) -> frozenset[str] | None:
    """Who is in a channel; None where Slack does not say, or there are too many to be asked for."""
    found: set[str] = set()
    cursor: str | None = None
    try:
        for _ in range(MEMBER_PAGES_MAX):
            answer = await _member_page(slack, channel_id, cursor)
            found.update(answer.get("members") or ())
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                return frozenset(found)
    except SlackError:
        return None
    return None


async def _member_page(slack: SlackClient, channel_id: str, cursor: str | None) -> AsyncSlackResponse:
    return await slack.call(
        "conversations.members",
        lambda: slack.web.conversations_members(channel=channel_id, cursor=cursor, limit=1000),
        timeout_s=MEMBERSHIP_S,
    )


async def _channel(slack: SlackClient, channel_id: str, timeout_s: float) -> dict[str, Any]:
    answer = await slack.call(
        "conversations.info", lambda: slack.web.conversations_info(channel=channel_id), timeout_s=timeout_s
    )
    return answer.get("channel") or {}


async def _first_message(slack: SlackClient, channel_id: str, timeout_s: float) -> None:
    """Raises SlackChannelClosed for a direct message that is not with us.

    conversations.info would need a scope of its own for them; im:history has another use besides (bot.slack.listeners).
    """
    await slack.call(
        "conversations.history",
        lambda: slack.web.conversations_history(channel=channel_id, limit=1),
        timeout_s=timeout_s,
    )
