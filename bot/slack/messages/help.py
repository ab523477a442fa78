"""The help: every command with its usage, from the table that registers them."""

from collections.abc import Sequence
from typing import Protocol

from bot.domain.message import Message
from bot.slack.messages.plain import listing
from bot.slack.messages.text import escape


class Helped(Protocol):
    """What help says of a command."""

    @property
    def name(self) -> str: ...
    @property
    def usage(self) -> str: ...
    @property
    def summary(self) -> str: ...


DATES = (
    "Dates: `today`, `tomorrow`, `yesterday`, a weekday, `last friday`, `next friday`, `21 nov` or `2026-11-21`. "
    "Regions and courses are written as the data service has them: `/racing coverage` and `/racing courses` list them."
)


def command_help(commands: Sequence[Helped], alone: Sequence[str]) -> Message:
    """Every command, one a line; `alone` are those that work without /racing too."""
    lines = [f"• {_usage(one)}" for one in commands]
    named = " and ".join([", ".join(f"`{name}`" for name in alone[:-1]), f"`{alone[-1]}`"])
    return listing(
        "*What I understand*", [*lines, DATES], f"{named} work by themselves too. Answers are seen by you only."
    )


def usage_of(command: Helped) -> Message:
    """One command, and where the others are."""
    return listing(_usage(command), ["`/racing help` lists all commands."])


def _usage(command: Helped) -> str:
    return f"`{f'/racing {command.name} {command.usage}'.strip()}` — {escape(command.summary)}"
