"""Failures to script: what the next call of a method meets. Each function gives one, ready for `workspace.script`."""

import json
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What happens to one call: whether it is carried out, how long it takes, and what is answered.

    With `status` None and no `cut` the answer is the true one. With `blocks_only` it befalls only a call that has
    blocks: one that has none takes its turn all the same, and meets no failure.
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

    def accepted(self) -> "Failure":
        """The same failure, but the call is carried out first: the client cannot tell."""
        return replace(self, name=f"{self.name}_accepted", carried_out=True)


def passes() -> Failure:
    """No failure: a call between two that fail."""
    return Failure(name="passes", carried_out=True)


def drop_before() -> Failure:
    """The TCP connection is reset, and nothing was carried out."""
    return Failure(name="drop_before", cut=True)


def drop_after() -> Failure:
    """The call is carried out, then the TCP connection is reset without an answer."""
    return Failure(name="drop_after", carried_out=True, cut=True)


def delay_before(seconds: float) -> Failure:
    """Nothing happens for that long; then the call is carried out, whether or not the client still waits."""
    return Failure(name="delay_before", carried_out=True, delay_before_s=seconds)


def delay_after(seconds: float) -> Failure:
    """The call is carried out at once, and answered that much later."""
    return Failure(name="delay_after", carried_out=True, delay_after_s=seconds)


def http_error(status: int) -> Failure:
    """An HTTP error with a plain body, such as 500 or 503; nothing was carried out."""
    return Failure(name=f"http_{status}", status=status, body="upstream error", content_type="text/plain")


def html(status: int = 200) -> Failure:
    """A page of HTML in place of JSON, as proxies and captive portals answer; nothing was carried out."""
    return Failure(name="html", status=status, body="<html><body>Bad gateway</body></html>", content_type="text/html")


def truncated() -> Failure:
    """The call is carried out, and its JSON answer breaks off half way."""
    return Failure(name="truncated", carried_out=True, truncate=True)


def slack_error(code: str) -> Failure:
    """HTTP 200 with `"ok": false` and that code; nothing was carried out."""
    return Failure(name=code, status=200, body=json.dumps({"ok": False, "error": code}))


def blocks_refused() -> Failure:
    """`invalid_blocks`, whatever the blocks are; nothing was carried out. Without blocks there is nothing to refuse."""
    return replace(slack_error("invalid_blocks"), blocks_only=True)


def rate_limited(retry_after_s: int) -> Failure:
    """HTTP 429 with `Retry-After`; nothing was carried out."""
    return replace(slack_error("ratelimited"), status=429, headers={"Retry-After": str(retry_after_s)})
