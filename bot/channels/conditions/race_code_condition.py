"""The codes of racing of a filter: flat, jumps, all-weather. A race whose fields don't say its code is taken."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.channels.conditions.condition import EVERY_VALUE, Condition, FileData, FilterFields, word_of
from bot.events.event import EventKind, RacingEvent
from bot.events.races import Race

CODE = "code"

FLAT, JUMPS, ALL_WEATHER = "flat", "jumps", "aw"

CALLED: Mapping[str, str] = {
    **{word: word for word in (FLAT, JUMPS, ALL_WEATHER)},
    **dict.fromkeys(("jump", "national hunt", "over jumps"), JUMPS),
    **dict.fromkeys(("all weather", "all-weather"), ALL_WEATHER),
}
"""What people call a code."""

_OVER_JUMPS = re.compile(r"\b(?:hurdles?|(?:steeple)?chases?|jumps?|bumper|n\.?h\.?f?|inh|national hunt)\b")
_ON_THE_FLAT = re.compile(r"\bflat\b")
_SYNTHETIC = re.compile(r"\b(?:a\.?w\.?t?|all[ -]weather|polytrack|tapeta|fibresand|synthetic|psf)\b")
_NATURAL = re.compile(r"\b(?:turf|grass|gazon|dirt)\b")


class RaceCodeCondition(Condition):
    """The only codes that a filter takes; empty: all. A whole meeting's abandonment is taken, a card for any race."""

    field = file_key = "codes"
    file_noun = "a code of racing"
    is_narrowing = True

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        if not chosen.codes or event.kind is EventKind.MEETING_ABANDONED:
            return True
        return any(is_of(race, code) is not False for race in event.races or (event.race,) for code in chosen.codes)

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not wide.codes or (bool(narrow.codes) and set(narrow.codes) <= set(wide.codes))

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return self.of_file([*one.codes, *other.codes]) if one.codes and other.codes else ()

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> tuple[str, ...]:
        return self.of_file([*before.codes, *chosen.codes]) if before.codes and not whole else ()

    def without(self, before: FilterFields, words: Collection[str]) -> tuple[str, ...]:
        return tuple(one for one in before.codes if one not in words)

    def to_file(self, chosen: FilterFields) -> list[str]:
        return list(chosen.codes)

    def from_file(self, data: FileData) -> str:
        word = word_of(data)
        if code := CALLED.get(word.strip().casefold()):
            return code
        raise ValueError(f"{word[:40]} is no code of racing: write {FLAT}, {JUMPS} or {ALL_WEATHER}")

    def of_file(self, values: Sequence[Any]) -> tuple[str, ...]:
        return tuple(sorted(dict.fromkeys(values), key=(FLAT, JUMPS, ALL_WEATHER, EVERY_VALUE).index))


def is_of(race: Race, code: str) -> bool | None:
    """None where the race does not say."""
    kind, surface = (race.race_type or "").casefold(), f"{race.surface or ''} {race.course.name or ''}".casefold()
    if code == ALL_WEATHER:
        return True if _SYNTHETIC.search(surface) else False if _NATURAL.search(surface) else None
    is_over_jumps, is_flat = bool(_OVER_JUMPS.search(kind)), bool(_ON_THE_FLAT.search(kind))
    if not (is_over_jumps or is_flat):
        return None
    return is_over_jumps is (code == JUMPS)
