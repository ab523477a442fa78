"""The alerting rules, as Prometheus' own tool reads them, and all that belongs to a rule."""

import re

import pytest
import yaml

from bot.operations.metrics import Metrics
from bot.slack.web_client import METHODS
from tests.promtool import ROOT, RULES, needs_promtool, rules, run_promtool
from tests.unit.test_completeness import settings

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
