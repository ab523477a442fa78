"""The service's plans and what each allows (Interface, Limits)."""

from typing import NamedTuple


class PlanLimits(NamedTuple):
    """Both limits hold per key."""

    requests_per_minute: int
    requests_per_month: int


PLANS: dict[str, PlanLimits] = {
    "free": PlanLimits(60, 15_000),
    "live": PlanLimits(180, 250_000),
    "archive": PlanLimits(90, 150_000),
    "complete": PlanLimits(180, 400_000),
    "analyst": PlanLimits(240, 1_000_000),
}
