"""Why a typed line is refused, as values, in one voice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.errors import CommandError
from bot.slack.messages.conditions.condition_view import ConditionView


class Offered(Protocol):
    """A request that a button would make."""

    @property
    def label(self) -> str: ...

    def line(self, command: str = "") -> str: ...


@dataclass(frozen=True)
class Refusal:
    """`offers`: the requests behind buttons, by label. `is_of_meaning`: each offer is a reading of the whole line."""

    told: str
    offers: Mapping[str, Offered] = field(default_factory=dict)
    is_of_meaning: bool = False

    def error(self, command: str) -> CommandError:
        lines = {label: offered.line(command) for label, offered in self.offers.items()}
        return CommandError(self.told, lines=lines, asks_meaning=self.is_of_meaning)


def unclear(readings: Sequence[Offered]) -> Refusal:
    told = "That can be read in several ways, so nothing was changed. What is meant?"
    return Refusal(told, {one.label: one for one in readings}, is_of_meaning=True)


def nothing_follows(typed: str, view: ConditionView | None) -> Refusal:
    """`typed`: a name with its colon."""
    example = f"{view.typed_example if view else 1}, for example"
    if typed.casefold().endswith("course:"):
        example = '"Name", as /racing courses shows the name'
    return Refusal(f'Nothing follows "{typed}". Write {typed}{example}.')


def value_wanted(view: ConditionView) -> Refusal:
    return Refusal(f"{view.typed_as} needs a value: write {view.typed_as}{view.typed_example}, for example.")


NOT_ONLY = Refusal('"Not only" leaves nothing out: name all that is wanted, without these words.')


def nothing_after(negation: str) -> Refusal:
    return Refusal(f'Nothing follows "{negation}". Write what is to be left out after it.')
