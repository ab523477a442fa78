"""Messages made of parts: the only packer and pager, and the older forms of native blocks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from bot.outbox.message import Block, Message
from bot.slack.messages.kit.blocks import TEXT_OBJECT, actions, command_button, header, section, texts_of, weight
from bot.slack.messages.kit.marks import without_marks
from bot.slack.messages.kit.native_blocks import CONTAINER, NATIVE, collapsed
from bot.slack.messages.kit.text import BLOCKS_MAX, HEADER_MAX, MESSAGE_MAX, SECTION_MAX, TEXT_MAX, as_words, clip, size
from bot.slack.messages.kit.times import in_utc

LIST_LINE_MAX = 600
_MORE_ROOM = 40

LINES_TOGETHER = 8
PAGE_LINE_MAX = 370
"""LINES_TOGETHER lines of this size fit into a section."""

LISTED_TOGETHER = 4
"""Sections of lines on a page, about a screen."""

SCREEN = 2_400
"""The cost of units that fill the screen of a phone."""

FOR_TURNING = 700
"""Buttons, and the header with the page's number."""

BESIDE_UNITS = 2
"""Blocks: the header, and the buttons."""

PAGE_MARK_MAX = 30

Filling = Callable[[int], Sequence[Block | None]]
"""Makes blocks that take at most the room given."""


@dataclass(frozen=True)
class Either:
    """Parts that stay together on a page: `new` with native blocks, `old` for workspaces that refuse native blocks."""

    new: "Sequence[MessagePart]"
    old: "Sequence[MessagePart]"


MessagePart = Block | Filling | Either | None
"""None is left out. A Filling gets the room that all other parts leave."""


def message(text: str | None, parts: Iterable[MessagePart]) -> Message:
    """A message with every part whole, and with as many lines as fit. Native blocks get an older form.

    `text`: None for an answer, which rings nobody: the words of its headers and sections.
    """
    every = list(parts)
    newest, oldest = (_laid_out(every, is_new=is_new)[:BLOCKS_MAX] for is_new in (True, False))
    said = spoken(text or words_of(oldest))
    in_sections = Message(said, tuple(oldest))
    is_native = any(block["type"] in {*NATIVE, CONTAINER} for block in newest)
    return Message(said, tuple(newest), in_sections) if is_native else in_sections


def lines(words: Sequence[str], total: int | None = None) -> Filling:
    """As many of the lines as fit, and the number of further lines. `total`: all lines, if `words` has only some."""
    return partial(_line_sections, words, len(words) if total is None else total)


def sections(words: Sequence[str]) -> Filling:
    """A section for each of the words. Each has an equal share of the room."""
    return lambda room: [section(clip(one, room // len(words) - TEXT_OBJECT)) for one in words]


def fold(title: str, parts: Sequence[MessagePart]) -> Filling:
    """The parts behind a title; nothing without a part."""

    def made(room: int) -> Sequence[Block]:
        inner = _laid_out(parts, room - TEXT_OBJECT, is_new=True)
        return [collapsed(title, inner)] if inner else []

    return made


def section_of(words: Iterable[str], total: int, button: Block | None = None) -> Block:
    """One section with the first line, and with as many of the `total` lines as fit. `words` makes no further line."""
    (block,) = _line_sections(words, total, SECTION_MAX + 2 * TEXT_OBJECT)
    return section(block["text"]["text"], button) or block


def all_fit(words: Sequence[str], *beside: Block | None) -> bool:
    """True if every line fits into a message beside the blocks."""
    return sum(map(len, _packed(words, MESSAGE_MAX - weight(block for block in beside if block)))) == len(words)


def told(text: str, *buttons: Block) -> Message:
    """A text in markup, with its buttons."""
    return message(text, [section(text), actions(buttons)])


def sentence(words: str, named_ids: Iterable[str] = ()) -> Message:
    """See `as_words`."""
    return told(as_words(words, named_ids))


def listing(title: str, words: Sequence[str], *more: MessagePart) -> Message:
    return message(None, [section(title), lines(words), *more])


def paged(
    title: str,
    units: Sequence[Either],
    command: str,
    page: int,
    *,
    head: Sequence[Block | None] = (),
    foot: Block | None = None,
    most: int,
    room: int = MESSAGE_MAX,
) -> Message:
    """The page with this number, else the last page. A page button runs the command again.

    `title` is the header of each page, with the page's number. `command`: the words after /racing. `head` and `foot`
    stand on every page. A page has at most `most` blocks of units, of the cost `room`.
    """
    around = [block for block in (*head, foot) if block]
    left = min(room, MESSAGE_MAX - weight(around) - FOR_TURNING)
    pages = _split(units, min(most, BLOCKS_MAX - len(around) - BESIDE_UNITS), left)
    number = min(page, len(pages))
    named = f"{clip(title, HEADER_MAX - PAGE_MARK_MAX)}{page_mark(number, len(pages))}"
    turned = turns(command, number, len(pages))
    return message(None, [header(named), *head, *pages[number - 1], turned, foot])


def page_mark(number: int, last: int) -> str:
    return f" (page {number} of {last})" if last > 1 else ""


def turns(command: str, number: int, last: int) -> Block | None:
    """The buttons of the pages before and after. `command`: the words after /racing."""
    labels = {number - 1: f"← Page {number - 1}", number + 1: f"Page {number + 1} of {last} →"}
    shown = [page for page in labels if 1 <= page <= last]
    return actions([command_button(labels[page], f"{command} page:{page}", in_place=True) for page in shown])


def unit(*blocks: Block | None) -> Either:
    return Either(blocks, blocks)


def line_units(words: Sequence[str]) -> list[Either]:
    cut = [clip(line, PAGE_LINE_MAX) for line in words]
    parts = (cut[start : start + LINES_TOGETHER] for start in range(0, len(cut), LINES_TOGETHER))
    return [unit(section("\n".join(part))) for part in parts]


def words_of(blocks: Iterable[Block]) -> str:
    said = [text["text"] for block in blocks if block["type"] in {"header", "section"} for text in texts_of(block)]
    return "\n".join(said)


def spoken(words: str) -> str:
    """For `text`, which lock screens show and screen readers read: without marks, and with moments in UTC."""
    return clip(in_utc(without_marks(words)), TEXT_MAX)


def _laid_out(parts: Sequence[MessagePart], room: int = MESSAGE_MAX, *, is_new: bool) -> list[Block]:
    forms = ((part.new if is_new else part.old) if isinstance(part, Either) else [part] for part in parts)
    chosen = [one for form in forms for one in form]
    has_filling = any(map(callable, chosen))
    left = room - weight(one for one in chosen if isinstance(one, dict)) if has_filling else 0
    made = [one(left) if callable(one) else [one] for one in chosen]
    return [block for blocks in made for block in blocks if isinstance(block, dict)]


def _line_sections(words: Iterable[str], total: int, room: int) -> list[Block]:
    sections = _packed(words, room)
    shown = sum(map(len, sections))
    if shown < total:
        sections[-1:] = [[*(sections[-1] if sections else []), f"and {total - shown} more"]]
    return [block for block in (section("\n".join(section_lines)) for section_lines in sections) if block]


def _packed(words: Iterable[str], room: int) -> list[list[str]]:
    sections: list[list[str]] = []
    space, room = 0, room - TEXT_OBJECT - _MORE_ROOM
    for line in words:
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


def _split(units: Iterable[Either], blocks: int, room: int) -> list[list[Either]]:
    """The pages, at least one. A unit larger than a page stands alone."""
    pages: list[list[Either]] = [[]]
    left, free = room, blocks
    for one in units:
        forms = [[block for block in form if isinstance(block, dict)] for form in (one.new, one.old)]
        cost, number = max(map(weight, forms)), max(map(len, forms))
        if pages[-1] and (cost > left or number > free):
            pages.append([])
            left, free = room, blocks
        pages[-1].append(one)
        left, free = left - cost, free - number
    return pages
