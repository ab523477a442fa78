"""Slack's blocks as plain dicts. Every limit is held here, so that no builder of a message has to think of one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bot.outbox.message import Block, Message
from bot.slack.messages.kit.native import NATIVE
from bot.slack.messages.kit.text import (
    BLOCKS_MAX,
    CONTEXT_ELEMENTS_MAX,
    FIELD_MAX,
    FIELDS_MAX,
    HEADER_MAX,
    MESSAGE_MAX,
    SECTION_MAX,
    TEXT_MAX,
    clip,
    size,
)

CONTAINER = 80
"""What a text object is taken to weigh beside its text, when all blocks are summed."""

LINE_MAX = 600
MARK_MAX = 400
"""What is left of MESSAGE_MAX to a mark that an edit puts before the message."""

_MORE_ROOM = 40


def plain_text(text: str) -> Block:
    """A text object in which nothing formats."""
    return {"type": "plain_text", "text": clip(text, SECTION_MAX), "emoji": False}


def mrkdwn(text: str) -> Block:
    """A text object that formats what we wrote, and links nothing by itself."""
    return {"type": "mrkdwn", "text": clip(text, SECTION_MAX), "verbatim": True}


def header(text: str) -> Block:
    """A header block."""
    return {"type": "header", "text": plain_text(clip(text, HEADER_MAX))}


def section(text: str) -> Block | None:
    """A section of mrkdwn, or None where there is nothing to say: Slack refuses an empty one."""
    return {"type": "section", "text": mrkdwn(text)} if text else None


def fields(named: Sequence[tuple[str, str | None]]) -> Block | None:
    """A section of labelled values in two columns; those without a value are left out."""
    shown = [mrkdwn(clip(f"*{label}*\n{value}", FIELD_MAX)) for label, value in named if value]
    return {"type": "section", "fields": shown[:FIELDS_MAX]} if shown else None


def context(elements: Sequence[Block]) -> Block | None:
    """A line of small print, or None where there is none."""
    return {"type": "context", "elements": list(elements[:CONTEXT_ELEMENTS_MAX])} if elements else None


def weight(blocks: Iterable[Block]) -> int:
    """What the blocks count towards MESSAGE_MAX: their texts, and a fixed sum for each container."""
    return sum(_weight(block) for block in blocks)


def room_beside(blocks: Iterable[Block | None]) -> int:
    """What is left of MESSAGE_MAX beside these blocks."""
    return MESSAGE_MAX - MARK_MAX - weight(block for block in blocks if block)


def message(
    text: str,
    head: Sequence[Block | None],
    lines: Iterable[str] = (),
    total: int = 0,
    foot: Sequence[Block | None] = (),
) -> Message:
    """The message: `head` and `foot` whole, and between them as many of the `total` lines as there is room for."""
    above = [block for block in head if block]
    below = [block for block in foot if block]
    listed = _listed(lines, total, room_beside([*above, *below])) if total else ()
    blocks = (*above, *listed, *below)[: BLOCKS_MAX - 1]
    return Message(text=clip(text, TEXT_MAX), blocks=blocks)


def _listed(lines: Iterable[str], total: int, room: int) -> list[Block]:
    """Sections with the lines that fit, the last of which says how many more there are."""
    sections: list[list[str]] = []
    shown, space, room = 0, 0, room - CONTAINER - _MORE_ROOM
    for line in lines:
        cost = size(line := clip(line, LINE_MAX)) + 1
        opens = cost > space
        if room < cost + CONTAINER * opens:
            break
        if opens:
            sections.append([])
            space = SECTION_MAX - _MORE_ROOM
        sections[-1].append(line)
        shown, space, room = shown + 1, space - cost, room - cost - CONTAINER * opens
    if shown < total:
        sections[-1:] = [[*(sections[-1] if sections else []), f"and {total - shown} more"]]
    return [block for block in (section("\n".join(section_lines)) for section_lines in sections) if block]


def _weight(block: Block) -> int:
    if block["type"] in NATIVE:
        return CONTAINER + sum(map(size, _strings(block)))
    return sum(size(text["text"]) + CONTAINER for text in _texts(block))


def _strings(value: Any) -> Iterator[str]:
    """All that a native block shows, however deep it stands."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for key, inner in value.items() if key != "type" for text in _strings(inner))
    elif isinstance(value, list):
        yield from (text for inner in value for text in _strings(inner))


def _texts(block: Block) -> list[Block]:
    """The text objects of a block, wherever it keeps them."""
    elements = (one["text"] if isinstance(one.get("text"), dict) else one for one in block.get("elements", ()))
    return [*([block["text"]] if "text" in block else []), *block.get("fields", ()), *elements]
