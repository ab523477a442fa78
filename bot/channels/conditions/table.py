"""Every kind of condition, in the order of a form and of a file. A new kind is a file beside this file, and a line."""

from bot.channels.conditions.acknowledge_conditions import AckCondition, EscalateCondition
from bot.channels.conditions.condition import Condition
from bot.channels.conditions.course_condition import NotCourses, OnlyCourses
from bot.channels.conditions.digest_condition import DigestCondition, EveCondition
from bot.channels.conditions.mention_condition import MentionCondition
from bot.channels.conditions.quiet_condition import QuietCondition
from bot.channels.conditions.race_class_condition import RaceClassCondition
from bot.channels.conditions.race_code_condition import RaceCodeCondition
from bot.channels.conditions.region_condition import RegionCondition
from bot.channels.conditions.show_condition import ShowCondition
from bot.channels.conditions.topic_condition import TopicCondition
from bot.channels.conditions.zone_condition import ZoneCondition

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
