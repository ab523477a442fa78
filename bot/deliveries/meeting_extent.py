"""How much of an abandoned meeting was run: by numbers, by words, and by its races (Spec gap G1)."""

from collections.abc import Iterator, Sequence
from typing import Any

from bot.events.lost_part import lost_at_the_end, lost_from_time, named_as_lost, run_before_loss
from bot.events.race_state import LOST_OR_VOID, state_in
from bot.events.races import OffTime, Race
from bot.events.reading.fields import Fields, first_of, values_of
from bot.events.reading.json_values import MOST_NOTES, flag, is_no, text
from bot.events.reading.off_times import read_clock
from bot.events.reading.race_list import race_entries, read_card_number, within
from bot.events.reading.race_record import read_race


def races_run(fields: Sequence[Fields], races: Sequence[Race]) -> int | None:
    """How many races were run; 0 if some were run, and the payload gives no number. None for a whole meeting.

    Of a meeting whose payload names races 3 to 7 alone, races 1 and 2 were run.
    """
    run, first_lost, lost, in_all = (
        first_of(fields, f"state.{key}", read_card_number)
        for key in ("races_run", "first_lost", "races_lost", "races_in_all")
    )
    lost = lost or last_lost(fields)
    in_all = in_all or len(races)
    run = run or _last_run(fields) or (first_lost - 1 if first_lost and first_lost > 1 else None)
    if run or (lost and in_all and lost < in_all):
        return run or in_all - (lost or 0)
    is_part = first_of(fields, "state.partly", flag) or any(map(is_no, values_of(fields, "state.whole")))
    is_part = is_part or any(one and not is_no(one) for one in values_of(fields, "state.remaining"))
    is_part = is_part or any(run is not None for run in _run_in_words(fields)) or len(_numbers_lost(fields)) == 1
    begins_later = min((race.card_number or 1 for race in races), default=1) > 1
    from_a_time = not races and lost_from(fields).text is not None
    return 0 if is_part or begins_later or from_a_time else None


def tells_loss(fields: Sequence[Fields], races: Sequence[Race]) -> bool:
    """Whether a meeting's own fields say how much was lost."""
    return races_run(fields, races) is not None or bool(first_of(fields, "state.races_lost", read_card_number))


def marked_as_run(fields: Sequence[Fields], races: tuple[Race, ...], meeting: Race) -> tuple[Race, ...]:
    """The races, and the races in a list of races that were run. `abandoned` is False for each race that was run.

    A race with a winning time was run, and so were the races before the first lost race.
    """
    run = (one for part in fields for one in race_entries(part, "lists.run_races"))
    races += tuple(within(read_race(one), meeting).model_copy(update={"abandoned": False}) for one in run)
    first_lost, until = _first_lost(fields) or (races_run(fields, races) or 0) + 1, lost_from(fields).minute_of_day

    def was_run(race: Race) -> bool:
        number, offs = race.card_number, race.local_minutes
        is_before = number is not None and number < first_lost
        is_early = until is not None and offs != [] and max(offs) < until
        return race.winning_time is not None or is_before or is_early

    return tuple(
        race.model_copy(update={"abandoned": False}) if race.abandoned is None and was_run(race) else race
        for race in races
    )


def extent_of(fields: Sequence[Fields]) -> str | None:
    """The first lost race of several, in words: "from race 4 on", "from 14:30 on"."""
    first = _first_lost(fields) or first_of(fields, "state.lost_from", _first_clock)
    return f"from {'race ' if isinstance(first, int) else ''}{first} on" if first else None


def _first_lost(fields: Sequence[Fields]) -> int | None:
    last_run = _last_run(fields)
    return first_of(fields, "state.first_lost", read_card_number) or (last_run + 1 if last_run else None)


def lost_from(fields: Sequence[Fields]) -> OffTime:
    in_words = filter(None, map(lost_from_time, _said_of_extent(fields)))
    return OffTime(text=first_of(fields, "state.lost_from", _first_clock) or next(in_words, None))


def _first_clock(value: Any) -> str | None:
    clocks = filter(None, map(read_clock, value if isinstance(value, list) else [value]))
    return min(clocks, key=lambda clock: OffTime(text=clock).minute_of_day or 0, default=None)


def _last_run(fields: Sequence[Fields]) -> int | None:
    """The number of the last race before the abandonment."""
    return next(filter(None, _run_in_words(fields)), None) or first_of(fields, "state.last_run", read_card_number)


def last_lost(fields: Sequence[Fields]) -> int | None:
    """How many races at the end of the card are lost: 3 of "Last three races abandoned"."""
    return next(filter(None, map(lost_at_the_end, _said_of_extent(fields))), None)


def lost_by_number(fields: Sequence[Fields], meeting: Race) -> tuple[Race, ...]:
    return tuple(within(Race(number=str(one)), meeting) for one in _numbers_lost(fields))


def _numbers_lost(fields: Sequence[Fields]) -> list[int]:
    """The lost races, if each text about the loss names its races: "Races 2 and 4 abandoned"."""
    said = [named_as_lost(words) for words in _said_of_extent(fields) if state_in(words) in LOST_OR_VOID]
    return said[0] if said and all(said) else []


def _run_in_words(fields: Sequence[Fields]) -> Iterator[int | None]:
    """Empty for words that name the lost races: nothing is said of the others."""
    return iter(()) if _numbers_lost(fields) else map(run_before_loss, _said_of_extent(fields))


def _said_of_extent(fields: Sequence[Fields]) -> Iterator[str]:
    for said in values_of(fields, "state.scope"):
        several = said.values() if isinstance(said, dict) else said[:MOST_NOTES] if isinstance(said, list) else [said]
        yield from (text(one) or "" for one in several if not isinstance(one, dict | list))
