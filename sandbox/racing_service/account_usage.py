"""The account's requests, errors and refusals by day and endpoint."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from sandbox.racing_service.switches import Switches

By = Literal["endpoint", "day"]


@dataclass(slots=True)
class Tally:
    """`requests` are the requests that the quota paid for."""

    requests: int = 0
    errors: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        self.requests += other.requests
        self.errors += other.errors
        self.refusals.update(other.refusals)


@dataclass(slots=True)
class UsageBook:
    """The account's counts. A rotated key changes nothing here."""

    tallies: dict[tuple[date, str], Tally] = field(default_factory=dict)

    def of(self, day: date, endpoint: str) -> Tally:
        return self.tallies.setdefault((day, endpoint), Tally())

    def set_month_total(self, day: date, total: int) -> None:
        """Sets the month's requests, all of them on that day."""
        for (counted_on, _), tally in self.tallies.items():
            if (counted_on.year, counted_on.month) == (day.year, day.month):
                tally.requests = 0
        self.of(day, "/races/search").requests = total

    def grouped(self, by: By) -> dict[str, Tally]:
        """Sums by day or by endpoint, sorted."""
        groups: dict[str, Tally] = {}
        for (day, endpoint), tally in sorted(self.tallies.items()):
            groups.setdefault(endpoint if by == "endpoint" else day.isoformat(), Tally()).add(tally)
        return dict(sorted(groups.items()))

    def in_month(self, month: str) -> "UsageBook":
        """`month` is such as "2025-11"."""
        return UsageBook({key: tally for key, tally in self.tallies.items() if key[0].isoformat().startswith(month)})


def usage_data(book: UsageBook, by: By, switches: Switches, *, month: str, used: int, limit: int) -> Any:
    """Spec gap G5: names, period and shape are switched."""
    groups = book.in_month(month).grouped(by)
    if switches.usage == "rows":
        return [_row(by if by == "endpoint" else "date", name, tally) for name, tally in groups.items()]
    rows = [_row(by, name, tally) | {"refusals": dict(tally.refusals)} for name, tally in groups.items()]
    return {"period": month, "used": used, "limit": limit, f"by_{by}": rows}


def _row(label: str, name: str, tally: Tally) -> dict[str, Any]:
    return {label: name, "requests": tally.requests, "errors": tally.errors, "refusals": tally.refusals.total()}
