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


def command_help(commands: Sequence[Helped]) -> Message:
    """Every command, one a line."""
    lines = [f"• `{f'/racing {one.name} {one.usage}'.strip()}` — {escape(one.summary)}" for one in commands]
    return listing(
        "*What I understand*", lines, "`/racecard` and `/usage` work by themselves too. Answers are seen by you only."
    )
