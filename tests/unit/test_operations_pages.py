"""The alerting rules and the dashboard, as Prometheus' own tool reads them, against the metrics that the bot has."""

import json
import re

import pytest
import yaml

from bot.operations.metrics import METRIC_PREFIX, Metrics
from bot.slack.web_client import METHODS
from tests.promtool import ROOT, RULES, needs_promtool, rules, run_promtool
from tests.unit.pages import settings

OPERATIONS = ROOT / "docs" / "operations"
CASES = OPERATIONS / "alerts_test.yml"
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]


def names_of_samples():
    """The name of each series that the bot has from its start on."""
    return {sample.name for family in Metrics(settings(), METHODS).registry.collect() for sample in family.samples}


def cases():
    """Alert and whether the case has it firing, for each case of alerts_test.yml."""
    tests = yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"]
    return [(one["alertname"], bool(one["exp_alerts"])) for test in tests for one in test["alert_rule_test"]]


@needs_promtool
def test_rules_are_what_prometheus_takes():
    run_promtool("check", "rules", RULES)


@needs_promtool
def test_rules_fire_and_are_silent_as_their_cases_say():
    run_promtool("test", "rules", CASES)


def test_every_rule_has_a_case_of_firing_and_of_silence():
    found = cases()
    for rule in rules():
        assert {(rule["alert"], True), (rule["alert"], False)} <= set(found)


@pytest.mark.parametrize("alert", [str(rule["alert"]) for rule in rules()])
def test_every_rule_has_a_runbook_with_its_four_sections(alert):
    (rule,) = [rule for rule in rules() if rule["alert"] == alert]
    runbook = ROOT / rule["annotations"]["runbook"]
    assert runbook == OPERATIONS / "runbooks" / f"{alert}.md"
    title, *parts = re.split(r"^(?:# |## )", runbook.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert title.strip() == alert
    assert [part.split("\n", 1)[0] for part in parts] == SECTIONS
    assert all(part.split("\n", 1)[1].strip() for part in parts)
    assert rule["labels"]["severity"] in {"critical", "warning"}


def test_every_runbook_has_a_rule():
    assert {path.stem for path in (OPERATIONS / "runbooks").glob("*.md")} == {rule["alert"] for rule in rules()}


def test_rules_name_only_series_that_the_bot_has():
    named = {name for rule in rules() for name in re.findall(r"racing_bot_\w+", str(rule["expr"]))}
    assert named
    assert named <= names_of_samples()


def test_rules_name_only_labels_that_the_bot_has():
    values = {
        (name, value)
        for family in Metrics(settings(), METHODS).registry.collect()
        for sample in family.samples
        for name, value in sample.labels.items()
    }
    for rule in rules():
        for name, operator, text in re.findall(r'(\w+)(=~|=|!=)"([^"]*)"', str(rule["expr"])):
            wanted = set(text.split("|")) if operator == "=~" else {text}
            assert name == "job" or {(name, value) for value in wanted} <= values, rule["alert"]


# The dashboard's queries, against the metrics that the bot has


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
