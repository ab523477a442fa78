"""conversations.history and conversations.replies.

docs.slack.dev/reference/methods/conversations.history
"""

from sandbox.slack.arguments import Arguments
from sandbox.slack.methods.access import readable_channel
from sandbox.slack.methods.paging import page_of
from sandbox.slack.methods.shapes import message_shape
from sandbox.slack.refused_calls import Refused
from sandbox.slack.state import WorkspaceState
from sandbox.slack.timestamps import parse_ts
from sandbox.slack.values import Channel, Json, PostedMessage


def history(state: WorkspaceState, args: Arguments) -> Json:
    """Newest first, without the replies in threads."""
    shown = reversed(_visible(state, readable_channel(state, args)))
    return _page(state, [message for message in shown if not message.is_reply and _is_within(message, args)], args)


def replies(state: WorkspaceState, args: Arguments) -> Json:
    """A thread, oldest first, its first message in front."""
    channel, ts = readable_channel(state, args), args.required("ts", "thread_not_found")
    if state.message(channel.id, ts) is None:
        raise Refused("thread_not_found")
    visible = _visible(state, channel)
    thread = [one for one in visible if one.ts == ts or (one.thread_ts == ts and _is_within(one, args))]
    return _page(state, thread, args)


def _visible(state: WorkspaceState, channel: Channel) -> list[PostedMessage]:
    """History may lag behind the posts."""
    now = state.clock()
    return [
        message
        for message in state.messages(channel.id)
        if (now - message.received_at).total_seconds() >= state.history_lag_s
    ]


def _is_within(message: PostedMessage, args: Arguments) -> bool:
    at, inclusive = parse_ts(message.ts), args.flag("inclusive")
    oldest, latest = _bound(args, "oldest"), _bound(args, "latest")
    if oldest is not None and (at < oldest or (at == oldest and not inclusive)):
        return False
    return latest is None or at < latest or (at == latest and inclusive)


def _bound(args: Arguments, name: str) -> int | None:
    value = args.text(name)
    try:
        return None if value is None else parse_ts(value)
    except ValueError as error:
        raise Refused(f"invalid_ts_{name}") from error


def _page(state: WorkspaceState, messages: list[PostedMessage], args: Arguments) -> Json:
    with_metadata = args.flag("include_all_metadata")
    page, cursor = page_of([(message.ts, message) for message in messages], args)
    shapes = [message_shape(state, message, with_metadata=with_metadata) for message in page]
    following = {"response_metadata": {"next_cursor": cursor}} if cursor else {}
    return {"messages": shapes, "has_more": bool(cursor), **following}
