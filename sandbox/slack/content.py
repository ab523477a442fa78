"""A message's text, blocks and metadata, checked as Slack does, and the bot's responses to commands and actions."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sandbox.slack.answers import ResponseUrl
from sandbox.slack.block_rules import MESSAGE_CHARACTERS, block_problems, shown_characters
from sandbox.slack.calls import Arguments, Refused, refused_for
from sandbox.slack.state import WorkspaceState
from sandbox.slack.values import Json

# docs.slack.dev/reference/methods/chat.postMessage and chat.update
TEXT_CUT_AT = 40_000
UPDATE_TEXT_LIMIT = 4_000


def read_content(args: Arguments, *, refused_kinds: Collection[str]) -> tuple[str, tuple[Json, ...]]:
    """Text and blocks. Slack cuts a longer text, and posts."""
    blocks = read_blocks(args, refused_kinds=refused_kinds)
    text = args.text("text") or ""
    if not text.strip() and not blocks:
        raise Refused("no_text")
    return text[:TEXT_CUT_AT], blocks


def read_blocks(args: Arguments, *, refused_kinds: Collection[str]) -> tuple[Json, ...]:
    blocks = args.structure("blocks", "invalid_blocks_format")
    if blocks is None:
        return ()
    problems = block_problems(blocks, refused=refused_kinds)
    if problems:
        raise refused_for("invalid_blocks", problems)
    if shown_characters(blocks) > MESSAGE_CHARACTERS:
        raise Refused("msg_blocks_too_long")
    return tuple(blocks)


def read_metadata(args: Arguments) -> Json | None:
    """None if the call has no metadata."""
    metadata: Any = args.structure("metadata", "invalid_metadata_format")
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise Refused("invalid_metadata_format")
    if not metadata:
        return {}
    event_type, payload = metadata.get("event_type"), metadata.get("event_payload")
    if not (isinstance(event_type, str) and event_type and isinstance(payload, dict)):
        raise Refused("invalid_metadata_format")
    return {"event_type": event_type, "event_payload": payload}


def take_response(state: WorkspaceState, url: ResponseUrl, values: Json) -> None:
    """Raises Refused.

    A response goes to the person who asked, or with `replace_original` into the clicked message.
    """
    text, blocks = read_content(Arguments(values), refused_kinds=state.refused_blocks)
    # Slack takes "in_channel" too. The bot must not answer the whole channel.
    if values.get("response_type", "ephemeral") != "ephemeral":
        raise Refused("invalid_response_type")
    in_place = values.get("replace_original", False)
    if not isinstance(in_place, bool):
        raise Refused("invalid_arguments")
    if in_place and (original := state.message(url.channel_id, url.message_ts or "")) is not None:
        response = state.edit(replace(original, text=text, blocks=blocks))
    else:
        response = state.say(url.channel_id, state.bot_user_id, text, blocks=blocks, only=url.user_id)
    url.responses.append(response)
    state.changes.notify()
