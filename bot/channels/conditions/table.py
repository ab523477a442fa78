"""Every kind of condition, in the order of a form and of a file. A new kind is a class, a field and a line here."""

from bot.channels.conditions import choices
from bot.channels.conditions.choices import ChoiceCondition
from bot.channels.conditions.condition import Condition, NarrowingCondition
from bot.channels.conditions.event_conditions import (
    MentionCondition,
    NotCourses,
    OnlyCourses,
    RegionCondition,
    TopicCondition,
)
from bot.channels.conditions.race_conditions import RaceClassCondition, RaceCodeCondition

REGION, TOPICS, ONLY_COURSES, MENTIONS = RegionCondition(), TopicCondition(), OnlyCourses(), MentionCondition()

CONDITIONS: tuple[Condition, ...] = (
    REGION,
    TOPICS,
    ONLY_COURSES,
    NotCourses(),
    RaceClassCondition(),
    RaceCodeCondition(),
    MENTIONS,
    choices.DigestCondition(),
    choices.EveCondition(),
    choices.QuietCondition(),
    choices.ZoneCondition(),
    choices.ShowCondition(),
    choices.AckCondition(),
    choices.EscalateCondition(),
)

BY_FIELD: dict[str, Condition] = {one.field: one for one in CONDITIONS}

TYPED_AS: dict[str, Condition] = {one.typed_as: one for one in CONDITIONS if one.typed_as}

NARROWING: tuple[Condition, ...] = tuple(one for one in CONDITIONS if one.is_narrowing)

OF_RACES: tuple[NarrowingCondition, ...] = tuple(one for one in CONDITIONS if isinstance(one, NarrowingCondition))

CHOICES: tuple[ChoiceCondition, ...] = tuple(one for one in CONDITIONS if isinstance(one, ChoiceCondition))
"""The name alone stands for all values: `unsubscribe quiet`."""

VALUED: tuple[Condition, ...] = (*OF_RACES, *CHOICES)
"""The kinds with values of their own, which are no places and no topics."""

CHOSEN_BY = frozenset(name for one in CONDITIONS for name in one.race_fields)
"""The fields of a race by which filters choose."""
