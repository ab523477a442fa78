"""Slack's rate limits.

docs.slack.dev/apis/web-api/rate-limits
"""

import math
from dataclasses import dataclass
from datetime import datetime

from sandbox.slack.calls import Refused

_ROUNDING_S = 1e-5


@dataclass(frozen=True, kw_only=True)
class SlackLimits:
    """Slack says "several hundred per minute" for a workspace, and no figure."""

    per_channel_s: float = 1.0
    burst: int = 3
    workspace_per_minute: int = 300
    update_per_minute: int = 50
    history_per_minute: int = 50


class RateLimiter:
    """Of each rate the moment at which its bucket is full again. An empty bucket fills in `size / per_s` seconds."""

    def __init__(self) -> None:
        self._full_at: dict[tuple[str, str], float] = {}

    def take(self, limits: SlackLimits, method: str, channel_id: str | None, now: datetime) -> None:
        """Raises the 429 if a bucket is empty."""
        at_s, rates = now.timestamp(), _rates(limits, method, channel_id or "")
        full_at = {key: max(at_s, self._full_at.get(key, at_s)) for key in rates}
        wait_s = max((full_at[key] - at_s - (size - 1) / per_s for key, (size, per_s) in rates.items()), default=0.0)
        if wait_s > _ROUNDING_S:
            retry_after_s = max(1, math.ceil(wait_s - _ROUNDING_S))
            raise Refused("ratelimited", status=429, headers={"Retry-After": str(retry_after_s)})
        self._full_at |= {key: full_at[key] + 1 / per_s for key, (_, per_s) in rates.items()}


def _rates(limits: SlackLimits, method: str, channel_id: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Size and refill per second of each bucket that a call takes from."""
    per_minute = {
        "chat.postMessage": limits.workspace_per_minute,
        "chat.update": limits.update_per_minute,
        "conversations.history": limits.history_per_minute,
        "conversations.replies": limits.history_per_minute,
    }.get(method)
    if per_minute is None:
        return {}
    rates: dict[tuple[str, str], tuple[float, float]] = {(method, ""): (per_minute, per_minute / 60)}
    if method == "chat.postMessage":
        rates["channel", channel_id] = (limits.burst, 1 / limits.per_channel_s)
    return rates
