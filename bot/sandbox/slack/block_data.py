"""Rules of the two blocks that came in 2026: data_table and data_visualization."""

from typing import Any

from bot.sandbox.slack.block_checks import (
    TEXT_LIMIT,
    Problems,
    counted,
    integer,
    is_number,
    objects,
    one_of,
    only,
    problem,
    string,
    text_of,
)
from bot.sandbox.slack.block_rich_text import rich_text

# docs.slack.dev/reference/block-kit/blocks/data-table-block. The page was later raised to 201 rows and 20,000
# characters; the stand-in keeps the older figures, because workspaces get changes at different times.
TABLE_ROWS = 101
TABLE_COLUMNS = 20
TABLE_CHARACTERS = 10_000
PAGE_SIZE = 100
# docs.slack.dev/reference/block-kit/blocks/data-visualization-block
TITLE_LIMIT = 50
LABEL_LIMIT = 20
SERIES = 6
CATEGORIES = 20


def data_table(block: dict[str, Any], path: str) -> Problems:
    """Messages about a data_table: a header row, then up to a hundred rows of the same length."""
    yield from only(block, path, "block_id", "caption", "rows", "page_size", "row_header_column_index")
    yield from string(block, "caption", path, TEXT_LIMIT, required=True)
    yield from integer(block, "page_size", path, 1, PAGE_SIZE)
    yield from integer(block, "row_header_column_index", path, 0, TABLE_COLUMNS - 1)
    yield from counted(block, "rows", path, 2, TABLE_ROWS)
    rows = objects(block, "rows")
    for index, row in enumerate(rows):
        yield from _row(row, f"{path}/rows/{index}", header=index == 0)
    if len({len(row) for row in rows if isinstance(row, list)}) > 1:
        yield problem("all rows must have the same number of cells", f"{path}/rows")
    if table_characters(block) > TABLE_CHARACTERS:
        yield problem(f"cells must have less than {TABLE_CHARACTERS + 1} characters together", f"{path}/rows")


def table_characters(block: dict[str, Any]) -> int:
    """The characters in a table's raw cells, which have a limit of their own."""
    rows = [row for row in objects(block, "rows") if isinstance(row, list)]
    texts = [cell.get("text") for row in rows for cell in row if isinstance(cell, dict)]
    return sum(len(text) for text in texts if isinstance(text, str))


def _row(row: Any, path: str, *, header: bool) -> Problems:
    if not isinstance(row, list) or not 1 <= len(row) <= TABLE_COLUMNS:
        yield problem(f"must be an array of 1 to {TABLE_COLUMNS} cells", path)
        return
    for index, cell in enumerate(row):
        yield from _cell(cell, f"{path}/{index}", header=header)


def _cell(cell: Any, path: str, *, header: bool) -> Problems:
    kind = cell.get("type") if isinstance(cell, dict) else None
    if kind == "raw_text":
        yield from only(cell, path, "text")
        yield from string(cell, "text", path, TABLE_CHARACTERS, required=True)
    elif kind == "raw_number":
        yield from only(cell, path, "text", "value")
        yield from string(cell, "text", path, TABLE_CHARACTERS)
        if not is_number(cell.get("value")):
            yield problem("must be a number", f"{path}/value")
    elif kind == "rich_text" and not header:
        yield from rich_text(cell, path)
    else:
        yield problem(f"unsupported cell type: {kind}", f"{path}/type")


def data_visualization(block: dict[str, Any], path: str) -> Problems:
    """Messages about a data_visualization: one pie, bar, area or line chart."""
    yield from only(block, path, "block_id", "title", "chart")
    yield from string(block, "title", path, TITLE_LIMIT, required=True)
    chart = block.get("chart")
    if not isinstance(chart, dict):
        yield problem("missing required field: chart", path)
        return
    below = f"{path}/chart"
    yield from one_of(chart, "type", below, {"pie", "bar", "area", "line"}, required=True)
    yield from _pie(chart, below) if chart.get("type") == "pie" else _axes_chart(chart, below)


def _pie(chart: dict[str, Any], path: str) -> Problems:
    yield from only(chart, path, "segments")
    yield from counted(chart, "segments", path, 1, SERIES)
    for index, segment in enumerate(objects(chart, "segments")):
        below = f"{path}/segments/{index}"
        yield from _point(segment, below)
        value = segment.get("value") if isinstance(segment, dict) else None
        if is_number(value) and value is not None and value <= 0:
            yield problem("must be greater than 0", f"{below}/value")


def _axes_chart(chart: dict[str, Any], path: str) -> Problems:
    yield from only(chart, path, "series", "axis_config")
    axis = chart.get("axis_config")
    if not isinstance(axis, dict):
        yield problem("missing required field: axis_config", path)
        return
    yield from _axis(axis, f"{path}/axis_config")
    yield from counted(chart, "series", path, 1, SERIES)
    for index, series in enumerate(objects(chart, "series")):
        yield from _series(series, f"{path}/series/{index}", objects(axis, "categories"))


def _axis(axis: dict[str, Any], path: str) -> Problems:
    yield from only(axis, path, "categories", "x_label", "y_label")
    yield from counted(axis, "categories", path, 1, CATEGORIES)
    for index, category in enumerate(objects(axis, "categories")):
        yield from text_of(category, f"{path}/categories/{index}", LABEL_LIMIT)
    yield from string(axis, "x_label", path, TITLE_LIMIT)
    yield from string(axis, "y_label", path, TITLE_LIMIT)


def _series(series: Any, path: str, categories: list[Any]) -> Problems:
    if not isinstance(series, dict):
        yield problem("must be an object", path)
        return
    yield from only(series, path, "name", "data")
    yield from string(series, "name", path, LABEL_LIMIT, required=True)
    yield from counted(series, "data", path, 1, CATEGORIES)
    data = objects(series, "data")
    for index, point in enumerate(data):
        yield from _point(point, f"{path}/data/{index}")
    if [point.get("label") for point in data if isinstance(point, dict)] != categories:
        yield problem("labels must match the categories", f"{path}/data")


def _point(point: Any, path: str) -> Problems:
    if not isinstance(point, dict):
        yield problem("must be an object", path)
        return
    yield from only(point, path, "label", "value")
    yield from string(point, "label", path, LABEL_LIMIT, required=True)
    if not is_number(point.get("value")):
        yield problem("must be a number", f"{path}/value")
