"""Names that people watch: how names are compared, and the watched runners of a version."""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from bot.events.races import APOSTROPHES, RESERVED, Race, Runner, Value, finishing_position, is_non_runner, plain_name

_COUNTRY = re.compile(r"\(([a-z]{2,3})\)$")


_SIGNS = str.maketrans(dict.fromkeys(".-\u2010\u2011\u2012\u2013\u2014\u2015\u2212", " "))

_LETTERS = str.maketrans("\u00f8\u0142\u0111\u00f0\u0127\u0131", "olddhi") | str.maketrans(
    {"\u00e6": "ae", "\u0153": "oe", "\u00fe": "th"}
)
"""Latin letters with a stroke, and ligatures, which Unicode does not take apart: Søren, Łukasz, Đorđe, Ægir.

A library (unidecode, anyascii) also respells Greek or Chinese names, where two names become the same. The table has
the letters of the languages of published names, and a name in any other script is compared as written.
"""


class NameKey(NamedTuple):
    """A name without case, accents, apostrophes, dots, hyphens and invisible signs.

    `country`: of birth, "ire" of "Golden Melody (IRE)".
    """

    bare: str
    country: str | None = None

    def __str__(self) -> str:
        return f"{self.bare} ({self.country})" if self.country else self.bare

    def may_be(self, other: "NameKey") -> bool:
        """True unless the countries of birth differ."""
        return self.bare == other.bare and (None in {self.country, other.country} or self.country == other.country)


@lru_cache(maxsize=16_384)
def name_key(name: str) -> NameKey:
    # Before NFKD, which makes a space of an acute accent that stands for an apostrophe.
    bare = name.translate(APOSTROPHES).casefold().translate(_LETTERS)
    parts = unicodedata.normalize("NFKD", bare)
    letters = "".join(part for part in parts if not unicodedata.combining(part) and unicodedata.category(part) != "Cf")
    folded = " ".join(letters.translate(_SIGNS).split())
    country = _COUNTRY.search(folded)
    return NameKey(plain_name(folded), country[1] if country else None)


class WatchedRunner(Value):
    """A runner with a watched name.

    `by`: the watched trainer or jockey, as "trainer A. Smith"; empty where the horse is watched. `off`: of a race of a
    meeting or card. `position`: of a result. `is_lost`: an earlier version had the runner, and the newest has not.
    `is_gone`: the newest version lacks the horse itself. `is_back`: runs, and was out in an earlier version, no
    reserve.
    """

    horse: str | None = None
    by: tuple[str, ...] = ()
    off: str | None = None
    position: str | None = None
    is_lost: bool = False
    is_gone: bool = False
    is_back: bool = False

    @property
    def is_out(self) -> bool:
        return self.is_gone or is_non_runner(self.position)

    def is_covered_by(self, horse: str | None, by: Collection[str]) -> bool:
        """True for the same horse with the watched people."""
        people = {name_key(words).bare for words in by}
        return _bare(self.horse) == _bare(horse) and all(name_key(words).bare in people for words in self.by)


WatchedIn = Mapping[str, tuple[WatchedRunner, ...]]
"""Watched runners by channel."""


def renewed(
    noted: Sequence[WatchedRunner], found: Sequence[WatchedRunner], races: Sequence[Race]
) -> tuple[WatchedRunner, ...]:
    """The runners that a version `found` by today's watches, and the runners `noted` with an earlier version.

    A noted runner is lost if the race has the runner no more, with the same jockey and trainer. So is a runner whose
    place another horse has: maybe a corrected name. A runner whose watch has ended stays.
    """
    lost, kept = list[WatchedRunner](), list[WatchedRunner]()
    for one in noted:
        there = _there(one, races)
        if _is_lost(one, there):
            lost.append(one.model_copy(update={"is_lost": True, "is_gone": not there}))
        else:
            kept.append(one.model_copy(update={"is_lost": False, "is_gone": False}))
    found = [one.model_copy(update={"is_back": _is_back(one, noted)}) for one in found]
    is_there = [
        one for one in found if not any(gone.off == one.off and gone.is_covered_by(one.horse, one.by) for gone in lost)
    ]
    others = [one for one in kept if not any(one.is_covered_by(other.horse, other.by) for other in found)]
    return (*is_there, *others, *lost)


def out_or_back(before: WatchedIn, now: WatchedIn, watches: Callable[[str, WatchedRunner], bool]) -> set[str]:
    """Channels that still watch a runner who is newly out or off the card, or who runs again.

    A reserve is told again only where the runner was none before.
    """

    def is_news(runner: WatchedRunner, noted: Sequence[WatchedRunner]) -> bool:
        same = _same(runner, noted)
        if not runner.is_out:
            return bool(same) and all(one.is_out for one in same)
        return any(not one.is_out for one in same) if same else runner.position != RESERVED

    return {
        channel_id
        for channel_id, runners in now.items()
        if any(is_news(one, before.get(channel_id, ())) and watches(channel_id, one) for one in runners)
    }


def _same(runner: WatchedRunner, noted: Sequence[WatchedRunner]) -> list[WatchedRunner]:
    same = [one for one in noted if one.is_covered_by(runner.horse, runner.by)]
    # A horse may be declared for two races.
    return [one for one in same if one.off == runner.off] or same


def _is_back(runner: WatchedRunner, noted: Sequence[WatchedRunner]) -> bool:
    same = _same(runner, noted)
    was_out = all(one.is_back or (one.is_out and one.position != RESERVED) for one in same)
    return bool(same) and not runner.is_out and was_out


def _there(noted: WatchedRunner, races: Sequence[Race]) -> list[Runner]:
    """The horse in the same race, in any race if the race has moved."""
    same = [race for race in races if noted.off and noted.off == race.off.text] or races
    return [runner for race in same for runner in race.runners if _bare(runner.horse) == _bare(noted.horse)]


def _is_lost(noted: WatchedRunner, there: Sequence[Runner]) -> bool:
    same = [
        runner
        for runner in there
        if noted.is_covered_by(runner.horse, [f"trainer {runner.trainer}", f"jockey {runner.jockey}"])
    ]
    was_placed = bool(finishing_position(noted.position))
    return not same or (was_placed and not any(runner.position for runner in same))


def _bare(horse: str | None) -> str | None:
    return name_key(horse).bare if horse else None
