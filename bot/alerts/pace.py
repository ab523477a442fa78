"""How fast is posted: Slack's limits, a channel's and the workspace's."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """`channel_s`: seconds between two posts in a channel. `workspace_per_minute`: posts a minute, None for any number.

    Source: docs.slack.dev/apis/web-api/rate-limits ("1 per second per channel", and "several hundred messages per
    minute" for a workspace, which is nowhere given as a number).
    """

    channel_s: float = 1.0
    workspace_per_minute: int | None = 300
    workspace_burst: int = 20


class WorkspacePace:
    """A token bucket for the whole workspace's posts; the time, monotonic seconds, is passed in."""

    def __init__(self, pace: Pace) -> None:
        self._per_s = None if pace.workspace_per_minute is None else pace.workspace_per_minute / 60
        self._burst = float(pace.workspace_burst)
        self._tokens = self._burst
        self._filled_at_s = 0.0

    def free(self, now_s: float) -> int | None:
        """How many posts may begin now; None for any number."""
        if self._per_s is None:
            return None
        self._tokens = min(self._burst, self._tokens + max(0.0, now_s - self._filled_at_s) * self._per_s)
        self._filled_at_s = now_s
        return int(self._tokens)

    def begin(self, posts: int) -> None:
        """Count posts that begin now."""
        if self._per_s is not None:
            self._tokens -= posts

    def wait_s(self) -> float:
        """Seconds until another post may begin, by what `free` found last."""
        if self._per_s is None or self._tokens >= 1:
            return 0.0
        return (1 - self._tokens) / self._per_s
