"""Buttons for commands and for the actions of `bot/slack/commands/table.py`.

`action_id` (up to the colon) and value hold all of the action, so a button survives restarts.
"""

from collections.abc import Sequence
from zlib import crc32

from bot.outbox.message import Block
from bot.slack.messages.kit.blocks import plain_text
from bot.slack.messages.kit.text import plain, size

RUN_COMMAND = "run_command"
RUN_IN_PLACE = "run_in_place"
"""As RUN_COMMAND; the answer replaces the button's ephemeral message."""

ENDING = "unsubscribe"
"""A button for this command asks for confirmation."""

BUTTON_LABEL_MAX = 75
BUTTON_VALUE_MAX = 2_000
"""https://docs.slack.dev/reference/block-kit/block-elements/button-element"""

ELEMENTS_MAX = 25
"""https://docs.slack.dev/reference/block-kit/blocks/actions-block"""

CONFIRM_MAX = 300
CONFIRM_LABEL_MAX = 30
"""https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object"""


def command_button(label: str, command: str, *, in_place: bool = False) -> Block:
    """`command`: the words after /racing."""
    ends = command.partition(" ")[0] == ENDING
    question = f"This channel would no longer receive it: /racing {command}." if ends else None
    return action_button(label, RUN_IN_PLACE if in_place else RUN_COMMAND, command, confirm=question)


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


def _confirmation(label: str, question: str) -> Block:
    return {
        "title": plain_text("Are you sure?"),
        "text": plain_text(plain(question, CONFIRM_MAX) or "?"),
        "confirm": plain_text(plain(label, CONFIRM_LABEL_MAX) or "?"),
        "deny": plain_text("No"),
    }
