"""What a message says, read and judged as Slack does: text, blocks and metadata."""

from dataclasses import dataclass
from typing import Any

from bot.sandbox.slack.arguments import Arguments
from bot.sandbox.slack.block_rules import MESSAGE_CHARACTERS, block_problems, shown_characters
from bot.sandbox.slack.refused_calls import Refused, refused_for
from bot.sandbox.slack.values import Json

# docs.slack.dev/reference/methods/chat.postMessage and chat.update
TEXT_CUT_AT = 40_000
UPDATE_TEXT_LIMIT = 4_000
_TRUNCATED = {
    "warning": "message_truncated",
    "response_metadata": {
        "warnings": ["message_truncated"],
        "messages": ["[WARN] Your message was truncated but still posted."],
    },
}


@dataclass(frozen=True)
class Content:
    """A message's text and blocks, and what Slack adds to the answer where it cut the text."""

    text: str
    blocks: tuple[Json, ...]
    warnings: Json


def read_content(args: Arguments, *, refuse_new_blocks: bool) -> Content:
    """The content of a call, or the refusal that Slack answers."""
    blocks = read_blocks(args, refuse_new_blocks=refuse_new_blocks)
    text = args.text("text") or ""
    if not text.strip() and not blocks:
        raise Refused("no_text")
    return Content(text[:TEXT_CUT_AT], blocks, _TRUNCATED if len(text) > TEXT_CUT_AT else {})


def read_blocks(args: Arguments, *, refuse_new_blocks: bool) -> tuple[Json, ...]:
    """The call's blocks, none where it has none; refuses those that Slack would not take."""
    blocks = args.structure("blocks", "invalid_blocks_format")
    if blocks is None:
        return ()
    problems = block_problems(blocks, refuse_new=refuse_new_blocks)
    if problems:
        raise refused_for("invalid_blocks", problems)
    if shown_characters(blocks) > MESSAGE_CHARACTERS:
        raise Refused("msg_blocks_too_long")
    return tuple(blocks)


def read_metadata(args: Arguments) -> Json | None:
    """The call's metadata, which needs an event_type and an event_payload; None where it has none."""
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
