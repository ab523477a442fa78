"""The answers that each kind of condition gives to people, beside its rules in bot.channels.conditions."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bot.channels.conditions.condition import Condition
from bot.channels.filters import ChannelFilter
from bot.outbox.message import Block
from bot.slack.messages.kit.blocks import plain_text

Submitted = Mapping[str, Any]


@dataclass(frozen=True)
class PublishedChoices:
    """`chosen`: the regions of a new subscription, where there are several."""

    regions: Sequence[str] | None
    courses: bool
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True)
class FilledForm:
    values: Mapping[str, Any]
    had: frozenset[str]

    def field(self, name: str) -> Mapping[str, Any]:
        found = (self.values.get(name) or {}).get(name)
        return found if isinstance(found, dict) else {}

    def text(self, name: str) -> str:
        return str(self.field(name).get("value") or "")

    def selected(self, name: str) -> list[str]:
        return [
            str(one.get("value")) for one in self.field(name).get("selected_options") or () if isinstance(one, dict)
        ]

    def users(self, name: str) -> list[str]:
        return [str(one) for one in self.field(name).get("selected_users") or ()]

    def conversations(self, name: str) -> list[str]:
        return [str(one) for one in self.field(name).get("selected_conversations") or ()]


class Loss(NamedTuple):
    """The words before and after the region: "set quiet hours for" GB ": 22:00 to 07:00 UTC"."""

    words: str
    after: str = ""

    def of(self, where: str) -> str:
        return f"{self.words} {where}{self.after}"


class ConditionView(ABC):
    """A kind of condition as people meet the kind.

    `typed_as` stands before a typed value, if people type values. A narrowing kind has `plural`, the word for several
    values, and `named`.
    """

    condition: Condition
    typed_as: str = ""
    plural: str = ""
    typed_example: str = "1"

    @property
    def field(self) -> str:
        return self.condition.field

    @property
    def usage(self) -> str:
        """In the usage of `subscribe`, for a kind with values of its own."""
        return f"[{self.typed_as}{self.typed_example}]"

    def meant(self, _typed: str) -> tuple[str, ...]:
        """The values that may be meant by a wrong value, or by no value."""
        return ()

    @abstractmethod
    def words(self, chosen: ChannelFilter, names_max: int | None) -> str:
        """The condition in a sentence; lists of names longer than `names_max` are shortened."""

    def losses(self, _was: ChannelFilter, _now: ChannelFilter) -> Iterator[Loss]:
        """The losses of a narrowed filter."""
        return iter(())

    @abstractmethod
    def typed(self, chosen: ChannelFilter) -> list[str]:
        """The words of a command line that ask for the condition."""

    def named(self, _chosen: ChannelFilter) -> str:
        """The values of a narrowing kind; empty for no condition."""
        return ""

    def example(self, chosen: ChannelFilter) -> str:
        """One typed value, for people to read."""
        return self.typed(chosen)[0]

    @abstractmethod
    def form(self, chosen: ChannelFilter, known: PublishedChoices) -> list[Block]:
        """The fields of the form, filled in."""

    @abstractmethod
    def read(self, form: FilledForm) -> Any:
        """The value of a submitted form; None where the form had no such field."""

    def problems(self, _submitted: Submitted) -> dict[str, str]:
        """The contradictions of a submitted form, by block."""
        return {}


def form_field(name: str, label: str, element: Block, *, hint: str | None = None, optional: bool = False) -> Block:
    block: Block = {
        "type": "input",
        "block_id": name,
        "label": plain_text(label),
        "element": element | {"action_id": name},
        "optional": optional,
    }
    return block | ({"hint": plain_text(hint)} if hint else {})


def looked_up(placeholder: str, initial: Sequence[Block], most: int) -> Block:
    element: Block = {"type": "multi_external_select", "min_query_length": 1}
    element |= {"max_selected_items": max(most, len(initial)), "placeholder": plain_text(placeholder)}
    return element | ({"initial_options": list(initial)} if initial else {})
