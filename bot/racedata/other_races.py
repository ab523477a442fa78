"""The other races of the meetings at which a race was abandoned."""

from collections.abc import Mapping, Sequence

from sqlmodel import Session

from bot.events import event_store
from bot.events.event import RacingEvent
from bot.events.meeting_parts import is_part_of
from bot.events.races import Race
from bot.racedata import race_book_store
from bot.racedata.day_card import RaceOutcome, outcomes_of
from bot.racedata.event_completion import guarded


def open_races(
    session: Session, abandoned: Sequence[RacingEvent], around: Sequence[RacingEvent], *, careful: bool
) -> Mapping[str, tuple[Race, ...]]:
    """By event key: the meeting's races of the race book that have no result and no abandonment, by off time.

    One statement, by indexes. `around`: the stored abandonments of the same days and courses. `careful`: see
    `KnownElsewhere`.
    """
    if not abandoned:
        return {}
    asked, book = event_store.around_of(abandoned), dict[str, Race]()
    guarded(
        session,
        lambda: book.update(race_book_store.find(session, (), asked.meeting_ids, asked.places)),
        abandoned,
        careful=careful,
    )
    told = {event.key: event for event in (*around, *abandoned) if event.is_abandonment}
    races = outcomes_of(book.values(), list(told.values()), None, None).in_order()
    still_open = [race for race, outcome in races if outcome is RaceOutcome.OPEN]
    return {
        event.key: tuple(race for race in still_open if is_part_of(RacingEvent(key="", race=race), event))
        for event in abandoned
    }
