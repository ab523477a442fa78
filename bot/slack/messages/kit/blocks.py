"""Slack's blocks as dicts, within Slack's limits: sections, buttons, whole messages.

A button is for a command, or for an action of `bot/slack/commands/table.py`. `action_id` (up to the colon) and value
hold all of the action, so a button survives restarts.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from zlib import crc32

from bot.outbox.message import Block, Message
from bot.slack.messages.kit.native_blocks import CONTAINER, NATIVE
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
    plain,
    safe,
    size,
    with_names,
)

TEXT_OBJECT = 80
"""Assumed cost of a text object beside its text."""

LIST_LINE_MAX = 600
MARK_MAX = 400
"""Part of MESSAGE_MAX, reserved for an edit's mark."""

_MORE_ROOM = 40

RUN_COMMAND = "run_command"
RUN_IN_PLACE = "run_in_place"
"""As RUN_COMMAND; the answer replaces the button's ephemeral message."""

ENDING = "unsubscribe"
ENDLESS_PAUSE = "pause"
"""Buttons for these commands ask for confirmation."""

BUTTON_LABEL_MAX = 75
BUTTON_VALUE_MAX = 2_000
"""https://docs.slack.dev/reference/block-kit/block-elements/button-element"""

ELEMENTS_MAX = 25
"""https://docs.slack.dev/reference/block-kit/blocks/actions-block"""

CONFIRM_MAX = 300
CONFIRM_LABEL_MAX = 30
"""https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object"""

OPTION_TEXT_MAX = 75
OPTION_VALUE_MAX = 150
OPTIONS_MAX = 100
"""https://docs.slack.dev/reference/block-kit/composition-objects/option-object, and the select menus' page"""


def plain_text(text: str) -> Block:
    return {"type": "plain_text", "text": clip(text, SECTION_MAX), "emoji": False}


def mrkdwn(text: str) -> Block:
    """Formats our own markup. `verbatim`: Slack links nothing by itself."""
    return {"type": "mrkdwn", "text": clip(text, SECTION_MAX), "verbatim": True}


def header(text: str) -> Block:
    return {"type": "header", "text": plain_text(clip(text, HEADER_MAX))}


def section(text: str | None, button: Block | None = None) -> Block | None:
    """None for an empty text: Slack refuses empty sections. `button`: beside the text."""
    block = {"type": "section", "text": mrkdwn(text)} if text else None
    return block | {"accessory": button} if block and button else block


def fields(named: Sequence[tuple[str, str | None]]) -> Block | None:
    shown = [mrkdwn(clip(f"*{label}*\n{value}", FIELD_MAX)) for label, value in named if value]
    return {"type": "section", "fields": shown[:FIELDS_MAX]} if shown else None


def context(*said: str | None) -> Block | None:
    """The small print of a message; None if nothing is said."""
    elements = [mrkdwn(words) for words in said if words]
    return {"type": "context", "elements": elements[:CONTEXT_ELEMENTS_MAX]} if elements else None


def weight(blocks: Iterable[Block]) -> int:
    return sum(_weight(block) for block in blocks)


def room_beside(blocks: Iterable[Block | None]) -> int:
    return MESSAGE_MAX - MARK_MAX - weight(block for block in blocks if block)


def message(
    text: str,
    head: Sequence[Block | None],
    lines: Iterable[str] = (),
    total: int = 0,
    foot: Sequence[Block | None] = (),
) -> Message:
    """`head` and `foot` whole; between them as many of the `total` lines as fit."""
    above = [block for block in head if block]
    below = [block for block in foot if block]
    between = line_sections(lines, total, room_beside([*above, *below])) if total else ()
    blocks = (*above, *between, *below)[: BLOCKS_MAX - 1]
    return Message(text=clip(text, TEXT_MAX), blocks=blocks)


def line_sections(lines: Iterable[str], total: int, room: int) -> list[Block]:
    """Sections with as many of the `total` lines as fit."""
    sections = _packed(lines, room)
    shown = sum(map(len, sections))
    if shown < total:
        sections[-1:] = [[*(sections[-1] if sections else []), f"and {total - shown} more"]]
    return [block for block in (section("\n".join(section_lines)) for section_lines in sections) if block]


def section_of(lines: Sequence[str], button: Block | None = None) -> Block:
    """One section with the first line, and as many of the others as fit."""
    (block,) = line_sections(lines, len(lines), SECTION_MAX + 2 * TEXT_OBJECT)
    return block | ({"accessory": button} if button else {})


def all_fit(lines: Sequence[str], room: int) -> bool:
    """Whether `line_sections` cuts no line."""
    return sum(map(len, _packed(lines, room))) == len(lines)


def command_button(label: str, command: str, *, in_place: bool = False) -> Block:
    """`command`: the words after /racing."""
    return action_button(label, RUN_IN_PLACE if in_place else RUN_COMMAND, command, confirm=confirmed_by(command))


def confirmed_by(command: str) -> str | None:
    """The question before a command line that takes something from the channel; None for other lines."""
    if command.partition(" ")[0] == ENDING:
        return f"This channel would no longer receive it: /racing {command}."
    held = "Everything would wait until somebody resumes, abandonments too: /racing pause."
    return held if command == ENDLESS_PAUSE else None


def action_button(label: str, action: str, value: str, *, confirm: str | None = None) -> Block:
    """`confirm`: the question of Slack's dialog. `value` has at most BUTTON_VALUE_MAX characters."""
    number = crc32(value.encode("utf-8", "replace"))
    element = {
        "type": "button",
        "action_id": f"{action}:{number:08x}",
        "text": plain_text(plain(label, BUTTON_LABEL_MAX) or "?"),
        "value": value,
    }
    return element | ({"confirm": _confirmation(label, confirm)} if confirm else {})


def actions(elements: Sequence[Block]) -> Block | None:
    """None without a button. Buttons with too long values, and buttons beyond ELEMENTS_MAX, are left out."""
    shown = [element for element in elements if fits(element)]
    return {"type": "actions", "elements": shown[:ELEMENTS_MAX]} if shown else None


def fits(button: Block) -> bool:
    return size(button["value"]) <= BUTTON_VALUE_MAX


def told(text: str, *buttons: Block) -> Message:
    """A text in markup, with its buttons."""
    return message(text, [section(text), actions(buttons)])


def sentence(words: str, named_ids: Iterable[str] = ()) -> Message:
    """Plain words without formatting, links or mentions. `named_ids` in the words are shown as names."""
    shown = with_names(safe(words, TEXT_MAX) or "…", named_ids)
    return told(shown)


def listing(title: str, lines: Sequence[str], small_print: str | None = None) -> Message:
    return message("\n".join([title, *lines]), [section(title)], lines, len(lines), [context(small_print)])


def _packed(lines: Iterable[str], room: int) -> list[list[str]]:
    sections: list[list[str]] = []
    space, room = 0, room - TEXT_OBJECT - _MORE_ROOM
    for line in lines:
        cost = size(line := clip(line, LIST_LINE_MAX)) + 1
        opens = cost > space
        if room < cost + TEXT_OBJECT * opens:
            break
        if opens:
            sections.append([])
            space = SECTION_MAX - _MORE_ROOM
        sections[-1].append(line)
        space, room = space - cost, room - cost - TEXT_OBJECT * opens
    return sections


def _weight(block: Block) -> int:
    if block["type"] in NATIVE:
        return TEXT_OBJECT + sum(map(size, _strings(block)))
    if block["type"] == CONTAINER:
        return size(block["title"]["text"]) + TEXT_OBJECT + weight(block["child_blocks"])
    return sum(size(text["text"]) + TEXT_OBJECT for text in _texts(block))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for key, inner in value.items() if key != "type" for text in _strings(inner))
    elif isinstance(value, list):
        yield from (text for inner in value for text in _strings(inner))


def _texts(block: Block) -> list[Block]:
    elements = (one["text"] if isinstance(one.get("text"), dict) else one for one in block.get("elements", ()))
    return [*([block["text"]] if "text" in block else []), *block.get("fields", ()), *elements]


def _confirmation(label: str, question: str) -> Block:
    return {
        "title": plain_text("Are you sure?"),
        "text": plain_text(plain(question, CONFIRM_MAX) or "?"),
        "confirm": plain_text(plain(label, CONFIRM_LABEL_MAX) or "?"),
        "deny": plain_text("No"),
    }


def option(label: str, value: str) -> Block | None:
    shown = plain(label, OPTION_TEXT_MAX)
    return (
        {"text": plain_text(clip(shown, OPTION_TEXT_MAX)), "value": value}
        if shown and len(value) <= OPTION_VALUE_MAX
        else None
    )


def options(named: Iterable[tuple[str, str]]) -> list[Block]:
    return list(islice(all_options(named), OPTIONS_MAX))


def all_options(named: Iterable[tuple[str, str]]) -> Iterable[Block]:
    return (one for one in (option(label, value) for label, value in named) if one)


def in_groups(every: Sequence[Block]) -> Block:
    """A menu's options in one list, or beyond OPTIONS_MAX in groups named by their first and last option."""
    if len(every) <= OPTIONS_MAX:
        return {"options": list(every)}
    lots = [every[start : start + OPTIONS_MAX] for start in range(0, len(every), OPTIONS_MAX)][:OPTIONS_MAX]
    return {"option_groups": [{"label": _label(lot), "options": list(lot)} for lot in lots]}


def _label(lot: Sequence[Block]) -> Block:
    first, last = lot[0]["text"]["text"], lot[-1]["text"]["text"]
    return plain_text(clip(f"{clip(first, 30)} to {clip(last, 30)}", OPTION_TEXT_MAX))
