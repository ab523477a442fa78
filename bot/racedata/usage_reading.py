"""`/account/usage` read from any plausible shape: names and period are not shown (Spec gap G5)."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
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
    """`whole`: the figures beside the rows, labelled by their month if the answer names one."""

    rows: tuple[UsageRow, ...] = ()
    whole: UsageRow = UsageRow(label="")

    def in_month(self, month: str, *, until: str = LAST) -> UsageRow | None:
        """The sums of a month's dated rows, up to a day. A sum without all figures is None."""
        dated = [row for row in self.rows if _month_of(row.label)]
        rows = [row for row in dated if _month_of(row.label) == month and row.label <= until]
        if not dated:
            return None
        return UsageRow(
            label=month,
            requests=_whole_sum(row.requests for row in rows),
            errors=_whole_sum(row.errors for row in rows),
            refusals=_whole_sum(row.refusals for row in rows),
            refusal_kinds=_most_first(chain.from_iterable(row.refusal_kinds for row in rows)),
        )

    def used_in(self, month: str) -> int | None:
        """None if the answer does not tell the month's requests (Spec gap G5)."""
        dated = self.in_month(month)
        whole = self.whole.requests if self.whole.label == month else None
        return whole if dated is None or dated.requests is None else dated.requests

    def counted(self, month: str) -> Counted | None:
        dated = self.in_month(month)
        if dated is not None and dated.requests is not None:
            since = min((row.label for row in self.rows if _month_of(row.label) == month), default=None)
            return Counted(requests=dated.requests, since=since)
        return None if self.whole.requests is None else Counted(requests=self.whole.requests)


def read_usage(data: Any) -> Usage:
    objects = _objects(data)
    label = find(objects, PERIOD_NAMES, _read_month) or ""
    return Usage(rows=tuple(_rows(data, MAX_NESTING)), whole=_figures(label, objects, TOTAL_NAMES))


def _figures(label: str, objects: list[Fields], request_names: Collection[str]) -> UsageRow:
    errors, refusals = (find(objects, names, _by_kind) for names in (ERROR_NAMES, REFUSAL_NAMES))
    return UsageRow(
        label=label,
        requests=find(objects, request_names, _count),
        errors=None if errors is None else sum(errors.values()),
        refusals=None if refusals is None else sum(refusals.values()),
        refusal_kinds=_most_first((refusals or {}).items()),
    )


def _rows(data: Any, nesting: int) -> Iterator[UsageRow]:
    if isinstance(data, list):
        yield from filter(None, (_row(item) for item in data))
    elif isinstance(data, Mapping) and nesting:
        keyed = [row for name, item in data.items() if (row := _keyed_row(str(name), item))]
        nested = (list(_rows(item, nesting - 1)) for item in data.values() if isinstance(item, list | Mapping))
        yield from keyed or next(filter(None, nested), [])


def _row(item: Any, label: str | None = None) -> UsageRow | None:
    objects = [fields_of(item)] if isinstance(item, Mapping) else []
    label = label or find(objects, DAY_NAMES, _read_label) or find(objects, ENDPOINT_NAMES, text) or ""
    row = _figures(label, objects, REQUEST_NAMES)
    has_figure = (row.requests, row.errors, row.refusals) != (None, None, None)
    return row if label and has_figure else None


def _keyed_row(name: str, item: Any) -> UsageRow | None:
    """{"2026-11-20": 12}, or {"/races/search": {"requests": 12}}."""
    label = _read_label(name) or (name if name.startswith("/") else None)
    if label is None:
        return None
    requests = _count(item)
    return _row(item, label) if requests is None else UsageRow(label=label, requests=requests)


def _objects(data: Any) -> list[Fields]:
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


def _by_kind(value: Any) -> Counter[str] | None:
    """{"rate_limited": 2}, [{"code": "rate_limited", "count": 2}], ["rate_limited"], or a number, of the kind "".

    An item of a list is one, unless the item has a count.
    """
    if isinstance(value, Mapping):
        counts = [(text(str(name)), fold(str(name)), _count(item)) for name, item in value.items()]
        named = {kind: count for kind, name, count in counts if kind and count is not None and name not in COUNT_NAMES}
        return Counter(named or {"": sum(count or 0 for _, _, count in counts)})
    if isinstance(value, list):
        found: Counter[str] = Counter()
        for item in value:
            fields = [fields_of(item)] if isinstance(item, Mapping) else []
            kind = text(item) if isinstance(item, str) else find(fields, KIND_NAMES, text)
            count = find(fields, COUNT_NAMES, _count)
            if kind:
                found[kind] += 1 if count is None else count
        return found or Counter({"": len(value)})
    count = _count(value)
    return None if count is None else Counter({"": count})


def _most_first(kinds: Iterable[tuple[str, int]]) -> Kinds:
    counts: Counter[str] = Counter()
    for kind, count in kinds:
        counts[kind] += count
    return tuple((kind, count) for kind, count in counts.most_common() if kind and count)


def _whole_sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total
