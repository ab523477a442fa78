"""The conditions on an event's region, topic and course, and whom an abandonment mentions.

No filter leaves out an unknown course.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from bot.channels.conditions.condition import ALL_REGIONS, Condition, FilterFields
from bot.events.event import RacingEvent, Topic
from bot.events.races import Course, is_same_course, may_be_called, may_be_same_course
from bot.events.sentences import counted, listed

REGIONS_FIELD, TOPICS_FIELD = "regions", "topics"
"""The fields of a typed line and of the form: both name several regions."""

COURSE_FIELDS = COURSES_FIELD, NOT_COURSES_FIELD = "courses", "not_courses"

EVERY_REGION = "all"
"""ALL_REGIONS in a file."""


class RegionCondition(Condition):
    """The region. A channel has one subscription a region, so regions are never merged.

    An abandonment of unknown region is taken everywhere. Other events of unknown region are taken where all regions, or
    the delivery's own words, were chosen.
    """

    field = file_key = file_noun = "region"
    is_needed = True
    typed_as = "region:"

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        region = event.race.region
        if chosen.region in {ALL_REGIONS, region} or event.race.said_region == chosen.region:
            return True
        is_unchecked = chosen.unchecked_since is not None and (region or "").casefold() == chosen.region.casefold()
        return event.reports_loss and (region is None or is_unchecked)

    def takes_unreadable(self, chosen: FilterFields) -> bool:
        return chosen.region == ALL_REGIONS

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return wide.region in {ALL_REGIONS, narrow.region}

    def joined(self, one: FilterFields, _other: FilterFields) -> str:
        return one.region

    def to_file(self, chosen: FilterFields) -> str:
        return region_words(chosen.region)

    def stored(self, typed: str) -> str:
        return ALL_REGIONS if typed == EVERY_REGION else typed

    def of_file(self, values: Sequence[Any]) -> Any:
        return values[0]

    def words(self, chosen: FilterFields, _names_max: int | None = None) -> str:
        return region_named(chosen.region)

    def typed(self, chosen: FilterFields) -> list[str]:
        return [region_words(chosen.region)]


def region_words(region: str) -> str:
    return EVERY_REGION if region == ALL_REGIONS else region


def region_named(region: str) -> str:
    return "all regions" if region == ALL_REGIONS else region


class TopicCondition(Condition):
    field = file_key = TOPICS_FIELD
    file_noun = "a topic"
    is_needed = True
    label = "What to post"
    hint = "Abandonments come as soon as they are reported."
    labels: Mapping[str, str] = {
        Topic.RESULTS: "Results",
        Topic.ABANDONMENTS: "Abandoned races and meetings",
        Topic.RACECARDS: "Racecards",
    }

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        """Whoever takes abandonments hears of a lost race whichever event says so."""
        return event.topic in chosen.topics or (Topic.ABANDONMENTS in chosen.topics and event.reports_loss)

    def to_file(self, chosen: FilterFields) -> list[str]:
        return topics_in_order(chosen.topics)

    def stored(self, typed: str) -> Topic:
        if typed not in set(Topic):
            raise ValueError(f"{typed} is no topic; topics are {', '.join(Topic)}")
        return Topic(typed)

    def of_file(self, values: Sequence[Any]) -> frozenset[Topic]:
        return frozenset(values)

    def typed(self, chosen: FilterFields) -> list[str]:
        return topics_in_order(chosen.topics)

    def words(self, chosen: FilterFields, _names_max: int | None = None) -> str:
        return listed(topics_in_order(chosen.topics))


_IN_ORDER = tuple(topic.value for topic in Topic)


def topics_in_order(topics: Collection[Topic]) -> list[str]:
    return [topic for topic in _IN_ORDER if topic in topics]


HERE = "here"
"""The active people of the channel."""

_MENTION = re.compile(r"here|[UWS][A-Z0-9]{1,30}", re.ASCII)


PEOPLE_FIELD, GROUPS_FIELD = "people", "groups"


class MentionCondition(Condition):
    """Mentions take no event away. The form and the file have mentions; nobody types mentions."""

    field = file_key = "mentions"
    file_noun = "a mention"
    topic = Topic.ABANDONMENTS
    menus: Mapping[str, tuple[str, int]] = {
        PEOPLE_FIELD: ("Mention when something is abandoned", 20),
        GROUPS_FIELD: ("Mention @here or user groups too", 10),
    }

    def stored(self, typed: str) -> str:
        if not is_mention(typed):
            raise ValueError(f"{typed[:40]} is no mention: give here, or the id of a person or of a user group")
        return typed

    def typed(self, _chosen: FilterFields) -> list[str]:
        return []

    def said(self, chosen: FilterFields) -> str:
        return f"mentioning {listed(chosen.mentions)}"


def is_mention(mention: str) -> bool:
    return bool(_MENTION.fullmatch(mention))


def is_person(channel_id: str) -> bool:
    """Slack takes a user's id for direct messages with the person.

    Source: Slack's reference of posting a message, "Channels".
    """
    return channel_id.startswith(("U", "W"))


def is_direct_message(channel_id: str) -> bool:
    """True also between two people, who can type commands there too."""
    return channel_id.startswith("D")


COURSE_PREFIX = "course:"
"""Stands before a typed course among words of other kinds."""

COURSE_NAMES_MAX = 240
"""Characters of a list of courses, where one filter is shown; several filters share the room."""

COURSE_NAME_MAX = 100


class CoursesCondition(Condition):
    file_noun = "a course"
    file_parts = ("name", "id", "country")
    """The names of the parts, where a file of subscriptions has an object in place of a word."""

    def without(self, before: FilterFields, words: Collection[str]) -> tuple[Course, ...]:
        return tuple(one for one in self.of(before) if not is_called(one, words))

    def to_file(self, chosen: FilterFields) -> list[str | dict[str, str]]:
        return [_to_file(course) for course in self.of(chosen)]

    def stored(self, typed: str) -> Course:
        return Course(name=typed)

    def of_parts(self, data: Mapping[str, str]) -> Course:
        """The course of an object in a file. Raises ValueError with the words for the operator."""
        if not (data.get("name") or data.get("id")):
            raise ValueError("a course needs a name or an id")
        return Course(course_id=data.get("id"), name=data.get("name"), country=data.get("country"))

    def typed(self, chosen: FilterFields) -> list[str]:
        return [f"{self.typed_as}{course.as_typed or name_of(course)}" for course in self.of(chosen)]


class OnlyCourses(CoursesCondition):
    field = COURSES_FIELD
    file_key = "only"
    is_narrowing = True
    typed_as = COURSE_PREFIX
    plural = "courses"
    label = "Only these courses"

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        course = event.race.course
        is_lost = event.reports_loss
        return _is_among(chosen.courses, course) or (is_lost and any(_may_be(course, one) for one in chosen.courses))

    def takes_unreadable(self, chosen: FilterFields) -> bool:
        return not chosen.courses

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return not wide.courses or (bool(narrow.courses) and _has_all(wide.courses, narrow.courses))

    def added(self, before: FilterFields, chosen: FilterFields) -> tuple[Course, ...]:
        return but(_union(before.courses, chosen.courses), chosen.not_courses) if before.courses else ()

    def words(self, chosen: FilterFields, names_max: int | None = None) -> str:
        return f", only {courses_named(chosen.courses, names_max)}" if chosen.courses else ""

    def named(self, chosen: FilterFields) -> str:
        return courses_named(chosen.courses)


class NotCourses(CoursesCondition):
    field = NOT_COURSES_FIELD
    file_key = "except"
    typed_as = f"-{COURSE_PREFIX}"
    label = "Without these courses"

    def takes(self, chosen: FilterFields, event: RacingEvent) -> bool:
        return not has_course(chosen.not_courses, event.race.course)

    def covers(self, wide: FilterFields, narrow: FilterFields) -> bool:
        return _has_all(narrow.not_courses, wide.not_courses)

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[Course, ...]:
        return (
            *(course for course in one.not_courses if not takes_course(other, course)),
            *(course for course in other.not_courses if not takes_course(one, course)),
        )

    def added(self, before: FilterFields, chosen: FilterFields) -> tuple[Course, ...]:
        return _union(but(before.not_courses, chosen.courses), chosen.not_courses)

    def words(self, chosen: FilterFields, names_max: int | None = None) -> str:
        return f", without {courses_named(chosen.not_courses, names_max)}" if chosen.not_courses else ""


def takes_course(chosen: FilterFields, course: Course) -> bool:
    return _is_among(chosen.courses, course) and not has_course(chosen.not_courses, course)


def has_course(courses: Iterable[Course], sought: Course) -> bool:
    return any(is_same_course(one, sought) for one in courses)


def but(courses: Iterable[Course], left_out: Sequence[Course]) -> tuple[Course, ...]:
    return tuple(one for one in courses if not has_course(left_out, one))


def is_called(course: Course, words: Iterable[str]) -> bool:
    """Whether a word is the course's name or id, in any letter case."""
    names = {name.casefold() for name in (course.name, course.course_id) if name}
    return any(word.casefold() in names for word in words)


def name_of(course: Course) -> str:
    return course.name or course.course_id or "?"


def courses_named(courses: Sequence[Course], names_max: int | None = COURSE_NAMES_MAX) -> str:
    names = [
        name if len(name) <= COURSE_NAME_MAX else f"{name[: COURSE_NAME_MAX - 1]}…" for name in map(name_of, courses)
    ]
    if names_max is None or sum(map(len, names)) <= names_max:
        return listed(names)
    shown = [name for name, room in zip(names, accumulate(map(len, names)), strict=True) if room <= names_max]
    shown = shown or names[:1]
    more = len(names) - len(shown)
    return f"{counted(len(names), 'course')}: {', '.join(shown)}{f', and {more} more' if more else ''}"


def _is_among(courses: Sequence[Course], course: Course) -> bool:
    return not courses or any(may_be_same_course(course, taken) for taken in courses)


def _may_be(course: Course, chosen: Course) -> bool:
    """A chosen course without an id was typed while no list was known, and its name may be an id."""
    return may_be_called(course, chosen) or (chosen.course_id is None and is_called(course, [chosen.name or ""]))


def _union(one: Sequence[Course], other: Sequence[Course]) -> tuple[Course, ...]:
    return (*one, *but(other, one))


def _has_all(courses: Sequence[Course], sought: Iterable[Course]) -> bool:
    return all(has_course(courses, one) for one in sought)


def _to_file(course: Course) -> str | dict[str, str]:
    if course.course_id is None and course.country is None and course.name:
        return course.name
    said = {"name": course.name, "id": course.course_id, "country": course.country}
    return {name: value for name, value in said.items() if value}
