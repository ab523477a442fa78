"""Slack's rate limits.

docs.slack.dev/apis/web-api/rate-limits
"""

import math
from dataclasses import dataclass
from datetime import datetime

from sandbox.slack.refused_calls import rate_limited


@dataclass(frozen=True, kw_only=True)
class SlackLimits:
    """Slack says "several hundred per minute" for a workspace, and no figure."""

    per_channel_s: float = 1.0
    burst: int = 3
    workspace_per_minute: int = 300
    update_per_minute: int = 50
    history_per_minute: int = 50


@dataclass
class _Bucket:
    """Fills by `per_s` up to `size`. Every call takes 1."""

    size: float
    per_s: float
    level: float
    at: datetime

    def fill(self, now: datetime) -> None:
        self.level = min(self.size, self.level + (now - self.at).total_seconds() * self.per_s)
        self.at = now

    @property
    def wait_s(self) -> float:
        return max(0.0, (1 - self.level) / self.per_s)


class RateLimiter:
    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def take(self, limits: SlackLimits, method: str, channel_id: str | None, now: datetime) -> None:
        """Raises the 429 if a bucket is empty."""
        buckets = self._buckets_for(limits, method, channel_id or "", now)
        for bucket in buckets:
            bucket.fill(now)
        wait_s = max((bucket.wait_s for bucket in buckets), default=0.0)
        if wait_s > 0:
            raise rate_limited(max(1, math.ceil(wait_s)))
        for bucket in buckets:
            bucket.level -= 1

    def _buckets_for(self, limits: SlackLimits, method: str, channel_id: str, now: datetime) -> list[_Bucket]:
        per_minute = {
            "chat.postMessage": limits.workspace_per_minute,
            "chat.update": limits.update_per_minute,
            "conversations.history": limits.history_per_minute,
            "conversations.replies": limits.history_per_minute,
        }.get(method)
        if per_minute is None:
            return []
        found = [self._bucket((method, ""), per_minute, per_minute / 60, now)]
        if method == "chat.postMessage":
            found.append(self._bucket(("channel", channel_id), limits.burst, 1 / limits.per_channel_s, now))
        return found

    def _bucket(self, key: tuple[str, str], size: float, per_s: float, now: datetime) -> _Bucket:
        return self._buckets.setdefault(key, _Bucket(size, per_s, size, now))
