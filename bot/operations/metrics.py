"""What is counted, for Prometheus. No label holds data of the service's or of Slack's."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class Metrics:
    """The counters, in a registry of their own: nothing is registered at import."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._deliveries = self._counter("deliveries", "Deliveries, by the status they were answered with", "status")
        self._slack_requests = self._counter("slack_requests", "Slack's requests, by their answer's status", "status")
        self._posts = self._counter("posts", "Calls that were to post, by what became of them", "outcome")
        for status in ("200", "401", "413", "503"):
            # There from the start: a rate over a series that begins with its first fault does not see that fault.
            self._deliveries.labels(status)
        self._waiting = Gauge("racing_bot_waiting", "What waits in the database", ["what"], registry=self.registry)

    def delivery(self, status: str) -> None:
        """A delivery was answered."""
        self._deliveries.labels(status).inc()

    def slack_request(self, status: str) -> None:
        """A request of Slack's was answered."""
        self._slack_requests.labels(status).inc()

    def post(self, outcome: str) -> None:
        """A call that was to post ended."""
        self._posts.labels(outcome).inc()

    def waiting(self, what: str, count: int) -> None:
        """How much of something waits now."""
        self._waiting.labels(what).set(count)

    def _counter(self, name: str, documentation: str, label: str) -> Counter:
        return Counter(f"racing_bot_{name}", documentation, [label], registry=self.registry)
