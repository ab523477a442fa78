"""The channel that a call names."""

from sandbox.slack.arguments import Arguments
from sandbox.slack.refused_calls import Refused
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Channel


def need_scope(state: WorkspaceState, scope: str) -> None:
    if scope not in state.scopes:
        raise Refused("missing_scope", needed=scope, provided=",".join(sorted(state.scopes)))


def known_channel(state: WorkspaceState, args: Arguments) -> Channel:
    """A private channel without the bot does not exist for the bot."""
    channel = state.channels.get(args.required("channel", "channel_not_found"))
    if channel is None or (channel.is_private and not state.bot_is_in(channel)):
        raise Refused("channel_not_found")
    return channel


def readable_channel(state: WorkspaceState, args: Arguments) -> Channel:
    channel = known_channel(state, args)
    need_scope(state, f"{channel.scope_prefix}:history")
    if not state.bot_is_in(channel):
        raise Refused("not_in_channel")
    return channel


def writable_channel(state: WorkspaceState, args: Arguments) -> Channel:
    """By id, by a public channel's name, or by a user's id for a direct message."""
    need_scope(state, "chat:write")
    wanted = args.required("channel", "channel_not_found")
    if wanted in state.users and wanted != state.bot_user_id:
        return state.direct_message(wanted)
    named = (channel.id for channel in state.channels.values() if channel.name == wanted.removeprefix("#"))
    channel = known_channel(state, Arguments({"channel": next(named, wanted)}))
    if channel.is_archived:
        raise Refused("is_archived")
    if not state.bot_is_in(channel) and "chat:write.public" not in state.scopes:
        raise Refused("not_in_channel")
    return channel
