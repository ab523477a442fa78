"""The help, made from the table of commands."""

from collections.abc import Sequence
from typing import Protocol

from bot.outbox.message import Message
from bot.slack.messages.kit.sentences import listing
from bot.slack.messages.kit.text import escape


class Helped(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def usage(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def examples(self) -> Sequence[str]: ...
    @property
    def mistakes(self) -> str: ...


FIRST = ("subscribe", "unsubscribe", "racecard", "results", "pause")
DATES = (
    "Dates: `today`, `tomorrow`, `yesterday`, a weekday, `last friday`, `next friday`, `21 nov`, `21/11/2026` or "
    "`2026-11-21`. Regions are codes or names of countries (`GB`, `Hong Kong`), courses have their whole name:"
    " `/racing coverage` and `/racing courses` list them. Words such as `and`, `for`, "
    "`only`, `except` and `no` are understood."
)


def command_help(commands: Sequence[Helped], alone: Sequence[str]) -> Message:
    """`alone`: the slash commands that work without /racing."""
    typed = [f"• `/racing {command.examples[0]}`" for command in commands if command.name in FIRST]
    lines = [f"• {_usage(one)}" for one in commands]
    named = " and ".join([", ".join(f"`{name}`" for name in alone[:-1]), f"`{alone[-1]}`"])
    return listing(
        "*For example*",
        [*typed, "*All commands*", *lines, DATES],
        f"{named} work by themselves too. Answers are seen by you only.",
    )


def usage_of(command: Helped) -> Message:
    examples = [f"• `/racing {one}`" for one in command.examples]
    worth = [f"Worth knowing: {command.mistakes}"] if command.mistakes else []
    return listing(_usage(command), ["For example:", *examples, *worth, "`/racing help` lists all commands."])


def _usage(command: Helped) -> str:
    return f"`{f'/racing {command.name} {command.usage}'.strip()}` — {escape(command.summary)}"
