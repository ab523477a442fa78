"""How a Web API call is refused: Slack's error code, what stands beside it, and the HTTP status."""

from collections.abc import Sequence
from typing import Any


class Refused(Exception):
    """A call that is answered with `"ok": false`. `code` is Slack's error, `extra` what the body says besides."""

    def __init__(self, code: str, *, status: int = 200, headers: dict[str, str] | None = None, **extra: Any) -> None:
        self.code = code
        self.status = status
        self.headers = headers or {}
        self.extra = extra
        super().__init__(code)

    @property
    def body(self) -> dict[str, Any]:
        return {"ok": False, "error": self.code, **self.extra}


def refused_for(code: str, problems: Sequence[str]) -> Refused:
    """A refusal that says where in the arguments the problems are, as Slack does for blocks and views."""
    messages = [f"[ERROR] {problem}" for problem in problems]
    return Refused(code, errors=list(problems), response_metadata={"messages": messages})


def rate_limited(retry_after_s: int) -> Refused:
    """HTTP 429 with `Retry-After` in whole seconds."""
    return Refused("ratelimited", status=429, headers={"Retry-After": str(retry_after_s)})
