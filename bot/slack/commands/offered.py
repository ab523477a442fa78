"""Offers after a refusal: each offered command line was read as a typed line is read, so its button works."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.errors import WITHOUT, CommandError, ServiceError
from bot.slack.commands.explain import offered_lines
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.table import find_command
from bot.slack.messages.buttons import ENDING
from bot.slack.messages.filter_words import listed

MENDED_MAX = 2
"""How often a refused offer is replaced by the offers of the second refusal."""

OFFERED_MAX = 10
"""So many lines are tried."""


async def with_working_offers(error: CommandError, desk: Desk, invocation: Invocation, line: str) -> CommandError:
    """The refusal of a line, with only the offers whose lines pass the check and change something.

    Where every offer would leave the channel as it is, the refusal says so.
    """
    trying = _Trying(desk, invocation, line, [])
    found = await trying.working(offered_lines(error, line), MENDED_MAX)
    told = error.offering(found)
    if trying.idle and not found:
        lines = listed([f"/racing {line}" for line in dict.fromkeys(trying.idle)])
        told.after = f"This channel has that already: {lines}. {error.after}".strip()
    return told.offering(found)


@dataclass(frozen=True)
class _Trying:
    """Tries the offers after a refused line. `idle` gathers the lines that would change nothing."""

    desk: Desk
    invocation: Invocation
    refused: str
    idle: list[str]

    async def working(self, lines: Mapping[str, str], tries: int) -> dict[str, str]:
        """The lines that pass, by label. A line that fails is replaced by its mended lines."""
        found: dict[str, str] = {}
        for label, line in list(lines.items())[:OFFERED_MAX]:
            error = await refusal(self.desk, self.invocation, line)
            if error is None and not await _changes(self.desk, self.invocation, line):
                self.idle.append(line)
            elif error is None:
                found.setdefault(label, line)
            elif tries and not self._would_turn(line):
                mended = await self.working(offered_lines(error, line), tries - 1)
                found |= {_label(label, more): right for more, right in mended.items() if right not in found.values()}
        return found

    def _would_turn(self, line: str) -> bool:
        """Whether a wrong offer subscribes where an end was asked for: mended, it might bring another region."""
        return self.refused.startswith(ENDING) and not line.startswith(ENDING)


async def _changes(desk: Desk, invocation: Invocation, line: str) -> bool:
    """Whether a line that passes would change something; True of a line that only reads."""
    command, text = find_command(line)
    if command is None or command.changes is None:
        return True
    try:
        return await command.changes(desk, replace(invocation, text=text))
    except (ServiceError, TimeoutError):
        return True


async def refusal(desk: Desk, invocation: Invocation, line: str) -> CommandError | None:
    """Why a line would be refused, as typed after /racing; None where the line passes."""
    command, text = find_command(line)
    if command is None:
        return CommandError("That is no command.")
    if command.check is None:
        return None
    try:
        await command.check(desk, replace(invocation, text=text))
    except CommandError as error:
        return error
    except (ServiceError, TimeoutError):
        # A list that can't be read now says nothing against the words.
        return None
    return None


def _label(label: str, more: str) -> str:
    is_whole = more.startswith(label) or label.startswith((WITHOUT, "until "))
    return more if is_whole else f"{label} {more}"
