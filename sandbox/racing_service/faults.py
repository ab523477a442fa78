"""Scripted failures of an endpoint's next requests."""

from collections import deque

from starlette.responses import HTMLResponse

Failure = int | str
ANY = "*"
DROP, HTML, SLOW = "drop", "html", "slow"
CONNECTION_FAILURES = frozenset({DROP, HTML, SLOW})


class Faults:
    """By endpoint; `ANY` stands for all endpoints."""

    def __init__(self) -> None:
        self._scripted: dict[str, deque[Failure]] = {}

    def add(self, endpoint: str, failure: Failure, times: int) -> None:
        self._scripted.setdefault(endpoint, deque()).extend([failure] * times)

    def left(self, endpoint: str) -> int:
        return len(self._scripted.get(endpoint, ()))

    def clear(self) -> None:
        self._scripted.clear()

    def take(self, endpoint: str) -> Failure | None:
        """Uses up the next failure of the endpoint."""
        for name in (endpoint, ANY):
            if self._scripted.get(name):
                return self._scripted[name].popleft()
        return None


def proxy_page() -> HTMLResponse:
    """The answer of a proxy that can't reach the service."""
    return HTMLResponse("<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", 502)
