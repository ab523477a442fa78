"""Names that people watch: how names are compared, and the watched runners of a version."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from bot.events.races import Value, plain_name

_COUNTRY = re.compile(r"\(([a-z]{2,3})\)$")


_SIGNS = str.maketrans(".-", "  ")


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
    parts = unicodedata.normalize("NFKD", name.casefold())
    letters = "".join(part for part in parts if not unicodedata.combining(part) and unicodedata.category(part) != "Cf")
    folded = " ".join(letters.translate(_SIGNS).split())
    country = _COUNTRY.search(folded)
    return NameKey(plain_name(folded), country[1] if country else None)


class WatchedRunner(Value):
    """A runner with a watched name.

    `by`: the watched trainer or jockey, as "trainer A. Smith"; empty where the horse is watched. `off`: of a race of a
    meeting or card. `position`: of a result.
    """

    horse: str | None = None
    by: tuple[str, ...] = ()
    off: str | None = None
    position: str | None = None


WatchedIn = Mapping[str, tuple[WatchedRunner, ...]]
"""By channel."""
