"""The other races of meetings with an abandonment, run or open, by all stored events and the race book."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlmodel import Session

from bot.events import event_store
from bot.events.event import EventKind, RacingEvent
from bot.events.event_store import Around, By, names_in
from bot.events.meeting_parts import is_part_of
from bot.events.races import Race
from bot.racedata import race_book_store
from bot.racedata.day_card import RaceOutcome, outcomes_of
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
    ids = {*names_in(asked, By.RACE), *race_ids}
    book = _in_book(session, meetings, asked, ids, careful=careful)
    of_meetings, places = names_in(asked, By.MEETING), names_in(asked, By.PLACE)
    stored = event_store.outcomes_near(session, ids.union(book), of_meetings, places)
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


def open_races(
    session: Session, abandoned: Sequence[RacingEvent], around: Sequence[RacingEvent], *, careful: bool
) -> Mapping[str, tuple[Race, ...]]:
    """By event key: the meeting's races of the race book that have no result and no abandonment, by off time.

    One statement, by indexes. `around`: the stored abandonments of the same days and courses.
    """
    if not abandoned:
        return {}
    book = _in_book(session, abandoned, event_store.around_of(abandoned), (), careful=careful)
    told = {event.key: event for event in (*around, *abandoned) if event.is_abandonment}
    races = outcomes_of(book.values(), list(told.values()), None, None).in_order()
    still_open = [race for race, outcome in races if outcome is RaceOutcome.OPEN]
    return {
        event.key: tuple(race for race in still_open if is_part_of(RacingEvent(key="", race=race), event))
        for event in abandoned
    }


def _in_book(
    session: Session, events: Sequence[RacingEvent], asked: Around, race_ids: Collection[str], *, careful: bool
) -> dict[str, Race]:
    """From the race book, by id: the races of `race_ids`, and all races of the events' meetings, which are `asked`."""
    book = dict[str, Race]()
    guarded(
        session,
        lambda: book.update(
            race_book_store.find(session, race_ids, names_in(asked, By.MEETING), names_in(asked, By.PLACE))
        ),
        events,
        careful=careful,
    )
    return book
