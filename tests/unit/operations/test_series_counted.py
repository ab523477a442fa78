"""Every series of every metric has a source in the code, and every value that the code counts has a series.

The values come from the code that counts, never from the labels of `bot/operations/metrics.py`.
"""

import ast
import re
from datetime import UTC, datetime, timedelta
from itertools import product

from bot.app import Service
from bot.deliveries.inbox import Depth
from bot.errors import SlackError
from bot.operations import metrics as declared
from bot.operations.metrics import METRIC_PREFIX
from bot.operations.status_figures import ServiceState
from bot.outbox.claim_outcomes import ClaimOutcome
from bot.outbox.states import UNSENT
from bot.racedata.client.circuit_breakers import BREAKER_CODES
from bot.racedata.client.service_errors import CircuitOpen, ServiceFailure, Spared, WalkBroken
from bot.racedata.forecast import Forecast
from bot.racedata.month_quota import QuotaReading, QuotaSource
from bot.receiver import door
from tests.promtool import Scrape
from tests.unit.pages import ROOT, nodes, production, settings

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
CONSTANT = {f"{METRIC_PREFIX}build_info", f"{METRIC_PREFIX}job_interval_seconds"}
STATUSES_OF_BOLT = {"200", "404", "500"}
PROTOCOL = "bot/receiver/http_protocol.py"
REFUSING = (
    ("bot/app.py", "count", 1),
    ("bot/receiver/front.py", "_wrong_method", 0),
    (PROTOCOL, "count", 0),
    (PROTOCOL, "_RefusedError", 1),
)


METHOD = re.compile(r"[a-z]+(?:\.[a-zA-Z]+)+")
PATH = re.compile(r"[a-z]+(?:/[a-z]+)*")
NEVER_SENT = (CircuitOpen, Spared, WalkBroken)


def files_below(*folders):
    return [path.relative_to(ROOT) for path in production() if path.relative_to(ROOT).parts[1] in folders]


def argument(path, called, place=0):
    """The literals at this place in calls of this name."""
    for node in nodes(ROOT / path):
        if isinstance(node, ast.Call) and len(node.args) > place:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            values = node.args[place]
            literals = [values.body, values.orelse] if isinstance(values, ast.IfExp) else [values]
            if name == called:
                yield from (one.value for one in literals if isinstance(one, ast.Constant))


def assigned(path, name):
    """The literals that a variable gets."""
    for node in nodes(ROOT / path):
        if isinstance(node, ast.AnnAssign) and node.value and getattr(node.target, "id", None) == name:
            yield from (one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant))


def words_of(*folders, shape):
    """Every text of this shape in the code of these folders."""
    found = (node for path in files_below(*folders) for node in nodes(ROOT / path))
    words = {node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return set(filter(shape.fullmatch, words))


def degraded_names():
    """The names of the lines of `/readyz`, as app and health make them."""
    makers = {"look", "_find_degraded", "_problems"}
    functions = (
        node
        for node in (*nodes(ROOT / "bot/app.py"), *nodes(ROOT / "bot/operations/health.py"))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in makers
    )
    for node in (inner for one in functions for inner in ast.walk(one)):
        keys = node.keys if isinstance(node, ast.Dict) else [node.key] if isinstance(node, ast.DictComp) else []
        keys = [*keys, node.slice] if isinstance(node, ast.Subscript) else keys
        for key in keys:
            first = key.values[0] if isinstance(key, ast.JoinedStr) else key
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value.strip()


def subclasses(base):
    for one in base.__subclasses__():
        yield one
        yield from subclasses(one)


def error_of(kind):
    """An error of a class, whatever the class wants to know: only the class is counted."""
    return kind.__new__(kind)


def count_requests(metrics):
    endpoint, guard = "bot/receiver/door.py", "bot/slack/request_guard.py"
    for status in {*map(str, argument(endpoint, "refuse")), "200"}:
        metrics.count("deliveries", status)
    outcomes = {*argument(endpoint, "event", 1), *assigned(endpoint, "outcome")} - {None}
    for event, outcome in product((*door.EVENT_NAMES, ""), outcomes):
        metrics.count("webhook_events", event, outcome)
    for reason in argument(endpoint, "signature_failure"):
        metrics.count("signature_failures", reason)
    for path, called, place in REFUSING:
        for reason in set(argument(path, called, place)):
            metrics.count("requests_refused", reason)
    for status in {*map(str, argument(guard, "refuse")), *STATUSES_OF_BOLT}:
        metrics.count("slack_requests", status)


def count_calls(metrics):
    errors = [None, *(error_of(kind) for kind in subclasses(SlackError))]
    for method, error in product({*words_of("slack", "outbox", shape=METHOD), "made.up"}, errors):
        metrics.slack_call(method, error)
    failures = [error_of(kind) for kind in subclasses(ServiceFailure) if not issubclass(kind, NEVER_SENT)]
    for path, failure in product(words_of("racedata", shape=PATH), (None, *failures)):
        metrics.service_request(path, failure)


def ids_of_jobs(metrics):
    return {
        dict(labels)["job_id"] for name, labels in scraped(metrics) if name == f"{METRIC_PREFIX}job_interval_seconds"
    }


def count_work(metrics):
    for outcome in {one.name for one in subclasses(ClaimOutcome)}:
        metrics.count("posts", outcome)
    outcomes_of_jobs = set(argument("bot/operations/jobs/scheduler.py", "count", 1))
    for job, outcome in product(ids_of_jobs(metrics), outcomes_of_jobs):
        metrics.count("job_runs", job, outcome)
    metrics.receipt_to_slack(0.001)
    metrics.show_degraded([*degraded_names(), "made up"])


def show_everything(metrics):
    waits = Depth(2, NOW - timedelta(minutes=1))
    metrics.show(
        ServiceState(
            now=NOW,
            inbox=dict.fromkeys(("new", "failed"), waits),
            messages=dict.fromkeys((*UNSENT, "held", "dead_letter"), waits),
            quota=QuotaReading(
                taken_at=NOW, month="2026-11", used=10, certain=True, source=QuotaSource.TOTAL, limit=100
            ),
            forecast=Forecast(month_total=20, low=15, high=25, days=5),
            last_done=dict.fromkeys(ids_of_jobs(metrics), NOW),
            replicas=2,
        ),
        BREAKER_CODES,
    )


def scraped(metrics):
    values = Scrape.of(metrics.registry).values
    return {
        key: str(value)
        for key, value in values.items()
        if key[0].startswith(METRIC_PREFIX) and "_created" not in key[0]
    }


def test_every_series_has_a_source_and_every_source_a_series():
    fresh = scraped(Service(settings()).metrics)
    metrics = Service(settings()).metrics
    for count in (count_requests, count_calls, count_work, show_everything):
        count(metrics)
    seen = scraped(metrics)
    assert seen.keys() - fresh.keys() == set(), "the code counts a value without a series"
    idle = {key for key, value in seen.items() if value == fresh[key] and key[0] not in CONSTANT}
    assert idle == set(), "a series that nothing counts"


def test_names_of_lines_of_readyz_are_found_in_the_app():
    parts = {declared.part_of(name) for name in degraded_names()}
    assert parts | {declared.OTHER} == set(declared.PARTS)
