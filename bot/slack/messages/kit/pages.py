"""Answers in pages. A page button runs the command again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from bot.outbox.message import Block, Blocks, Message
from bot.slack.messages.kit.blocks import actions, command_button, header, message, mrkdwn, weight
from bot.slack.messages.kit.native_blocks import DATA_TABLE, TABLE_MAX, with_native
from bot.slack.messages.kit.text import BLOCKS_MAX, HEADER_MAX, MESSAGE_MAX, clip

BUTTON = 120
"""Assumed cost of a button beside its text."""

LINES_TOGETHER = 8
PAGE_LINE_MAX = 370
"""LINES_TOGETHER lines of this size fit into a section."""

LISTED_TOGETHER = 4
"""Sections of lines on a page, about a screen."""

SCREEN = 2_400
"""The cost of units that fill the screen of a phone."""

FOR_TURNING = 700
"""Buttons, and the header with the page's number."""

BESIDE_UNITS = 3
"""Blocks: the header, the buttons, and the block that `message` leaves free for an edit's mark."""

PAGE_MARK_MAX = 30


@dataclass(frozen=True)
class Turning:
    """`command`: the words after /racing."""

    command: str
    page: int = 1

    def to(self, page: int) -> str:
        return f"{self.command} page:{page}"


@dataclass(frozen=True)
class Unit:
    """Blocks that stay together on a page. `sections`: the same without native blocks."""

    blocks: Blocks
    sections: Blocks = ()

    @property
    def in_sections(self) -> Blocks:
        return self.sections or self.blocks

    @property
    def cost(self) -> int:
        return max(_cost(self.blocks), _cost(self.in_sections))

    @property
    def in_tables(self) -> int:
        return weight(block for block in self.blocks if block["type"] == DATA_TABLE)


@dataclass(frozen=True)
class Paper:
    """The content of an answer in pages. `head` and `foot` stand on every page.

    `title` is the header of each page, with the page's number. `text` makes the notification text from that header.
    """

    title: str
    text: Callable[[str], str]
    units: Sequence[Unit]
    head: Sequence[Block | None] = ()
    foot: Block | None = None


def paged(paper: Paper, turn: Turning, *, most: int = BLOCKS_MAX, room: int = MESSAGE_MAX) -> Message:
    """The page of `turn`, else the last page. A page has at most `most` blocks of units, of the cost `room`."""
    above, below = [block for block in paper.head if block], [block for block in (paper.foot,) if block]
    room = min(room, MESSAGE_MAX - weight(above) - weight(below) - FOR_TURNING)
    pages = split_pages(paper.units, min(most, BLOCKS_MAX - len(above) - len(below) - BESIDE_UNITS), room)
    number = min(turn.page, len(pages))
    title = f"{clip(paper.title, HEADER_MAX - PAGE_MARK_MAX)}{page_mark(number, len(pages))}"
    around = [header(title), *above], [turns(turn, number, len(pages)), *below]

    def made(form: Callable[[Unit], Blocks]) -> Message:
        units = (block for unit in pages[number - 1] for block in form(unit))
        return message(paper.text(title), [*around[0], *units, *around[1]])

    page = made(attrgetter("blocks"))
    has_native = any(unit.sections for unit in pages[number - 1])
    return with_native(page, partial(made, attrgetter("in_sections"))) if has_native else page


def page_mark(number: int, last: int) -> str:
    return f" (page {number} of {last})" if last > 1 else ""


def split_pages(units: Iterable[Unit], blocks: int, room: int) -> list[list[Unit]]:
    """At least a page. A unit larger than a page stands alone."""
    pages: list[list[Unit]] = [[]]
    left, left_blocks, left_in_tables = room, blocks, TABLE_MAX
    for unit in units:
        count = max(len(unit.blocks), len(unit.in_sections))
        if pages[-1] and (unit.cost > left or count > left_blocks or unit.in_tables > left_in_tables):
            pages.append([])
            left, left_blocks, left_in_tables = room, blocks, TABLE_MAX
        pages[-1].append(unit)
        left, left_blocks, left_in_tables = left - unit.cost, left_blocks - count, left_in_tables - unit.in_tables
    return pages


def line_units(lines: Sequence[str]) -> list[Unit]:
    cut = [clip(line, PAGE_LINE_MAX) for line in lines]
    parts = (cut[start : start + LINES_TOGETHER] for start in range(0, len(cut), LINES_TOGETHER))
    return [Unit(({"type": "section", "text": mrkdwn("\n".join(part))},)) for part in parts]


def turns(turn: Turning, number: int, last: int) -> Block | None:
    back = [command_button(f"← Page {number - 1}", turn.to(number - 1), in_place=True)] if number > 1 else []
    on = [command_button(f"Page {number + 1} of {last} →", turn.to(number + 1), in_place=True)] if number < last else []
    return actions([*back, *on])


def _cost(blocks: Blocks) -> int:
    return weight(blocks) + BUTTON * sum("accessory" in block for block in blocks)
