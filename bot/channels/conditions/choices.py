"""Choices: when a channel is told of the events that the filter's other conditions take, and who acknowledges."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from bot.channels.conditions.condition import Condition, FilterFields
from bot.channels.conditions.event_conditions import HERE, is_mention
from bot.channels.conditions.zones import ZONE_EXAMPLE, zone_named, zone_of
from bot.events.event import RacingEvent, Topic
from bot.events.typed_times import read_clock, read_length


class ChoiceCondition(Condition):
    """A choice takes no event away. Newly typed values replace present values.

    `is_single`: the last of several values counts. `example`: a typed value.
    """

    is_single = False
    example: str

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not self.of(wide) or self.of(wide) == self.of(narrow)

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        values: tuple[str, ...] = self.of(one)
        return values if (values, one.zone) == (self.of(other), other.zone) else ()

    def added(self, before: FilterFields, chosen: FilterFields, *, whole: bool) -> tuple[str, ...]:  # noqa: ARG002
        values: tuple[str, ...] = self.of(chosen) or self.of(before)
        return values

    def of_file(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[-1:] if self.is_single else dict.fromkeys(values))


def time_of_day(typed: str) -> time | None:
    return read_clock(typed, is_hour_enough=True)


def moment_of(day: date, at: time, zone: tzinfo) -> datetime:
    """In UTC: moments on both sides of a change of the clock compare there alone."""
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)


class DigestCondition(ChoiceCondition):
    field = file_key = "digest"
    file_noun = "an hour of a digest"
    topic: Topic | None = Topic.RESULTS
    example = "18:00"

    def stored(self, typed: str) -> str:
        found: time | None = time_of_day(typed)
        if found is None:
            raise ValueError(f"{typed[:40]} is no time of day: write {self.example}, for example")
        return f"{found:%H:%M}"


class EveCondition(DigestCondition):
    """The hour on the day before the racing."""

    field = file_key = "cards"
    file_noun = "an hour for racecards"
    topic = Topic.RACECARDS
    example = "19:00"


def told_at(chosen: FilterFields, event: RacingEvent, now: datetime) -> datetime:
    """The hour that the filter asks for; now without an hour, without a readable zone, and where the hour is over."""
    zone = zone_of(chosen)
    if zone is None:
        return now
    if event.topic is Topic.RESULTS:
        today = now.astimezone(zone).date()
        hours, days = chosen.digest, [today, today + timedelta(days=1)]
    elif event.topic is Topic.RACECARDS:
        hours, days = chosen.cards, _eve(event.race.race_date)
    else:
        return now
    moments = [moment_of(day, at, zone) for day in days for at in map(time_of_day, hours) if at is not None]
    return min((moment for moment in moments if moment > now), default=now)


def _eve(race_date: str | None) -> list[date]:
    try:
        return [date.fromisoformat(race_date or "") - timedelta(days=1)]
    except (ValueError, OverflowError):
        return []


_DASH = re.compile(" ?[-–—] ?")  # noqa: RUF001  as phones type dashes


class QuietCondition(ChoiceCondition):
    field = file_key = "quiet"
    file_noun = "quiet hours"
    example = "22:00-07:00"

    def stored(self, typed: str) -> str:
        """As "22:00-07:00"."""
        each = [time_of_day(part) for part in _DASH.split(typed.strip())]
        if None in each or len(each) != len(set(each)) or len(each) != len(("begin", "end")):
            raise ValueError(f"{typed[:40]} are no quiet hours: write start and end, {self.example} for example")
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


ZONE = "zone"


class ZoneCondition(ChoiceCondition):
    """At most a single value."""

    field = file_key = ZONE
    is_single = True
    file_noun = "a time zone"
    example = ZONE_EXAMPLE

    def stored(self, typed: str) -> str:
        return zone_named(typed)


MEETINGS = "meetings"
"""One live message a meeting. Without a value a channel is told flat."""


class ShowCondition(ChoiceCondition):
    """At most a single value."""

    field = file_key = "show"
    is_single = True
    file_noun = "a way to show results"
    example = MEETINGS

    def stored(self, typed: str) -> str:
        if typed.strip().casefold() != MEETINGS:
            raise ValueError(f"{typed[:40]} is no way to show results: write {MEETINGS}, or nothing")
        return MEETINGS

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return one.show if one.show == other.show else ()


MINUTES_MAX = 720

MINUTES_UNSAID = 10
"""Where people are named and no time."""

_CHANNEL = re.compile("[CG][A-Z0-9]{1,30}", re.ASCII)
_MARKUP = re.compile(r"<[@#!](?:subteam\^)?([A-Z0-9]+|here)(?:\|[^>]*)?>", re.ASCII)
"""As Slack sends a person, a user group or a channel."""


class AckCondition(ChoiceCondition):
    """At most a single value, as "10m"."""

    field = file_key = "ack"
    is_single = True
    ends_too = ("escalate",)
    file_noun = "a time to acknowledge"
    topic = Topic.ABANDONMENTS
    example = "10m"

    def stored(self, typed: str) -> str:
        word = typed.strip()
        length = read_length(f"{word}m" if word.isdecimal() else word) or timedelta(0)
        minutes, seconds = divmod(int(length.total_seconds()), 60)
        if seconds or not 1 <= minutes <= MINUTES_MAX:
            raise ValueError(
                f"{typed[:40]} is no time to acknowledge: write {self.example}, for example, and at most {MINUTES_MAX}m"
            )
        return f"{minutes}m"

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not narrow.ack or wide.ack == narrow.ack

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return min((values for values in (one.ack, other.ack) if values), key=_minutes, default=())


class EscalateCondition(ChoiceCondition):
    """Ids of people, user groups and channels, or HERE. Newly typed ids are added to present ids."""

    field = file_key = "escalate"
    file_noun = "somebody to tell"
    topic = Topic.ABANDONMENTS
    example = "U0123ABCD"

    def stored(self, typed: str) -> str:
        word = typed.strip()
        in_markup = _MARKUP.fullmatch(word)
        # Small letters are a name: as an id, "steve" would be a user group.
        told = in_markup[1] if in_markup else HERE if word.removeprefix("@").lower() == HERE else word
        if not (is_mention(told) or is_channel(told)):
            raise ValueError(
                f"{word[:40]} is no id, and Slack looks up no name for me: Edit in /racing list offers people, groups "
                f"and channels. An id can be typed, as {self.field}:{self.example}"
            )
        return told

    covers, joined, added = Condition.covers, Condition.joined, Condition.added


def is_channel(told: str) -> bool:
    return bool(_CHANNEL.fullmatch(told))


def minutes_of(chosen: FilterFields) -> int | None:
    """None where nobody is asked."""
    return _minutes(chosen.ack) if chosen.ack or chosen.escalate else None


def _minutes(stored: Sequence[str]) -> int:
    minutes = stored[0].removesuffix("m") if stored else ""
    return int(minutes) if minutes.isdecimal() else MINUTES_UNSAID
