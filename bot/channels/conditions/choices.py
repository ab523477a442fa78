"""Choices: when a channel is told of the events that the filter's other conditions take, and who acknowledges."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from bot.channels.conditions.condition import Condition, FilterFields
from bot.channels.conditions.event_conditions import HERE, is_mention
from bot.channels.conditions.zones import ZONE_EXAMPLE, zone_called, zone_named, zone_of
from bot.events.days import racing_day
from bot.events.event import RacingEvent, Topic
from bot.events.sentences import counted, listed
from bot.events.typed_times import read_clock, read_length


class ChoiceCondition(Condition):
    """A choice takes no event away. Newly typed values replace present values.

    `is_single`: the last of several values counts. `is_of_names`: values are names, and no times. `help`: what the
    typed word does.
    """

    is_single = False
    is_of_names = False
    help: str

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not self.of(wide) or self.of(wide) == self.of(narrow)

    def joined(self, one: FilterFields, other: FilterFields) -> Any:
        return self.of(one) if self.of(one) == self.of(other) else ()

    def added(self, before: FilterFields, chosen: FilterFields) -> Any:
        return self.of(chosen) or self.of(before)

    def of_file(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[-1:] if self.is_single else dict.fromkeys(values))

    def guesses(self, _typed: str) -> tuple[str, ...]:
        return () if self.is_of_names else (self.example,)


def by_the_clock(chosen: FilterFields) -> str:
    return chosen.zone[0] if chosen.zone else "UTC"


def time_of_day(typed: str) -> time | None:
    return read_clock(typed, is_hour_enough=True)


def _halves(typed: str) -> list[time]:
    """The times that words may mean, the earlier first: two for "6", and none for other words."""
    at = time_of_day(typed)
    if at is None or not _HALF_UNSAID.fullmatch(typed.strip()):
        return [at] if at else []
    return sorted([at, at.replace(hour=(at.hour + 12) % 24)])


def moment_of(day: date, at: time, zone: tzinfo) -> datetime:
    """The moment in UTC: local moments on both sides of a change of the clock do not compare."""
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)


_HALF_UNSAID = re.compile(r"[1-9](?:[:.][0-9]{2})?|1[0-2]", re.ASCII)
"""An hour of the morning or of the evening."""


class HourCondition(ChoiceCondition):
    """An hour, perhaps with a zone: "6pm London time".

    `wanted`: the refusal of other words, with a place for an example.
    """

    wanted: str

    @abstractmethod
    def meanings(self, typed: str) -> tuple[str, ...]:
        """The stored forms that words may mean: two for "6", which may be in the evening, and none for other words."""

    def stored(self, typed: str) -> str:
        """Raises ValueError also for words with two meanings."""
        meant = self.meanings(typed)
        if len(meant) != 1:
            why = f"may be {' or '.join(meant)}: write one of the two" if meant else self.wanted.format(self.example)
            raise ValueError(f"{typed[:40]} {why}")
        return meant[0]

    def guesses(self, typed: str) -> tuple[str, ...]:
        return self.meanings(typed) or (self.example,)

    def joined(self, one: FilterFields, other: FilterFields) -> Any:
        return super().joined(one, other) if one.zone == other.zone else ()


class DigestCondition(HourCondition):
    field = file_key = "digest"
    file_noun = "an hour of a digest"
    topic: Topic | None = Topic.RESULTS
    typed_as = "digest:"
    wanted = "is no time of day: write {}, for example"
    example = "18:00"
    before: tuple[str, ...] = ("results together", "summary", "roundup", "one message")
    label = "Results together, once a day at"
    help = "a day's results come in one message at that time"
    hint = f"For example: {example}. Abandonments, and changes of earlier news, come at once."

    def meanings(self, typed: str) -> tuple[str, ...]:
        return tuple(f"{one:%H:%M}" for one in _halves(typed))

    def said(self, chosen: FilterFields) -> str:
        return f"{self.before[0]} at {listed(self.of(chosen))} {by_the_clock(chosen)}"


class EveCondition(DigestCondition):
    """The hour on the day before the racing."""

    field = file_key = "cards"
    file_noun = "an hour for racecards"
    topic = Topic.RACECARDS
    typed_as = "cards:"
    example = "19:00"
    before = ("racecards together on the eve",)
    label = "Racecards together, on the day before at"
    help = "racecards come in one message on the eve of the racing, at that time"
    hint = f"For example: {example}. Choose Racecards above too. A later card comes at once."


def told_at(chosen: FilterFields, event: RacingEvent, now: datetime) -> datetime:
    """The hour that the filter asks for; now without an hour, without a readable zone, and where the hour is over."""
    zone = zone_of(chosen)
    if zone is None:
        return now
    if event.topic is Topic.RESULTS:
        today = now.astimezone(zone).date()
        hours, days = chosen.digest, [today, today + timedelta(days=1)]
    elif event.topic is Topic.RACECARDS:
        day = racing_day(event.race.race_date)
        hours, days = chosen.cards, [day - timedelta(days=1)] if day else []
    else:
        return now
    moments = [moment_of(day, at, zone) for day in days for at in map(time_of_day, hours) if at is not None]
    return min((moment for moment in moments if moment > now), default=now)


_SPAN = re.compile(r" ?(?:\b(?:to|until|till|and)\b|(?<=\d) (?=\d)|[-–—]) ?", re.IGNORECASE)  # noqa: RUF001  as phones type dashes

_NOON = time(12)


class QuietCondition(HourCondition):
    field = file_key = "quiet"
    file_noun = "quiet hours"
    typed_as = "quiet:"
    wanted = "are no quiet hours: write start and end, {} for example"
    example = "22:00-07:00"
    before = (
        "quiet hours",
        *(f"no {what}" for what in ("messages", "posts", "results", "racecards", "cards")),
        *(f"{none} at night" for none in ("quiet", "no messages", "no posts", "no alerts")),
    )
    label = "Quiet hours"
    help = "results and racecards wait in these hours, and come in one message at the end; abandonments never wait"
    hint = (
        f"For example: {example}. Results and racecards wait, and come together at the end. Abandonments come at once."
    )

    def meanings(self, typed: str) -> tuple[str, ...]:
        """As "22:00-07:00". "10-7" may be of the night or of the day, and lasts till the next 7 o'clock."""
        parts = _SPAN.split(typed.strip())
        first, last = time_of_day(parts[0]), time_of_day(parts[-1])
        if len(parts) != len(("begin", "end")) or first is None or last is None or first == last:
            return ()
        begins, ends = map(_halves, parts)
        spans = [(first, last)]
        if len(begins) == len(("am", "pm")) and first > last:
            spans = [(begin, min(ends, key=lambda end: (end < begin, end))) for begin in reversed(begins)]
        return tuple(f"{begin:%H:%M}-{end:%H:%M}" for begin, end in spans)

    def guesses(self, typed: str) -> tuple[str, ...]:
        """`no messages after 10pm` means from 10 pm until morning, and `before 8am` the night until 8 am."""
        said, (begin, ends) = time_of_day(typed), self.example.split("-")
        if said:
            begin, ends = (f"{said:%H:%M}", ends) if said >= _NOON else (begin, f"{said:%H:%M}")
        return self.meanings(typed) or (f"{begin}-{ends}",)

    def said(self, chosen: FilterFields) -> str:
        hours = listed([one.replace("-", " to ") for one in chosen.quiet])
        return f"quiet hours from {hours} {by_the_clock(chosen)}"


def quiet_until(chosen: FilterFields, now: datetime) -> datetime | None:
    """The end of the filter's quiet hours; None outside. Unreadable hours and zones are not heeded."""
    zone = zone_of(chosen)
    if zone is None:
        return None
    until = now
    # Hours may follow each other.
    for _ in chosen.quiet:
        until = max((end for hours in chosen.quiet for end in _end(hours, zone, until)), default=until)
    return until if until > now else None


def _end(hours: str, zone: tzinfo, at: datetime) -> Iterable[datetime]:
    """The end of the hours around a moment, if the moment is in the hours of the day or of the day before."""
    begin, ends = (time_of_day(part) for part in hours.partition("-")[::2])
    if begin is None or ends is None:
        return
    today = at.astimezone(zone).date()
    for day in (today - timedelta(days=1), today):
        last = day if ends > begin else day + timedelta(days=1)
        if moment_of(day, begin, zone) <= at < (end := moment_of(last, ends, zone)):
            yield end


ZONE = "zone"


class ZoneCondition(ChoiceCondition):
    """At most a single value. Hours name the zone: without hours the zone has words of its own."""

    field = file_key = ZONE
    is_single = True
    is_of_names = True
    file_noun = "a time zone"
    typed_as = f"{ZONE}:"
    example = ZONE_EXAMPLE
    before = ("the clock of",)
    label = "Time zone of these hours"
    help = "the time zone of all these hours; your own without a zone"
    hint = f"For example: {example}. Without a time zone new hours go by your own clock in Slack, else by UTC."

    def stored(self, typed: str) -> str:
        return zone_named(typed)

    def values_of(self, typed: str, _before: str = "") -> Sequence[str]:
        zone = zone_called(typed)
        return [zone] if zone else []

    def words(self, chosen: FilterFields, names_max: int | None = None) -> str:
        return "" if chosen.has_hours else super().words(chosen, names_max)

    def said(self, chosen: FilterFields) -> str:
        return f"the clock of {chosen.zone[0]}"


MEETINGS = "meetings"
"""One live message a meeting. Without a value a channel is told flat."""


class ShowCondition(ChoiceCondition):
    """At most a single value."""

    field = file_key = "show"
    is_single = True
    file_noun = "a way to show results"
    typed_as = "show:"
    example = MEETINGS
    called: Mapping[str, str] = dict.fromkeys(("one message a meeting", "one message per meeting"), MEETINGS)
    label = "One message a meeting"
    labels: Mapping[str, str] = {MEETINGS: "Results go into its thread; abandonments stay in the channel"}
    help = "one message a meeting is kept up to date, and the results stand in its thread"

    def stored(self, typed: str) -> str:
        if typed.strip().casefold() != MEETINGS:
            raise ValueError(f"{typed[:40]} is no way to show results: write {MEETINGS}, or nothing")
        return MEETINGS

    def said(self, chosen: FilterFields) -> str:  # noqa: ARG002  the only value
        return "one message a meeting, results in its thread"


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
    typed_as = "ack:"
    example = "10m"
    before = ("abandonments to be acknowledged", "acknowledge", "acknowledged")
    label = "Abandonments to be acknowledged within"
    help = "each abandonment has a button, and somebody is to press the button within that time"
    hint = f"Write {example} for ten minutes. Each abandonment has a button, and everybody sees who has taken it."

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

    def words(self, chosen: FilterFields, _names_max: int | None = None) -> str:
        return f", {self.said(chosen)}" if minutes_of(chosen) else ""

    def said(self, chosen: FilterFields) -> str:
        return f"abandonments to be acknowledged within {counted(minutes_of(chosen) or 0, 'minute')}"


ESCALATE_GROUPS_FIELD = "escalate_groups"


class EscalateCondition(ChoiceCondition):
    """Ids of people, user groups and channels, or HERE. Newly typed ids are added to present ids."""

    field = file_key = "escalate"
    is_of_names = True
    file_noun = "somebody to tell"
    topic = Topic.ABANDONMENTS
    typed_as = "escalate:"
    example = "U0123ABCD"
    before = ("else telling",)
    help = "who is told of an abandonment that nobody has acknowledged: a person, a user group or a channel"
    menus: Mapping[str, tuple[str, int]] = {
        "escalate_people": ("If nobody acknowledges, mention", 10),
        ESCALATE_GROUPS_FIELD: ("And mention @here or user groups", 10),
        "escalate_channels": ("If still nobody acknowledges, post in", 10),
    }

    def stored(self, typed: str) -> str:
        word = typed.strip()
        in_markup = _MARKUP.fullmatch(word)
        # Small letters are a name: as an id, "steve" would be a user group.
        told = in_markup[1] if in_markup else HERE if word.removeprefix("@").lower() == HERE else word
        if not (is_mention(told) or is_channel(told)):
            raise ValueError(
                f"{word[:40]} is nobody that I can tell: type @ or #, and choose a name that Slack then offers. "
                f"An id can be typed too, as {self.typed_as}{self.example}"
            )
        return told

    def said(self, chosen: FilterFields) -> str:
        return f"else telling {listed(chosen.escalate)}"

    covers, joined, added = Condition.covers, Condition.joined, Condition.added


def is_channel(told: str) -> bool:
    return bool(_CHANNEL.fullmatch(told))


def minutes_of(chosen: FilterFields) -> int | None:
    """None where nobody is asked."""
    return _minutes(chosen.ack) if chosen.ack or chosen.escalate else None


def _minutes(stored: Sequence[str]) -> int:
    minutes = stored[0].removesuffix("m") if stored else ""
    return int(minutes) if minutes.isdecimal() else MINUTES_UNSAID
