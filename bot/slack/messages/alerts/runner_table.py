"""Runners as a native table. Columns without data are left out."""

from collections.abc import Callable, Sequence

from bot.events.races import Runner
from bot.outbox.message import Block
from bot.slack.messages.kit.blocks import TEXT_OBJECT, section
from bot.slack.messages.kit.native_blocks import ROWS_PER_PAGE, TABLE_ROWS_MAX, cell, data_table

HORSE = "Horse"

RunnerColumns = dict[str, Callable[[Runner], str | None]]

RESULT_COLUMNS: RunnerColumns = {
    # As published: "2=", "PU".
    "Pos": lambda runner: runner.position,
    HORSE: lambda runner: runner.horse or (f"no. {runner.number}" if runner.number else None),
    # Before the names of people: a phone shows three columns.
    "SP": lambda runner: runner.starting_price,
    "Jockey": lambda runner: runner.jockey,
    "Trainer": lambda runner: runner.trainer,
    "Why": lambda runner: runner.position_reason,
}
FULL_RESULT_COLUMNS = RESULT_COLUMNS | {
    "No.": lambda runner: runner.number,
    "Draw": lambda runner: runner.draw,
    "OR": lambda runner: runner.official_rating,
    "Beaten": lambda runner: runner.beaten,
}

_FOR_THE_REST = TEXT_OBJECT + 40


def runners_table(
    caption: str,
    runners: Sequence[Runner],
    columns: RunnerColumns,
    room: int,
    rows_per_page: int = ROWS_PER_PAGE,
) -> list[Block | None]:
    listed = runners[: TABLE_ROWS_MAX - 1]
    cells = {title: [cell(value(runner)) for runner in listed] for title, value in columns.items()}
    made = data_table(caption, cells, HORSE, room - _FOR_THE_REST, rows_per_page)
    if made is None:
        return []
    table, shown = made
    return [table, section(f"and {len(runners) - shown} more" if shown < len(runners) else "")]
