"""What a channel asked for, and whether an event is it."""

from bot.domain.events import RacingEvent, Topic
from bot.domain.races import Course, Value

ALL_REGIONS = "*"
"""The wildcard a channel subscribes with: every region there is or will be, not a list of today's."""


class ChannelFilter(Value):
    """A channel's filter: a region (or ALL_REGIONS), topics, and courses taken or left out."""

    region: str
    topics: frozenset[Topic]
    courses: tuple[Course, ...] = ()
    not_courses: tuple[Course, ...] = ()

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


def may_be_same_course(one: Course, other: Course) -> bool:
    """Whether they are the same course, or nothing that both have tells them apart."""
    comparable = (one.course_id and other.course_id) or (one.name and other.name)
    return is_same_course(one, other) or not comparable


def is_same_course(one: Course, other: Course) -> bool:
    """By id where both have one, else by exact name."""
    if one.course_id and other.course_id:
        return one.course_id == other.course_id
    return one.name is not None and one.name == other.name
