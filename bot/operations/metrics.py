"""The metrics for Prometheus. Each label has fixed values, and each series exists from the start.

A rate misses the fault that creates a series. `docs/operations/README.md` lists all metrics; a test compares the list.
"""

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import product
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.process_collector import ProcessCollector

from bot.deliveries.inbox import Depth
from bot.errors import (
    SlackChannelClosed,
    SlackCredentialsDead,
    SlackDoubtful,
    SlackEditRefused,
    SlackError,
    SlackMessageGone,
    SlackMessageRefused,
    SlackRefused,
    SlackScopeMissing,
    SlackUnreached,
    SlackWait,
)
from bot.events import drill_mark
from bot.events.event import EventKind
from bot.operations.gauges import ServiceState
from bot.operations.jobs.job import Job
from bot.racedata.client.circuit_breakers import BREAKER_CODES, USAGE_PATH
from bot.racedata.client.service_client import DELIVERIES_PATH, RACES_PATH
from bot.racedata.client.service_errors import (
    BY_CODE,
    AnswerUnreadable,
    NotFound,
    ServiceFailure,
    ServiceUnreachable,
    UnknownRefusal,
)
from bot.racedata.forecast import Forecast
from bot.racedata.month_quota import QuotaReading

METRIC_PREFIX = "racing_bot_"

OTHER = "other"
OK = "ok"

STATUSES = ("200", "400", "401", "408", "411", "413", "415", "503")
SLACK_STATUSES = ("200", "400", "401", "404", "408", "413", "503")
EVENT_LABELS = (*(kind.value for kind in EventKind), drill_mark.DRILL_EVENT, OTHER)
EVENT_OUTCOMES = ("accepted", "duplicate", "not_stored", "too_large")
SIGNATURE_FAILURES = ("missing", "mismatch")
REFUSALS = ("crowded", "head_too_large", "late", "malformed", "method", "path")
POST_OUTCOMES = (
    *(
        "sent",
        "found",
        "retry",
        "wait",
        "doubtful",
        "repeat",
        "not_edited",
        "not_in_thread",
        "channel_closed",
        "credentials_dead",
    ),
    "parked",
)

SLACK_ANSWERS: Mapping[type[SlackError], str] = {
    SlackUnreached: "unreached",
    SlackDoubtful: "doubtful",
    SlackWait: "wait",
    SlackChannelClosed: "channel_closed",
    SlackCredentialsDead: "credentials_dead",
    SlackScopeMissing: "scope_missing",
    SlackMessageRefused: "message_refused",
    SlackMessageGone: "message_gone",
    SlackEditRefused: "edit_refused",
    SlackRefused: "refused",
}

ENDPOINTS = (
    *("countries", "courses", "reference", RACES_PATH, "webhooks/subscribe", DELIVERIES_PATH, USAGE_PATH),
    OTHER,
)
"""Paths below the service's base address. RACING_RACE_PATH and RACING_DAY_PATH count as "other"."""

SERVICE_CODES: Mapping[type[ServiceFailure], str] = {
    **{kind: code for code, kind in BY_CODE.items()},
    NotFound: "not_found",
    ServiceUnreachable: "unreachable",
    AnswerUnreadable: "unreadable",
    UnknownRefusal: OTHER,
}

INBOX_STATES = ("new", "failed")
UNSENT_STATES = ("queued", "held", "sending", "in_doubt")
GIVEN_UP = "dead_letter"
POSTS_WAITING: Mapping[str, tuple[str, ...]] = {
    "posts_queued": ("queued", "held"),
    "posts_sending": ("sending", "in_doubt"),
    "posts_parked": (GIVEN_UP,),
}
WAITING_LABELS = ("deliveries", *POSTS_WAITING)
JOB_OUTCOMES = (OK, "failed")
BOUNDS = ("low", "expected", "high")

PARTS = (
    *("admins", "data_service", "deliveries", "fan_out", "job", "poster", "posts", "slack", "socket_mode", "storage"),
    *("webhooks", OTHER),
)
RECEIPT_TO_SLACK_S = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
    *(30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0),
)

UNKNOWN = float("nan")
"""A gauge before the first reading. Comparisons with NaN are false, so no alert fires."""


class Metrics:
    """A registry of its own: nothing is registered at import."""

    def __init__(self, slack_methods: Sequence[str]) -> None:
        self._slack_methods = (*slack_methods, OTHER)
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._declare_counters()
        self._declare_gauges()
        self._gauge("build_info", "1, with the versions of the bot and of Python", ("version", "python")).labels(
            version("racing-bot"), platform.python_version()
        ).set(1)

    def _declare_counters(self) -> None:
        self._deliveries = self._counter(
            "deliveries", "Requests at the webhook endpoint, by the status of the answer", ("status",), STATUSES
        )
        self._events = self._counter(
            "webhook_events",
            "Signed deliveries, by event and outcome",
            ("event", "outcome"),
            EVENT_LABELS,
            EVENT_OUTCOMES,
        )
        self._signature_failures = self._counter(
            "signature_failures", "Deliveries without a right signature, by reason", ("reason",), SIGNATURE_FAILURES
        )
        self._refusals = self._counter(
            "requests_refused", "Requests that reached no endpoint, and closed connections", ("reason",), REFUSALS
        )
        self._slack_requests = self._counter(
            "slack_requests", "Requests of Slack, by the status of the answer", ("status",), SLACK_STATUSES
        )
        self._posts = self._counter("posts", "Attempts to post, by outcome", ("outcome",), POST_OUTCOMES)
        self._slack_calls = self._counter(
            "slack_calls",
            "Calls of Slack's Web API, by method and answer",
            ("method", "answer"),
            self._slack_methods,
            (OK, *SLACK_ANSWERS.values()),
        )
        self._service_requests = self._counter(
            "service_requests",
            "Requests to the data service, by endpoint and code",
            ("endpoint", "code"),
            ENDPOINTS,
            (OK, *SERVICE_CODES.values()),
        )
        self._receipt_to_slack = Histogram(
            f"{METRIC_PREFIX}receipt_to_slack_seconds",
            "Time from the receipt of a delivery, or from the hour that the channel chose, to Slack's answer",
            buckets=RECEIPT_TO_SLACK_S,
            registry=self.registry,
        )

    def _declare_gauges(self) -> None:
        in_state = ("state",)
        self._waiting = self._gauge(
            "waiting", "Deliveries that wait, and messages that are not sent", ("what",), WAITING_LABELS
        )
        self._inbox = self._gauge("inbox_deliveries", "Deliveries that wait for their fan-out", in_state, INBOX_STATES)
        self._inbox_age = self._gauge(
            "inbox_oldest_age_seconds", "Age of the oldest delivery in a state", in_state, INBOX_STATES
        )
        self._messages = self._gauge(
            "outbox_messages", "Messages that are not sent", in_state, (*UNSENT_STATES, GIVEN_UP)
        )
        self._messages_age = self._gauge(
            "outbox_oldest_age_seconds", "Age of the oldest message in a state", in_state, UNSENT_STATES
        )
        self._quota_used = self._gauge("quota_used_requests", "Requests used this month, as last read")
        self._quota_allowance = self._gauge("quota_allowance_requests", "Requests that the month allows")
        self._quota_forecast = self._gauge(
            "quota_forecast_requests", "Requests by the end of the month: expected, and the range", ("bound",), BOUNDS
        )
        self._show_quota(None, None)
        self._breaker = self._gauge(
            "circuit_breaker_open",
            "1 while the bot does not ask the data service, by the cause",
            ("code",),
            BREAKER_CODES,
        )
        self._replicas = self._gauge("replicas", "Replicas that live on this database")
        self._degraded = self._gauge("degraded", "1 while `/readyz` calls the part degraded", ("part",), PARTS)

    def declare_jobs(self, jobs: Sequence[Job]) -> None:
        ids, of_job = [job.id for job in jobs], ("job_id",)
        self._job_runs = self._counter(
            "job_runs", "Runs of jobs in this replica, by outcome", (*of_job, "outcome"), ids, JOB_OUTCOMES
        )
        self._last_done = self._gauge(
            "job_last_success_timestamp_seconds",
            "When a job last succeeded, in any replica; 0 before the first time",
            of_job,
            ids,
        )
        interval = self._gauge("job_interval_seconds", "How often a job runs", of_job, ids)
        for job in jobs:
            interval.labels(job.id).set(job.every_s)

    def delivery(self, status: str, *, count: int = 1) -> None:
        self._deliveries.labels(status).inc(count)

    def event(self, name: str | None, outcome: str, *, count: int = 1) -> None:
        self._events.labels(name if name in EVENT_LABELS else OTHER, outcome).inc(count)

    def signature_failure(self, reason: str, *, count: int = 1) -> None:
        self._signature_failures.labels(reason).inc(count)

    def request_refused(self, reason: str, *, count: int = 1) -> None:
        self._refusals.labels(reason).inc(count)

    def slack_request(self, status: str) -> None:
        self._slack_requests.labels(status).inc()

    def post(self, outcome: str) -> None:
        self._posts.labels(outcome).inc()

    def receipt_to_slack(self, seconds: float) -> None:
        self._receipt_to_slack.observe(max(0.0, seconds))

    def slack_call(self, method: str, error: SlackError | None) -> None:
        answer = OK if error is None else _of_class(error, SLACK_ANSWERS)
        self._slack_calls.labels(method if method in self._slack_methods else OTHER, answer).inc()

    def service_request(self, path: str, failure: ServiceFailure | None) -> None:
        code = OK if failure is None else _of_class(failure, SERVICE_CODES)
        self._service_requests.labels(path if path in ENDPOINTS else OTHER, code).inc()

    def job_run(self, job: str, outcome: str) -> None:
        self._job_runs.labels(job, outcome).inc()

    def show(self, look: ServiceState) -> None:
        self._show_depths(look)
        for code in BREAKER_CODES:
            self._breaker.labels(code).set(code in look.shut)
        for job, done_at in look.last_done.items():
            self._last_done.labels(job).set(done_at.timestamp())
        self._replicas.set(look.replicas)
        self._show_quota(look.quota, look.forecast)

    def show_degraded(self, names: Iterable[str]) -> None:
        degraded = {part_of(name) for name in names}
        for part in PARTS:
            self._degraded.labels(part).set(part in degraded)

    def _show_depths(self, look: ServiceState) -> None:
        for depths, states, count, age in (
            (look.inbox, INBOX_STATES, self._inbox, self._inbox_age),
            (look.messages, UNSENT_STATES, self._messages, self._messages_age),
        ):
            for state in states:
                depth = depths.get(state, Depth())
                count.labels(state).set(depth.count)
                age.labels(state).set(depth.age_s(look.now))
        self._messages.labels(GIVEN_UP).set(look.messages.get(GIVEN_UP, Depth()).count)
        self._waiting.labels("deliveries").set(sum(depth.count for depth in look.inbox.values()))
        for what, posts in POSTS_WAITING.items():
            self._waiting.labels(what).set(sum(look.messages.get(state, Depth()).count for state in posts))

    def _show_quota(self, reading: QuotaReading | None, forecast: Forecast | None) -> None:
        self._quota_used.set(UNKNOWN if reading is None else reading.used)
        self._quota_allowance.set(UNKNOWN if reading is None or reading.limit is None else reading.limit)
        figures = (forecast.low, forecast.month_total, forecast.high) if forecast else (UNKNOWN,) * len(BOUNDS)
        for bound, figure in zip(BOUNDS, figures, strict=True):
            self._quota_forecast.labels(bound).set(figure)

    def _counter(self, name: str, documentation: str, labels: tuple[str, ...] = (), *values: Iterable[str]) -> Counter:
        counter = Counter(METRIC_PREFIX + name, documentation, labels, registry=self.registry)
        for each in product(*values) if values else ():
            counter.labels(*each)
        return counter

    def _gauge(self, name: str, documentation: str, labels: tuple[str, ...] = (), *values: Iterable[str]) -> Gauge:
        gauge = Gauge(METRIC_PREFIX + name, documentation, labels, registry=self.registry)
        for each in product(*values) if values else ():
            gauge.labels(*each)
        return gauge


def part_of(name: str) -> str:
    """For example "slack chat.postMessage" → "slack", "fan-out" → "fan_out"."""
    words = name.replace("-", "_").split()
    known = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return next((part for part in known if part in PARTS), OTHER)


def _of_class(error: Exception, names: Mapping[Any, str]) -> str:
    return next((names[kind] for kind in type(error).mro() if kind in names), OTHER)
