"""Race classes and codes of racing as people meet them."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from bot.channels.conditions.race_conditions import ALL_WEATHER, CLASS, CODE, FLAT, JUMPS, folded_class, race_class_of
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
from bot.slack.messages.kit.blocks import options
from bot.slack.messages.kit.text import listed

CLASSES_FIELD = "classes"

TYPED_CLASSES_MAX = 3_000
"""https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element"""


class RaceView(ConditionView):
    """Words of races: "class 1 races only"."""

    def words(self, chosen: ChannelFilter, _names_max: int | None) -> str:
        return f", {self.named(chosen)} races only" if self.condition.of(chosen) else ""

    def named(self, chosen: ChannelFilter) -> str:
        return self.said(self.condition.of(chosen))

    @abstractmethod
    def said(self, values: Sequence[str]) -> str:
        """For example "class 1 and Group 1"."""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        left, before = self.condition.of(now), self.condition.of(was)
        if left and not before:
            yield Loss(f"ended all races but {self.said(left)} from")
        elif ended := [one for one in before if left and one not in left]:
            yield Loss(f"ended {self.said(ended)} from")


class RaceClassView(RaceView):
    condition = BY_FIELD["classes"]
    typed_as = f"{CLASS}:"
    plural = "race classes"

    def said(self, values: Sequence[str]) -> str:
        return listed([f"{CLASS} {_short(one)}" if _short(one) != one else one for one in values])

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


def _short(race_class: str) -> str:
    folded = folded_class(race_class)
    return folded if folded.isdecimal() else race_class


def _as_stored(word: str) -> str:
    try:
        return race_class_of(word)
    except ValueError:
        return word


CODE_LABELS = {FLAT: "Flat", JUMPS: "Jumps", ALL_WEATHER: "All-weather"}


class RaceCodeView(RaceView):
    condition = BY_FIELD["codes"]
    typed_as = f"{CODE}:"
    typed_example = JUMPS
    plural = "codes of racing"

    @property
    def usage(self) -> str:
        return f"[{'|'.join(CODE_LABELS)}]"

    def said(self, values: Sequence[str]) -> str:
        return listed([CODE_LABELS[one].lower() for one in values])

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{one}" for one in chosen.codes]

    def form(self, chosen: ChannelFilter, _known: PublishedChoices) -> list[Block]:
        every = options((label, code) for code, label in CODE_LABELS.items())
        initial = [one for one in every if one["value"] in chosen.codes]
        element: Block = {"type": "checkboxes", "options": every}
        element |= {"initial_options": initial} if initial else {}
        hint = "Races that don't say come too. Flat is on turf and all-weather alike."
        return [form_field(self.field, "Only this racing", element, hint=hint, optional=True)]

    def read(self, form: FilledForm) -> tuple[str, ...] | None:
        chosen = [one for one in form.selected(self.field) if one in CODE_LABELS]
        return tuple(self.condition.of_file(chosen)) if self.field in form.had else None
