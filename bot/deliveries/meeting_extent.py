"""How much of an abandoned meeting was run: by numbers, by words, and by its races (Spec gap G1)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bot.events.event import RacingEvent
from bot.events.lost_part import FEWEST_RACES, LostPart, extent_in
from bot.events.meeting_parts import is_among_first, is_before_loss
from bot.events.race_state import LOST_OR_VOID, state_in
from bot.events.races import OffTime, Race
from bot.events.reading.fields import NAMES_OF, Fields, fields_of, first_of, values_of
from bot.events.reading.json_values import MOST_NOTES, flag, is_no, is_yes, text
from bot.events.reading.off_times import read_clock
from bot.events.reading.race_list import race_entries, read_card_number, read_races, within
from bot.events.reading.race_record import read_race

_LOST, _CHANGES = NAMES_OF["words.lost"], NAMES_OF["lists.changes"]


def read_extent(fields: Sequence[Fields], races: tuple[Race, ...]) -> dict[str, Any]:
    """The fields of an abandoned meeting's event."""
    run, since, first = races_run(fields, races), lost_from(fields).text, first_lost(fields, races)
    extent = {"lost_from": since, "first_lost": first, "last_lost": None if first else last_lost(fields)}
    loss, is_told_apart = RacingEvent(key="", **extent), not (first or since) and any(one.abandoned for one in races)

    def may_be_to_come(race: Race) -> bool:
        is_open = is_told_apart and race.status is not None and not race.is_void
        return not (race.abandoned or race.says_run) and bool(is_open or is_before_loss(race, loss))

    spared = tuple(filter(may_be_to_come, races))
    lost = tuple(one for one in races if one not in spared)
    run = 0 if run is None and spared else run
    return extent | {"races": lost, "spared": spared, "races_run": run, "of_some": _of_some(fields)}


def races_run(fields: Sequence[Fields], races: Sequence[Race]) -> int | None:
    """How many races were run, as the payload says; 0 for the loss of a part without a number of races that were run.

    None for a whole meeting. Races before the first lost race may be to come.
    """
    if run := _number_run(fields):
        return run
    lost, is_known = last_lost(fields), bool(races or first_of(fields, "state.races_in_all", read_card_number))
    is_part = first_lost(fields, races) is not None or (not is_known and 0 < (lost or 0) < FEWEST_RACES)
    is_part = is_part or (0 < len(races) < FEWEST_RACES and _are_lost_by_name(fields))
    is_part = is_part or _of_some(fields) or any(map(is_no, values_of(fields, "state.whole")))
    is_part = is_part or any(one and not is_no(one) for one in values_of(fields, "state.remaining"))
    is_part = is_part or _is_part_in_words(fields)
    begins_later = min((race.card_number or 1 for race in races), default=1) > 1
    from_a_time = not races and lost_from(fields).text is not None
    return 0 if is_part or begins_later or from_a_time else None


def _of_some(fields: Sequence[Fields]) -> bool:
    """Whether a session, a kind of races or an untold part is lost. Any other race may go ahead."""
    is_spared = any(one and not is_no(one) for one in values_of(fields, "state.spared"))
    is_part = is_spared or first_of(fields, "state.partly", flag) or _sessions_told_apart(fields)
    return bool(is_part) or any(part.of_some for part in _in_words(fields))


def _are_lost_by_name(fields: Sequence[Fields]) -> bool:
    """True for {"abandoned_races": […]}. A list of another name, {"races": […]}, may be the whole card."""
    lists = ("lists.races", "lists.named_races", "lists.lost", "lists.changes")
    names = (name for part in fields for fact in lists for name in part.facts.get(fact, ()))
    return any(name.startswith(_LOST) or name in _CHANGES for name in names)


def tells_loss(fields: Sequence[Fields], races: Sequence[Race]) -> bool:
    """Whether a meeting's own fields say how much was lost."""
    return races_run(fields, races) is not None or bool(last_lost(fields))


def marked_as_run(fields: Sequence[Fields], races: tuple[Race, ...], meeting: Race) -> tuple[Race, ...]:
    """The races, and the races in a list of races that were run. `abandoned` is False for each race that was run.

    A race with a winning time was run, and so were as many of the first races as the payload reports as run.
    """
    run = (one for part in fields for one in race_entries(part, "lists.run_races"))
    races += tuple(within(read_race(one), meeting).model_copy(update={"abandoned": False}) for one in run)
    last_run = _number_run(fields)

    def was_run(race: Race) -> bool:
        return race.abandoned is None and (race.winning_time is not None or is_among_first(race, last_run))

    return tuple(race.model_copy(update={"abandoned": False}) if was_run(race) else race for race in races)


def extent_of(fields: Sequence[Fields]) -> str | None:
    """The first lost race of several, in words: "from race 4 on", "from 14:30 on"."""
    first = first_lost(fields) or first_of(fields, "state.lost_from", _first_clock)
    return f"from {'race ' if isinstance(first, int) else ''}{first} on" if first else None


def first_lost(fields: Sequence[Fields], races: Sequence[Race] = ()) -> int | None:
    """The number of the first lost race. None if no race comes before, or the number is not known."""
    lost, in_all = last_lost(fields), first_of(fields, "state.races_in_all", read_card_number) or len(races)
    before = _number_run(fields) or next(filter(None, (part.run for part in _before_loss(fields))), None)
    first = (before + 1 if before else None) or first_of(fields, "state.first_lost", read_card_number)
    first = first or (in_all - lost + 1 if lost and lost < in_all else None)
    return first if first and first > 1 else None


def lost_from(fields: Sequence[Fields]) -> OffTime:
    in_words = (part.from_time for part in _in_words(fields))
    return OffTime(text=first_of(fields, "state.lost_from", _first_clock) or next(filter(None, in_words), None))


def _first_clock(value: Any) -> str | None:
    clocks = filter(None, map(read_clock, value if isinstance(value, list) else [value]))
    return min(clocks, key=lambda clock: OffTime(text=clock).minute_of_day or 0, default=None)


def _number_run(fields: Sequence[Fields]) -> int | None:
    in_words = next((part.run for part in _before_loss(fields) if part.were_run and part.run), None)
    last_run = in_words or first_of(fields, "state.last_run", read_card_number)
    return first_of(fields, "state.races_run", read_card_number) or last_run


def _before_loss(fields: Sequence[Fields]) -> Iterable[LostPart]:
    return () if _named_as_lost(fields) else _in_words(fields)


def last_lost(fields: Sequence[Fields]) -> int | None:
    """How many races at the end of the card are lost: by a field, else by words: "Last three races abandoned"."""
    in_words = (part.last for part in _in_words(fields))
    return first_of(fields, "state.races_lost", _number_lost) or next(filter(None, in_words), None)


def _number_lost(value: Any) -> int | None:
    """A list names the races, which may be no last races."""
    return None if isinstance(value, list) else read_card_number(value)


def lost_by_name(fields: Sequence[Fields], meeting: Race) -> tuple[Race, ...]:
    """The races that the words about the loss name, by number or time."""
    named = _named_as_lost(fields)
    return read_races([fields_of({"races": list(named)})], meeting) if named else ()


def _named_as_lost(fields: Sequence[Fields]) -> tuple[str, ...]:
    """The lost races, if each text about the loss names races: "Races 2 and 4 abandoned"."""
    said = [extent_in(words).named for words in _said_of_extent(fields) if state_in(words) in LOST_OR_VOID]
    return said[0] if said and all(said) else ()


def _is_part_in_words(fields: Sequence[Fields]) -> bool:
    """Whether the words tell the loss of a part. Many named races, "Races 1-7 abandoned", may be the whole card."""
    if named := _named_as_lost(fields):
        return len(named) < FEWEST_RACES
    return any(part.run is not None for part in _in_words(fields))


def lost_sessions(fields: Sequence[Fields]) -> list[Race]:
    """The first of [{"name": "Morning", "status": "Abandoned"}, {"name": "Afternoon"}]; all, if none says so."""
    listed = _sessions(fields)
    return [one for one in listed if one.abandoned] or listed


def _sessions_told_apart(fields: Sequence[Fields]) -> list[Race]:
    """The lost sessions, where other listed sessions go ahead."""
    lost = lost_sessions(fields)
    return lost if len(lost) < len(_sessions(fields)) else []


def _sessions(fields: Sequence[Fields]) -> list[Race]:
    lists = (value for value in values_of(fields, "state.session") if isinstance(value, list))
    return [read_race(one) for value in lists for one in value[:MOST_NOTES] if isinstance(one, dict)]


def _in_words(fields: Sequence[Fields]) -> Iterator[LostPart]:
    return map(extent_in, _said_of_extent(fields))


def session_names(fields: Sequence[Fields]) -> list[str]:
    """The lost sessions, while other sessions go ahead: "Evening session"."""
    scopes = [*_scopes(fields)]
    if any(map(is_yes, values_of(fields, "state.whole"))) or any(extent_in(one).of_all for one in scopes):
        return []
    listed = (one.title for one in _sessions_told_apart(fields))
    said = filter(None, (*map(text, values_of(fields, "state.session")), *listed))
    names = (f"{re.sub('(?i) session$', '', one)} session" for one in said)
    return [one for one in names if extent_in(f"{one} abandoned").of_some]


def _said_of_extent(fields: Sequence[Fields]) -> Iterator[str]:
    yield from (f"{name} abandoned" for name in session_names(fields))
    yield from _scopes(fields)


def _scopes(fields: Sequence[Fields]) -> Iterator[str]:
    yield from (f"abandoned from {one}" for one in values_of(fields, "state.first_lost") if isinstance(one, str))
    for said in values_of(fields, "state.scope"):
        several = said.values() if isinstance(said, dict) else said[:MOST_NOTES] if isinstance(said, list) else [said]
        yield from (text(one) or "" for one in several if not isinstance(one, dict | list))
