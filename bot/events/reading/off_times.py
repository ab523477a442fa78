"""Dates and times of races as published, never shifted by a zone (Spec gap G16)."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from typing import Any

from bot.events.races import OffTime
from bot.events.reading.json_values import fields_of

FIRST_YEAR, LAST_YEAR = 1900, 2100

EPOCH_RANGE_S = (946_684_800, 4_102_444_800)
"""2000 to 2100 in Unix time; a thousandfold number is in milliseconds."""

DATE = re.compile(r"([0-9]{4})([-/.]?)([0-9]{2})\2([0-9]{2})(?![0-9])")
DATE_AND_CLOCK = re.compile(r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[Tt ]+((?:[01][0-9]|2[0-3]):[0-5][0-9])")
CLOCK = re.compile(
    r"(?P<clock>(?:[01]?[0-9]|2[0-3]):[0-5][0-9])(?::[0-5][0-9](?:\.[0-9]+)?)?"
    r"(?:[Zz]|[+-][0-9]{2}:?[0-9]{2}|(?P<spoken> ?[A-Za-z.]{2,5}))?"
)
BARE_CLOCK = re.compile(r"([01][0-9]|2[0-3])([0-5][0-9])")

OFF_PARTS = ("local", "localtime", "text", "time", "scheduled", "value", "iso", "datetime", "utc", "timestamp")


def read_date(value: Any) -> str | None:
    """As "YYYY-MM-DD". 17/06/2025 is None: the month may be either number."""
    found = DATE.match(str(value).strip()) if isinstance(value, str | int) else None
    if not found:
        return None
    year, month, day = (int(found[group]) for group in (1, 3, 4))
    try:
        return date(year, month, day).isoformat() if FIRST_YEAR <= year < LAST_YEAR else None
    except ValueError:
        return None


def read_dated_clock(value: Any) -> str | None:
    return read_date(value.strip()) if isinstance(value, str) and DATE_AND_CLOCK.match(value.strip()) else None


def read_plain_date(value: Any) -> str | None:
    found = DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    return read_date(value) if found else None


def read_instant(value: Any) -> datetime | None:
    """Aware, in UTC: of an ISO time with an offset or of Unix time."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{10}(?:[0-9]{3})?(?:\.[0-9]{1,9})?", value.strip()):
        return _from_epoch(float(value))
    if isinstance(value, int | float):
        return _from_epoch(value)
    return _from_iso(value.strip()) if isinstance(value, str) else None


def read_clock(value: Any) -> str | None:
    """Without seconds and offset: "14:30", "2:30", "2:30pm"."""
    found = CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if found:
        return found["clock"] + (found["spoken"] or "")
    bare = BARE_CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    return f"{bare[1]}:{bare[2]}" if bare else None


def read_off(values: Iterable[Any]) -> OffTime:
    """One off time from several readings.

    A plain time of day is meant for readers and comes first. Unix time gives no text: a text needs the course's zone.
    """
    plain = dated = instant = None
    for value in values:
        plain = plain or read_clock(value)
        dated = dated or _clock_of_dated(value)
        instant = instant or read_instant(value)
    return OffTime(text=plain or dated, off_at=instant)


def spread_off(value: Any) -> Iterator[Any]:
    """The readings of {"local": "14:30", "utc": "2025-06-17T13:30:00Z"}."""
    if not isinstance(value, dict):
        yield value
        return
    fields = fields_of(value)
    yield from (fields[name] for name in OFF_PARTS if name in fields)


def _clock_of_dated(value: Any) -> str | None:
    found = DATE_AND_CLOCK.match(value.strip()) if isinstance(value, str) else None
    return found[1] if found else None


def _from_epoch(number: float) -> datetime | None:
    first, last = EPOCH_RANGE_S
    if first <= number < last:
        return datetime.fromtimestamp(number, UTC)
    return datetime.fromtimestamp(number / 1000, UTC) if first * 1000 <= number < last * 1000 else None


def _from_iso(value: str) -> datetime | None:
    if not DATE_AND_CLOCK.match(value):
        return None
    try:
        moment = datetime.fromisoformat(value.replace("/", "-"))
    except ValueError:
        return None
    in_range = FIRST_YEAR <= moment.year < LAST_YEAR
    return moment.astimezone(UTC) if in_range and moment.tzinfo else None
