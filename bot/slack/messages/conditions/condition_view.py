"""The answers that each kind of condition gives to people, beside its rules in bot.channels.conditions."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bot.channels.conditions.condition import Condition
from bot.channels.filters import ChannelFilter
from bot.events.event import Topic
from bot.outbox.message import Block
from bot.slack.messages.kit.blocks import options, plain_text

Submitted = Mapping[str, Any]

TOPICS_FIELD = "topics"

TOPIC_LABELS: Mapping[str, str] = {
    Topic.RESULTS: "Results",
    Topic.ABANDONMENTS: "Abandoned races and meetings",
    Topic.RACECARDS: "Racecards",
}


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

    def chosen(self, name: str) -> list[str]:
        """The chosen values of a menu of options, people or channels."""
        found = self.field(name)
        values = [one.get("value") for one in found.get("selected_options") or () if isinstance(one, dict)]
        return [str(one) for one in values or found.get("selected_users") or found.get("selected_conversations") or ()]


class Loss(NamedTuple):
    """The words before and after the region: "set quiet hours for" GB ": 22:00 to 07:00 UTC"."""

    words: str
    after: str = ""

    def of(self, where: str) -> str:
        return f"{self.words} {where}{self.after}"


class ConditionView(ABC):
    """A kind of condition as people meet the kind.

    `typed_as` stands before a typed value, if people type values. A narrowing kind has `plural`, the word for several
    values, and `named`. `label` and `hint` are of the field of a form; `problem_block` shows the field's problems, if
    not the block with the field's name.
    """

    condition: Condition
    typed_as: str = ""
    label: str
    hint: str | None = None
    problem_block: str = ""
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

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        """The condition in a sentence; lists of names longer than `names_max` are shortened."""
        return f", {self.said(chosen)}" if self.condition.of(chosen) else ""

    def said(self, chosen: ChannelFilter) -> str:
        """The values in words, for a kind without `words` of its own."""
        raise NotImplementedError

    def losses(self, _was: ChannelFilter, _now: ChannelFilter) -> Iterator[Loss]:
        """The losses of a narrowed filter."""
        return iter(())

    def typed(self, chosen: ChannelFilter) -> list[str]:
        """The words of a command line that ask for the condition. The name alone stands for every value."""
        return [f"{self.typed_as}{one}".rstrip(":") for one in self.condition.of(chosen)]

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

    def problems(self, submitted: Submitted) -> dict[str, str]:
        """The wrong values and the contradictions of a submitted form, by block."""
        values, topic = submitted[self.field] or (), self.condition.topic
        block = self.problem_block or self.field
        for one in values:
            try:
                self.condition.stored(one)
            except ValueError as error:
                return {block: f"{error}."}
        if values and topic and topic not in submitted[TOPICS_FIELD]:
            return {block: f"This is for {topic}: choose {TOPIC_LABELS[topic]} too, or empty the field."}
        return {}


class TextView(ConditionView):
    """Values as a text with commas."""

    text_max = 200

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        shown = ", ".join(word.removeprefix(self.typed_as) for word in self.typed(chosen))
        if len(shown) > self.text_max:
            return []
        element = filled({"type": "plain_text_input", "max_length": self.text_max}, "initial_value", shown)
        return [form_field(self.field, self.label, element, hint=self.hint, optional=True)]

    def read(self, form: FilledForm) -> Any:
        if self.field not in form.had:
            return None
        words = [word.strip() for word in re.split("[,;\n]", form.text(self.field)) if word.strip()]
        return self.condition.of_file([self._as_stored(word) for word in words])

    def _as_stored(self, word: str) -> str:
        try:
            return str(self.condition.stored(word))
        except ValueError:
            return word


class CheckboxView(ConditionView):
    """Values to tick. `labels`: by value."""

    labels: Mapping[str, str]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        every = options((label, value) for value, label in self.labels.items())
        initial = [one for one in every if one["value"] in self.condition.of(chosen)]
        element = filled({"type": "checkboxes", "options": every}, "initial_options", initial)
        return [form_field(self.field, self.label, element, hint=self.hint, optional=not self.condition.is_needed)]

    def read(self, form: FilledForm) -> Any:
        chosen = [self.condition.stored(one) for one in form.chosen(self.field) if one in self.labels]
        return self.condition.of_file(chosen) if self.field in form.had else None


def form_field(name: str, label: str, element: Block, *, hint: str | None = None, optional: bool = False) -> Block:
    block: Block = {
        "type": "input",
        "block_id": name,
        "label": plain_text(label),
        "element": element | {"action_id": name},
        "optional": optional,
    }
    return block | ({"hint": plain_text(hint)} if hint else {})


def filled(element: Block, name: str, initial: str | Sequence[Any]) -> Block:
    """The element with the initial value, if any: Slack refuses an empty value."""
    return element | ({name: initial} if initial else {})


def several(kind: str, placeholder: str, initial: Sequence[Any], most: int, **more: Any) -> Block:
    """A menu of several items, which never takes away what is chosen already."""
    most = max(most, len(initial))
    return {"type": kind, "max_selected_items": most, "placeholder": plain_text(placeholder), **more}


def looked_up(placeholder: str, initial: Sequence[Block], most: int) -> Block:
    element = several("multi_external_select", placeholder, initial, most, min_query_length=1)
    return filled(element, "initial_options", initial)
