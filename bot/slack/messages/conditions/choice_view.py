"""Choices as people meet them: typed, and in the form as a text with commas."""

import re
from abc import abstractmethod
from collections.abc import Iterator

from bot.channels.conditions.choice_condition import ChoiceCondition
from bot.channels.filters import ChannelFilter
from bot.outbox.message import Block
from bot.slack.messages.conditions.condition_view import (
    ConditionView,
    FilledForm,
    Loss,
    PublishedChoices,
    Submitted,
    form_field,
)
from bot.slack.messages.conditions.topic_view import TOPIC_LABELS, TOPICS_FIELD

TYPED_CHOICE_MAX = 200


class ChoiceView(ConditionView):
    """`label` and `hint` are of the form's field, which has the condition's name. `help`: what the typed word does.

    `is_of_names`: values are names, and no times.
    """

    choice: ChoiceCondition
    is_of_names: bool = False
    label: str
    hint: str
    help: str

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", {self.said(chosen)}" if self.condition.of(chosen) else ""

    @abstractmethod
    def said(self, chosen: ChannelFilter) -> str:
        """The values in words."""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if not self.condition.covers(now, was):
            yield self.change(now)

    @abstractmethod
    def change(self, now: ChannelFilter) -> Loss:
        """What somebody set."""

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{one}".rstrip(":") for one in self.condition.of(chosen)]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        shown = ", ".join(self.condition.of(chosen))
        element: Block = {"type": "plain_text_input", "max_length": TYPED_CHOICE_MAX}
        element |= {"initial_value": shown} if shown else {}
        return [form_field(self.field, self.label, element, hint=self.hint, optional=True)]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        if self.field not in form.had:
            return None
        words = [word.strip() for word in re.split("[,;\n]", form.text(self.field)) if word.strip()]
        return tuple(self.condition.of_file([self._as_stored(word) for word in words]))

    def problems(self, submitted: Submitted) -> dict[str, str]:
        for word in submitted[self.field] or ():
            try:
                self.choice.stored(word)
            except ValueError as error:
                return {self.field: f"{error}."}
        asked_for, topics = self.choice.topic, submitted[TOPICS_FIELD]
        if submitted[self.field] and asked_for and topics and asked_for not in topics:
            return {self.field: f"This is for {asked_for}: choose {TOPIC_LABELS[asked_for]} too, or empty the field."}
        return {}

    def _as_stored(self, word: str) -> str:
        try:
            return self.choice.stored(word)
        except ValueError:
            return word


def by_the_clock(chosen: ChannelFilter) -> str:
    return chosen.zone[0] if chosen.zone else "UTC"


def clock_named(chosen: ChannelFilter) -> str:
    """For example "London time"."""
    return f"{chosen.zone[0].rpartition('/')[2].replace('_', ' ')} time" if chosen.zone else "UTC"
