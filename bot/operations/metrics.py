"""The metrics for Prometheus. Each label has fixed values, and each series exists from the start.

A rate misses the fault that creates a series. `docs/operations/README.md` lists all metrics; a test compares the list.
"""

import json
import platform
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from typing import Any, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.process_collector import ProcessCollector

from bot.deliveries.inbox import Depth
from bot.errors import SlackError
from bot.events import drill_mark
from bot.events.event import EventKind
from bot.logs import get_logger
from bot.operations.jobs.job import Job, JobOutcome
from bot.operations.signature_mismatches import Mismatches
from bot.operations.status_figures import ServiceState
from bot.outbox.claim_outcomes import ClaimOutcome
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
from bot.racedata.month_quota import QuotaReading
from bot.web.plain_answers import EventOutcome, RequestRefusal, SignatureFailure

log = get_logger(__name__)

METRIC_PREFIX = "racing_bot_"

OTHER = "other"
OK = "ok"

STATUSES = ("200", "400", "401", "408", "411", "413", "415", "503")
SLACK_STATUSES = ("200", "400", "401", "404", "408", "413", "500", "503")
EVENT_LABELS = (*(kind.value for kind in EventKind), drill_mark.DRILL_EVENT, OTHER)


def _outcomes(kind: Any) -> Iterator[str]:
    for one in kind.__subclasses__():
        yield one.name
        yield from _outcomes(one)


POST_OUTCOMES = tuple(dict.fromkeys(_outcomes(ClaimOutcome)))

SLACK_ANSWERS: Mapping[type[SlackError], str] = {
    kind: re.sub(r"\B([A-Z])", r"_\1", kind.__name__.removeprefix("Slack")).lower()
    for kind in SlackError.__subclasses__()
}
"""For example SlackChannelClosed: "channel_closed"."""

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


Labels = Mapping[str, Sequence[str]]

COUNTERS: Mapping[str, tuple[str, Labels]] = {
    "deliveries": ("Requests at the webhook endpoint, by the status of the answer", {"status": STATUSES}),
    "webhook_events": (
        "Signed deliveries, by event and outcome",
        {"event": EVENT_LABELS, "outcome": get_args(EventOutcome)},
    ),
    "signature_failures": ("Deliveries without a right signature, by reason", {"reason": get_args(SignatureFailure)}),
    "requests_refused": (
        "Requests that reached no endpoint, and closed connections",
        {"reason": get_args(RequestRefusal)},
    ),
    "slack_requests": ("Requests of Slack, by the status of the answer", {"status": SLACK_STATUSES}),
    "posts": ("Attempts to post, by outcome", {"outcome": POST_OUTCOMES}),
    "service_requests": (
        "Requests to the data service, by endpoint and code",
        {"endpoint": ENDPOINTS, "code": (OK, *SERVICE_CODES.values())},
    ),
}

GAUGES: Mapping[str, tuple[str, Labels]] = {
    "waiting": ("Deliveries that wait, and messages that are not sent", {"what": WAITING_LABELS}),
    "inbox_deliveries": ("Deliveries that wait for their fan-out", {"state": INBOX_STATES}),
    "inbox_oldest_age_seconds": ("Age of the oldest delivery in a state", {"state": INBOX_STATES}),
    "outbox_messages": ("Messages that are not sent", {"state": (*UNSENT_STATES, GIVEN_UP)}),
    "outbox_oldest_age_seconds": ("Age of the oldest message in a state", {"state": UNSENT_STATES}),
    "quota_used_requests": ("Requests used this month, as last read", {}),
    "quota_allowance_requests": ("Requests that the month allows", {}),
    "quota_forecast_requests": ("Requests by the end of the month: expected, and the range", {"bound": BOUNDS}),
    "circuit_breaker_open": ("1 while the bot does not ask the data service, by the cause", {"code": BREAKER_CODES}),
    "replicas": ("Replicas that live on this database", {}),
    "degraded": ("1 while `/readyz` calls the part degraded", {"part": PARTS}),
}


class Metrics:
    """A registry of its own: nothing is registered at import."""

    def __init__(self, slack_methods: Sequence[str]) -> None:
        self.registry = CollectorRegistry()
        self._declared: dict[str, Any] = {}
        self._values: dict[str, list[Sequence[str]]] = {}
        ProcessCollector(registry=self.registry)
        for name, (words, labels) in COUNTERS.items():
            self._declare(Counter, name, words, labels)
        for gauge, (words, labels) in GAUGES.items():
            self._declare(Gauge, gauge, words, labels)
        answers = {"method": (*slack_methods, OTHER), "answer": (OK, *SLACK_ANSWERS.values())}
        self._declare(Counter, "slack_calls", "Calls of Slack's Web API, by method and answer", answers)
        versions = {"version": version("racing-bot"), "python": platform.python_version()}
        told = "1, with the versions of the bot and of Python"
        self._declare(Gauge, "build_info", told, {name: [each] for name, each in versions.items()})
        self._series("build_info", *versions.values()).set(1)
        self._receipt_to_slack = Histogram(
            f"{METRIC_PREFIX}receipt_to_slack_seconds",
            "Time from the receipt of a delivery, or from the hour that the channel chose, to Slack's answer",
            buckets=RECEIPT_TO_SLACK_S,
            registry=self.registry,
        )
        self._show_quota(None)

    def declare_jobs(self, jobs: Sequence[Job]) -> None:
        ids = {"job_id": [job.id for job in jobs]}
        runs = "Runs of jobs in this replica, by outcome"
        self._declare(Counter, "job_runs", runs, {**ids, "outcome": get_args(JobOutcome)})
        last = "When a job last succeeded, in any replica; 0 before the first time"
        self._declare(Gauge, "job_last_success_timestamp_seconds", last, ids)
        self._declare(Gauge, "job_interval_seconds", "How often a job runs", ids)
        for job in jobs:
            self._series("job_interval_seconds", job.id).set(job.every_s)

    def _declare(self, kind: type[Counter | Gauge], name: str, words: str, labels: Labels) -> None:
        self._declared[name] = kind(METRIC_PREFIX + name, words, [*labels], registry=self.registry)
        self._values[name] = [*labels.values()]
        for values in product(*labels.values()):
            self._series(name, *values)

    def _series(self, name: str, *labels: str) -> Any:
        return self._declared[name].labels(*labels) if labels else self._declared[name]

    def count(self, name: str, *labels: str, times: int = 1) -> None:
        """A value that a label does not declare counts as "other": no count may stop the work that is counted."""
        known = (value if value in values else OTHER for value, values in zip(labels, self._values[name], strict=True))
        self._series(name, *known).inc(times)

    def receipt_to_slack(self, seconds: float) -> None:
        self._receipt_to_slack.observe(max(0.0, seconds))

    def slack_call(self, method: str, error: SlackError | None) -> None:
        self.count("slack_calls", method, OK if error is None else _of_class(error, SLACK_ANSWERS))

    def service_request(self, path: str, failure: ServiceFailure | None) -> None:
        self.count("service_requests", path, OK if failure is None else _of_class(failure, SERVICE_CODES))

    def show(self, look: ServiceState, shut: Collection[str] = ()) -> None:
        """`shut`: the codes of open circuit breakers."""
        self._show_depths(look)
        for code in BREAKER_CODES:
            self._series("circuit_breaker_open", code).set(code in shut)
        for job, done_at in look.last_done.items():
            self._series("job_last_success_timestamp_seconds", job).set(done_at.timestamp())
        self._series("replicas").set(look.replicas)
        self._show_quota(look.quota)

    def show_degraded(self, names: Iterable[str]) -> None:
        degraded = {part_of(name) for name in names}
        for part in PARTS:
            self._series("degraded", part).set(part in degraded)

    def _show_depths(self, look: ServiceState) -> None:
        for depths, states, prefix, what in (
            (look.inbox, INBOX_STATES, "inbox", "deliveries"),
            (look.messages, UNSENT_STATES, "outbox", "messages"),
        ):
            for state in states:
                depth = depths.get(state, Depth())
                self._series(f"{prefix}_{what}", state).set(depth.count)
                self._series(f"{prefix}_oldest_age_seconds", state).set(depth.age_s(look.now))
        self._series("outbox_messages", GIVEN_UP).set(look.messages.get(GIVEN_UP, Depth()).count)
        self._series("waiting", "deliveries").set(sum(depth.count for depth in look.inbox.values()))
        for what, posts in POSTS_WAITING.items():
            self._series("waiting", what).set(sum(look.messages.get(state, Depth()).count for state in posts))

    def _show_quota(self, reading: QuotaReading | None) -> None:
        limit = UNKNOWN if reading is None or reading.limit is None else reading.limit
        self._series("quota_used_requests").set(UNKNOWN if reading is None else reading.used)
        self._series("quota_allowance_requests").set(limit)
        expected = reading and reading.expected
        figures = (expected.low, expected.month_total, expected.high) if expected else (UNKNOWN,) * len(BOUNDS)
        for bound, figure in zip(BOUNDS, figures, strict=True):
            self._series("quota_forecast_requests", bound).set(figure)


def part_of(name: str) -> str:
    """For example "slack chat.postMessage" → "slack", "fan-out" → "fan_out"."""
    words = name.replace("-", "_").split()
    known = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return next((part for part in known if part in PARTS), OTHER)


def _of_class(error: Exception, names: Mapping[Any, str]) -> str:
    return next((names[kind] for kind in type(error).mro() if kind in names), OTHER)


@dataclass(frozen=True)
class ReceiverNews:
    """The receiver's lines to the bot: counts for `/metrics`, and news for admins.

    `wake` makes intake read the journal.
    """

    metrics: Metrics
    mismatches: Mismatches
    wake: Callable[[], None]
    max_body_bytes: int

    async def hear(self, line: bytes) -> None:
        """`[[1, "deliveries", "200"], …]`: counts, each with its labels. An empty list: the journal has new letters."""
        news = json.loads(line)
        if not news:
            self.wake()
        for count, what, *labels in news:
            try:
                await self._hear(count, what, labels)
            except Exception:
                # The next news is heard all the same.
                log.exception("receiver_news_not_heard", what=what)

    async def _hear(self, count: int, what: str, labels: list[str]) -> None:
        if what == "signature_matched":
            self.mismatches.matched()
            return
        self.metrics.count(what, *labels, times=count)
        if labels == ["mismatch"]:
            await self.mismatches.missed(count)
        if "too_large" in labels:
            await self.mismatches.tell_today("too-large", max_bytes=self.max_body_bytes)
