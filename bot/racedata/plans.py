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


def allowance(plan: str | None, monthly_quota: int | None) -> int | None:
    """Requests a month: MONTHLY_QUOTA, else the known plan's."""
    known = PLANS.get(plan or "")
    return monthly_quota or (known.requests_per_month if known else None)
