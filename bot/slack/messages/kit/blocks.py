"""Slack's blocks as dicts, within Slack's limits: sections, buttons, menus. `layout.py` makes messages of blocks.

A button is for a command, or for an action of `bot/slack/commands/table.py`. `action_id` (up to the colon) and value
hold all of the action, so a button survives restarts.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from zlib import crc32

from bot.outbox.message import Block
from bot.slack.messages.kit.native_blocks import CONTAINER, NATIVE
from bot.slack.messages.kit.text import HEADER_MAX, SECTION_MAX, clip, plain, size

FIELD_MAX = 2_000
FIELDS_MAX = 10
"""https://docs.slack.dev/reference/block-kit/blocks/section-block"""

CONTEXT_ELEMENTS_MAX = 10
"""https://docs.slack.dev/reference/block-kit/blocks/context-block"""

TEXT_OBJECT = 80
BUTTON_BESIDE = 120
"""Assumed costs: of a text object beside its text, and of a button beside a section."""

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
    """None for an empty text: Slack refuses empty sections. `button`: beside the text, if its value is not too long."""
    block = {"type": "section", "text": mrkdwn(text)} if text else None
    return block | {"accessory": button} if block and button and fits(button) else block


def fields(*named: tuple[str, str | None]) -> Block | None:
    shown = [mrkdwn(clip(f"*{label}*\n{value}", FIELD_MAX)) for label, value in named if value]
    return {"type": "section", "fields": shown[:FIELDS_MAX]} if shown else None


def context_block(*said: str | None) -> Block | None:
    """The small print of a message; None if nothing is said."""
    elements = [mrkdwn(words) for words in said if words]
    return {"type": "context", "elements": elements[:CONTEXT_ELEMENTS_MAX]} if elements else None


def weight(blocks: Iterable[Block]) -> int:
    return sum(_weight(block) for block in blocks)


def command_button(label: str, command: str, *, in_place: bool = False) -> Block:
    """`command`: the words after /racing."""
    return action_button(label, RUN_IN_PLACE if in_place else RUN_COMMAND, command, confirm=confirmed_by(command))


def confirmed_by(command: str) -> str | None:
    """The question before a command line that takes something from the channel; None for other lines."""
    if command.partition(" ")[0] == ENDING:
        return f"This ends what the channel receives: /racing {command}."
    held = "This holds everything, abandonments too, until somebody resumes: /racing pause."
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
    if confirm:
        element["confirm"] = {
            "title": plain_text("Are you sure?"),
            "text": plain_text(plain(confirm, CONFIRM_MAX) or "?"),
            "confirm": plain_text(plain(label, CONFIRM_LABEL_MAX) or "?"),
            "deny": plain_text("No"),
        }
    return element


def actions(elements: Sequence[Block]) -> Block | None:
    """None without a button. Buttons with empty or too long values, and buttons beyond ELEMENTS_MAX, are left out."""
    shown = [element for element in elements if fits(element)]
    return {"type": "actions", "elements": shown[:ELEMENTS_MAX]} if shown else None


def fits(button: Block) -> bool:
    return 0 < size(button["value"]) <= BUTTON_VALUE_MAX


def _weight(block: Block) -> int:
    if block["type"] in NATIVE:
        return TEXT_OBJECT + sum(map(size, _strings(block)))
    if block["type"] == CONTAINER:
        return size(block["title"]["text"]) + TEXT_OBJECT + weight(block["child_blocks"])
    return sum(size(text["text"]) + TEXT_OBJECT for text in texts_of(block)) + BUTTON_BESIDE * ("accessory" in block)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for key, inner in value.items() if key != "type" for text in _strings(inner))
    elif isinstance(value, list):
        yield from (text for inner in value for text in _strings(inner))


def texts_of(block: Block) -> list[Block]:
    elements = (one["text"] if isinstance(one.get("text"), dict) else one for one in block.get("elements", ()))
    return [*([block["text"]] if "text" in block else []), *block.get("fields", ()), *elements]


def options(named: Iterable[tuple[str, str]]) -> list[Block]:
    return list(islice(all_options(named), OPTIONS_MAX))


def all_options(named: Iterable[tuple[str, str]]) -> Iterator[Block]:
    """Options with an empty label or too long a value are left out."""
    for label, value in named:
        shown = plain(label, OPTION_TEXT_MAX)
        if shown and len(value) <= OPTION_VALUE_MAX:
            yield {"text": plain_text(shown), "value": value}


def in_groups(every: Sequence[Block]) -> Block:
    """A menu's options in one list, or beyond OPTIONS_MAX in groups named by their first and last option."""
    if len(every) <= OPTIONS_MAX:
        return {"options": list(every)}
    lots = [every[start : start + OPTIONS_MAX] for start in range(0, len(every), OPTIONS_MAX)][:OPTIONS_MAX]
    return {"option_groups": [{"label": _label(lot), "options": list(lot)} for lot in lots]}


def _label(lot: Sequence[Block]) -> Block:
    first, last = lot[0]["text"]["text"], lot[-1]["text"]["text"]
    return plain_text(clip(f"{clip(first, 30)} to {clip(last, 30)}", OPTION_TEXT_MAX))
