"""Every command, on one screen: registered, helped with and checked against manifest.yml from here.

A new command is a line here, a file beside this one, and a line in manifest.yml and in the README.
"""

from typing import Any

from bot.domain.message import Message
from bot.slack.commands import list as list_command
from bot.slack.commands import pause, racecard, subscribe, trace, unsubscribe, usage
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.messages.help import command_help

RACECARD = Command(
    "racecard", "[region] [today|tomorrow|YYYY-MM-DD] [course]", "The racecards of a day", racecard.answer
)
USAGE = Command(
    "usage", "[day|endpoint]", "The data service's quota: used, left, and how long it will last", usage.answer
)


async def _help(_desk: Desk, _invocation: Invocation, _committed: Any) -> Message:
    """Every command, from the table itself."""
    return command_help(list(RACING_COMMANDS.values()))


RACING_COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "subscribe",
            '[REGION…|all] [results] [abandonments] [racecards] [course:"Name"] [-course:"Name"]',
            "Let this channel receive results and abandonments (unless told otherwise) of regions",
            subscribe.answer,
            subscribe.commit,
        ),
        Command(
            "unsubscribe",
            "[REGION…|all] [results] [abandonments] [racecards]",
            "End a subscription of this channel, or parts of it",
            unsubscribe.answer,
            unsubscribe.commit,
        ),
        Command("list", "", "What this channel receives", list_command.answer),
        Command(
            "pause",
            "[2h]",
            "Hold what this channel receives, for a time or until it is resumed",
            pause.answer_pause,
            pause.commit_pause,
        ),
        Command("resume", "", "End a pause", pause.answer_resume, pause.commit_resume),
        Command(
            "trace", "RACE_ID", "Who was told of a race and when, or why not; admins see every channel", trace.answer
        ),
        RACECARD,
        USAGE,
        Command("help", "", "This list", _help),
    )
}
"""What follows `/racing`. The words of the commands below work there too, for where another app has their names."""

SLASH_COMMANDS: dict[str, Command | None] = {"/racing": None, "/racecard": RACECARD, "/usage": USAGE}
"""What Slack knows; None is the one that has commands of its own."""
