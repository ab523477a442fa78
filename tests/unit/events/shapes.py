"""Shared by tests of whole deliveries: places and horses to send, and the lines of what was read."""

import json
from typing import Any

from bot.deliveries.payload import read_events

DAY = "2026-11-20"
AT: dict[str, Any] = {"course": "York", "region": "GB", "date": DAY, "off": "13:00"}
ASCOT, BATH = {"course": "Ascot", "region": "GB", "date": DAY}, {"course": "Bath"}
UNTIMED: dict[str, Any] = {"course": "York", "date": DAY}
ROWS = [{"number": 1, "name": "A", "position": 1}, {"number": 2, "name": "B", "position": 2}]


def said(payload: object) -> list[str]:
    """For example "York 13:00: A 1, B 2" of each event; of a meeting the day, of an unread payload the reason."""
    lines = []
    for event in read_events(json.dumps(payload).encode()):
        race = event.race
        count = f", {len(event.races)} races" if event.races else ""
        named = f"{race.course.name} {race.off.text or race.race_date}{count}"
        placed = [f"{one.horse} {one.position}" for one in race.runners if one.position]
        doubt = " in dispute" if race.disputed else ""
        unread = f" could not be read: {race.unread_order}" if race.unread_order else ""
        doubt += " and lost" if race.abandoned and placed else ""
        lines.append(event.unreadable_because or f"{named}: {', '.join(placed)}".removesuffix(": ") + doubt + unread)
    return lines


def shape(event: str = "result.received", **data: Any) -> object:
    return {"event": event, "data": data}


def told(row: dict[str, Any]) -> str:
    """What is said of a row of a YAML file: event → data, or a whole payload."""
    (name, data), *others = row.items()
    return "; ".join(said(row if others or "." not in name else shape(name, **data)))
