"""`/account/usage` read from any plausible shape: names and period are not shown (Spec gap G5)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.events.races import Value
from bot.events.reading.fields import Fields, fields_of, find, fold
from bot.events.reading.json_values import identifier, text
from bot.events.reading.off_times import read_date
from bot.racedata.month_quota import Counted, Kinds, UsageRow

REQUEST_NAMES = ("requests", "requestcount", "calls", "used", "total", "count", "hits")
TOTAL_NAMES = ("used", "total", "requests", "totalrequests", "requestsused", "usedrequests", "requestcount", "calls")
ERROR_NAMES = ("errors", "errorcount", "totalerrors", "failed", "failures")
REFUSAL_NAMES = ("refusals", "refused", "refusalcount", "totalrefusals", "rejected", "rejections", "denied")
DAY_NAMES = ("date", "day", "on", "period", "month")
ENDPOINT_NAMES = ("endpoint", "path", "route", "resource", "name", "key", "group")
PERIOD_NAMES = ("period", "month")
KIND_NAMES = ("code", "kind", "type", "reason", "error", "name")
COUNT_NAMES = ("count", "refusals", "requests", "total", "number", "times")

MAX_NESTING = 3
LAST = "9999-12-31"
_MONTH = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")


class Usage(Value):
    rows: tuple[UsageRow, ...] = ()
    total: int | None = None
    period: str | None = None
    errors: int | None = None
    refusals: int | None = None
    refusal_kinds: Kinds = ()

    def in_month(self, month: str, *, until: str = LAST) -> UsageRow | None:
        """The sums of a month's dated rows, up to a day. A sum without all figures is None."""
        dated = [row for row in self.rows if _month_of(row.label)]
        rows = [row for row in dated if _month_of(row.label) == month and row.label <= until]
        if not dated:
            return None
        return UsageRow(
            label=month,
            requests=_whole_sum([row.requests for row in rows]),
            errors=_whole_sum([row.errors for row in rows]),
            refusals=_whole_sum([row.refusals for row in rows]),
            refusal_kinds=_together(row.refusal_kinds for row in rows),
        )

    def counted(self, month: str) -> Counted | None:
        dated = self.in_month(month)
        if dated is not None and dated.requests is not None:
            return Counted(requests=dated.requests, since=min(self._labels(month), default=None))
        return None if self.total is None else Counted(requests=self.total)

    def _labels(self, month: str) -> list[str]:
        return [row.label for row in self.rows if _month_of(row.label) == month]


def read_usage(data: Any) -> Usage:
    rows = tuple(_rows(data, MAX_NESTING))
    objects = _totals(data)
    return Usage(
        rows=rows,
        total=find(objects, TOTAL_NAMES, _count),
        period=find(objects, PERIOD_NAMES, _read_month),
        errors=find(objects, ERROR_NAMES, _sum),
        refusals=find(objects, REFUSAL_NAMES, _refusals),
        refusal_kinds=find(objects, REFUSAL_NAMES, _kinds) or (),
    )


def _rows(data: Any, nesting: int) -> Iterator[UsageRow]:
    if isinstance(data, list):
        yield from filter(None, (_row(item) for item in data))
    elif isinstance(data, Mapping) and nesting:
        keyed = [row for name, item in data.items() if (row := _keyed_row(str(name), item))]
        nested = (list(_rows(item, nesting - 1)) for item in data.values() if isinstance(item, list | Mapping))
        yield from keyed or next(filter(None, nested), [])


def _row(item: Any, label: str | None = None) -> UsageRow | None:
    fields = [fields_of(item)] if isinstance(item, Mapping) else []
    label = label or find(fields, DAY_NAMES, _read_label) or find(fields, ENDPOINT_NAMES, text)
    row = UsageRow(
        label=label or "",
        requests=find(fields, REQUEST_NAMES, _count),
        errors=find(fields, ERROR_NAMES, _sum),
        refusals=find(fields, REFUSAL_NAMES, _refusals),
        refusal_kinds=find(fields, REFUSAL_NAMES, _kinds) or (),
    )
    has_figure = (row.requests, row.errors, row.refusals) != (None, None, None)
    return row if label and has_figure else None


def _keyed_row(name: str, item: Any) -> UsageRow | None:
    """{"2026-11-20": 12}, or {"/races/search": {"requests": 12}}."""
    label = _read_label(name) or (name if name.startswith("/") else None)
    if label is None:
        return None
    requests = _count(item)
    return _row(item, label) if requests is None else UsageRow(label=label, requests=requests)


def _totals(data: Any) -> list[Fields]:
    if not isinstance(data, Mapping):
        return []
    below = [item for name, item in data.items() if isinstance(item, Mapping) and not _keyed_row(str(name), item)]
    return [fields_of(item) for item in (data, *below)]


def _read_label(value: Any) -> str | None:
    return read_date(value) or _read_month(value)


def _read_month(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and _MONTH.fullmatch(value.strip()) else None


def _month_of(label: str) -> str | None:
    return label[:7] if _read_label(label) else None


def _count(value: Any) -> int | None:
    digits = (identifier(value) or "").replace(",", "")
    return int(digits) if re.fullmatch("[0-9]{1,15}", digits) else None


def _sum(value: Any) -> int | None:
    if isinstance(value, Mapping):
        return _whole_sum([_count(item) for item in value.values()])
    return len(value) if isinstance(value, list) else _count(value)


def _refusals(value: Any) -> int | None:
    kinds = _kinds(value)
    return sum(count for _, count in kinds) if kinds else _sum(value)


def _kinds(value: Any) -> Kinds | None:
    if isinstance(value, Mapping):
        named = [(text(str(name)), _count(item)) for name, item in value.items() if fold(str(name)) not in COUNT_NAMES]
        return _together([tuple((kind, count) for kind, count in named if kind and count is not None)]) or None
    if isinstance(value, list):
        return _together([tuple(kind for kind in map(_kind, value) if kind)]) or None
    return None


def _kind(item: Any) -> tuple[str, int] | None:
    """The kind of an item with its count. An item without a count is one refusal."""
    if isinstance(item, str):
        return (kind, 1) if (kind := text(item)) else None
    if not isinstance(item, Mapping):
        return None
    fields = [fields_of(item)]
    kind, count = find(fields, KIND_NAMES, text), find(fields, COUNT_NAMES, _count)
    return (kind, 1 if count is None else count) if kind else None


def _together(kinds: Iterable[Kinds]) -> Kinds:
    counts: Counter[str] = Counter()
    for some in kinds:
        for kind, count in some:
            counts[kind] += count
    return tuple((kind, count) for kind, count in counts.most_common() if count)


def _whole_sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
