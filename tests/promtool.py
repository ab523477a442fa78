"""Prometheus' promtool tests alerting rules. Where it is, and other programs: the machine's, else Debian's."""

import json
import math
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

ROOT = Path(__file__).parents[1]
RULES = ROOT / "docs" / "operations" / "alerts.yml"


def program(name: str) -> str | None:
    """Debian's are unpacked by `.ci/programs`."""
    unpacked = ROOT / ".tool/programs/usr/bin"
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", os.defpath), str(unpacked))))


PROMTOOL = program("promtool")

needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is absent: `.ci/programs` unpacks Debian's")

WELL_MIN = 32
"""Minutes in which the bot is well: longer than any range of the rules."""

BROKEN_MIN = 45
"""Minutes in which the bot is broken: longer than any rule waits."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scrape:
    """The values of a scrape at a moment. A failed scrape has no values."""

    at_s: float
    values: Mapping[tuple[str, Labels], float] = field(default_factory=dict)
    counters: frozenset[str] = frozenset()

    @classmethod
    def of(cls, registry: CollectorRegistry, at_s: float = 0.0) -> "Scrape":
        values, counters = {}, set()
        for family in registry.collect():
            for sample in family.samples:
                values[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
                if family.type in {"counter", "histogram"}:
                    counters.add(sample.name)
        return cls(at_s, values, frozenset(counters))

    def value(self, name: str, **labels: str) -> float:
        return self.values[name, tuple(sorted(labels.items()))]


def run_promtool(*arguments: str | Path, given: str = "") -> None:
    """Run promtool. Raises AssertionError with promtool's words where promtool finds a fault."""
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *map(str, arguments)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def check_firing(folder: Path, cases: Mapping[str, tuple[Scrape, Scrape, Iterable[str]]]) -> None:
    """Have promtool find no rule firing on a case's first scrape, and exactly the expected rules after the second.

    A state lasts: gauges stay, ages stay, and counters grow in each minute as between the two scrapes.
    """
    tests = [_case(name, *case) for name, case in cases.items()]
    path = folder / "test.yml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}), "utf-8")
    run_promtool("test", "rules", path)


def _case(name: str, well: Scrape, broken: Scrape, expected: Iterable[str]) -> dict[str, Any]:
    expressions = " ".join(str(rule["expr"]) for rule in rules())
    series = [
        {"series": _name(name, labels), "values": _values(name, labels, well, broken)}
        for name, labels in sorted(well.values.keys() | broken.values.keys())
        if name in expressions and not _is_still(name, labels, well, broken)
    ]
    up = {"series": _name("up", ()), "values": f"1+0x{WELL_MIN} {1 if broken.values else 0}+0x{BROKEN_MIN}"}
    firing_now = 'max by (alertname) (ALERTS{alertstate="firing"})'
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(expected)]
    return {
        "name": name,
        "interval": "1m",
        "input_series": [*series, up],
        "promql_expr_test": [
            {"expr": firing_now, "eval_time": f"{WELL_MIN}m", "exp_samples": []},
            {"expr": firing_now, "eval_time": f"{WELL_MIN + BROKEN_MIN - 1}m", "exp_samples": samples},
        ],
    }


@cache
def rules() -> Sequence[Mapping[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _is_still(name: str, labels: Labels, well: Scrape, broken: Scrape) -> bool:
    """Whether a counter counted nothing between the scrapes: the counter adds nothing to any rate."""
    return name.endswith("_total") and well.values.get((name, labels)) == broken.values.get((name, labels))


def _name(name: str, labels: Labels) -> str:
    shown = ", ".join(f'{key}="{value}"' for key, value in (*labels, ("job", "racing-bot"), ("instance", "bot:3000")))
    return f"{name}{{{shown}}}"


def _values(name: str, labels: Labels, well: Scrape, broken: Scrape) -> str:
    before, after = well.values.get((name, labels)), broken.values.get((name, labels))
    if name in well.counters | broken.counters and before is not None and after is not None:
        return f"{_lasting(before, WELL_MIN)} {after}+{after - before}x{BROKEN_MIN}"
    if name.endswith("_timestamp_seconds"):
        before = None if before is None else before - well.at_s
        after = None if after is None else after - broken.at_s + (WELL_MIN + 1) * 60
        return f"{_ageing(before, WELL_MIN)} {_ageing(after, BROKEN_MIN)}"
    return f"{_lasting(before, WELL_MIN)} {_lasting(after, BROKEN_MIN)}"


def _lasting(value: float | None, minutes: int) -> str:
    if value is None or math.isnan(value):
        return f"_x{minutes}"
    return f"{value}+0x{minutes}"


def _ageing(value: float | None, minutes: int) -> str:
    return f"_x{minutes}" if value is None else f"{value}+60x{minutes}"
