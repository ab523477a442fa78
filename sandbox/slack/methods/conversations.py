"""conversations.*: channels and their members."""

from sandbox.slack.arguments import Arguments
from sandbox.slack.methods.access import known_channel, need_scope
from sandbox.slack.methods.paging import page_of
from sandbox.slack.methods.shapes import channel_shape
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json


def info(state: WorkspaceState, args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/conversations.info."""
    channel = known_channel(state, args)
    need_scope(state, f"{channel.scope_prefix}:read")
    return {"channel": channel_shape(state, channel)}


def members(state: WorkspaceState, args: Arguments) -> Json:
    channel = known_channel(state, args)
    need_scope(state, f"{channel.scope_prefix}:read")
    page, cursor = page_of([(member, member) for member in sorted(channel.members)], args)
    return {"members": page, "response_metadata": {"next_cursor": cursor}}
