"""Whether a failed request is repeated, and when: a pure decision on the failure, the attempt and the time spent.

Interface, Authentication 3 and Errors: the refusals of the key, plan, window and quota are not transient. Only
`rate_limited`, the service's own faults, and requests that got no answer are repeated, and a POST never is.
"""

from dataclasses import dataclass

from bot.racedata.client.headers import WINDOW_S
from bot.racedata.client.service_errors import RateLimited, ServerFault, ServiceFailure, ServiceUnreachable


@dataclass(frozen=True)
class Retry:
    """Ask again after so many seconds."""

    after_s: float


@dataclass(frozen=True)
class GiveUp:
    """Raise the failure."""

    because: str


@dataclass(frozen=True)
class Patience:
    """How long a caller waits: `deadline_s` in all, from the first attempt on, pacing included."""

    deadline_s: float
    fault_tries: int = 4
    rate_tries: int = 10
    backoff_s: float = 0.5
    longest_backoff_s: float = 8.0


FOR_COMMANDS = Patience(deadline_s=75)
"""Somebody looks at the screen: one whole rate window, and no more."""

FOR_BACKGROUND = Patience(deadline_s=600)
"""Nobody waits."""


ONE_TRY = Patience(deadline_s=60, fault_tries=1, rate_tries=1)
"""The caller itself asks again."""


def decide(
    error: ServiceFailure, attempt: int, elapsed_s: float, *, patience: Patience, repeatable: bool, chance: float
) -> Retry | GiveUp:
    """What to do after attempt number `attempt` (from 1) failed, `elapsed_s` after the first began.

    `repeatable` is False for what must not be done twice. `chance` (0 to 1) is the jitter's throw.
    """
    if not repeatable:
        return GiveUp("must not be done twice")
    if isinstance(error, RateLimited):
        tries, wait_s = patience.rate_tries, rate_wait_s(error)
    elif isinstance(error, ServerFault | ServiceUnreachable):
        tries, wait_s = patience.fault_tries, max(error.retry_after_s or 0.0, _backoff_s(patience, attempt, chance))
    else:
        return GiveUp("the answer would be the same")
    if attempt >= tries:
        return GiveUp(f"tried {attempt} times")
    if elapsed_s + wait_s > patience.deadline_s:
        return GiveUp(f"{patience.deadline_s:g} s are over before the next attempt")
    return Retry(wait_s)


def rate_wait_s(error: ServiceFailure) -> float:
    """Seconds to wait after a 429: what the service said, at least a second; a whole window where it said nothing."""
    return WINDOW_S if error.retry_after_s is None else max(1.0, error.retry_after_s)


def _backoff_s(patience: Patience, attempt: int, chance: float) -> float:
    """Half of it fixed and half thrown, so that replicas spread and none comes back at once."""
    whole_s = min(patience.longest_backoff_s, patience.backoff_s * 2.0 ** (attempt - 1))
    return whole_s * (1 + chance) / 2
