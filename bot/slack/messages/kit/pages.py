"""Answers of several pages: as many blocks as fit, and buttons to turn the page, which run the command again."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.outbox.message import Block, Message
from bot.slack.messages.kit.blocks import message, mrkdwn, weight
from bot.slack.messages.kit.buttons import actions, command_button
from bot.slack.messages.kit.text import BLOCKS_MAX, MESSAGE_MAX, clip

BUTTON = 120
"""What a button is taken to weigh beside its text."""

LINES_TOGETHER = 8
LINE_MAX = 370
"""So that so many lines fit into a section, whatever is in them."""

LISTED_TOGETHER = 4
"""Sections of lines on a page: about what a screen holds."""

FOR_TURNING = 500
"""Kept free for the row of buttons."""


@dataclass(frozen=True)
class Turning:
    """The command by which the pages are turned, as it follows /racing, and the page that is asked for."""

    command: str
    page: int = 1

    def to(self, page: int) -> str:
        """The command that shows another page."""
        return f"{self.command} page:{page}"


def paged(
    text: str,
    head: Sequence[Block | None],
    units: Sequence[Block],
    foot: Block | None,
    turn: Turning,
    *,
    most: int = BLOCKS_MAX,
) -> Message:
    """The message: `head` and `foot` on every page, and between them the units of the page, at most so many."""
    above, below = [block for block in head if block], [block for block in (foot,) if block]
    room = MESSAGE_MAX - weight(above) - weight(below) - FOR_TURNING
    pages = split_pages(units, min(most, BLOCKS_MAX - len(above) - len(below) - 1), room)
    number = min(turn.page, len(pages))
    return message(text, [*above, *pages[number - 1], turns(turn, number, len(pages)), *below])


def split_pages(units: Sequence[Block], blocks: int, room: int) -> list[list[Block]]:
    """The units, page by page; one page where there are none. A unit that is larger than a page has one for itself."""
    pages: list[list[Block]] = [[]]
    left = room
    for unit in units:
        cost = weight([unit]) + (BUTTON if "accessory" in unit else 0)
        if pages[-1] and (cost > left or len(pages[-1]) >= blocks):
            pages.append([])
            left = room
        pages[-1].append(unit)
        left -= cost
    return pages


def line_units(lines: Sequence[str]) -> list[Block]:
    """Lines as units: sections of so many that a page can end between them."""
    cut = [clip(line, LINE_MAX) for line in lines]
    parts = (cut[start : start + LINES_TOGETHER] for start in range(0, len(cut), LINES_TOGETHER))
    return [{"type": "section", "text": mrkdwn("\n".join(part))} for part in parts]


def turns(turn: Turning, number: int, last: int) -> Block | None:
    """Buttons to the page before and after."""
    back = [command_button(f"← Page {number - 1}", turn.to(number - 1), in_place=True)] if number > 1 else []
    on = [command_button(f"Page {number + 1} of {last} →", turn.to(number + 1), in_place=True)] if number < last else []
    return actions([*back, *on])
