"""All runners of a race: as a native table without empty columns, or as lines."""

from collections.abc import Callable, Iterator, Sequence

from bot.events.races import RESERVED, Race, Runner
from bot.outbox.message import Block
from bot.slack.messages.kit.blocks import TEXT_OBJECT, section
from bot.slack.messages.kit.names import SHORT_MAX, connections
from bot.slack.messages.kit.native_blocks import NOTHING_CAME, TABLE_ROWS_MAX, cell, data_table
from bot.slack.messages.kit.result_line import RaceField
from bot.slack.messages.kit.text import given, joined, safe

HORSE, PRICE = "Horse", "SP"

RunnerColumns = dict[str, Callable[[Runner], str | None]]


def _people(runner: Runner) -> str | None:
    """A trainer alone is no jockey."""
    jockey = runner.jockey or (NOTHING_CAME if runner.trainer else None)
    return joined([jockey, runner.trainer], " / ") or None


FULL_RESULT_COLUMNS: RunnerColumns = {
    # As published: "2=", "PU".
    "Pos": lambda runner: runner.position,
    "No.": lambda runner: runner.number,
    HORSE: lambda runner: runner.horse or (f"no. {runner.number}" if runner.number else None),
    PRICE: lambda runner: runner.starting_price,
    "Jockey / trainer": _people,
    # A phone shows only the columns above.
    "Why": lambda runner: runner.position_reason,
    "Beaten": lambda runner: runner.beaten,
    "Draw": lambda runner: runner.draw,
    "OR": lambda runner: runner.official_rating,
}

CARD_COLUMNS: RunnerColumns = {
    title: value for title, value in FULL_RESULT_COLUMNS.items() if title not in {"Pos", "Why"}
} | {HORSE: lambda runner: joined([FULL_RESULT_COLUMNS[HORSE](runner), "non-runner" if runner.is_out else None], ", ")}

_FOR_THE_REST = TEXT_OBJECT + 40


def runners_table(caption: str, runners: Sequence[Runner], result: Race | None, room: int) -> list[Block | None]:
    """`result`: of a race that was run, for the marks of favourites; None on a card."""
    listed, columns = runners[: TABLE_ROWS_MAX - 1], CARD_COLUMNS
    if result:
        field = RaceField(result)
        favourites = {PRICE: lambda runner: joined([runner.starting_price, field.mark(runner)], "")}
        columns = FULL_RESULT_COLUMNS | favourites
    cells = {title: [cell(value(runner)) for runner in listed] for title, value in columns.items()}
    table = data_table(caption, cells, HORSE, room - _FOR_THE_REST)
    if table is None:
        return []
    left = len(runners) - len(table["rows"]) + 1
    return [table, section(f"and {left} more" if left else None)]


def runner_lines(runners: Sequence[Runner], field: RaceField, *, on_card: bool = False) -> Iterator[str]:
    """For example "1  Desert Crown (R Moore / A O'Brien)  SP 5/2F · no. 4, draw 2, OR 121".

    `on_card`: by the number, with who does not run: "4  Desert Crown (R Moore)  SP 5/2 · draw 2, OR 121, non-runner".
    """
    for runner in runners:
        first, last = runner.position, runner.position_reason
        if on_card:
            first = runner.number
            last = "non-runner" if runner.is_out and runner.position != RESERVED else runner.position
        facts = (
            ("no. {}", runner.number if runner.horse and not on_card else None),
            ("draw {}", runner.draw),
            ("OR {}", runner.official_rating),
            ("beaten {}", None if on_card else runner.beaten),
            ("{}", last),
        )
        name = f"{field.horse(runner)}{connections(runner)}"
        line = joined([safe(first, SHORT_MAX), name, given("SP {}", field.price(runner))], "  ")
        yield joined([line, joined([given(words, safe(of, SHORT_MAX)) for words, of in facts if of], ", ")])
