"""The data service's failures, one class for each code of the interface, readable as one tree.

ServiceError                      (bot.errors)
└── ServiceFailure                fields of every failure, and words for people
    ├── Unauthorized              401 unauthorized; opens a circuit breaker
    ├── UpgradeRequired           403 upgrade_required: names the plans with the endpoint; opens a circuit breaker
    ├── OutsideWindow             403 outside_window: names window and date
    ├── NotFound                  404
    ├── InvalidParam              422 invalid_param
    ├── RateLimited               429 rate_limited; a retry helps after `retry_after_s`
    ├── QuotaExceeded             429 quota_exceeded; opens a circuit breaker
    ├── ServerFault               500 server_error, and any other 5xx; a retry may help
    ├── UnknownRefusal            a code or status unknown to the interface
    ├── ServiceUnreachable        no answer: connection, protocol or time limit; a retry may help
    ├── AnswerUnreadable          no envelope, or too large
    ├── CircuitOpen               not asked: an open circuit breaker foretells the answer
    ├── Spared                    not asked: too little of the month is left for this purpose
    └── WalkBroken                a cursor is missing, came twice, or leads through empty pages; or items are missing

The class follows from the body's `code` (calls.py). Other failures are never retried.
No failure holds a key, a header or a whole address.
"""

from collections.abc import Mapping
from math import ceil
from types import MappingProxyType
from typing import Any, ClassVar

from bot.errors import ServiceError
from bot.racedata.client.headers import WINDOW_S
from bot.racedata.client.records import META_TEXT_MAX

UNLATCH = "racing-bot unlatch"
BREAKER_WORDS = {"quota_exceeded": "quota", "unauthorized": "key", "upgrade_required": "plan"}
"""The refusals that open a circuit breaker, each with the word of `racing-bot unlatch`."""


class ServiceFailure(ServiceError):
    """`path` is relative and has no query. `code`, `message` and the other `extras` are the service's own."""

    known_code: ClassVar[str | None] = None
    words: ClassVar[str] = "The data service did not do what was asked."

    def __init__(
        self,
        path: str,
        *,
        code: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        message: str | None = None,
        extras: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.path = path
        self.code = code
        self.status = status
        self.request_id = request_id
        self.message = message
        self.extras: Mapping[str, Any] = MappingProxyType(dict(extras or {}))
        self.retry_after_s = retry_after_s
        super().__init__(self._summary())

    def _summary(self) -> str:
        what = " ".join(str(part) for part in (self.status, self.code or self.known_code) if part is not None)
        request = f" (request {self.request_id})" if self.request_id else ""
        message = f": {self.message}" if self.message else ""
        return f"{self.path}: {what or type(self).__name__}{message}{request}"

    @property
    def rate_wait_s(self) -> float:
        """Of a 429: Retry-After, at least a second; without Retry-After a whole window."""
        return WINDOW_S if self.retry_after_s is None else max(1.0, self.retry_after_s)

    @property
    def cause(self) -> str:
        """The failure's code, else the name of its class: equal in each part of the bot."""
        return self.known_code or self.code or type(self).__name__

    @property
    def told(self) -> str:
        """The failure in words for people."""
        return self._sentences() + (f" (request {self.request_id})" if self.request_id else "")

    def _sentences(self) -> str:
        return self.words

    def extra_text(self, *words: str) -> str | None:
        """The first extra with, or else containing, one of `words` in its name. A long text is cut."""
        exact = [self.extras[word] for word in words if word in self.extras]
        holding = [value for name, value in self.extras.items() if any(word in name.lower() for word in words)]
        return next((text[:META_TEXT_MAX] for text in map(_as_text, exact + holding) if text), None)


class Unauthorized(ServiceFailure):
    known_code = "unauthorized"
    words = "The data service does not accept the bot's key. An admin must set the right one."


class UpgradeRequired(ServiceFailure):
    known_code = "upgrade_required"

    @property
    def your_plan(self) -> str | None:
        return self.extra_text("your_plan")

    @property
    def reaches_on(self) -> tuple[str, ...]:
        plans = self.extras.get("reaches_on")
        named = plans if isinstance(plans, list | tuple) else ()
        return tuple(plan[:META_TEXT_MAX] for plan in named if isinstance(plan, str))

    def _sentences(self) -> str:
        plan = f" ({self.your_plan})" if self.your_plan else ""
        plans = f" Plans that have it: {', '.join(self.reaches_on)}." if self.reaches_on else ""
        return f"This is not part of your plan{plan}.{plans}"


class OutsideWindow(ServiceFailure):
    """The names of the body's fields are not shown (Spec gap G8)."""

    known_code = "outside_window"

    @property
    def window(self) -> str | None:
        return self.extra_text("window")

    @property
    def requested_date(self) -> str | None:
        return self.extra_text("requested_date", "date", "requested")

    def _sentences(self) -> str:
        date = f"{self.requested_date} is" if self.requested_date else "This is"
        window = f": {self.window}" if self.window else ""
        said = f" {self.message}" if self.message and not window else ""
        return f"{date} outside your plan's window{window}.{said}"


class NotFound(ServiceFailure):
    """Code and body are not shown (Spec gap G7)."""

    def _sentences(self) -> str:
        return "The data service has nothing there." + (f" {self.message}" if self.message else "")


class InvalidParam(ServiceFailure):
    known_code = "invalid_param"

    def _sentences(self) -> str:
        return f"The data service does not take that value{f': {self.message}' if self.message else '.'}"


class RateLimited(ServiceFailure):
    """Raised without a request too, where the wait would be too long."""

    known_code = "rate_limited"

    def _sentences(self) -> str:
        wait_s = self.retry_after_s
        if wait_s is not None and wait_s > 120:
            return f"The data service asks for no requests now. Try again in {ceil(wait_s / 60):,} minutes."
        when = f"in {max(1, round(wait_s))} s" if wait_s is not None else "in a minute"
        return f"Too many requests this minute. Try again {when}."


class QuotaExceeded(ServiceFailure):
    known_code = "quota_exceeded"
    words = "This month's allowance of requests is used up. It resets on the first of the month."


class ServerFault(ServiceFailure):
    known_code = "server_error"

    def _sentences(self) -> str:
        quote = " Quote the request id when you report it." if self.request_id else ""
        return f"The data service failed.{quote}"


class UnknownRefusal(ServiceFailure):
    def _sentences(self) -> str:
        what = self.code or (f"status {self.status}" if self.status else "no reason given")
        return f"The data service refused ({what}).{f' {self.message}' if self.message else ''}"


class ServiceUnreachable(ServiceFailure):
    """`may_have_arrived` is False only for a request that was certainly not sent."""

    def __init__(self, path: str, *, message: str, may_have_arrived: bool) -> None:
        super().__init__(path, message=message)
        self.may_have_arrived = may_have_arrived

    def _sentences(self) -> str:
        what = "did not answer" if self.may_have_arrived else "could not be reached"
        return f"The data service {what}. Try again in a few minutes."


class AnswerUnreadable(ServiceFailure):
    """`message` says how the answer differs from the interface."""

    words = "The data service answered with something the bot can't read."


class CircuitOpen(ServiceFailure):
    """`code` and `request_id` are those of the refusal that opened the circuit breaker."""

    @property
    def unlatch(self) -> str:
        return f"{UNLATCH} {BREAKER_WORDS[self.code or QuotaExceeded.known_code]}"

    def _sentences(self) -> str:
        if self.code == Unauthorized.known_code:
            return "The data service does not accept the bot's key, and is not asked again until an admin changes it."
        return (
            "This month's allowance of requests is used up, so the data service is not asked again "
            "until the month turns, the plan or the key changes, usage falls, or the allowance rises."
        )


class Spared(ServiceFailure):
    words = (
        "Almost all of this month's requests to the data service are used, so the bot asks for nothing more until "
        "the month turns or the plan allows more. Alerts go on."
    )


class WalkBroken(ServiceFailure):
    """Pages read before stand; the list may be incomplete."""

    words = "The data service's list broke off, so what was read may not be all."


STOPPING = (Unauthorized, QuotaExceeded, CircuitOpen)
"""The service refuses the bot as a whole."""

PASSING = (RateLimited, ServerFault, ServiceUnreachable)
"""Failures that may pass within minutes."""

TRANSIENT = (*PASSING, QuotaExceeded, CircuitOpen, Spared)
"""Failures that cost no further request, or may pass soon. Any other refusal would be the same within minutes."""

UNEXPLAINED = (ServerFault, UnknownRefusal, AnswerUnreadable, WalkBroken)
"""Failures whose words tell a person no way out."""

BY_CODE: dict[str, type[ServiceFailure]] = {
    kind.known_code: kind for kind in ServiceFailure.__subclasses__() if kind.known_code
}
"""Interface, Errors."""


def _as_text(value: Any) -> str | None:
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return None
