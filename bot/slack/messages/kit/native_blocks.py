"""Slack's native table, chart and container; slack_sdk has no class for any of them.

Some workspaces refuse native blocks, so each message has a form in sections too (`message` of `layout.py`).
"""

from collections.abc import Mapping, Sequence

from bot.outbox.message import Block
from bot.slack.messages.kit.text import clip, flatten, is_as_it_is, size

DATA_TABLE = "data_table"
DATA_VISUALIZATION = "data_visualization"
CONTAINER = "container"
NATIVE = frozenset({DATA_TABLE, DATA_VISUALIZATION})
"""Blocks that count with all their words. A container counts with its title and its blocks."""

TABLE_ROWS_MAX = 101
TABLE_MAX = 8_000
"""Limits of a table: rows with the header, characters in all cells (Slack takes 10,000).

https://docs.slack.dev/reference/block-kit/blocks/data-table-block
"""

ROWS_PER_PAGE = 20
"""Rows on a table's page: most fields fit. Slack allows 1 to 100."""

CATEGORIES_MAX = 20
"""https://docs.slack.dev/reference/block-kit/blocks/data-visualization-block"""

CONTAINER_TITLE_MAX = 150
CONTAINER_BLOCKS_MAX = 10
"""https://docs.slack.dev/reference/block-kit/blocks/container-block"""

NOTHING_CAME = "\N{EN DASH}"
"""Slack refuses empty cells."""

CELL_MAX = 60


def cell(value: str | None) -> str:
    """A raw cell needs no escaping."""
    if value and is_as_it_is(value, CELL_MAX):
        return value
    return clip(flatten(value or "", CELL_MAX), CELL_MAX) or NOTHING_CAME


def data_table(caption: str, columns: Mapping[str, Sequence[str]], row_header: str, room: int) -> Block | None:
    """None without room for a row below the header.

    `columns`: equally long lists of cells; empty columns are left out. `row_header`: the column that names a row, for
    screen readers.
    """
    shown = {title: cells for title, cells in columns.items() if set(cells) - {NOTHING_CAME}}
    header = list(shown)
    rows: list[Sequence[str]] = []
    left = min(room, TABLE_MAX) - size(caption)
    for row in (header, *zip(*shown.values(), strict=True)):
        left -= sum(map(size, row))
        if left < 0 or len(rows) == TABLE_ROWS_MAX:
            break
        rows.append(row)
    if len(rows) < 2:
        return None
    return {
        "type": DATA_TABLE,
        "caption": caption,
        "page_size": ROWS_PER_PAGE,
        "row_header_column_index": header.index(row_header) if row_header in header else 0,
        "rows": [[{"type": "raw_text", "text": text} for text in row] for row in rows],
    }


def line_chart(title: str, x_label: str, categories: Sequence[str], series: Mapping[str, Sequence[int]]) -> Block:
    """`categories`: at most CATEGORIES_MAX. `series`: as many values each."""
    lines = [
        {"name": name, "data": [{"label": at, "value": value} for at, value in zip(categories, values, strict=True)]}
        for name, values in series.items()
    ]
    axes = {"categories": list(categories), "x_label": x_label}
    return {
        "type": DATA_VISUALIZATION,
        "title": title,
        "chart": {"type": "line", "series": lines, "axis_config": axes},
    }


def collapsed(title: str, blocks: Sequence[Block]) -> Block:
    """Shows the title alone, without bold; a click shows the blocks. Slack takes no native table inside.

    https://docs.slack.dev/reference/block-kit/blocks/container-block
    """
    return {
        "type": CONTAINER,
        # Data has no asterisks left (see `escape`).
        "title": {"type": "plain_text", "text": clip(title.replace("*", ""), CONTAINER_TITLE_MAX), "emoji": False},
        "is_collapsible": True,
        "default_collapsed": True,
        "child_blocks": list(blocks[:CONTAINER_BLOCKS_MAX]),
    }
