"""Messages, channels and people as the Web API shows them."""

from collections.abc import Iterable

from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Channel, Json, PostedMessage, User


def message_shape(state: WorkspaceState, message: PostedMessage, *, with_metadata: bool) -> Json:
    shape: Json = {
        "type": "message",
        "user": message.user,
        "text": message.text,
        "ts": message.ts,
        "team": state.team_id,
    }
    if message.user == state.bot_user_id:
        shape |= {"bot_id": state.bot_id, "app_id": state.app_id}
    if message.blocks:
        shape["blocks"] = blocks_with_ids(message.blocks)
    if message.thread_ts is not None:
        shape["thread_ts"] = message.thread_ts
    # Slack marks no edit of a message with blocks.
    if message.edited is not None and not message.blocks:
        shape["edited"] = {"user": message.user, "ts": message.edited}
    if with_metadata and message.metadata is not None:
        shape["metadata"] = message.metadata
    return shape


def blocks_with_ids(blocks: Iterable[Json]) -> list[Json]:
    """Slack gives an id to each block without an id."""
    return [{"block_id": f"b{index}", **block} for index, block in enumerate(blocks)]


def channel_shape(state: WorkspaceState, channel: Channel) -> Json:
    shape: Json = {
        "id": channel.id,
        "created": int(channel.created_at.timestamp()),
        "is_archived": channel.is_archived,
        "is_private": channel.is_private,
        "is_channel": not channel.is_private,
        "is_group": channel.is_private and not channel.is_dm,
        "is_im": channel.is_dm,
        "is_mpim": False,
        "context_team_id": state.team_id,
    }
    if channel.is_dm:
        return shape | {"user": channel.dm_user, "is_open": True}
    return shape | {
        "name": channel.name,
        "creator": channel.creator,
        "is_member": state.bot_is_in(channel),
        "num_members": len(channel.members),
    }


def user_shape(state: WorkspaceState, user: User) -> Json:
    return {
        "id": user.id,
        "team_id": state.team_id,
        "name": user.name,
        "real_name": user.name,
        "deleted": user.is_deactivated,
        "is_admin": user.is_admin,
        "is_owner": False,
        "is_restricted": False,
        "is_bot": user.is_bot,
        "tz": "Europe/London",
        "profile": {"real_name": user.name, "display_name": user.name},
    }
