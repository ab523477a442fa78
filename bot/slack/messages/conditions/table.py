"""The view of every kind of condition, in the order of the form. A new kind is a class and a line."""

from bot.slack.messages.conditions.choice_views import (
    AckView,
    ChoiceView,
    DigestView,
    EscalateView,
    EveView,
    QuietView,
    ShowView,
    ZoneView,
)
from bot.slack.messages.conditions.condition_view import ConditionView
from bot.slack.messages.conditions.taken_views import (
    MentionView,
    NotCoursesView,
    OnlyCoursesView,
    RaceClassView,
    RaceCodeView,
    RaceView,
    RegionView,
    TopicView,
)

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

VALUED: tuple[ConditionView, ...] = tuple(view for view in VIEWS if isinstance(view, ChoiceView | RaceView))
"""The kinds with values of their own, which are no places and no topics."""

TYPED_AS: dict[str, ConditionView] = {view.typed_as: view for view in VIEWS if view.typed_as}
