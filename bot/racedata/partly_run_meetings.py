"""Abandoned meetings of which a race was run, by all stored events and the race book."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlmodel import Session

from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Race
from bot.racedata import race_book_store
from bot.racedata.day_card import outcomes_of
from bot.racedata.event_completion import guarded


class RunRaces(NamedTuple):
    """`partly_run`: keys of meetings with a race that was run. `with_result`: ids of races with a stored result."""

    partly_run: frozenset[str] = frozenset()
    with_result: frozenset[str] = frozenset()


def partly_run(session: Session, events: Sequence[RacingEvent]) -> frozenset[str]:
    """The keys of the abandoned meetings among the events of which a race was run."""
    return run_races(session, [event for event in events if event.kind is EventKind.MEETING_ABANDONED]).partly_run


def run_races(
    session: Session, meetings: Sequence[RacingEvent], race_ids: Collection[str] = (), *, careful: bool = True
) -> RunRaces:
    """Two statements, by indexes. `race_ids`: further races to look for. `careful`: see `KnownElsewhere`."""
    if not meetings:
        return RunRaces()
    asked = event_store.around_of(meetings)
    ids, book = asked.race_ids.union(race_ids), dict[str, Race]()
    guarded(
        session,
        lambda: book.update(race_book_store.find(session, ids, asked.meeting_ids, asked.places)),
        meetings,
        careful=careful,
    )
    ids = ids.union(book)
    stored = event_store.outcomes_near(session, ids, asked.meeting_ids, asked.places)
    told = {event.key: event for event in (*stored, *meetings)}
    outcomes = outcomes_of(book.values(), list(told.values()), None, None)
    return RunRaces(
        frozenset(meeting.key for meeting in meetings if outcomes.partly_run(meeting)),
        frozenset(
            event.race.race_id
            for event in stored
            if event.kind is EventKind.RESULT_RECEIVED and event.race.race_id is not None
        ),
    )
