"""conversations.*: channels and their members."""

from sandbox.slack.arguments import Arguments
from sandbox.slack.methods.access import known_channel, need_scope
from sandbox.slack.methods.paging import page_of
from sandbox.slack.methods.shapes import channel_shape
from sandbox.slack.refused_calls import Refused
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Channel, Json

_SCOPES = {"public_channel": "channels:read", "private_channel": "groups:read", "im": "im:read", "mpim": "mpim:read"}


def info(state: WorkspaceState, args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/conversations.info."""
    channel = known_channel(state, args)
    need_scope(state, f"{channel.scope_prefix}:read")
    return {"channel": channel_shape(state, channel)}


def list_all(state: WorkspaceState, args: Arguments) -> Json:
    """Private channels are listed only if the bot is in the channel."""
    types = (args.text("types") or "public_channel").split(",")
    for kind in types:
        if kind.strip() not in _SCOPES:
            raise Refused("invalid_types")
        need_scope(state, _SCOPES[kind.strip()])
    wanted = {kind.strip() for kind in types}
    with_archived = not args.flag("exclude_archived")
    listed = sorted(
        channel.id
        for channel in state.channels.values()
        if _kind(channel) in wanted
        and (with_archived or not channel.is_archived)
        and (not channel.is_private or state.bot_is_in(channel))
    )
    page, following = page_of(listed, args.text("cursor"), args.number("limit", 100, 1000))
    return {"channels": [channel_shape(state, state.channels[channel_id]) for channel_id in page], **following}


def members(state: WorkspaceState, args: Arguments) -> Json:
    channel = known_channel(state, args)
    need_scope(state, f"{channel.scope_prefix}:read")
    page, following = page_of(sorted(channel.members), args.text("cursor"), args.number("limit", 100, 1000))
    return {"members": page, **following}


def open_dm(state: WorkspaceState, args: Arguments) -> Json:
    """Direct messages between several people (`mpim`) are not offered."""
    need_scope(state, "im:write")
    user = args.required("users", "users_list_not_supplied")
    if user not in state.users:
        raise Refused("user_not_found")
    already_open = any(channel.dm_user == user for channel in state.channels.values())
    channel = state.direct_message(user)
    shown = channel_shape(state, channel) if args.flag("return_im") else {"id": channel.id}
    return {"channel": shown, "already_open": already_open, "no_op": already_open}


def _kind(channel: Channel) -> str:
    if channel.is_dm:
        return "im"
    return "private_channel" if channel.is_private else "public_channel"
