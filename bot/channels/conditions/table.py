"""Every kind of condition, in the order of a form and of a file. A new kind is a class and a line."""

from bot.channels.conditions.choices import (
    AckCondition,
    DigestCondition,
    EscalateCondition,
    EveCondition,
    QuietCondition,
    ShowCondition,
    ZoneCondition,
)
from bot.channels.conditions.condition import Condition
from bot.channels.conditions.course_condition import NotCourses, OnlyCourses
from bot.channels.conditions.event_conditions import MentionCondition, RegionCondition, TopicCondition
from bot.channels.conditions.race_conditions import RaceClassCondition, RaceCodeCondition

CONDITIONS: tuple[Condition, ...] = (
    RegionCondition(),
    TopicCondition(),
    OnlyCourses(),
    NotCourses(),
    RaceClassCondition(),
    RaceCodeCondition(),
    MentionCondition(),
    DigestCondition(),
    EveCondition(),
    QuietCondition(),
    ZoneCondition(),
    ShowCondition(),
    AckCondition(),
    EscalateCondition(),
)

BY_FIELD: dict[str, Condition] = {condition.field: condition for condition in CONDITIONS}
