"""A message's text, blocks and metadata, checked as Slack does."""

from collections.abc import Collection
from typing import Any

from sandbox.slack.arguments import Arguments
from sandbox.slack.block_rules import MESSAGE_CHARACTERS, block_problems, shown_characters
from sandbox.slack.refused_calls import Refused, refused_for
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
