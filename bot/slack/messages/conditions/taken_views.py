"""The conditions of a filter as people see the conditions: regions, topics, courses, races, and mentions."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from bot.channels.conditions.choices import is_channel
from bot.channels.conditions.race_conditions import ALL_WEATHER, CLASS, CODE, FLAT, JUMPS, folded_class
from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import ALL_REGIONS, HERE, ChannelFilter
from bot.events.event import Topic
from bot.events.races import Course
from bot.outbox.message import Block
from bot.racedata.client.records import KnownCourse
from bot.racedata.near_misses import COURSE_PREFIX
from bot.slack.messages.conditions.condition_view import (
    TOPIC_LABELS,
    TOPICS_FIELD,
    CheckboxView,
    ConditionView,
    FilledForm,
    Loss,
    PublishedChoices,
    Submitted,
    TextView,
    filled,
    form_field,
    looked_up,
    several,
)
from bot.slack.messages.kit.blocks import OPTIONS_MAX, all_options, in_groups, options, plain_text
from bot.slack.messages.kit.text import clip, counted, listed, size

REGIONS_FIELD = "regions"

TYPED_REGIONS_MAX = 300


class RegionView(ConditionView):
    condition = BY_FIELD["region"]
    typed_as = "region:"

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return region_named(chosen.region)

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [region_words(chosen.region)]

    def form(self, chosen: ChannelFilter, known: PublishedChoices) -> list[Block]:
        regions = known.chosen or tuple(filter(None, [chosen.region]))
        return [_typed_regions(regions) if known.regions is None else _listed_regions(known.regions, regions)]

    def read(self, form: FilledForm) -> tuple[str, ...]:
        words = form.text(REGIONS_FIELD).replace(",", " ").split()
        codes = [ALL_REGIONS if word.lower() == "all" else word for word in words]
        return tuple(dict.fromkeys([*form.chosen(REGIONS_FIELD), *codes]))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        return {} if submitted[self.field] else {REGIONS_FIELD: "Choose at least one region, or all."}


def region_words(region: str) -> str:
    return "all" if region == ALL_REGIONS else region


def region_named(region: str) -> str:
    return "all regions" if region == ALL_REGIONS else region


def _typed_regions(chosen: Sequence[str]) -> Block:
    element = {"type": "plain_text_input", "max_length": TYPED_REGIONS_MAX}
    shown = filled(element, "initial_value", " ".join(map(region_words, chosen)))
    return form_field(REGIONS_FIELD, "Regions", shown, hint="Codes such as GB IRE, or the word all")


def _listed_regions(regions: Sequence[str], chosen: Sequence[str]) -> Block:
    # A region that is no longer published can still be seen and kept.
    codes = [*regions, *(one for one in chosen if one != ALL_REGIONS and one not in regions)]
    every = list(all_options([("All regions", ALL_REGIONS), *((code, code) for code in codes)]))
    initial = [one for one in every if one["value"] in chosen]
    element = {"type": "multi_static_select", "placeholder": plain_text("Choose regions"), **in_groups(every)}
    return form_field(REGIONS_FIELD, "Regions", filled(element, "initial_options", initial))


class TopicView(CheckboxView):
    condition = BY_FIELD[TOPICS_FIELD]
    label = "What to post"
    hint = "Abandonments come as soon as they are reported."
    labels = TOPIC_LABELS

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return listed(topics_in_order(chosen.topics))

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if lost := was.topics - now.topics:
            yield Loss(f"ended {listed(topics_in_order(lost))} from")

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return topics_in_order(chosen.topics)

    def problems(self, submitted: Submitted) -> dict[str, str]:
        return {} if submitted[self.field] else {TOPICS_FIELD: "Choose at least one."}


def topics_in_order(topics: frozenset[Topic]) -> list[str]:
    return [topic.value for topic in Topic if topic in topics]


PEOPLE_FIELD = "people"
GROUPS_FIELD = "groups"

PEOPLE_MAX = 20
GROUPS_MAX = 10


class PeopleView(ConditionView):
    """Menus of people, of user groups, and perhaps of channels. `menus`: by field, the label and the most to choose."""

    menus: Mapping[str, tuple[str, int]]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        told = self.condition.of(chosen)
        kinds = zip((_people, _groups, _channels), self.menus.items(), strict=False)
        return [made(field, label, most, told) for made, (field, (label, most)) in kinds]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        if form.had.isdisjoint(self.menus):
            return None
        return tuple(dict.fromkeys(one for field in self.menus for one in form.chosen(field)))


class MentionView(PeopleView):
    condition = BY_FIELD["mentions"]
    problem_block = PEOPLE_FIELD
    menus: Mapping[str, tuple[str, int]] = {
        PEOPLE_FIELD: ("Mention when something is abandoned", PEOPLE_MAX),
        GROUPS_FIELD: ("Mention @here or user groups too", GROUPS_MAX),
    }

    def said(self, chosen: ChannelFilter) -> str:
        return f"mentioning {listed(list(chosen.mentions))}"

    def typed(self, _chosen: ChannelFilter) -> list[str]:
        return []


def _people(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    people = [one for one in told if one[0] in "UW"]
    menu = several("multi_users_select", "Choose people", people, most)
    return form_field(field, label, filled(menu, "initial_users", people), optional=True)


def _groups(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    named = options((f"@{one}", one) for one in told if one == HERE or one[0] == "S")
    return form_field(field, label, looked_up("Type here, or a group's name", named, most), optional=True)


def _channels(field: str, label: str, most: int, told: Sequence[str]) -> Block:
    there = [one for one in told if is_channel(one)]
    kinds = {"include": ["public", "private"]}
    menu = several("multi_conversations_select", "Choose channels that I am in", there, most, filter=kinds)
    hint = "After the same time again, or at once where nobody is mentioned."
    return form_field(field, label, filled(menu, "initial_conversations", there), hint=hint, optional=True)


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


CLASSES_FIELD = "classes"


class RaceView(ConditionView):
    """Words of races: "class 1 races only"."""

    def said(self, chosen: ChannelFilter) -> str:
        return f"{self.named(chosen)} races only"

    def named(self, chosen: ChannelFilter) -> str:
        return self.values_in_words(self.condition.of(chosen))

    @abstractmethod
    def values_in_words(self, values: Sequence[str]) -> str:
        """For example "class 1 and Group 1"."""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        left, before = self.condition.of(now), self.condition.of(was)
        if left and not before:
            yield Loss(f"ended all races but {self.values_in_words(left)} from")
        elif ended := [one for one in before if left and one not in left]:
            yield Loss(f"ended {self.values_in_words(ended)} from")


class RaceClassView(TextView, RaceView):
    condition = BY_FIELD[CLASSES_FIELD]
    typed_as = f"{CLASS}:"
    plural = "race classes"
    label = "Only these race classes"
    hint = "With commas between, for example: 1, 2, Group 1. Races without a published class come too."
    text_max = 3_000
    """https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element"""

    def values_in_words(self, values: Sequence[str]) -> str:
        return listed([f"{CLASS} {_short(one)}" if _short(one) != one else one for one in values])

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{_short(one)}".rstrip(":") for one in chosen.classes]


def _short(race_class: str) -> str:
    folded = folded_class(race_class)
    return folded if folded.isdecimal() else race_class


CODE_LABELS = {FLAT: "Flat", JUMPS: "Jumps", ALL_WEATHER: "All-weather"}


class RaceCodeView(CheckboxView, RaceView):
    condition = BY_FIELD["codes"]
    typed_as = f"{CODE}:"
    typed_example = JUMPS
    plural = "codes of racing"
    label = "Only this racing"
    hint = "Races that don't say come too. Flat is on turf and all-weather alike."
    labels = CODE_LABELS

    @property
    def usage(self) -> str:
        return f"[{'|'.join(CODE_LABELS)}]"

    def values_in_words(self, values: Sequence[str]) -> str:
        return listed([CODE_LABELS[one].lower() for one in values])
