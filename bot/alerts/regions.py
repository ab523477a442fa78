"""The region that decides who is told: as published where that is a known code, else found by race or course."""

from sqlmodel import Session

from bot.domain.events import RacingEvent
from bot.storage import reference


class KnownRegions:
    """The region codes that are known: the service's, and those that channels subscribed to."""

    def __init__(self, session: Session, subscribed: set[str]) -> None:
        self._session = session
        listed = reference.regions(session)
        self._listed = frozenset(listed[0]) if listed else None
        self._subscribed = subscribed

    def applied_to(self, event: RacingEvent) -> RacingEvent:
        """The event with the region that it is told by.

        A payload's region that is no code of the filter (its shape is not shown, Spec gap G1) counts as unread, since
        nobody can have subscribed to it: an abandonment then goes to everybody who takes abandonments.
        """
        published = event.race.region
        if event.kind is None or (published is not None and self._is_code(published)):
            return event
        region = self._spelled_otherwise(published) or reference.find_region(self._session, event.race)
        if region is None and not event.is_abandonment:
            return event
        return event.model_copy(update={"race": event.race.model_copy(update={"region": region})})

    def _is_code(self, region: str) -> bool:
        return self._listed is None or region in self._listed or region in self._subscribed

    def _spelled_otherwise(self, published: str | None) -> str | None:
        """The one code that differs from what was published in letter case only."""
        if published is None or self._listed is None:
            return None
        same = [code for code in self._listed if code.casefold() == published.casefold()]
        return same[0] if len(same) == 1 else None
