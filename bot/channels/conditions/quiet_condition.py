"""Quiet hours: the times of day in which results and racecards wait. Hours go by the clock of the filter's zone."""

import re
from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from bot.channels.conditions.condition import EVERY_VALUE, Condition, FileData, FilterFields, word_of
from bot.channels.conditions.zone_condition import zone_of
from bot.events.event import RacingEvent

QUIET_KEY = "quiet"
QUIET_EXAMPLE = "22:00-07:00"

_TIME = r"(2[0-4]|[01]?[0-9])(?:[:.]([0-5][0-9]))?"
_HOURS = re.compile(rf"{_TIME} ?[-–—] ?{_TIME}", re.ASCII)  # noqa: RUF001  as phones type dashes


class QuietCondition(Condition):
    """Quiet hours take no event away. Newly typed hours replace the present hours."""

    field = file_key = QUIET_KEY
    file_noun = "quiet hours"

    def takes(self, _chosen: FilterFields, _event: RacingEvent) -> bool:
        return True

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not wide.quiet or wide.quiet == narrow.quiet

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return one.quiet if (one.quiet, one.zone) == (other.quiet, other.zone) else ()

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> tuple[str, ...]:  # noqa: ARG002
        return chosen.quiet or before.quiet

    def without(self, before: FilterFields, words: Collection[str]) -> tuple[str, ...]:
        return () if EVERY_VALUE in words else tuple(one for one in before.quiet if one not in words)

    def to_file(self, chosen: FilterFields) -> list[str]:
        return list(chosen.quiet)

    def from_file(self, data: FileData) -> str:
        return hours_of(word_of(data))


def hours_of(typed: str) -> str:
    """The stored form, as "22:00-07:00". Raises ValueError where no hours can be meant."""
    found = _HOURS.fullmatch(typed.strip())
    each = [_time(found[hour], found[hour + 1]) for hour in (1, 3)] if found else []
    if None in each or len(set(each)) < 2:
        raise ValueError(f"{typed[:40]} are no quiet hours: write {QUIET_EXAMPLE}, for example")
    return "-".join(f"{one:%H:%M}" for one in each if one)


def quiet_until(chosen: FilterFields, now: datetime) -> datetime | None:
    """The end of the filter's quiet hours; None outside of them. Unreadable hours and zones are not heeded."""
    zone = zone_of(chosen)
    spans = list(_spans(chosen.quiet)) if zone is not None else []
    until = now
    # One round for each: hours may follow each other.
    for _ in spans:
        until = max((end for begin, ends in spans for end in _end(begin, ends, zone, until)), default=until)
    return until if until > now else None


def _time(hour: str, minute: str | None) -> time | None:
    if hour == "24":
        return None if minute and int(minute) else time()
    return time(int(hour), int(minute or 0))


def _spans(quiet: Iterable[str]) -> Iterable[tuple[time, time]]:
    for hours in quiet:
        try:
            begin, ends = map(time.fromisoformat, hours.split("-"))
        except ValueError:
            continue
        yield begin, ends


def _end(begin: time, ends: time, zone: tzinfo | None, at: datetime) -> Iterable[datetime]:
    """The end of the hours around a moment, if the moment is in the hours of the day or of the day before."""
    today = at.astimezone(zone).date()
    for day in (today - timedelta(days=1), today):
        last = day if ends > begin else day + timedelta(days=1)
        if _moment(day, begin, zone) <= at < (end := _moment(last, ends, zone)):
            yield end


def _moment(day: date, at: time, zone: tzinfo | None) -> datetime:
    """In UTC: only there moments on both sides of a change of the clock compare."""
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
