"""Offers after a refusal: each offered command line was read as a typed line is read, so its button works."""

from collections.abc import Mapping
from dataclasses import replace

from bot.errors import CommandError, ServiceError
from bot.slack.commands.explain import offered_lines
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.table import find_command

MENDED_MAX = 2
"""How often a refused offer is replaced by the offers of the second refusal."""

OFFERED_MAX = 10
"""So many lines are tried."""


async def with_working_offers(error: CommandError, desk: Desk, invocation: Invocation, line: str) -> CommandError:
    """The refusal of a line, with only the offers whose lines pass the check."""
    return error.offering(await _working(desk, invocation, offered_lines(error, line), MENDED_MAX))


async def _working(desk: Desk, invocation: Invocation, lines: Mapping[str, str], tries: int) -> dict[str, str]:
    """The lines that pass, by label. A line that fails is replaced by its mended lines."""
    found: dict[str, str] = {}
    for label, line in list(lines.items())[:OFFERED_MAX]:
        error = await refusal(desk, invocation, line)
        if error is None:
            found.setdefault(label, line)
        elif tries:
            mended = await _working(desk, invocation, offered_lines(error, line), tries - 1)
            found |= {_label(label, more): right for more, right in mended.items() if right not in found.values()}
    return found


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
    return more if more.startswith(label) else f"{label} {more}"
