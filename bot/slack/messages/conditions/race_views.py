"""Race classes and codes of racing as people meet them."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from bot.channels.conditions.race_conditions import ALL_WEATHER, CLASS, CODE, FLAT, JUMPS, folded_class
from bot.channels.conditions.table import BY_FIELD
from bot.channels.filters import ChannelFilter
from bot.slack.messages.conditions.condition_view import CheckboxView, ConditionView, Loss, TextView
from bot.slack.messages.kit.text import listed

CLASSES_FIELD = "classes"


class RaceView(ConditionView):
    """Words of races: "class 1 races only"."""

    def said(self, chosen: ChannelFilter) -> str:
        return f"{self.named(chosen)} races only"

    def named(self, chosen: ChannelFilter) -> str:
        return self.values_in_words(self.condition.of(chosen))

    @abstractmethod
    def values_in_words(self, values: Sequence[str]) -> str:
        """For example "class 1 and Group 1"."""

    def losses(self, was: ChannelFilter, now: ChannelFilter) -> Iterator[Loss]:
        left, before = self.condition.of(now), self.condition.of(was)
        if left and not before:
            yield Loss(f"ended all races but {self.values_in_words(left)} from")
        elif ended := [one for one in before if left and one not in left]:
            yield Loss(f"ended {self.values_in_words(ended)} from")


class RaceClassView(TextView, RaceView):
    condition = BY_FIELD[CLASSES_FIELD]
    typed_as = f"{CLASS}:"
    plural = "race classes"
    label = "Only these race classes"
    hint = "With commas between, for example: 1, 2, Group 1. Races without a published class come too."
    text_max = 3_000
    """https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element"""

    def values_in_words(self, values: Sequence[str]) -> str:
        return listed([f"{CLASS} {_short(one)}" if _short(one) != one else one for one in values])

    def typed(self, chosen: ChannelFilter) -> list[str]:
        return [f"{self.typed_as}{_short(one)}".rstrip(":") for one in chosen.classes]


def _short(race_class: str) -> str:
    folded = folded_class(race_class)
    return folded if folded.isdecimal() else race_class


CODE_LABELS = {FLAT: "Flat", JUMPS: "Jumps", ALL_WEATHER: "All-weather"}


class RaceCodeView(CheckboxView, RaceView):
    condition = BY_FIELD["codes"]
    typed_as = f"{CODE}:"
    typed_example = JUMPS
    plural = "codes of racing"
    label = "Only this racing"
    hint = "Races that don't say come too. Flat is on turf and all-weather alike."
    labels = CODE_LABELS

    @property
    def usage(self) -> str:
        return f"[{'|'.join(CODE_LABELS)}]"

    def values_in_words(self, values: Sequence[str]) -> str:
        return listed([CODE_LABELS[one].lower() for one in values])
