"""A measure, and the report of all measures: percentiles, ratios, targets, one table."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)
class Plan:
    """How long the measures take."""

    rounds: int = 5
    """Each server's turns. Turns alternate, so that a noisy machine is noisy for all."""
    round_s: float = 1.0
    steady_s: float = 60.0
    """At half of the closed loop's rate."""
    acks: int = 200
    alone: int = 20
    """A round's single deliveries, one after another."""
    delivery_s: float = 10.0
    """At a fixed rate, in all rounds together."""
    overload_s: float = 10.0
    deliveries: int = 20_000
    """Before memory is measured again."""
    history: int = 1_000_000
    """Past deliveries of the fuller database."""


FULL = Plan()
QUICK = Plan(2, 0.5, 5.0, acks=60, alone=10, delivery_s=3.0, overload_s=2.0, deliveries=2_000, history=100_000)


@dataclass(frozen=True)
class Target:
    """Met where the measured value compares so with `value`."""

    sign: str
    value: float

    def __str__(self) -> str:
        return f"{self.sign} {number(self.value)}"

    def is_met_by(self, value: float) -> bool:
        return value >= self.value if self.sign == "≥" else value <= self.value


AtLeast, AtMost = partial(Target, "≥"), partial(Target, "≤")
NONE = AtMost(0)


@dataclass(frozen=True)
class Measure:
    """One line of the report. `unit` is "ratio" where two values of this run were divided."""

    name: str
    value: float
    unit: str
    target: Target | None = None

    @property
    def verdict(self) -> str:
        """Whether the target is met; empty without a target. A failed measure meets no target."""
        if self.target is None:
            return ""
        return "met" if self.target.is_met_by(self.value) else "NOT MET"


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value at or above so many percent of the values; NaN without values."""
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the rounds' ratios: each round's two turns stood next to each other, and had the same noise."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True) if other]
    return statistics.median(ratios) if ratios else math.nan


def percentiles(name: str, seconds: Sequence[float], targets: Mapping[int, Target | None]) -> list[Measure]:
    """A line in milliseconds for each percentile."""
    return [
        Measure(f"{name}, p{percent}", percentile(seconds, percent) * 1000, "ms", target)
        for percent, target in targets.items()
    ]


def number(value: float) -> str:
    """A number with as many digits as say something: 12,345, 123, 12.3, 1.23."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.3g}"


def table(measures: Sequence[Measure]) -> str:
    """The report, a line for each measure."""
    rows = [("measure", "value", "unit", "target", "")]
    rows += [(each.name, number(each.value), each.unit, str(each.target or ""), each.verdict) for each in measures]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        f"{name:<{widths[0]}}  {value:>{widths[1]}} {unit:<{widths[2]}}  {target:>{widths[3]}}  {verdict}".rstrip()
        for name, value, unit, target, verdict in rows
    ]
    return "\n".join([lines[0], "-" * (sum(widths) + 7), *lines[1:]])
