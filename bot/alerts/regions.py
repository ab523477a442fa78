"""The region that decides who is told: as published where that is a known code, else found by race or course."""

from sqlmodel import Session

from bot.domain.events import RacingEvent
from bot.domain.races import Race
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
        if event.kind is None:
            return event
        race = _in_region(event.race, self._code_of(event.race.region) or self._found(event.race))
        # So that no name of a region gets into the race book, where codes are looked up.
        races = tuple(_in_region(named, self._code_of(named.region) or race.region) for named in event.races)
        return event.model_copy(update={"race": race, "races": races})

    def _found(self, race: Race) -> str | None:
        """By the race itself in the book, else by its course; what the book has of old may be a name, and no code."""
        found = reference.find_region(self._session, race)
        if found is not None and race.race_id and self._code_of(found) is None:
            found = reference.find_region(self._session, race.model_copy(update={"race_id": None}))
        return self._code_of(found)

    def _code_of(self, region: str | None) -> str | None:
        """The region where it is a known code, else the one code that differs from it in letter case only.

        What the service publishes goes before what somebody subscribed to while it could not be checked.
        """
        if region is None or self._listed is None or region in self._listed:
            return region
        same = [code for code in self._listed if code.casefold() == region.casefold()]
        if len(same) == 1:
            return same[0]
        return region if region in self._subscribed else None


def _in_region(race: Race, region: str | None) -> Race:
    return race if race.region == region else race.model_copy(update={"region": region})
