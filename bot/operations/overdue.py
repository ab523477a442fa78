"""Bounds of a race's off for every time zone (Spec gap G16).

An instant is known only with a published offset. Else the published date bounds the race: a day begins first at UTC+14
and ends last at UTC-12. A time of day narrows nothing without a zone.
"""

from datetime import datetime, timedelta

from bot.events.days import begins_at, ends_at, racing_day
from bot.events.races import Race

LONG_PAST = timedelta(hours=3)
"""A race settles within minutes of the off. After this time an outcome is missing."""


def is_long_past(race: Race, now: datetime) -> bool:
    """False without an instant and a date."""
    bounds = _bounds(race)
    return bounds is not None and now >= bounds[1] + LONG_PAST


def surely_began_after(race: Race, moment: datetime) -> bool:
    bounds = _bounds(race)
    return bounds is not None and bounds[0] > moment


def _bounds(race: Race) -> tuple[datetime, datetime] | None:
    """An instant outside the published date is no off time: the date counts."""
    at, day = race.off.off_at, racing_day(race.race_date)
    if day is None:
        return (at, at) if at else None
    first, last = begins_at(day), ends_at(day)
    return (at, at) if at and first <= at <= last else (first, last)
