"""Courses as people meet them: the only courses, and the excluded courses."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import ChannelFilter
from bot.events.races import Course
from bot.outbox.message import Block
from bot.racedata.client.records import KnownCourse
from bot.racedata.near_misses import COURSE_PREFIX
from bot.slack.messages.conditions.condition_view import (
    ConditionView,
    FilledForm,
    Loss,
    PublishedChoices,
    form_field,
    looked_up,
)
from bot.slack.messages.kit.blocks import OPTIONS_MAX, options
from bot.slack.messages.kit.text import clip, counted, listed, size

COURSES_FIELD = "courses"
NOT_COURSES_FIELD = "not_courses"

COURSES_MAX = OPTIONS_MAX

COURSE_NAMES_MAX = 240
"""Characters of a list of courses, where one filter is shown; several filters share the room."""

COURSE_NAME_MAX = 100


class CoursesView(ConditionView):
    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{course.as_typed or name_of(course)}" for course in self.condition.of(chosen)]

    def form(self, chosen: ChannelFilter, known: PublishedChoices) -> list[Block]:
        element = looked_up("Type a course's name", _options(self.condition.of(chosen)), COURSES_MAX)
        return [form_field(self.field, self.label, element, optional=True)] if known.courses else []

    def read(self, form: FilledForm) -> Any:
        return tuple(form.chosen(self.field)) if self.field in form.had else None


class OnlyCoursesView(CoursesView):
    condition = BY_FIELD[COURSES_FIELD]
    typed_as = COURSE_PREFIX
    plural = "courses"
    label = "Only these courses"

    def words(self, chosen: ChannelFilter, names_max: int | None) -> str:
        return f", only {courses_named(chosen.courses, names_max)}" if chosen.courses else ""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if now.courses and not was.courses:
            yield Loss(f"ended all courses but {courses_named(now.courses)} from")
            return
        left_out = [one for one in now.not_courses if was.takes_course(one)]
        ended = [one for one in was.courses if now.courses and not now.takes_course(one) and one not in left_out]
        if ended:
            yield Loss(f"ended {courses_named(ended)} from")

    def named(self, chosen: ChannelFilter) -> str:
        return courses_named(chosen.courses)

    def example(self, chosen: ChannelFilter) -> str:
        return f"{COURSE_PREFIX}{name_of(chosen.courses[0])}"


class NotCoursesView(CoursesView):
    condition = BY_FIELD[NOT_COURSES_FIELD]
    typed_as = f"-{COURSE_PREFIX}"
    label = "Without these courses"

    def words(self, chosen: ChannelFilter, names_max: int | None) -> str:
        return f", without {courses_named(chosen.not_courses, names_max)}" if chosen.not_courses else ""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if left_out := [one for one in now.not_courses if was.takes_course(one)]:
            yield Loss(f"left out {courses_named(left_out)} from")


def name_of(course: Course) -> str:
    return course.name or course.course_id or "?"


def course_value(course: Course | KnownCourse) -> str:
    return course.course_id or course.name or ""


def not_shown(courses: Sequence[Course]) -> tuple[Course, ...]:
    shown = {one["value"] for one in _options(courses)}
    return tuple(course for course in courses if course_value(course) not in shown)


def courses_named(courses: Sequence[Course], names_max: int | None = COURSE_NAMES_MAX) -> str:
    names = [clip(name_of(course), COURSE_NAME_MAX) for course in courses]
    if names_max is None or sum(map(size, names)) <= names_max:
        return listed(names)
    shown = [name for name, room in zip(names, accumulate(map(size, names)), strict=True) if room <= names_max]
    shown = shown or names[:1]
    more = len(names) - len(shown)
    return f"{counted(len(names), 'course')}: {', '.join(shown)}{f', and {more} more' if more else ''}"


def _options(courses: Sequence[Course]) -> list[Block]:
    return options((name_of(one), course_value(one)) for one in courses)
