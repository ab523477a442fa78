"""Answers in pages. A page button runs the command again."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.outbox.message import Block, Message
from bot.slack.messages.kit.blocks import message, mrkdwn, weight
from bot.slack.messages.kit.buttons import actions, command_button
from bot.slack.messages.kit.text import BLOCKS_MAX, MESSAGE_MAX, clip

BUTTON = 120
"""Assumed cost of a button beside its text."""

LINES_TOGETHER = 8
PAGE_LINE_MAX = 370
"""LINES_TOGETHER lines of this size fit into a section."""

LISTED_TOGETHER = 4
"""Sections of lines on a page, about a screen."""

FOR_TURNING = 500


@dataclass(frozen=True)
class Turning:
    """`command`: the words after /racing."""

    command: str
    page: int = 1

    def to(self, page: int) -> str:
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
    """`head` and `foot` stand on every page. A page has at most `most` units."""
    above, below = [block for block in head if block], [block for block in (foot,) if block]
    room = MESSAGE_MAX - weight(above) - weight(below) - FOR_TURNING
    pages = split_pages(units, min(most, BLOCKS_MAX - len(above) - len(below) - 1), room)
    number = min(turn.page, len(pages))
    return message(text, [*above, *pages[number - 1], turns(turn, number, len(pages)), *below])


def split_pages(units: Sequence[Block], blocks: int, room: int) -> list[list[Block]]:
    """At least a page. A unit larger than a page stands alone."""
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
    cut = [clip(line, PAGE_LINE_MAX) for line in lines]
    parts = (cut[start : start + LINES_TOGETHER] for start in range(0, len(cut), LINES_TOGETHER))
    return [{"type": "section", "text": mrkdwn("\n".join(part))} for part in parts]


def turns(turn: Turning, number: int, last: int) -> Block | None:
    back = [command_button(f"← Page {number - 1}", turn.to(number - 1), in_place=True)] if number > 1 else []
    on = [command_button(f"Page {number + 1} of {last} →", turn.to(number + 1), in_place=True)] if number < last else []
    return actions([*back, *on])
