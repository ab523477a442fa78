"""Posting and editing messages."""

from dataclasses import replace

from sandbox.slack.arguments import Arguments
from sandbox.slack.content import UPDATE_TEXT_LIMIT, read_blocks, read_content, read_metadata
from sandbox.slack.methods.access import known_channel, need_scope, writable_channel
from sandbox.slack.methods.shapes import message_shape
from sandbox.slack.refused_calls import Refused
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json, PostedMessage


def post_message(state: WorkspaceState, args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/chat.postMessage."""
    channel = writable_channel(state, args)
    text, blocks = read_content(args, refused_kinds=state.refused_blocks)
    thread_ts = args.text("thread_ts")
    if thread_ts is not None and state.message(channel.id, thread_ts) is None:
        raise Refused("thread_not_found")
    message = state.put(
        PostedMessage(
            ts=state.timestamps.issue(),
            channel=channel.id,
            text=text,
            user=state.bot_user_id,
            received_at=state.clock(),
            blocks=blocks,
            metadata=read_metadata(args) or None,
            thread_ts=thread_ts,
        )
    )
    return _answer(state, message)


def update(state: WorkspaceState, args: Arguments) -> Json:
    """docs.slack.dev/reference/methods/chat.update.

    Blocks and metadata stay if the call leaves them out. An empty list or object removes them.
    """
    message = _own_message(state, args)
    text = args.text("text")
    if len(text or "") > UPDATE_TEXT_LIMIT:
        raise Refused("msg_too_long")
    blocks = read_blocks(args, refused_kinds=state.refused_blocks) if "blocks" in args else message.blocks
    if text is None and "blocks" not in args:
        raise Refused("no_text")
    metadata = (read_metadata(args) or None) if "metadata" in args else message.metadata
    new_text = message.text if text is None else text
    return _answer(state, state.edit(replace(message, text=new_text, blocks=blocks, metadata=metadata)))


def _answer(state: WorkspaceState, message: PostedMessage) -> Json:
    shape = message_shape(state, message, with_metadata=True)
    return {"channel": message.channel, "ts": message.ts, "message": shape}


def _own_message(state: WorkspaceState, args: Arguments) -> PostedMessage:
    need_scope(state, "chat:write")
    channel = known_channel(state, args)
    if channel.is_archived:
        raise Refused("is_inactive")
    message = state.message(channel.id, args.required("ts", "message_not_found"))
    if message is None:
        raise Refused("message_not_found")
    if message.user != state.bot_user_id:
        raise Refused("cant_update_message")
    return message
