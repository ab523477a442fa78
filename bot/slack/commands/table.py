"""Every command, on one screen: registered, helped with and checked against manifest.yml from here.

A new command is a line here, a file beside this one, and a line in manifest.yml and in the README.
"""

from typing import Any

from bot.book.meant import TYPED_MAX, likely, question
from bot.domain.message import Message
from bot.errors import CommandError
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
from bot.slack.messages.help import command_help, usage_of
from bot.slack.messages.mute import UNMUTE
from bot.slack.messages.subscription_buttons import EDIT, REMOVE

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


HELP = "help"
"""The command, and the word that asks any other for its help."""


async def _help(_desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    """Every command, from the table itself, or the one that is named. Raises CommandError where it is none."""
    if not invocation.text:
        return help_message()
    command = RACING_COMMANDS.get(invocation.text.split()[0].lower().removeprefix("/"))
    if command is None:
        raise unknown_command(invocation.text)
    return usage_of(command)


def unknown_command(line: str) -> CommandError:
    """That a line begins with no command, with what it may have meant: one like it, or one that begins so."""
    word = line.split(maxsplit=1)[0]
    begin_so = [name for name in RACING_COMMANDS if name.startswith(word.lower())]
    meant = list(dict.fromkeys([*likely(word, list(RACING_COMMANDS)), *begin_so]))
    told = (
        f"I don't know /racing {word[:TYPED_MAX]}.{question(meant)} After /racing I know: {', '.join(RACING_COMMANDS)}."
    )
    return CommandError(told, typed=word, meant={name: name for name in meant})


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
            '[REGION…|all] [results] [abandonments] [racecards] [course:"Name"] [-course:"Name"]',
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
        Command(HELP, "[command]", "This list, or the help on one command", _help),
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
