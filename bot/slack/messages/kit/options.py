"""Options of menus, within Slack's limits."""

from collections.abc import Iterable, Sequence
from itertools import islice

from bot.outbox.message import Block
from bot.slack.messages.kit.blocks import plain_text
from bot.slack.messages.kit.text import clip, plain

OPTION_TEXT_MAX = 75
OPTION_VALUE_MAX = 150
OPTIONS_MAX = 100
"""https://docs.slack.dev/reference/block-kit/composition-objects/option-object, and the select menus' page"""


def option(label: str, value: str) -> Block | None:
    shown = plain(label, OPTION_TEXT_MAX)
    return (
        {"text": plain_text(clip(shown, OPTION_TEXT_MAX)), "value": value}
        if shown and len(value) <= OPTION_VALUE_MAX
        else None
    )


def options(named: Iterable[tuple[str, str]]) -> list[Block]:
    return list(islice(all_options(named), OPTIONS_MAX))


def all_options(named: Iterable[tuple[str, str]]) -> Iterable[Block]:
    return (one for one in (option(label, value) for label, value in named) if one)


def in_groups(every: Sequence[Block]) -> Block:
    """A menu's options in one list, or beyond OPTIONS_MAX in groups named by their first and last option."""
    if len(every) <= OPTIONS_MAX:
        return {"options": list(every)}
    lots = [every[start : start + OPTIONS_MAX] for start in range(0, len(every), OPTIONS_MAX)][:OPTIONS_MAX]
    return {"option_groups": [{"label": _label(lot), "options": list(lot)} for lot in lots]}


def _label(lot: Sequence[Block]) -> Block:
    first, last = lot[0]["text"]["text"], lot[-1]["text"]["text"]
    return plain_text(clip(f"{clip(first, 30)} to {clip(last, 30)}", OPTION_TEXT_MAX))
