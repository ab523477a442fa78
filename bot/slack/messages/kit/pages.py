"""Answers in pages. A page button runs the command again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from bot.outbox.message import Block, Blocks, Message
from bot.slack.messages.kit.blocks import actions, command_button, header, message, section, weight
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
class PagedAnswer:
    """The content of an answer in pages. `head` and `foot` stand on every page.

    `title` is the header of each page, with the page's number. `text` makes the notification text from that header.
    `command`: the words after /racing. A page has at most `most` blocks of units, of the cost `room`.
    """

    title: str
    text: Callable[[str], str]
    units: Sequence[Unit]
    command: str
    head: Sequence[Block | None] = ()
    foot: Block | None = None
    most: int = BLOCKS_MAX
    room: int = MESSAGE_MAX


def paged(answer: PagedAnswer, page: int) -> Message:
    """The page with this number, else the last page."""
    around = [block for block in (*answer.head, answer.foot) if block]
    room = min(answer.room, MESSAGE_MAX - weight(around) - FOR_TURNING)
    pages = split_pages(answer.units, min(answer.most, BLOCKS_MAX - len(around) - BESIDE_UNITS), room)
    number = min(page, len(pages))
    title = f"{clip(answer.title, HEADER_MAX - PAGE_MARK_MAX)}{page_mark(number, len(pages))}"
    foot = [turns(answer.command, number, len(pages)), answer.foot]

    def made(form: Callable[[Unit], Blocks]) -> Message:
        units = (block for unit in pages[number - 1] for block in form(unit))
        return message(answer.text(title), [header(title), *answer.head, *units, *foot])

    shown = made(attrgetter("blocks"))
    has_native = any(unit.sections for unit in pages[number - 1])
    return with_native(shown, partial(made, attrgetter("in_sections"))) if has_native else shown


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


def unit(*blocks: Block | None) -> Unit:
    return Unit(tuple(block for block in blocks if block))


def line_units(lines: Sequence[str]) -> list[Unit]:
    cut = [clip(line, PAGE_LINE_MAX) for line in lines]
    parts = (cut[start : start + LINES_TOGETHER] for start in range(0, len(cut), LINES_TOGETHER))
    return [unit(section("\n".join(part))) for part in parts]


def turns(command: str, number: int, last: int) -> Block | None:
    """The buttons of the pages before and after. `command`: the words after /racing."""
    labels = {number - 1: f"← Page {number - 1}", number + 1: f"Page {number + 1} of {last} →"}
    shown = [page for page in labels if 1 <= page <= last]
    return actions([command_button(labels[page], f"{command} page:{page}", in_place=True) for page in shown])


def _cost(blocks: Blocks) -> int:
    return weight(blocks) + BUTTON * sum("accessory" in block for block in blocks)
