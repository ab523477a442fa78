"""The metrics: their names, their labels, and the table of the documentation."""

import ast
import inspect
import re

import pytest
from prometheus_client import generate_latest

from bot.errors import SlackError, SlackMessageRefused, SlackRefused
from bot.events.event import EventKind
from bot.operations import metrics as declared
from bot.operations.metrics import METRIC_PREFIX, Metrics, part_of
from bot.outbox import claim_outcomes
from bot.outbox.claim_outcomes import ClaimOutcome
from bot.racedata.client import service_errors
from bot.racedata.client.service_errors import CircuitOpen, RateLimited, ServiceFailure, Spared, WalkBroken
from bot.slack.web_client import METHODS
from tests.promtool import needs_promtool, run_promtool
from tests.unit.pages import code_in, production, rows, settings

UNIT = {"counter": "_total", "gauge": "", "histogram": ""}


@pytest.fixture
def metrics():
    return Metrics(settings(), METHODS)


def families(metrics):
    return [family for family in metrics.registry.collect() if family.name.startswith(METRIC_PREFIX)]


def value(metrics, name, **labels):
    return metrics.registry.get_sample_value(f"{METRIC_PREFIX}{name}", labels)


@needs_promtool
def test_names_and_help_are_as_prometheus_wants_them(metrics):
    # prometheus_client's own series of creation times are not ours to name.
    text = generate_latest(metrics.registry).decode()
    ours = [line for line in text.splitlines() if "_created" not in line]
    run_promtool("check", "metrics", given="\n".join(ours) + "\n")


def test_table_in_the_documentation_has_every_metric_with_type_and_labels(metrics):
    documented = {
        code_in(name)[0]: (kind, set(code_in(labels)))
        for name, kind, labels, _ in rows("docs/operations/README.md", "Metrics")
    }
    found = {}
    for family in families(metrics):
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        found[family.name + UNIT[family.type]] = (family.type, labels)
    assert documented == found


def test_every_metric_has_its_series_from_the_start(metrics):
    for family in families(metrics):
        assert family.samples, family.name


def test_series_are_bounded(metrics):
    assert sum(len(family.samples) for family in families(metrics)) < 1_000


def test_event_of_a_known_name_is_counted_under_it_and_any_other_under_other(metrics):
    for name in (*EventKind, "result.received\n", "made.up", None):
        metrics.event(name, "accepted")
    assert all(value(metrics, "webhook_events_total", event=kind, outcome="accepted") == 1 for kind in EventKind)
    assert value(metrics, "webhook_events_total", event="other", outcome="accepted") == 3


def test_call_of_an_unknown_method_or_endpoint_is_counted_under_other(metrics):
    metrics.slack_call("reactions.add", None)
    metrics.service_request("races/rc_1", RateLimited("races/rc_1"))
    assert value(metrics, "slack_calls_total", method="other", answer="ok") == 1
    assert value(metrics, "service_requests_total", endpoint="other", code="rate_limited") == 1


def test_answer_of_slacks_is_counted_by_its_class(metrics):
    metrics.slack_call("chat.postMessage", SlackMessageRefused("chat.postMessage", "msg_too_long"))
    assert value(metrics, "slack_calls_total", method="chat.postMessage", answer="message_refused") == 1


def test_every_class_of_slacks_answers_has_a_label():
    assert set(SlackError.__subclasses__()) == set(declared.SLACK_ANSWERS)
    assert SlackRefused in declared.SLACK_ANSWERS


def test_every_failure_of_a_request_has_a_label():
    classes = {
        one for one in vars(service_errors).values() if isinstance(one, type) and issubclass(one, ServiceFailure)
    }
    never_sent = {CircuitOpen, Spared, WalkBroken}
    assert classes - never_sent - {ServiceFailure} == set(declared.SERVICE_CODES)


def literals(path, called):
    """The first argument of each call of this name, where the argument is a literal."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            if name == called:
                yield node.args[0].value


def test_every_method_that_is_called_has_a_label():
    called = {method for path in production() for method in literals(path, "call") if "." in str(method)}
    assert called
    assert called <= set(METHODS)


def test_every_outcome_of_a_post_has_a_label():
    made = [one for one in vars(claim_outcomes).values() if isinstance(one, type) and issubclass(one, ClaimOutcome)]
    assert {one.name for one in made if not inspect.isabstract(one)} == set(declared.POST_OUTCOMES)


def test_every_status_of_the_webhook_endpoint_has_a_series():
    text = next(path for path in production() if path.parts[-2:] == ("deliveries", "endpoint.py")).read_text("utf-8")
    assert set(re.findall(r"refuse\(\s*(\d{3})", text)) | {"200"} == set(declared.STATUSES)


@pytest.mark.parametrize(
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
