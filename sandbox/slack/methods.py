"""The methods of the Web API that the bot calls, each as docs.slack.dev/reference/methods has it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sandbox.slack.block_rules import view_problems
from sandbox.slack.calls import Arguments, Refused, refused_for
from sandbox.slack.content import UPDATE_TEXT_LIMIT, read_blocks, read_content, read_metadata
from sandbox.slack.shapes import blocks_with_ids, channel_shape, message_shape, user_shape
from sandbox.slack.state import WorkspaceState
from sandbox.slack.timestamps import parse_ts
from sandbox.slack.values import Channel, Json, PostedMessage

LIMIT = 100
LIMIT_MAX = 999
# docs.slack.dev/reference/views/modal-views
VIEW_BYTES = 250_000
Item = TypeVar("Item")


# auth.*, users.* and usergroups.*: the bot and the people


def auth_test(state: WorkspaceState, _args: Arguments) -> Json:
    return {
        "url": f"https://{state.team_domain}.slack.com/",
        "team": "Sandbox",
        "user": "racing-bot",
        "team_id": state.team_id,
        "user_id": state.bot_user_id,
        "bot_id": state.bot_id,
        "is_enterprise_install": False,
    }


def user_info(state: WorkspaceState, args: Arguments) -> Json:
    _need_scope(state, "users:read")
    user = state.users.get(args.required("user", "user_not_found"))
    if user is None:
        raise Refused("user_not_found")
    return {"user": user_shape(state, user)}


def list_groups(state: WorkspaceState, _args: Arguments) -> Json:
    _need_scope(state, "usergroups:read")
    return {
        "usergroups": [
            {"id": group_id, "team_id": state.team_id, "handle": handle, "name": handle, "is_usergroup": True}
            for group_id, handle in state.user_groups.items()
        ]
    }


# chat.*: posting and editing


def post_message(state: WorkspaceState, args: Arguments) -> Json:
    channel = _writable_channel(state, args)
    text, blocks = read_content(args, refused_kinds=state.refused_blocks)
    thread_ts = args.text("thread_ts")
    if thread_ts is not None:
        _kept_message(state, channel, thread_ts, "thread_not_found")
    metadata = read_metadata(args) or None
    return _posted(
        state, state.say(channel.id, state.bot_user_id, text, blocks=blocks, metadata=metadata, thread_ts=thread_ts)
    )


def update(state: WorkspaceState, args: Arguments) -> Json:
    """Blocks and metadata stay if the call leaves them out. An empty list or object removes them."""
    _need_scope(state, "chat:write")
    channel = _known_channel(state, args)
    if channel.is_archived:
        raise Refused("is_inactive")
    message = _kept_message(state, channel, args.text("ts"), "message_not_found")
    if message.user != state.bot_user_id:
        raise Refused("cant_update_message")
    text = args.text("text")
    if len(text or "") > UPDATE_TEXT_LIMIT:
        raise Refused("msg_too_long")
    blocks = read_blocks(args, refused_kinds=state.refused_blocks) if "blocks" in args else message.blocks
    if text is None and "blocks" not in args:
        raise Refused("no_text")
    metadata = (read_metadata(args) or None) if "metadata" in args else message.metadata
    new_text = message.text if text is None else text
    return _posted(state, state.edit(replace(message, text=new_text, blocks=blocks, metadata=metadata)))


def _posted(state: WorkspaceState, message: PostedMessage) -> Json:
    shape = message_shape(state, message, with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "message": shape}


# conversations.*: channels, members, and what was said


def channel_info(state: WorkspaceState, args: Arguments) -> Json:
    return {"channel": channel_shape(state, _channel_to_read(state, args, "read"))}


def members(state: WorkspaceState, args: Arguments) -> Json:
    channel = _channel_to_read(state, args, "read")
    page, cursor = _page_of([(member, member) for member in sorted(channel.members)], args)
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


def history(state: WorkspaceState, args: Arguments) -> Json:
    """Newest first, without the replies in threads."""
    shown = reversed(_visible(state, _channel_to_read(state, args, "history")))
    return _messages(state, [one for one in shown if not one.is_reply and _is_within(one, args)], args)


def replies(state: WorkspaceState, args: Arguments) -> Json:
    """A thread, oldest first, its first message in front."""
    channel = _channel_to_read(state, args, "history")
    ts = _kept_message(state, channel, args.text("ts"), "thread_not_found").ts
    visible = _visible(state, channel)
    thread = [one for one in visible if one.ts == ts or (one.thread_ts == ts and _is_within(one, args))]
    return _messages(state, thread, args)


def _visible(state: WorkspaceState, channel: Channel) -> list[PostedMessage]:
    """History may lag behind the posts."""
    now = state.clock()
    said = state.messages(channel.id)
    return [one for one in said if (now - one.received_at).total_seconds() >= state.history_lag_s]


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


def _messages(state: WorkspaceState, messages: list[PostedMessage], args: Arguments) -> Json:
    with_metadata = args.flag("include_all_metadata")
    page, cursor = _page_of([(message.ts, message) for message in messages], args)
    shapes = [message_shape(state, message, with_metadata=with_metadata) for message in page]
    following = {"response_metadata": {"next_cursor": cursor}} if cursor else {}
    return {"messages": shapes, "has_more": bool(cursor), **following}


def _page_of(items: Sequence[tuple[str, Item]], args: Arguments) -> tuple[list[Item], str]:
    """The items of a page, each given with its mark, and the cursor of the next page or nothing."""
    cursors = [f"next:{mark}" for mark, _ in items]
    asked, limit = args.text("cursor"), args.number("limit", LIMIT, LIMIT_MAX)
    if asked is not None and asked not in cursors:
        raise Refused("invalid_cursor")
    start = 0 if asked is None else cursors.index(asked)
    page = [item for _, item in items[start : start + limit]]
    return page, (cursors[start + limit] if start + limit < len(items) else "")


# views.*: modals and the App Home


def open_modal(state: WorkspaceState, args: Arguments) -> Json:
    trigger_id = args.required("trigger_id", "invalid_trigger_id")
    view = _read_view(state, args, "modal")
    state.triggers.exchange(trigger_id)
    return {"view": store_view(state, view, f"V{next(state.numbers):06d}")}


def update_view(state: WorkspaceState, args: Arguments) -> Json:
    view = _read_view(state, args, "modal")
    view_id = args.required("view_id", "not_found")
    if view_id not in state.views:
        raise Refused("not_found")
    return _replaced(state, args, view, view_id)


def publish(state: WorkspaceState, args: Arguments) -> Json:
    user = args.required("user_id", "invalid_arguments")
    if user not in state.users:
        raise Refused("user_not_found")
    return _replaced(state, args, _read_view(state, args, "home"), f"VHOME{user}")


def _replaced(state: WorkspaceState, args: Arguments, view: Json, view_id: str) -> Json:
    """Refused if the call's hash is not the hash of the view in its place."""
    found = state.views.get(view_id)
    if found and args.text("hash") not in {None, found["hash"]}:
        raise Refused("hash_conflict")
    return {"view": store_view(state, view, view_id)}


def _read_view(state: WorkspaceState, args: Arguments, kind: str) -> Json:
    view = args.structure("view", "invalid_arguments")
    problems = view_problems(view, kind, refused=state.refused_blocks)
    if problems:
        raise refused_for("invalid_arguments", problems)
    if len(json.dumps(view)) > VIEW_BYTES:
        raise Refused("view_too_large")
    assert isinstance(view, dict)
    return view


def store_view(state: WorkspaceState, view: Json, view_id: str) -> Json:
    stored = {
        "callback_id": "",
        "private_metadata": "",
        **view,
        "blocks": blocks_with_ids(view["blocks"]),
        "id": view_id,
        "root_view_id": view_id,
        "team_id": state.team_id,
        "app_id": state.app_id,
        "bot_id": state.bot_id,
        "hash": f"{next(state.numbers)}.sandbox",
        "state": {"values": {}},
    }
    state.views[view_id] = stored
    state.changes.notify()
    return stored


# What a call names, and the bot's access


def _need_scope(state: WorkspaceState, scope: str) -> None:
    if scope not in state.scopes:
        raise Refused("missing_scope", needed=scope, provided=",".join(sorted(state.scopes)))


def _known_channel(state: WorkspaceState, args: Arguments) -> Channel:
    """A private channel without the bot does not exist for the bot."""
    channel = state.channels.get(args.text("channel") or "")
    if channel is None or (channel.is_private and not state.bot_is_in(channel)):
        raise Refused("channel_not_found")
    return channel


def _channel_to_read(state: WorkspaceState, args: Arguments, what: str) -> Channel:
    """`what` is the second half of the scope: "read" or "history", which only members read."""
    channel = _known_channel(state, args)
    _need_scope(state, f"{channel.scope_prefix}:{what}")
    if what == "history" and not state.bot_is_in(channel):
        raise Refused("not_in_channel")
    return channel


def _writable_channel(state: WorkspaceState, args: Arguments) -> Channel:
    """By id, by a public channel's name, or by a user's id for a direct message."""
    _need_scope(state, "chat:write")
    wanted = args.required("channel", "channel_not_found")
    if wanted in state.users and wanted != state.bot_user_id:
        return state.direct_message(wanted)
    named = (channel.id for channel in state.channels.values() if channel.name == wanted.removeprefix("#"))
    channel = _known_channel(state, Arguments({"channel": next(named, wanted)}))
    if channel.is_archived:
        raise Refused("is_archived")
    if not state.bot_is_in(channel) and "chat:write.public" not in state.scopes:
        raise Refused("not_in_channel")
    return channel


def _kept_message(state: WorkspaceState, channel: Channel, ts: str | None, error: str) -> PostedMessage:
    """Slack keeps no ephemeral message."""
    message = state.message(channel.id, ts or "")
    if message is None or message.only is not None:
        raise Refused(error)
    return message


METHODS: dict[str, Callable[[WorkspaceState, Arguments], Json]] = {
    "auth.test": auth_test,
    "chat.postMessage": post_message,
    "chat.update": update,
    "conversations.info": channel_info,
    "conversations.members": members,
    "conversations.history": history,
    "conversations.replies": replies,
    "usergroups.list": list_groups,
    "users.info": user_info,
    "views.open": open_modal,
    "views.update": update_view,
    "views.publish": publish,
}
