"""What a channel asked for, and whether an event is it."""

import json
import re
from collections.abc import Iterable
from hashlib import sha256

from bot.domain.events import RacingEvent, Topic
from bot.domain.races import Course, Race, Value

ALL_REGIONS = "*"
"""The wildcard a channel subscribes with: every region there is or will be, not a list of today's."""


HERE = "here"
"""Whoever is in the channel and active."""

_MENTION = re.compile(r"here|[UWS][A-Z0-9]{1,30}", re.ASCII)

QUIETED = frozenset({Topic.RESULTS, Topic.RACECARDS})
"""What a muted meeting is no longer posted of. An abandonment is never held back."""


class ChannelFilter(Value):
    """A channel's filter: a region (or ALL_REGIONS), topics, and courses taken or left out.

    `mentions` are who an abandonment is to ring: ids of people and of user groups, or HERE.
    """

    region: str
    topics: frozenset[Topic]
    courses: tuple[Course, ...] = ()
    not_courses: tuple[Course, ...] = ()
    mentions: tuple[str, ...] = ()

    def matches(self, event: RacingEvent) -> bool:
        """Whether the event is to be posted where this filter was set.

        It fails open (an unread field never hides an abandonment):

        - a payload that could not be read goes where all regions are taken;
        - an abandonment whose region is unknown goes everywhere that takes abandonments; another event, where all
          regions are taken;
        - an unknown course is left out by no course filter, nor is one that can't be told from the filter's because
          the one came by id alone and the other by name.
        """
        if event.topic is None:
            return self.region == ALL_REGIONS and not self.courses
        return event.topic in self.topics and self._takes_region(event) and self._takes_course(event.race.course)

    def fingerprint(self) -> str:
        """What tells it from other filters, and is the same in every process."""
        said = self.model_dump(mode="json") | {"topics": sorted(self.topics)}
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    def _takes_region(self, event: RacingEvent) -> bool:
        if self.region == ALL_REGIONS:
            return True
        if event.race.region is None:
            return event.is_abandonment
        return event.race.region == self.region

    def _takes_course(self, course: Course) -> bool:
        if course.course_id is None and course.name is None:
            return True
        if any(is_same_course(course, left_out) for left_out in self.not_courses):
            return False
        return not self.courses or any(may_be_same_course(course, taken) for taken in self.courses)


class Meeting(Value):
    """A day's racing at a course, by as much as was published of it: its id, or its course and date."""

    meeting_id: str | None = None
    course: Course = Course()
    race_date: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether it can be told from others at all."""
        return bool(self.meeting_id or (self.race_date and (self.course.course_id or self.course.name)))

    def has(self, race: Race) -> bool:
        """Whether a race is of this meeting: by the meeting's id where both have one, else by course and date."""
        if self.meeting_id and race.meeting_id:
            return self.meeting_id == race.meeting_id
        same_day = self.race_date is not None and self.race_date == race.race_date
        return same_day and is_same_course(self.course, race.course)


def meeting_of(race: Race) -> Meeting:
    """The meeting that a race is of."""
    return Meeting(meeting_id=race.meeting_id, course=race.course, race_date=race.race_date)


def mentions(filters: Iterable[ChannelFilter], event: RacingEvent) -> tuple[str, ...]:
    """Who is to be rung by an abandonment, each once: whom those filters name that take it."""
    taking = [chosen for chosen in filters if chosen.matches(event)]
    return tuple(dict.fromkeys(mention for chosen in taking for mention in chosen.mentions))


def is_mention(mention: str) -> bool:
    """Whether it is HERE, or has the form of an id of a person or of a user group."""
    return bool(_MENTION.fullmatch(mention))


def may_be_same_course(one: Course, other: Course) -> bool:
    """Whether they are the same course, or nothing that both have tells them apart."""
    comparable = (one.course_id and other.course_id) or (one.name and other.name)
    return is_same_course(one, other) or not comparable


def is_same_course(one: Course, other: Course) -> bool:
    """By id where both have one, else by exact name."""
    if one.course_id and other.course_id:
        return one.course_id == other.course_id
    return one.name is not None and one.name == other.name
