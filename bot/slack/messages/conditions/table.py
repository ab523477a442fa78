"""The view of every kind of condition, in the order of the form. A new kind is a file beside this file, and a line."""

from bot.slack.messages.conditions.acknowledge_views import AckView, EscalateView
from bot.slack.messages.conditions.choice_view import ChoiceView
from bot.slack.messages.conditions.condition_view import ConditionView
from bot.slack.messages.conditions.course_view import NotCoursesView, OnlyCoursesView
from bot.slack.messages.conditions.hour_views import DigestView, EveView, QuietView, ZoneView
from bot.slack.messages.conditions.mention_view import MentionView
from bot.slack.messages.conditions.race_class_view import RaceClassView
from bot.slack.messages.conditions.race_code_view import RaceCodeView
from bot.slack.messages.conditions.region_view import RegionView
from bot.slack.messages.conditions.show_view import ShowView
from bot.slack.messages.conditions.topic_view import TopicView

REGION, TOPICS, ONLY_COURSES, MENTIONS = RegionView(), TopicView(), OnlyCoursesView(), MentionView()

VIEWS: tuple[ConditionView, ...] = (
    REGION,
    TOPICS,
    ONLY_COURSES,
    NotCoursesView(),
    RaceClassView(),
    RaceCodeView(),
    MENTIONS,
    DigestView(),
    EveView(),
    QuietView(),
    ZoneView(),
    ShowView(),
    AckView(),
    EscalateView(),
)

NARROWING: tuple[ConditionView, ...] = tuple(view for view in VIEWS if view.condition.is_narrowing)

CHOICES: tuple[ChoiceView, ...] = tuple(view for view in VIEWS if isinstance(view, ChoiceView))
"""The name alone stands for all values: `unsubscribe quiet`."""

TYPED_AS: dict[str, ConditionView] = {view.typed_as: view for view in VIEWS if view.typed_as}
