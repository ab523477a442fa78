"""`/account/usage` in one plain shape: rows by day or endpoint, or an object with such rows and the sums of a month.

Names and period are not shown (Spec gap G5). Another shape gives no figure, and admins are told.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from bot.events.races import Value
from bot.events.reading.json_values import text
from bot.events.reading.off_times import read_date
from bot.racedata.month_quota import Counted, Kinds, UsageRow, read_month

DAY_NAMES = ("date", "day", "period", "month")
ENDPOINT_NAMES = ("endpoint", "path")
SUM_NAMES = ("used", "total", "requests")
LAST_DAY = "9999-12-31"
LARGEST_COUNT = 10**15


class Usage(Value):
    """`whole`: the figures beside the rows, labelled by their month if the answer names one."""

    rows: tuple[UsageRow, ...] = ()
    whole: UsageRow = UsageRow(label="")

    @property
    def has_requests(self) -> bool:
        return any(row.requests is not None for row in (*self.rows, self.whole))

    def in_month(self, month: str, *, until: str = LAST_DAY) -> UsageRow | None:
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
    sums = data if isinstance(data, Mapping) else {"rows": data}
    lists = [value for value in sums.values() if isinstance(value, list)]
    rows = [_row(item) for item in (lists[0] if len(lists) == 1 else ()) if isinstance(item, Mapping)]
    month = next(filter(None, (read_month(sums.get(name)) for name in DAY_NAMES)), "")
    return Usage(rows=tuple(row for row in rows if row), whole=_figures(month, sums, SUM_NAMES))


def _row(fields: Mapping[str, Any]) -> UsageRow | None:
    days = (read_date(fields.get(name)) or read_month(fields.get(name)) for name in DAY_NAMES)
    label = next(filter(None, chain(days, (text(fields.get(name)) for name in ENDPOINT_NAMES))), None)
    row = _figures(label or "", fields, ("requests",))
    has_figure = (row.requests, row.errors, row.refusals) != (None, None, None)
    return row if label and has_figure else None


def _figures(label: str, fields: Mapping[str, Any], names: Sequence[str]) -> UsageRow:
    """`refusals` are a number, or numbers by kind."""
    refusals, kinds = fields.get("refusals"), []
    if isinstance(refusals, Mapping):
        counts = [(text(str(kind)), _count(count)) for kind, count in refusals.items()]
        kinds = [(kind, count) for kind, count in counts if kind and count is not None]
        refusals = sum(count for _, count in kinds)
    return UsageRow(
        label=label,
        requests=next((count for count in (_count(fields.get(name)) for name in names) if count is not None), None),
        errors=_count(fields.get("errors")),
        refusals=_count(refusals),
        refusal_kinds=_most_first(kinds),
    )


def _month_of(label: str) -> str | None:
    return read_month(label[:7]) if label else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < LARGEST_COUNT else None


def _most_first(kinds: Iterable[tuple[str, int]]) -> Kinds:
    counts: Counter[str] = Counter()
    for kind, count in kinds:
        counts[kind] += count
    return tuple((kind, count) for kind, count in counts.most_common() if count)


def _whole_sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
