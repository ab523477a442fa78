"""The dashboard's queries, against the metrics that the bot has."""

import json
import re

import yaml

from bot.operations.metrics import METRIC_PREFIX, Metrics
from bot.slack.web_client import METHODS
from tests.promtool import ROOT, needs_promtool, run_promtool
from tests.unit.test_completeness import settings

DASHBOARD = ROOT / "docs" / "operations" / "dashboard.json"
OLDER = f"{METRIC_PREFIX}waiting"
"""Kept for deployments; the dashboard shows the same by state."""


def panels():
    found = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def queries():
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def samples():
    return [sample for family in Metrics(settings(), METHODS).registry.collect() for sample in family.samples]


def labels_of():
    """The labels of each series by its name."""
    found: dict[str, set[str]] = {}
    for sample in samples():
        found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_queries_name_only_series_and_labels_that_the_bot_has():
    known = labels_of()
    for query in queries():
        for name, matchers in re.findall(r"\b([a-z_]+)\{([^}]*)\}", query):
            wanted = set(re.findall(r"(\w+)(?:=~|!=|=)", matchers)) - {"job"}
            assert name == "up" or wanted <= known[name], query


def test_legends_and_groups_name_only_labels_of_the_query():
    known = labels_of()
    for panel in panels():
        for target in panel["targets"]:
            names = re.findall(r"\b([a-z_]+)\{", target["expr"])
            labels = {label for name in names for label in known.get(name, ())} | {"instance"}
            grouped = {one for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for one in group.split(", ")}
            assert grouped | set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels, panel["title"]


def test_every_metric_is_shown():
    shown = " ".join(queries())
    names = {
        sample.name for sample in samples() if sample.name.startswith(METRIC_PREFIX) and "_created" not in sample.name
    }
    assert {name for name in names if f"{name}{{" not in shown} == {OLDER}


def test_panels_have_a_title_of_their_own_and_a_place_of_their_own():
    found = panels()
    assert len({panel["title"] for panel in found}) == len({panel["id"] for panel in found}) == len(found)
    assert all(panel["description"] for panel in found)
    places = [panel["gridPos"] for panel in found]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


@needs_promtool
def test_queries_are_what_prometheus_takes(tmp_path):
    parsed = [query.replace("$__rate_interval", "5m") for query in queries()]
    recorded = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(parsed)]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}), encoding="utf-8")
    run_promtool("check", "rules", path)
