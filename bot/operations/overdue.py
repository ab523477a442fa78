"""When a race is surely over, and when it surely had not begun: bounds for every time zone (Spec gap G16).

An instant is known only where an offset came with the off time. Else the published date alone bounds the race: a day
begins first at UTC+14 and ends last at UTC-12. A published time of day narrows nothing: the zone is not shown.
"""

from datetime import UTC, date, datetime, time, timedelta

from bot.events.races import Race

AHEAD, BEHIND = timedelta(hours=14), timedelta(hours=12)
"""How far the zones of the Earth lie ahead of UTC, and behind."""

LONG_PAST = timedelta(hours=3)
"""A race settles within minutes of the off. An outcome that has not come after this time is missing."""


def is_long_past(race: Race, now: datetime) -> bool:
    """Whether the off is surely past by LONG_PAST. False for a race without an instant and a date."""
    bounds = _bounds(race)
    return bounds is not None and now >= bounds[1] + LONG_PAST


def surely_began_after(race: Race, moment: datetime) -> bool:
    """Whether the off is surely later than the moment."""
    bounds = _bounds(race)
    return bounds is not None and bounds[0] > moment


def _bounds(race: Race) -> tuple[datetime, datetime] | None:
    """The first and the last possible moment of the off.

    An instant outside the published date is no off time of the race: the date decides then.
    """
    at = race.off.off_at
    try:
        midnight = datetime.combine(date.fromisoformat(race.race_date or ""), time.min, UTC)
    except ValueError:
        return (at, at) if at else None
    first, last = midnight - AHEAD, midnight + timedelta(days=1) + BEHIND
    return (at, at) if at and first <= at <= last else (first, last)
