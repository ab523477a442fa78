"""The metrics, the alerting rules and the dashboard, against one another and as Prometheus' own tool reads them."""

import json
import re

import pytest
import yaml
from prometheus_client import generate_latest

from bot import errors
from bot.app import Service
from bot.errors import BodyCodingUnknown, BodyRefused, BodyUnreadable, SlackError, SlackMessageRefused, SlackRefused
from bot.events.event import EventKind
from bot.operations import metrics as declared
from bot.operations.metrics import METRIC_PREFIX, part_of
from bot.racedata.client import service_errors
from bot.racedata.client.service_errors import CircuitOpen, RateLimited, ServiceFailure, Spared, WalkBroken
from bot.slack.web_client import METHODS
from tests.promtool import RULES, needs_promtool, rules, run_promtool
from tests.rows import over
from tests.unit.pages import ROOT, code_in, production, rows, settings, text

UNIT = {"counter": "_total", "gauge": "", "histogram": ""}
OPERATIONS = ROOT / "docs" / "operations"
CASES = OPERATIONS / "alerts_test.yml"
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]


@pytest.fixture
def metrics():
    return Service(settings()).metrics


@pytest.fixture
def families(metrics):
    return [family for family in metrics.registry.collect() if family.name.startswith(METRIC_PREFIX)]


@pytest.fixture
def labels_of(metrics):
    """The values of each label of each series."""
    found: dict[str, dict[str, set[str]]] = {}
    for sample in (sample for family in metrics.registry.collect() for sample in family.samples):
        for name, value in [("", ""), *sample.labels.items()]:
            found.setdefault(sample.name, {}).setdefault(name, set()).add(value)
    return found


# Metrics


@needs_promtool
def test_names_and_help_are_as_prometheus_wants_them(metrics):
    # prometheus_client's own series of creation times are not ours to name.
    text = generate_latest(metrics.registry).decode()
    ours = [line for line in text.splitlines() if "_created" not in line]
    run_promtool("check", "metrics", given="\n".join(ours) + "\n")


def test_table_in_the_documentation_has_every_metric_with_type_and_labels(families):
    documented = {
        code_in(name)[0]: (kind, set(code_in(labels)))
        for name, kind, labels, _ in rows("docs/operations/README.md", "Metrics")
    }
    found = {}
    for family in families:
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        found[family.name + UNIT[family.type]] = (family.type, labels)
    assert documented == found
    assert sum(len(family.samples) for family in families) < 1_000


def test_values_are_counted_by_their_class_and_unknown_ones_under_other(metrics):
    for name in (*EventKind, "result.received\n", "made.up", None):
        metrics.count("webhook_events", name, "accepted")
    metrics.slack_call("reactions.add", None)
    metrics.slack_call("chat.postMessage", SlackMessageRefused("chat.postMessage", "msg_too_long"))
    metrics.service_request("races/rc_1", RateLimited("races/rc_1"))
    counted = [
        *(("webhook_events_total", {"event": kind, "outcome": "accepted"}, 1) for kind in EventKind),
        ("webhook_events_total", {"event": "other", "outcome": "accepted"}, 3),
        ("slack_calls_total", {"method": "other", "answer": "ok"}, 1),
        ("slack_calls_total", {"method": "chat.postMessage", "answer": "message_refused"}, 1),
        ("service_requests_total", {"endpoint": "other", "code": "rate_limited"}, 1),
    ]
    for name, labels, count in counted:
        assert metrics.registry.get_sample_value(f"{METRIC_PREFIX}{name}", labels) == count, (name, labels)


def test_every_class_of_answers_and_every_method_has_a_label():
    assert set(SlackError.__subclasses__()) == set(declared.SLACK_ANSWERS)
    assert SlackRefused in declared.SLACK_ANSWERS
    classes = {one for one in vars(service_errors).values() if isinstance(one, type)}
    never_sent = {CircuitOpen, Spared, WalkBroken, ServiceFailure}
    failures = {one for one in classes if issubclass(one, ServiceFailure)} - never_sent
    assert failures == set(declared.SERVICE_CODES)
    called = {method for path in production() for method in re.findall(r'\bcall\(\s*"(\w+\.[\w.]+)"', text(path))}
    assert called
    assert called <= set(METHODS)


@over(
    ("name", "part"),
    [
        ("fan-out", "fan_out"),
        ("socket mode", "socket_mode"),
        ("slack chat.postMessage", "slack"),
        ("data service quota_exceeded", "data_service"),
        ("job check_quota", "job"),
        ("a part that nobody knows", "other"),
    ],
)
def test_lines_of_readyz_are_counted_by_part(name, part):
    assert part_of(name) == part


def test_every_part_of_readyz_has_a_line_under_what_to_watch():
    signs = [code_in(sign) for sign, *_ in rows("docs/operations/README.md", "What to watch")]
    named = {part_of(name) for words in signs if words[:1] == ["degraded"] for name in words[1:]}
    assert named == {*declared.PARTS} - {declared.OTHER}


# Rules


@needs_promtool
def test_rules_are_what_prometheus_takes_and_fire_and_are_silent_as_their_cases_say():
    run_promtool("check", "rules", RULES)
    run_promtool("test", "rules", CASES)


def test_every_rule_has_a_case_of_firing_and_of_silence():
    tests = yaml.safe_load(CASES.read_text(encoding="utf-8"))["tests"]
    found = {(one["alertname"], bool(one["exp_alerts"])) for test in tests for one in test["alert_rule_test"]}
    assert {(rule["alert"], fires) for rule in rules() for fires in (True, False)} <= found


def test_every_rule_has_a_runbook_with_its_four_sections_and_every_runbook_a_rule():
    assert {path.stem for path in (OPERATIONS / "runbooks").glob("*.md")} == {rule["alert"] for rule in rules()}
    for rule in rules():
        runbook = ROOT / rule["annotations"]["runbook"]
        assert runbook == OPERATIONS / "runbooks" / f"{rule['alert']}.md"
        title, *parts = re.split(r"^(?:# |## )", runbook.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        assert title.strip() == rule["alert"]
        assert [part.split("\n", 1)[0] for part in parts] == SECTIONS
        assert all(part.split("\n", 1)[1].strip() for part in parts)
        assert rule["labels"]["severity"] in {"critical", "warning"}


# The dashboard


def panels():
    found = json.loads((OPERATIONS / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def queries():
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_rules_and_queries_name_only_series_labels_and_values_that_the_bot_has(labels_of):
    expressions = [str(rule["expr"]) for rule in rules()]
    named = {name for expression in expressions for name in re.findall(r"racing_bot_\w+", expression)}
    assert named
    assert named <= labels_of.keys()
    for expression in [*expressions, *queries()]:
        for name, matchers in re.findall(r"\b([a-z_]+)\{([^}]*)\}", expression):
            for label, operator, value in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', matchers):
                if label != "job":
                    wanted = set(value.split("|")) if operator == "=~" else {value}
                    assert "$" in value or wanted <= labels_of[name][label] | {""}, expression
            assert name == "up" or name in labels_of, expression


def test_legends_and_groups_name_only_labels_of_the_query(labels_of):
    for panel in panels():
        for target in panel["targets"]:
            names = re.findall(r"\b([a-z_]+)\{", target["expr"])
            labels = {label for name in names for label in labels_of.get(name, ())} | {"instance"}
            grouped = {one for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for one in group.split(", ")}
            assert grouped | set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels, panel["title"]


def test_every_metric_is_shown(labels_of):
    shown = " ".join(queries())
    names = {name for name in labels_of if name.startswith(METRIC_PREFIX) and "_created" not in name}
    unseen = {name for name in names if f"{name}{{" not in shown}
    # Kept for deployments; the dashboard shows the same by state.
    assert unseen == {f"{METRIC_PREFIX}waiting"}


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


# Each counted value has a series. mypy compares the words, which are Literals. A running bot counts each metric:
# tests/integration/operations/test_alerts.py


@over(
    ("path", "declared", "others"),
    [
        ("bot/receiver/door.py", declared.STATUSES, {BodyRefused, BodyUnreadable}),
        ("bot/slack/request_guard.py", declared.SLACK_STATUSES, {BodyRefused, BodyCodingUnknown}),
    ],
)
def test_every_status_of_an_answer_has_a_series(path, declared, others):
    of_bolt = {"200", "404", "500"} if "slack" in path else {"200"}
    kinds = {one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, BodyRefused)}
    of_bodies = {str(kind.status) for kind in kinds - others}
    assert {*re.findall(r"refuse\((\d+)", text(path)), *of_bodies, *of_bolt} == set(declared)


def degraded_names():
    """The names of the lines of `/readyz`, as app and health make them."""
    in_health = text("bot/operations/health.py").partition("async def look(")[2].partition("def standing_still")[0]
    in_app = text("bot/app.py").partition("def _problems(")[2].partition("async def")[0]
    return re.findall(r'f?"([a-z -]+?) ?(?:\{[^"]*\})?"[\]:]', in_health + in_app)


def test_names_of_lines_of_readyz_are_found_in_the_app():
    parts = {declared.part_of(name) for name in degraded_names()}
    assert parts | {declared.OTHER} == set(declared.PARTS)
