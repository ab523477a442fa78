"""How a channel shows the results of its meetings: flat, or in the threads of live messages."""

from collections.abc import Sequence
from typing import Any

from bot.channels.conditions.choice_condition import ChoiceCondition
from bot.channels.conditions.condition import FilterFields

SHOW = "show"
MEETINGS = "meetings"
"""One live message a meeting. Without a value a channel is told flat."""


class ShowCondition(ChoiceCondition):
    """At most a single value."""

    field = file_key = SHOW
    file_noun = "a way to show results"

    def stored(self, typed: str) -> str:
        if typed.strip().casefold() != MEETINGS:
            raise ValueError(f"{typed[:40]} is no way to show results: write {MEETINGS}, or nothing")
        return MEETINGS

    def joined(self, one: FilterFields, other: FilterFields) -> tuple[str, ...]:
        return one.show if one.show == other.show else ()

    def of_file(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The last of several."""
        return tuple(values[-1:])
