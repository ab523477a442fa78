"""Time zones as people type zones: a name of the time zone database, or its city."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import available_timezones

from bot.channels.conditions.condition import FilterFields
from bot.events.days import known_zone

ZONE_EXAMPLE = "Europe/London"

NEAR_ZONES = 3
NEAR_ZONE_SCORE = 70.0
"""As rapidfuzz's ratio, from 0 to 100."""

_NOT_FOR_PEOPLE = ("posix/", "right/", "localtime", "Factory", "SystemV/")

_OFFSET = re.compile(r"(?:gmt|utc)?_?[+\-\u2212\u2013][0-9:.]*", re.IGNORECASE)
"""Names no place. The database's own names of offsets have the other sign: Etc/GMT+2 is two hours behind UTC."""

_OFFSETS = "etc/gmt"


def zone_named(typed: str) -> str:
    """The name of a zone typed in any letter case, or by the city alone. Raises ValueError with the nearest names."""
    if zone := zone_called(typed):
        return zone
    word = _word(typed)
    if _OFFSET.fullmatch(word):
        raise ValueError(
            f"{typed[:40]} is an offset, and knows no summer time: write a city's zone, {ZONE_EXAMPLE} for example"
        )
    near = _cities().get(word) or [_names()[folded] for folded in _near(word)]
    meant = f"write {' or '.join(near[:NEAR_ZONES])}" if near else f"write {ZONE_EXAMPLE}, for example"
    raise ValueError(f"{typed[:40]} is no time zone: {meant}")


def zone_called(typed: str) -> str | None:
    """The name of a zone typed in any letter case, or by a city of a single zone."""
    word = _word(typed)
    if _OFFSET.fullmatch(word):
        return None
    cities = _cities().get(word, ())
    return _names().get(word) or (cities[0] if len(cities) == 1 else None)


def zone_of(chosen: FilterFields) -> tzinfo | None:
    """UTC without a zone; None for a zone unknown to this machine."""
    return known_zone(chosen.zone[0]) if chosen.zone else UTC


def _near(word: str) -> list[str]:
    cities = {folded: folded.rpartition("/")[2] for folded in _names() if not folded.startswith(_OFFSETS)}
    from rapidfuzz import fuzz, process  # noqa: PLC0415  3 MiB, and seldom needed

    whole = process.extract(word, list(cities), scorer=fuzz.ratio, score_cutoff=NEAR_ZONE_SCORE, limit=NEAR_ZONES)
    by_city = process.extract(word, cities, scorer=fuzz.ratio, score_cutoff=NEAR_ZONE_SCORE, limit=NEAR_ZONES)
    scored = [(score, name) for name, score, _ in whole] + [(score, name) for _, score, name in by_city]
    return list(dict.fromkeys(name for _, name in sorted(scored, key=lambda one: (-one[0], one[1]))))


@cache
def _names() -> Mapping[str, str]:
    """The zones' names by folded name."""
    return {name.casefold(): name for name in sorted(available_timezones()) if not name.startswith(_NOT_FOR_PEOPLE)}


@cache
def _cities() -> Mapping[str, Sequence[str]]:
    """The names by folded city."""
    found: dict[str, list[str]] = {}
    for folded, name in _names().items():
        found.setdefault(folded.rpartition("/")[2], []).append(name)
    return found


def _word(typed: str) -> str:
    return "_".join(typed.split()).casefold()
