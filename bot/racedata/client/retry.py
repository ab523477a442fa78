"""The decision to retry a failed request.

Refusals of key, plan, window and quota are not transient (Interface, Authentication 3 and Errors). A POST is never
retried.
"""

from dataclasses import dataclass, replace

from bot.racedata.client.headers import WINDOW_S
from bot.racedata.client.service_errors import RateLimited, ServerFault, ServiceFailure, ServiceUnreachable

FAULT_BACKOFF_S, FAULT_BACKOFF_MAX_S = 0.5, 8.0


@dataclass(frozen=True)
class Patience:
    """`deadline_s` runs from the first attempt on, and includes waits for the pace.

    `background`: nobody waits, so a part of the minute is left to commands.
    """

    deadline_s: float
    fault_tries: int = 4
    rate_tries: int = 10
    background: bool = True

    def for_later_pages(self) -> "Patience":
        return replace(self, fault_tries=Patience.fault_tries, rate_tries=Patience.rate_tries)

    def wait_before_next_s(self, error: ServiceFailure, attempt: int, elapsed_s: float, chance: float) -> float | None:
        """The wait after attempt number `attempt` (from 1), `elapsed_s` after the first began. None: no other attempt.

        `chance` is 0 to 1.
        """
        if isinstance(error, RateLimited):
            tries, wait_s = self.rate_tries, rate_wait_s(error)
        elif isinstance(error, ServerFault | ServiceUnreachable):
            tries, wait_s = self.fault_tries, max(error.retry_after_s or 0.0, _backoff_s(attempt, chance))
        else:
            return None
        return wait_s if attempt < tries and elapsed_s + wait_s <= self.deadline_s else None


FOR_COMMANDS = Patience(deadline_s=75, background=False)
"""A person waits: one whole rate window."""

FOR_BACKGROUND = Patience(deadline_s=600)


ONE_TRY = Patience(deadline_s=60, fault_tries=1, rate_tries=1)
"""The caller repeats the work by itself."""


def rate_wait_s(error: ServiceFailure) -> float:
    """Retry-After, at least a second; without Retry-After a whole window."""
    return WINDOW_S if error.retry_after_s is None else max(1.0, error.retry_after_s)


def _backoff_s(attempt: int, chance: float) -> float:
    """Half fixed and half random, so that replicas spread."""
    whole_s = min(FAULT_BACKOFF_MAX_S, FAULT_BACKOFF_S * 2.0 ** (attempt - 1))
    return whole_s * (1 + chance) / 2
