"""What a channel asked for, and whether an event is it."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import Enum, auto
from hashlib import sha256

from bot.events.event import EventKind, RacingEvent, Topic
from bot.events.races import Course, Race, Value, is_same_course, may_be_same_course

ALL_REGIONS = "*"
"""The wildcard a channel subscribes with: every region there is or will be, not a list of today's."""


HERE = "here"
"""Whoever is in the channel and active."""

_MENTION = re.compile(r"here|[UWS][A-Z0-9]{1,30}", re.ASCII)

CHECKED = frozenset({"unchecked_since", "typed_region"})
"""Fields of a filter that are of its check alone: two filters that differ in these ask for the same."""

QUIETED = frozenset({Topic.RESULTS, Topic.RACECARDS})
"""What a muted meeting is no longer posted of. An abandonment is never held back."""


class ChannelFilter(Value):
    """A channel's filter: a region (or ALL_REGIONS), topics, and courses taken or left out.

    `mentions` are who an abandonment is to ring: ids of people and of user groups, or HERE. `unchecked_since`:
    the words were stored then as they were typed, because no list was there to check them by
    (bot.fanout.unchecked_filters).
    `typed_region` is the region as it was typed, where the region was mended and the channel is not told of it yet.
    """

    region: str
    topics: frozenset[Topic]
    courses: tuple[Course, ...] = ()
    not_courses: tuple[Course, ...] = ()
    mentions: tuple[str, ...] = ()
    unchecked_since: datetime | None = None
    typed_region: str | None = None

    def matches(self, event: RacingEvent) -> bool:
        """Whether the event is to be posted where this filter was set.

        It fails open (an unread field never hides an abandonment):

        - a payload that could not be read goes where all regions are taken;
        - an abandonment whose region is unknown goes everywhere that takes abandonments; another event, where all
          regions are taken, or the region in the delivery's own words;
        - an unknown course is left out by no course filter, nor is one that can't be told from the filter's because
          the one came by id alone and the other by name;
        - a drill is taken by no filter: fan-out chooses its channels (bot.fanout.drill_fanout);
        - a filter that is not checked yet takes an abandonment whatever the letter case of its region and courses.
        """
        if event.drill is not None:
            return False
        if event.topic is None:
            return self.region == ALL_REGIONS and not self.courses
        if event.topic not in self.topics or not self._takes_region(event):
            return False
        course = event.race.course
        return self.takes_course(course) or (self._fails_open_for(event) and self._may_mean(course))

    def fingerprint(self) -> str:
        """What tells it from other filters, and is the same in every process."""
        said = self.model_dump(mode="json", exclude={*CHECKED}) | {"topics": sorted(self.topics)}
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    def takes_course(self, course: Course) -> bool:
        """Whether the course is none that it leaves out, and one of its only ones where it has such."""
        if course.course_id is None and course.name is None:
            return True
        if any(is_same_course(course, left_out) for left_out in self.not_courses):
            return False
        return not self.courses or any(may_be_same_course(course, taken) for taken in self.courses)

    def covers(self, other: "ChannelFilter") -> bool:
        """Whether this filter takes every event of the other filter, and mentions everybody of the other filter."""
        return (
            self.region in {ALL_REGIONS, other.region}
            and self.topics >= other.topics
            and set(self.mentions) >= set(other.mentions)
            and _names_all(other.not_courses, self.not_courses)
            and (not self.courses or (bool(other.courses) and _names_all(self.courses, other.courses)))
        )

    def _takes_region(self, event: RacingEvent) -> bool:
        if self.region == ALL_REGIONS:
            return True
        if event.race.said_region == self.region:
            return True
        if event.race.region is None:
            return event.is_abandonment
        return event.race.region == self.region or (
            self._fails_open_for(event) and event.race.region.casefold() == self.region.casefold()
        )

    def _fails_open_for(self, event: RacingEvent) -> bool:
        return self.unchecked_since is not None and event.is_abandonment

    def _may_mean(self, course: Course) -> bool:
        """Whether a typed word is the course's name or id in another letter case, and no filter leaves it out."""
        if any(is_same_course(course, left_out) for left_out in self.not_courses):
            return False
        words = {word.casefold() for word in (course.course_id, course.name) if word}
        return any(taken.course_id is None and (taken.name or "").casefold() in words for taken in self.courses)


def joint(one: ChannelFilter, other: ChannelFilter) -> ChannelFilter:
    """One filter for two of a region: every event that either takes, and everybody whom either mentions."""
    both = (one, other)
    return one.model_copy(
        update={
            "topics": one.topics | other.topics,
            "courses": tuple(dict.fromkeys((*one.courses, *other.courses))) if one.courses and other.courses else (),
            "not_courses": (
                *(course for course in one.not_courses if not other.takes_course(course)),
                *(course for course in other.not_courses if not one.takes_course(course)),
            ),
            "mentions": tuple(dict.fromkeys(mention for each in both for mention in each.mentions)),
            "unchecked_since": min((each.unchecked_since for each in both if each.unchecked_since), default=None),
        }
    )


class Overridden(Value):
    """What a channel's filter (`chosen`) leaves out, and another one of the channel (`by`) takes: it arrives.

    `topics` arrive from the whole region of `chosen`. Of the `shared` ones, which both take, the `courses` arrive that
    it leaves out, and where it has only some (`is_rest`) the region's others; but never what `by` leaves out.
    """

    chosen: ChannelFilter
    by: ChannelFilter
    topics: frozenset[Topic] = frozenset()
    courses: tuple[Course, ...] = ()
    is_rest: bool = False

    @property
    def shared(self) -> frozenset[Topic]:
        """The topics of both."""
        return self.chosen.topics & self.by.topics


def overridden(
    chosen: ChannelFilter, by: ChannelFilter, region_of: Callable[[Course], str | None]
) -> Overridden | None:
    """What of a filter another one of its channel overrides, as a channel takes what any of its filters takes.

    None where it overrides nothing. Two regions have nothing in common. What a region adds to all regions overrides
    nothing, nor what a filter adds that names its only courses, unless it is a course that was left out by name.
    """
    if chosen.region == by.region or ALL_REGIONS not in {chosen.region, by.region}:
        return None
    shared = chosen.topics & by.topics
    is_wide = by.region == ALL_REGIONS and not by.courses
    found = Overridden(
        chosen=chosen,
        by=by,
        topics=by.topics - chosen.topics if is_wide else frozenset(),
        courses=tuple(one for one in chosen.not_courses if shared and _brings(by, one, region_of)),
        is_rest=bool(is_wide and shared and chosen.courses),
    )
    return found if found.topics or found.courses or found.is_rest else None


class Meeting(Value):
    """A day's racing at a course, by as much as was published of it: its id, or its course and date.

    The region tells no two meetings apart: it says which filters take the meeting's events.
    """

    meeting_id: str | None = None
    course: Course = Course()
    race_date: str | None = None
    region: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether it can be told from others at all."""
        return bool(self.meeting_id or (self.race_date and (self.course.course_id or self.course.name)))

    def is_same(self, other: "Meeting") -> bool:
        """Whether both are named by the same id, course and date."""
        return self.model_copy(update={"region": other.region}) == other

    def has(self, race: Race) -> bool:
        """Whether a race is of this meeting: by the meeting's id where both have one, else by course and date."""
        if self.meeting_id and race.meeting_id:
            return self.meeting_id == race.meeting_id
        same_day = self.race_date is not None and self.race_date == race.race_date
        return same_day and is_same_course(self.course, race.course)


def meeting_of(race: Race) -> Meeting:
    """The meeting that a race is of."""
    return Meeting(meeting_id=race.meeting_id, course=race.course, race_date=race.race_date, region=race.region)


class Abandonments(Enum):
    """Where the abandonments of a meeting go in a channel."""

    POSTED = auto()
    AFTER_THE_PAUSE = auto()
    ONCE_OPEN = auto()
    """The channel is closed to the bot: abandonments wait."""
    NOT_ASKED_FOR = auto()
    DEPENDS_ON_REGION = auto()
    """The meeting's region is not known, and some regions' abandonments are taken."""


def abandonments_taken(filters: Iterable[ChannelFilter], meeting: Meeting) -> bool | None:
    """Whether a channel with these filters takes the meeting's abandonments; None where the region is needed."""
    race = Race(
        meeting_id=meeting.meeting_id, course=meeting.course, race_date=meeting.race_date, region=meeting.region
    )
    event = RacingEvent(key="", kind=EventKind.MEETING_ABANDONED, race=race)
    taking = [chosen for chosen in filters if chosen.matches(event)]
    if not taking:
        return False
    return any(_takes_for_certain(chosen, event) for chosen in taking) or None


def without_abandonments(filters: Iterable[ChannelFilter], every: Sequence[ChannelFilter]) -> tuple[ChannelFilter, ...]:
    """Those of a channel's filters whose regions' abandonments are taken by none of `every` filter there."""
    taken = {other.region for other in every if Topic.ABANDONMENTS in other.topics}
    return tuple(one for one in filters if taken.isdisjoint({ALL_REGIONS, one.region}))


def mentions(filters: Iterable[ChannelFilter], event: RacingEvent) -> tuple[str, ...]:
    """Who is to be rung by an abandonment, each once: whom those filters name that take it."""
    taking = [chosen for chosen in filters if chosen.matches(event)]
    return tuple(dict.fromkeys(mention for chosen in taking for mention in chosen.mentions))


def is_mention(mention: str) -> bool:
    """Whether it is HERE, or has the form of an id of a person or of a user group."""
    return bool(_MENTION.fullmatch(mention))


def _takes_for_certain(chosen: ChannelFilter, event: RacingEvent) -> bool:
    """Whether the filter takes the event for its region and course, and not for their being unknown."""
    of_region = chosen.region in {ALL_REGIONS, event.race.region}
    return of_region and (not chosen.courses or any(is_same_course(event.race.course, one) for one in chosen.courses))


def _names_all(among: Iterable[Course], courses: Iterable[Course]) -> bool:
    """Whether each of the courses is among the others."""
    return all(any(is_same_course(course, one) for one in among) for course in courses)


def _brings(by: ChannelFilter, course: Course, region_of: Callable[[Course], str | None]) -> bool:
    """Whether a filter takes the course, which is of its region: as that is known, else where the filter names it."""
    region = region_of(course)
    is_there = region == by.region if region else any(is_same_course(course, one) for one in by.courses)
    return by.takes_course(course) and (by.region == ALL_REGIONS or is_there)
