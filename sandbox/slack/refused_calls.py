"""Refusals of the Web API."""

from collections.abc import Sequence
from typing import Any


class Refused(Exception):
    """`code` is Slack's error; `extra` are further fields of the body."""

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
    """As Slack answers for blocks and views."""
    messages = [f"[ERROR] {problem}" for problem in problems]
    return Refused(code, errors=list(problems), response_metadata={"messages": messages})


def rate_limited(retry_after_s: int) -> Refused:
    return Refused("ratelimited", status=429, headers={"Retry-After": str(retry_after_s)})
