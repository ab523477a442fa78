"""Failures of the next calls of a method, for `workspace.script`."""

import json
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, kw_only=True)
class Failure:
    """With `status` None and no `cut` the answer is the true answer.

    With `blocks_only` a call without blocks meets no failure, but takes its turn.
    """

    name: str
    carried_out: bool = False
    blocks_only: bool = False
    delay_before_s: float = 0.0
    delay_after_s: float = 0.0
    cut: bool = False
    truncate: bool = False
    status: int | None = None
    body: str = ""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def hides_answer(self) -> bool:
        return self.cut or self.truncate or self.status is not None

    def accepted(self) -> "Failure":
        """The same failure after the call was carried out."""
        return replace(self, name=f"{self.name}_accepted", carried_out=True)


def passes() -> Failure:
    """A call without failure between two failures."""
    return Failure(name="passes", carried_out=True)


def drop_before() -> Failure:
    """Reset before the call is carried out."""
    return Failure(name="drop_before", cut=True)


def drop_after() -> Failure:
    """Carried out, then reset without an answer."""
    return Failure(name="drop_after", carried_out=True, cut=True)


def delay_before(seconds: float) -> Failure:
    """Carried out late, even if the client waits no longer."""
    return Failure(name="delay_before", carried_out=True, delay_before_s=seconds)


def delay_after(seconds: float) -> Failure:
    """Carried out at once, and answered late."""
    return Failure(name="delay_after", carried_out=True, delay_after_s=seconds)


def http_error(status: int) -> Failure:
    """Not carried out."""
    return Failure(name=f"http_{status}", status=status, body="upstream error", content_type="text/plain")


def html(status: int = 200) -> Failure:
    """A proxy's page. Not carried out."""
    return Failure(name="html", status=status, body="<html><body>Bad gateway</body></html>", content_type="text/html")


def truncated() -> Failure:
    """Carried out; the JSON breaks off half way."""
    return Failure(name="truncated", carried_out=True, truncate=True)


def slack_error(code: str) -> Failure:
    """Not carried out."""
    return Failure(name=code, status=200, body=json.dumps({"ok": False, "error": code}))


def blocks_refused() -> Failure:
    """Not carried out, for any blocks."""
    return replace(slack_error("invalid_blocks"), blocks_only=True)


def rate_limited(retry_after_s: int) -> Failure:
    """Not carried out."""
    return replace(slack_error("ratelimited"), status=429, headers={"Retry-After": str(retry_after_s)})
