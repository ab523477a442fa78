"""What is stored of the meetings and races that a transaction's events may belong together with."""

from collections.abc import Callable, Collection, Iterable, Sequence

from sqlmodel import Session

from bot.domain.events import CONTRADICTIONS, EventKind, RacingEvent
from bot.domain.meetings import is_part_of, names_race
from bot.storage import events, named_races


class KnownMeetings:
    """Abandoned meetings and races that were called off by themselves, read at once, and kept up to date."""

    def __init__(self, session: Session, about: Iterable[RacingEvent]) -> None:
        about = list(about)
        meetings = [event for event in about if event.kind is EventKind.MEETING_ABANDONED]
        lost = [event for event in about if event.kind is EventKind.RACE_ABANDONED]
        naming = named_races.meetings_naming(
            session, {event.race.race_id for event in about if event.kind in CONTRADICTIONS and event.race.race_id}
        )
        self._meetings = _read(session, EventKind.MEETING_ABANDONED, lost, keys=naming)
        named = {race.race_id for event in meetings for race in event.races if race.race_id}
        self._lost = _read(session, EventKind.RACE_ABANDONED, meetings, race_ids=named)

    def learn(self, event: RacingEvent) -> None:
        """Count this event in, whose newest version is being stored."""
        if event.kind is EventKind.MEETING_ABANDONED:
            self._meetings[event.key] = event
        elif event.kind is EventKind.RACE_ABANDONED:
            self._lost[event.key] = event

    def of_race(self, lost: RacingEvent) -> list[RacingEvent]:
        """The meetings that an abandoned race is a part of, those that name it by id first."""
        found = [meeting for meeting in self._meetings.values() if is_part_of(lost, meeting)]
        return sorted(found, key=lambda meeting: names_race(meeting, lost.race.race_id) is None)

    def naming(self, race_id: str | None) -> list[str]:
        """The keys of the meetings that name this race by its id."""
        return [key for key, meeting in self._meetings.items() if names_race(meeting, race_id)]

    def races_of(self, meeting: RacingEvent) -> list[RacingEvent]:
        """The abandonments of single races that are part of a meeting."""
        return [lost for lost in self._lost.values() if is_part_of(lost, meeting)]


def _read(
    session: Session,
    kind: EventKind,
    others: Sequence[RacingEvent],
    *,
    keys: Collection[str] = (),
    race_ids: Collection[str] = (),
) -> dict[str, RacingEvent]:
    """The newest version of each event of a kind that may belong together with one of the others."""

    def values(of: Callable[[RacingEvent], str | None]) -> set[str]:
        return {value for value in map(of, others) if value}

    rows = events.related(
        session,
        kind,
        keys=keys,
        race_ids=race_ids,
        meeting_ids=values(lambda event: event.race.meeting_id),
        race_dates=values(lambda event: event.race.race_date),
    )
    return {key: events.known(row)[0] for key, row in rows.items()}
