"""The stand-in's own table of plans: a slip in the bot's table can't cancel itself out."""

from dataclasses import dataclass
from datetime import date

FIRST_YEAR = 2017


@dataclass(frozen=True, slots=True)
class Plan:
    """Interface, Limits. `years_back` None reads the whole archive."""

    name: str
    per_minute: int
    per_month: int
    years_back: int | None
    reads_upcoming: bool = True

    def window(self, today: date) -> "Window":
        """Made-up dates; no two plans share a window."""
        start = FIRST_YEAR if self.years_back is None else max(FIRST_YEAR, today.year - self.years_back)
        return Window(date(start, 1, 1), None if self.reads_upcoming else today)


@dataclass(frozen=True, slots=True)
class Window:
    """The ends are included. `last` None has no end."""

    first: date
    last: date | None

    def __str__(self) -> str:
        return f"{self.first.year} → {'today' if self.last else 'upcoming'}"

    def __contains__(self, day: date) -> bool:
        return self.first <= day and (self.last is None or day <= self.last)


PLANS: dict[str, Plan] = {
    plan.name: plan
    for plan in (
        Plan("free", 60, 15_000, years_back=0),
        Plan("live", 180, 250_000, years_back=1),
        Plan("archive", 90, 150_000, years_back=None, reads_upcoming=False),
        Plan("complete", 180, 400_000, years_back=5),
        Plan("analyst", 240, 1_000_000, years_back=None),
    )
}
