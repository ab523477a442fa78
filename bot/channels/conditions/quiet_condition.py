"""Quiet hours: the times of day in which results and racecards wait. Hours go by the clock of the filter's zone."""

import re
from collections.abc import Iterable
from datetime import datetime, time, timedelta, tzinfo

from bot.channels.conditions.choice_condition import ChoiceCondition, moment_of, time_of_day
from bot.channels.conditions.condition import FilterFields
from bot.channels.conditions.zone_condition import zone_of

QUIET_KEY = "quiet"
QUIET_EXAMPLE = "22:00-07:00"

_DASH = re.compile(" ?[-–—] ?")  # noqa: RUF001  as phones type dashes


class QuietCondition(ChoiceCondition):
    field = file_key = QUIET_KEY
    file_noun = "quiet hours"

    def stored(self, typed: str) -> str:
        """As "22:00-07:00"."""
        each = [time_of_day(part) for part in _DASH.split(typed.strip())]
        if None in each or len(each) != len(set(each)) or len(each) != len(("begin", "end")):
            raise ValueError(f"{typed[:40]} are no quiet hours: write {QUIET_EXAMPLE}, for example")
        return "-".join(f"{one:%H:%M}" for one in each if one is not None)


def quiet_until(chosen: FilterFields, now: datetime) -> datetime | None:
    """The end of the filter's quiet hours; None outside. Unreadable hours and zones are not heeded."""
    zone = zone_of(chosen)
    if zone is None:
        return None
    spans = list(_spans(chosen.quiet))
    until = now
    # Hours may follow each other.
    for _ in spans:
        until = max((end for begin, ends in spans for end in _end(begin, ends, zone, until)), default=until)
    return until if until > now else None


def _spans(quiet: Iterable[str]) -> Iterable[tuple[time, time]]:
    for hours in quiet:
        begin, ends = (time_of_day(part) for part in hours.partition("-")[::2])
        if begin is not None and ends is not None:
            yield begin, ends


def _end(begin: time, ends: time, zone: tzinfo, at: datetime) -> Iterable[datetime]:
    """The end of the hours around a moment, if the moment is in the hours of the day or of the day before."""
    today = at.astimezone(zone).date()
    for day in (today - timedelta(days=1), today):
        last = day if ends > begin else day + timedelta(days=1)
        if moment_of(day, begin, zone) <= at < (end := moment_of(last, ends, zone)):
            yield end
