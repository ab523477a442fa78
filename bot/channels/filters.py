"""A channel's filter: the events that a filter takes, how filters are compared, merged and narrowed.

Further, what the filters ask of a taken event: whom the event mentions, how long it waits, and who acknowledges it.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from hashlib import sha256
from operator import itemgetter

from bot.channels.conditions.choices import is_channel, minutes_of, quiet_until, told_at
from bot.channels.conditions.condition import ALL_REGIONS, EVERY_VALUE, Condition, FilterFields
from bot.channels.conditions.event_conditions import HERE, has_course, is_mention, takes_course
from bot.channels.conditions.table import BY_FIELD, CONDITIONS, NARROWING, TOPICS
from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race, Value, is_same_course

__all__ = ["ALL_REGIONS", "HERE", "is_mention"]

CHECKED = frozenset({"unchecked_since", "typed_region"})
"""Fields of a filter's check. Filters that differ in these fields alone ask for the same events."""

_ALWAYS_IN_FINGERPRINT = frozenset({"region", "topics", "courses", "not_courses", "mentions"})
"""Other fields count where they have a value: a new kind of condition changes no stored fingerprint."""

QUIETED = frozenset({Topic.RESULTS, Topic.RACECARDS})
"""The topics that a mute holds back. An abandonment is never held back."""


class ChannelFilter(FilterFields):
    """A value for each kind of condition (bot.channels.conditions)."""

    def matches(self, event: RacingEvent) -> bool:
        """Whether the event is to be posted in the filter's channel.

        Each condition fails open: an unknown field never hides an abandonment. No filter takes a drill:
        bot.fanout.drills chooses a drill's channels.
        """
        return event.drill is None and not any(self.left_out_by(event))

    def left_out_by(self, event: RacingEvent) -> Iterator[Condition]:
        """The conditions that leave out the event. The event is no drill."""
        if event.topic is None:
            return (one for one in CONDITIONS if not one.takes_unreadable(self))
        return (one for one in CONDITIONS if not one.takes(self, event))

    def fingerprint(self) -> str:
        said = self.model_dump(mode="json", exclude={*CHECKED}) | {"topics": sorted(self.topics)}
        said = {name: value for name, value in said.items() if value or name in _ALWAYS_IN_FINGERPRINT}
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    def covers(self, other: "ChannelFilter") -> bool:
        return all(condition.covers(self, other) for condition in CONDITIONS)


def joint(one: ChannelFilter, other: ChannelFilter) -> ChannelFilter:
    values = {condition.field: condition.joined(one, other) for condition in CONDITIONS}
    return one.model_copy(update=values | {"unchecked_since": _unchecked_since(one, other)})


def added(before: ChannelFilter, chosen: ChannelFilter, *, is_wide: bool) -> ChannelFilter:
    """`is_wide`: the races of `chosen` are all the races to come."""
    values = {
        one.field: one.of(chosen) if is_wide and one.is_narrowing else one.added(before, chosen) for one in CONDITIONS
    }
    check = {"unchecked_since": _unchecked_since(before, chosen), "typed_region": before.typed_region}
    return chosen.model_copy(update=values | check)


def without(before: ChannelFilter, named: Mapping[str, Collection[str]]) -> ChannelFilter | None:
    """The filter without the named values, by field; None where nothing is left to receive.

    The zone ends with the last hours. Nothing is left where the only course or race class ends: a filter without
    courses takes all courses.
    """
    whole = [field for field, words in named.items() if EVERY_VALUE in words]
    ended = {**named, **{other: (EVERY_VALUE,) for field in whole for other in BY_FIELD[field].ends_too}}
    values = {field: BY_FIELD[field].without(before, words) for field, words in ended.items() if words}
    after = meaningful(before.model_copy(update=values))
    if before.has_hours and not after.has_hours:
        after = after.model_copy(update={"zone": ()})
    ending = [one for one in CONDITIONS if (one.is_narrowing or one.is_needed) and one.of(before) and not one.of(after)]
    return None if ending else after


def meaningful(chosen: ChannelFilter) -> ChannelFilter:
    """The filter without the values of absent topics, such as `ack:10m` without abandonments."""
    idle = [one for one in CONDITIONS if one.topic and one.topic not in chosen.topics]
    return chosen.model_copy(update={one.field: () for one in idle})


def _unchecked_since(one: ChannelFilter, other: ChannelFilter) -> object:
    return min((each.unchecked_since for each in (one, other) if each.unchecked_since), default=None)


def overrides(by: ChannelFilter, chosen: ChannelFilter, region_of: Callable[[Course], str | None]) -> bool:
    """Whether a filter brings events that another filter of the channel leaves out.

    Filters of two regions have nothing in common. A region's filter beside a filter of all regions brings only courses
    that were excluded by name.
    """
    if chosen.region == by.region or ALL_REGIONS not in {chosen.region, by.region}:
        return False
    if by.region == ALL_REGIONS and not by.courses and not all(one.covers(chosen, by) for one in (TOPICS, *NARROWING)):
        return True
    return bool(chosen.topics & by.topics) and any(_brings(by, one, region_of) for one in chosen.not_courses)


class Meeting(Value):
    """A day's racing at a course, by the published id, or by course and date.

    No two meetings are told apart by region.
    """

    meeting_id: str | None = None
    course: Course = Course()
    race_date: str | None = None
    region: str | None = None

    @property
    def is_known(self) -> bool:
        return bool(self.meeting_id or (self.race_date and (self.course.course_id or self.course.name)))

    def is_same(self, other: "Meeting") -> bool:
        return self.model_copy(update={"region": other.region}) == other

    def has(self, race: Race) -> bool:
        if self.meeting_id and race.meeting_id:
            return self.meeting_id == race.meeting_id
        same_day = self.race_date is not None and self.race_date == race.race_date
        return same_day and is_same_course(self.course, race.course)


def meeting_of(race: Race) -> Meeting:
    return Meeting(meeting_id=race.meeting_id, course=race.course, race_date=race.race_date, region=race.region)


class Abandonments(Enum):
    """The place of a meeting's abandonments in a channel."""

    POSTED = auto()
    AFTER_THE_PAUSE = auto()
    ONCE_OPEN = auto()
    """The channel is closed to the bot: abandonments wait."""
    NOT_ASKED_FOR = auto()
    DEPENDS_ON_REGION = auto()
    """The meeting's region is not known, and some regions' abandonments are taken."""


def abandonments_taken(filters: Iterable[ChannelFilter], meeting: Meeting) -> bool | None:
    """Whether a channel takes the meeting's abandonments; None where the region is needed."""
    event = RacingEvent(key="", kind=EventKind.MEETING_ABANDONED, race=Race(**dict(meeting)))
    taking = [chosen for chosen in filters if chosen.matches(event)]
    if not taking:
        return False
    return any(_takes_for_certain(chosen, event) for chosen in taking) or None


def without_abandonments(filters: Iterable[ChannelFilter], every: Sequence[ChannelFilter]) -> tuple[ChannelFilter, ...]:
    taken = {other.region for other in every if Topic.ABANDONMENTS in other.topics}
    return tuple(one for one in filters if taken.isdisjoint({ALL_REGIONS, one.region}))


def left_out(filters: Iterable[ChannelFilter], event: RacingEvent) -> dict[ChannelFilter, tuple[Condition, ...]]:
    """The filters with the fewest conditions that leave out the event, each with these conditions."""
    each = {chosen: tuple(chosen.left_out_by(event)) for chosen in filters}
    fewest = min(map(len, each.values()), default=0)
    return {chosen: conditions for chosen, conditions in each.items() if len(conditions) == fewest}


def mentions(filters: Iterable[ChannelFilter], event: RacingEvent) -> tuple[str, ...]:
    taking = [chosen for chosen in filters if chosen.matches(event)]
    return tuple(dict.fromkeys(mention for chosen in taking for mention in chosen.mentions))


def _takes_for_certain(chosen: ChannelFilter, event: RacingEvent) -> bool:
    of_region = chosen.region in {ALL_REGIONS, event.race.region}
    return of_region and (not chosen.courses or has_course(chosen.courses, event.race.course))


def _brings(by: ChannelFilter, course: Course, region_of: Callable[[Course], str | None]) -> bool:
    """Whether a filter takes the course in the course's region.

    Without a known region the filter has to name the course.
    """
    region = region_of(course)
    is_there = region == by.region if region else has_course(by.courses, course)
    return takes_course(by, course) and (by.region == ALL_REGIONS or is_there)


# How long an event waits. Abandonments and void results never wait.


def kept_until(
    filters: Iterable[ChannelFilter], event: RacingEvent, received_at: datetime, now: datetime
) -> datetime | None:
    """The earliest moment of the filters that take the event; None for an event told at once.

    The moment follows from the receipt. A moment before `now` came while the delivery waited for fan-out.
    """
    if event.topic not in QUIETED or event.reports_loss:
        return None
    first = _first(filters, event, received_at, now)
    return first[0] if first and first[0] > received_at else None


def chosen_by(filters: Iterable[ChannelFilter], event: RacingEvent, received_at: datetime) -> ChannelFilter | None:
    """The filter with the earliest moment; None if no filter takes the event."""
    first = _first(filters, event, received_at, received_at)
    return first[1] if first else None


def _first(
    filters: Iterable[ChannelFilter], event: RacingEvent, received_at: datetime, now: datetime
) -> tuple[datetime, ChannelFilter] | None:
    moments = [(_told_at(chosen, event, received_at, now), chosen) for chosen in filters if chosen.matches(event)]
    return min(moments, key=itemgetter(0), default=None)


def _told_at(chosen: ChannelFilter, event: RacingEvent, received_at: datetime, now: datetime) -> datetime:
    """A moment within quiet hours waits for their end, and so does a past moment if `now` is within quiet hours."""
    at = told_at(chosen, event, received_at)
    at = quiet_until(chosen, at) or at
    return at if at > now else quiet_until(chosen, now) or at


# The abandonments that a channel wants acknowledged, and the people and channels told otherwise


class AckRequest(Value):
    """`people`: people and user groups, mentioned after `minutes`. `channels`: told after `minutes` more."""

    minutes: int
    people: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


def asks(chosen: ChannelFilter) -> bool:
    return minutes_of(chosen) is not None


def request_of(filters: Iterable[ChannelFilter], event: RacingEvent) -> AckRequest | None:
    """The fewest minutes, and everybody named, of all filters that take the abandonment."""
    taking = [chosen for chosen in filters if chosen.matches(event)]
    minutes = [found for chosen in taking if (found := minutes_of(chosen)) is not None]
    if event.is_taken_back or not (event.reports_loss and minutes):
        return None
    told = dict.fromkeys(one for chosen in taking for one in chosen.escalate)
    return AckRequest(
        minutes=min(minutes),
        people=tuple(one for one in told if not is_channel(one)),
        channels=tuple(one for one in told if is_channel(one)),
    )
