"""conversations.history and conversations.replies.

docs.slack.dev/reference/methods/conversations.history
"""

from sandbox.slack.arguments import Arguments
from sandbox.slack.methods.access import readable_channel
from sandbox.slack.methods.paging import make_cursor, read_cursor
from sandbox.slack.methods.shapes import message_shape
from sandbox.slack.refused_calls import Refused
from sandbox.slack.state import WorkspaceState
from sandbox.slack.timestamps import parse_ts
from sandbox.slack.values import Json, PostedMessage

DEFAULT_LIMIT = 100
LIMIT_MAX = 999


def history(state: WorkspaceState, args: Arguments) -> Json:
    """Newest first, without the replies in threads."""
    channel = readable_channel(state, args)
    shown = reversed(_visible(state, channel.id))
    within = [message for message in shown if not message.is_reply and _is_within(message, args)]
    mark = read_cursor(args.text("cursor"))
    rest = [message for message in within if mark is None or parse_ts(message.ts) <= _mark(mark)]
    return {**_page(state, rest, args), "pin_count": 0}


def replies(state: WorkspaceState, args: Arguments) -> Json:
    """A thread, oldest first, its first message in front."""
    channel = readable_channel(state, args)
    ts = args.required("ts", "thread_not_found")
    if state.message(channel.id, ts) is None:
        raise Refused("thread_not_found")
    thread = [message for message in _visible(state, channel.id) if ts in {message.ts, message.thread_ts}]
    within = [message for message in thread if message.ts == ts or _is_within(message, args)]
    mark = read_cursor(args.text("cursor"))
    rest = [message for message in within if mark is None or parse_ts(message.ts) >= _mark(mark)]
    return _page(state, rest, args)


def _visible(state: WorkspaceState, channel_id: str) -> list[PostedMessage]:
    """History may lag behind the posts."""
    now = state.clock()
    return [
        message
        for message in state.messages(channel_id)
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
    if value is None or value == "now":
        return None
    try:
        return parse_ts(value)
    except ValueError as error:
        raise Refused(f"invalid_ts_{name}") from error


def _mark(mark: str) -> int:
    try:
        return parse_ts(mark)
    except ValueError as error:
        raise Refused("invalid_cursor") from error


def _page(state: WorkspaceState, rest: list[PostedMessage], args: Arguments) -> Json:
    limit = args.number("limit", DEFAULT_LIMIT, LIMIT_MAX)
    with_metadata = args.flag("include_all_metadata")
    page: Json = {
        "messages": [message_shape(state, message, with_metadata=with_metadata) for message in rest[:limit]],
        "has_more": len(rest) > limit,
    }
    if page["has_more"]:
        page["response_metadata"] = {"next_cursor": make_cursor(rest[limit].ts)}
    return page
