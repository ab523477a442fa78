"""A service that counts requests in whole minutes, with the headers that its answers have."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

START = datetime(2025, 11, 20, 12, 0, tzinfo=UTC)


@dataclass
class Minutes:
    """Counts requests in fixed minutes of its own clock, as the interface describes."""

    limit: int
    skew_s: float = 0.0
    says: frozenset[str] = frozenset({"limit", "remaining", "reset", "date"})
    used: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)

    def ask(self, now, *, rival=False):
        """The headers of the answer, and whether it was a refusal."""
        clock = START.timestamp() + now + self.skew_s
        window = int(clock // 60)
        self.used[window] += 1
        refused = self.used[window] > self.limit
        if refused and not rival:
            self.refused[window] += 1
        reset = (window + 1) * 60
        headers = {
            "limit": ("x-ratelimit-limit", str(self.limit)),
            "remaining": ("x-ratelimit-remaining", str(max(0, self.limit - self.used[window]))),
            "reset": ("x-ratelimit-reset", str(reset)),
            "date": ("date", format_datetime(START + timedelta(seconds=int(now + self.skew_s)), usegmt=True)),
        }
        return dict(headers[name] for name in headers if name in self.says), (reset - clock if refused else None)
