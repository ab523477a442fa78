"""Every command, on one screen: registered, helped with and checked against manifest.yml from here.

A new command is a line here, a file beside this one, and a line in manifest.yml and in the README.
"""

from typing import Any

from bot.domain.message import Message
from bot.slack.commands import (
    audit,
    courses,
    coverage,
    full_result,
    mute,
    pause,
    racecard,
    results,
    subscribe,
    trace,
    unsubscribe,
    usage,
)
from bot.slack.commands import list as list_command
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.messages.alert_buttons import FULL_RESULT, MUTE
from bot.slack.messages.help import command_help
from bot.slack.messages.mute import UNMUTE
from bot.slack.messages.subscription_list import EDIT, REMOVE

RACECARD = Command(
    "racecard", "[region] [today|tomorrow|YYYY-MM-DD] [course]", "The racecards of a day", racecard.answer
)
RESULTS = Command(
    "results",
    "[region] [date] [course] [abandonments]",
    "What has settled on a day, and what was abandoned; or the abandonments alone",
    results.answer,
)
USAGE = Command(
    "usage", "[day|endpoint]", "The data service's quota: used, left, and how long it will last", usage.answer
)


async def _help(_desk: Desk, _invocation: Invocation, _committed: Any) -> Message:
    """Every command, from the table itself."""
    return help_message()


def help_message() -> Message:
    """What is understood, for whoever asks or is at a loss."""
    return command_help(list(RACING_COMMANDS.values()), [name for name, one in SLASH_COMMANDS.items() if one])


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
        Command("list", "", "What this channel receives, with buttons to change it", list_command.answer),
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
        Command(
            "audit",
            "[all|channel ID|user ID]",
            "Who changed what a channel receives, and when; for admins",
            audit.answer,
        ),
        RACECARD,
        RESULTS,
        USAGE,
        Command(
            "coverage", "[region]", "What the archive holds of each country, and what it publishes", coverage.answer
        ),
        Command("courses", "[text]", "The courses, as commands take them", courses.answer),
        Command("help", "", "This list", _help),
    )
}
"""What follows `/racing`. The words of the commands below work there too, for where another app has their names."""

SLASH_COMMANDS: dict[str, Command | None] = {
    "/racing": None,
    "/racecard": RACECARD,
    "/results": RESULTS,
    "/usage": USAGE,
}
"""What Slack knows; None is the one that has commands of its own."""

BUTTON_COMMANDS: dict[str, Command] = {
    FULL_RESULT: Command(FULL_RESULT, "", "All that is known of a race", full_result.answer),
    MUTE: Command(MUTE, "", "Post no more results of a meeting here", mute.answer_mute, mute.commit_mute),
    UNMUTE: Command(UNMUTE, "", "Post them again", mute.answer_unmute, mute.commit_unmute),
    EDIT: Command(EDIT, "", "The form of a subscription", list_command.answer_edit, list_command.commit_edit),
    REMOVE: Command(REMOVE, "", "End a subscription", list_command.answer_remove, list_command.commit_remove),
}
"""What buttons do that nobody types: by what their action_id begins with. The words are the button's value."""
