"""Tables of horses or races, as spreadsheets and data frames write them (Spec gap G2)."""

import re
from collections.abc import Sequence
from typing import Any

from bot.events.reading.fields import LONGEST_NAME, MOST_FIELDS, NAMES_OF, fold
from bot.events.reading.json_values import text
from bot.events.reading.record_objects import MOST_ENTRIES

_HEADER = re.compile("column|header|field")
"""Begins the name of a list of columns."""


def _names_in(*sections: str) -> frozenset[str]:
    return frozenset(name for fact in NAMES_OF if fact.startswith(sections) for name in NAMES_OF[fact])


_HORSES = frozenset(NAMES_OF["runner.horse"])
_LABELS = _names_in("ids.", "race.", "course.name", "off.", "runner.")
_COLUMNS = _LABELS | _names_in("place.", "marks.")


def without_table(value: Any) -> Any:
    """A table as a list of objects; None if no column has a known name, because the name of a column is no horse.

    A table is {"columns": ["horse", "position"], "rows": [["A", 1]]}, [["horse", "position"], ["A", 1]] or
    {"horse": ["A"], "position": [1]}.
    """
    header, rows = _table_in(value) if isinstance(value, dict | list) else ((), ())
    if not _are_columns(header):
        return None if header and isinstance(value, dict) else value
    names = [text(one) or "" for one in header[:MOST_FIELDS]]
    return [dict(zip(names, row, strict=False)) if isinstance(row, list) else row for row in rows[:MOST_ENTRIES]]


def _table_in(value: dict[str, Any] | list[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The names of the columns, and the rows."""
    if isinstance(value, list):
        return (value[0], value[1:]) if len(value) > 1 and all(isinstance(row, list) for row in value) else ((), ())
    lists = {name: one for name, one in value.items() if isinstance(one, list) and one}
    if lists and len(lists) == len(value) and _are_columns([*lists]) and len({*map(len, lists.values())}) == 1:
        return [*lists], [*map(list, zip(*(one[:MOST_ENTRIES] for one in lists.values()), strict=True))]
    headers = (one for name, one in lists.items() if _HEADER.match(fold(name[:LONGEST_NAME])) or _are_columns(one))
    header: Sequence[Any] = next(headers, ())
    rows = (one for one in lists.values() if one is not header and isinstance(one[0], list | dict))
    return header, next(rows, ())


def _are_columns(header: Sequence[Any]) -> bool:
    told = {fold(name[:LONGEST_NAME]) for one in header[:MOST_FIELDS] if (name := text(one))} & _COLUMNS
    return not told.isdisjoint(_LABELS if len(told) > 1 else _HORSES) and (len(told) > 1 or len(header) == 1)
