"""Time zones of regions. A race's own zone is not published (Spec gap G16)."""

from datetime import tzinfo

from bot.events.days import known_zone
from bot.events.word_rows import sentence_rows

_ROWS = sentence_rows("bot.events", "region_zones.ini")["zones"].items()
_ZONES_OF = {code.upper(): zones.split() for codes, zones in _ROWS for code in codes.split()}


def zones_of_region(region: str | None) -> list[tzinfo]:
    return [*filter(None, map(known_zone, _ZONES_OF.get(region or "", ())))]
