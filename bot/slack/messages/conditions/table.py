"""The view of every kind of condition, in the order of the form. A new kind is a file beside this file, and a line."""

from bot.slack.messages.conditions.condition_view import ConditionView
from bot.slack.messages.conditions.course_view import NotCoursesView, OnlyCoursesView
from bot.slack.messages.conditions.mention_view import MentionView
from bot.slack.messages.conditions.quiet_view import QuietView
from bot.slack.messages.conditions.race_class_view import RaceClassView
from bot.slack.messages.conditions.region_view import RegionView
from bot.slack.messages.conditions.topic_view import TopicView
from bot.slack.messages.conditions.zone_view import ZoneView

REGION, TOPICS, ONLY_COURSES, MENTIONS = RegionView(), TopicView(), OnlyCoursesView(), MentionView()

VIEWS: tuple[ConditionView, ...] = (
    REGION,
    TOPICS,
    ONLY_COURSES,
    NotCoursesView(),
    RaceClassView(),
    MENTIONS,
    QuietView(),
    ZoneView(),
)

NARROWING: tuple[ConditionView, ...] = tuple(view for view in VIEWS if view.condition.is_narrowing)

CHOICES: tuple[ConditionView, ...] = tuple(
    view for view in VIEWS if view.typed_as and not (view.condition.is_narrowing or view.field == "not_courses")
)
"""Typed kinds that leave out no race. The name alone stands for all values: `unsubscribe quiet`."""

TYPED_AS: dict[str, ConditionView] = {view.typed_as: view for view in VIEWS if view.typed_as}
