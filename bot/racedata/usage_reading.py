"""`/account/usage` read from any plausible shape: its names and its period are not shown (Spec gap G5).

Understood are rows in a list or in an object by day or endpoint, at the top or within it, and totals beside them.
What can't be read is absent.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.events.races import Value
from bot.events.reading.json_values import Fields, fields_of, find, fold, identifier, text
from bot.events.reading.off_times import read_date
from bot.racedata.month_quota import Kinds, UsageRow

REQUESTS = ("requests", "requestcount", "calls", "used", "total", "count", "hits")
TOTALS = ("used", "total", "requests", "totalrequests", "requestsused", "usedrequests", "requestcount", "calls")
ERRORS = ("errors", "errorcount", "totalerrors", "failed", "failures")
REFUSALS = ("refusals", "refused", "refusalcount", "totalrefusals", "rejected", "rejections", "denied")
DAYS = ("date", "day", "on", "period", "month")
ENDPOINTS = ("endpoint", "path", "route", "resource", "name", "key", "group")
PERIODS = ("period", "month")
KINDS = ("code", "kind", "type", "reason", "error", "name")
COUNTS = ("count", "refusals", "requests", "total", "number", "times")

DEEPEST = 3
_MONTH = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")


class Usage(Value):
    """What was read. `total`, `errors` and `refusals` are sums of an unknown period, or of `period` if it is named."""

    rows: tuple[UsageRow, ...] = ()
    total: int | None = None
    period: str | None = None
    errors: int | None = None
    refusals: int | None = None
    refusal_kinds: Kinds = ()

    def in_month(self, month: str) -> UsageRow | None:
        """The sums of the rows dated in a month, None for a sum that lacks a row's figure; None if no row is dated."""
        dated = [row for row in self.rows if _month_of(row.label)]
        rows = [row for row in dated if _month_of(row.label) == month]
        if not dated:
            return None
        return UsageRow(
            label=month,
            requests=_whole_sum([row.requests for row in rows]),
            errors=_whole_sum([row.errors for row in rows]),
            refusals=_whole_sum([row.refusals for row in rows]),
            refusal_kinds=_together(row.refusal_kinds for row in rows),
        )


def read_usage(data: Any) -> Usage:
    """The usage of an answer's `data`."""
    rows = tuple(_rows(data, DEEPEST))
    objects = _totals(data)
    return Usage(
        rows=rows,
        total=find(objects, TOTALS, _count),
        period=find(objects, PERIODS, _read_month),
        errors=find(objects, ERRORS, _sum),
        refusals=find(objects, REFUSALS, _refusals),
        refusal_kinds=find(objects, REFUSALS, _kinds) or (),
    )


def _rows(data: Any, deepest: int) -> Iterator[UsageRow]:
    """The rows of the first list or keyed object that has some."""
    if isinstance(data, list):
        yield from filter(None, (_row(item) for item in data))
    elif isinstance(data, Mapping) and deepest:
        keyed = [row for name, item in data.items() if (row := _keyed_row(str(name), item))]
        nested = (list(_rows(item, deepest - 1)) for item in data.values() if isinstance(item, list | Mapping))
        yield from keyed or next(filter(None, nested), [])


def _row(item: Any, label: str | None = None) -> UsageRow | None:
    """A row, if it says of what it is and has a figure."""
    fields = [fields_of(item)] if isinstance(item, Mapping) else []
    label = label or find(fields, DAYS, _read_label) or find(fields, ENDPOINTS, text)
    row = UsageRow(
        label=label or "",
        requests=find(fields, REQUESTS, _count),
        errors=find(fields, ERRORS, _sum),
        refusals=find(fields, REFUSALS, _refusals),
        refusal_kinds=find(fields, REFUSALS, _kinds) or (),
    )
    has_figure = (row.requests, row.errors, row.refusals) != (None, None, None)
    return row if label and has_figure else None


def _keyed_row(name: str, item: Any) -> UsageRow | None:
    """A row of an object whose keys are days or paths: {"2026-11-20": 12}, {"/races/search": {"requests": 12}}."""
    label = _read_label(name) or (name if name.startswith("/") else None)
    if label is None:
        return None
    requests = _count(item)
    return _row(item, label) if requests is None else UsageRow(label=label, requests=requests)


def _totals(data: Any) -> list[Fields]:
    """The objects that may hold totals: the top, then those right below it that are no rows."""
    if not isinstance(data, Mapping):
        return []
    below = [item for name, item in data.items() if isinstance(item, Mapping) and not _keyed_row(str(name), item)]
    return [fields_of(item) for item in (data, *below)]


def _read_label(value: Any) -> str | None:
    """A day as "2026-11-20", or a month as "2026-11"."""
    return read_date(value) or _read_month(value)


def _read_month(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and _MONTH.fullmatch(value.strip()) else None


def _month_of(label: str) -> str | None:
    return label[:7] if _read_label(label) else None


def _count(value: Any) -> int | None:
    """A whole number that is not negative, by figure or by text."""
    digits = (identifier(value) or "").replace(",", "")
    return int(digits) if re.fullmatch("[0-9]{1,15}", digits) else None


def _sum(value: Any) -> int | None:
    """A figure; or the sum of those in an object by kind; or the length of a list."""
    if isinstance(value, Mapping):
        return _whole_sum([_count(item) for item in value.values()])
    return len(value) if isinstance(value, list) else _count(value)


def _refusals(value: Any) -> int | None:
    """All refusals together: the sum by kind where kinds came, else the figure."""
    kinds = _kinds(value)
    return sum(count for _, count in kinds) if kinds else _sum(value)


def _kinds(value: Any) -> Kinds | None:
    """Refusals by kind: of an object by kind, or of a list with a kind for each item. None without any kind."""
    if isinstance(value, Mapping):
        named = [(text(str(name)), _count(item)) for name, item in value.items() if fold(str(name)) not in COUNTS]
        return _together([tuple((kind, count) for kind, count in named if kind and count is not None)]) or None
    if isinstance(value, list):
        return _together([tuple(kind for kind in map(_kind, value) if kind)]) or None
    return None


def _kind(item: Any) -> tuple[str, int] | None:
    """The kind of one item of a list, with its count: an item without a count is one refusal."""
    if isinstance(item, str):
        return (kind, 1) if (kind := text(item)) else None
    if not isinstance(item, Mapping):
        return None
    fields = [fields_of(item)]
    kind, count = find(fields, KINDS, text), find(fields, COUNTS, _count)
    return (kind, 1 if count is None else count) if kind else None


def _together(kinds: Iterable[Kinds]) -> Kinds:
    """The counts of each kind added up, the most frequent kind first."""
    counts: Counter[str] = Counter()
    for some in kinds:
        for kind, count in some:
            counts[kind] += count
    return tuple((kind, count) for kind, count in counts.most_common() if count)


def _whole_sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
