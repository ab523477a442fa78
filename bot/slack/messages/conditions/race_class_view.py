"""Race classes as people meet them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bot.channels.conditions.race_class_condition import CLASS, folded_class, race_class_of
from bot.channels.conditions.table import BY_FIELD
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
from bot.slack.messages.kit.text import listed

CLASSES_FIELD = "classes"

TYPED_CLASSES_MAX = 3_000
"""https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element"""


class RaceClassView(ConditionView):
    condition = BY_FIELD["classes"]
    typed_as = f"{CLASS}:"
    plural = "race classes"

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", {self.named(chosen)} races only" if chosen.classes else ""

    def named(self, chosen: ChannelFilter) -> str:
        return _named(chosen.classes)

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        if now.classes and not was.classes:
            yield Loss(f"ended all races but {self.named(now)} from")
        elif ended := [one for one in was.classes if now.classes and one not in now.classes]:
            yield Loss(f"ended {_named(ended)} from")

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{_short(one)}" for one in chosen.classes]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        shown = ", ".join(map(_short, chosen.classes))
        if len(shown) > TYPED_CLASSES_MAX:
            return []
        element: Block = {"type": "plain_text_input", "max_length": TYPED_CLASSES_MAX}
        element |= {"initial_value": shown} if shown else {}
        hint = "With commas between, for example: 1, 2, Group 1. Races without a published class come too."
        return [form_field(CLASSES_FIELD, "Only these race classes", element, hint=hint, optional=True)]

    def read(self, form: FilledForm) -> Any:
        if CLASSES_FIELD not in form.had:
            return None
        words = [word for word in re.split("[,;\n]", form.text(CLASSES_FIELD)) if word.strip()]
        return self.condition.of_file([_as_stored(word) for word in words])

    def problems(self, submitted: Submitted) -> dict[str, str]:
        for word in submitted[self.field] or ():
            try:
                race_class_of(word)
            except ValueError as error:
                return {CLASSES_FIELD: f"{error}."}
        return {}


def _named(classes: Sequence[str]) -> str:
    return listed([f"{CLASS} {_short(one)}" if _short(one) != one else one for one in classes])


def _short(race_class: str) -> str:
    folded = folded_class(race_class)
    return folded if folded.isdecimal() else race_class


def _as_stored(word: str) -> str:
    try:
        return race_class_of(word)
    except ValueError:
        return word
