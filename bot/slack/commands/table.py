"""All commands, for registration, help and manifest.yml.

A new command: a line here, a file beside this file, a line in manifest.yml and in docs/commands.md.
"""

import re

from bot.errors import CommandError
from bot.outbox.message import Message
from bot.racedata.near_misses import TYPED_MAX, likely
from bot.slack.commands.acknowledge_button import ACKNOWLEDGE_BUTTON, GIVE_BACK_BUTTON
from bot.slack.commands.audit import AUDIT_COMMAND
from bot.slack.commands.courses import COURSES_COMMAND
from bot.slack.commands.coverage import COVERAGE_COMMAND
from bot.slack.commands.drill import DRILL_COMMAND
from bot.slack.commands.form_button import FORM_BUTTON
from bot.slack.commands.full_result_button import FULL_RESULT_BUTTON
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.commands.mute import MUTE_BUTTON, UNMUTE_BUTTON
from bot.slack.commands.next_off import NEXT_COMMAND
from bot.slack.commands.pause import PAUSE_COMMAND, RESUME_COMMAND
from bot.slack.commands.racecard import RACECARD_COMMAND
from bot.slack.commands.results import RESULTS_COMMAND
from bot.slack.commands.status import STATUS_COMMAND
from bot.slack.commands.subscribe import SUBSCRIBE_COMMAND
from bot.slack.commands.subscription_pages import EDIT_BUTTON, LIST_COMMAND, REMOVE_BUTTON
from bot.slack.commands.trace import TRACE_COMMAND
from bot.slack.commands.unsubscribe import UNSUBSCRIBE_COMMAND
from bot.slack.commands.usage import USAGE_COMMAND
from bot.slack.commands.watch import UNWATCH_BUTTON, WATCH_COMMAND, WATCHING_COMMAND
from bot.slack.messages.answers.help_answer import HelpGroup, command_help, usage_of
from bot.slack.messages.conditions.table import CHOICES
from bot.slack.messages.kit.blocks import ENDING

HELP = "help"

_PASTED = re.compile(r"(?:/racing(?:\s+|$))+", re.IGNORECASE)

_MEANT = {
    "acknowledge": "subscribe",
    "cards": "racecard",
    "mute": "list",
    "stop": "list",
    "unmute": "list",
    "unwatch": "watching",
    "watches": "watching",
}
"""Words that are no commands, with the command that does what the words say."""

_MUTING = (
    "A meeting is muted by the button Mute this meeting here, beneath a result of it; abandonments still come. "
    "/racing list shows what is muted, with a button to end that."
)
_STOPPING = "/racing unsubscribe all ends what this channel receives, and /racing pause holds it back for a time."
_DONE_BY = {"mute": _MUTING, "unmute": _MUTING, "stop": _STOPPING}
"""Words that are no commands, with the way to do what the words say."""

_CHOSEN = dict.fromkeys((view.typed_as.removesuffix(":") for view in CHOICES), "subscribe")


async def _plan(_desk: Desk, invocation: Invocation) -> Command | None:
    return _named(invocation.text) if invocation.text else None


async def _answer(_desk: Desk, _invocation: Invocation, named: Command | None) -> Message:
    return usage_of(named) if named else help_message()


def _named(text: str) -> Command:
    """Accepts "subscribe", "/racecard" and "/racing pause"."""
    words = [word.lower().removeprefix("/") for word in text.split()]
    named = words[1] if len(words) > 1 and f"/{words[0]}" in SLASH_COMMANDS else words[0]
    command = RACING_COMMANDS.get((_CHOSEN | _MEANT).get(named.removesuffix(":"), named))
    if command is None:
        error = unknown_command(named)
        raise CommandError(
            error.told, lines={name: f"{HELP} {name}" for name in error.offers}, asks=True, after=error.after
        )
    return command


def unknown_command(line: str) -> CommandError:
    """Offers similar commands, and commands with the same beginning."""
    word = line.split(maxsplit=1)[0]
    begin_so = [name for name in RACING_COMMANDS if name.startswith(word.lower())]
    alike = list(dict.fromkeys([*likely(word, list(RACING_COMMANDS)), *begin_so]))
    # Nobody means the opposite of the nearest command.
    alike = [name for name in alike if name == alike[0] or {name, alike[0]} != {"subscribe", ENDING}]
    does_it = _MEANT.get(word.lower()) or (None if alike else _CHOSEN.get(word.lower()))
    meant = [does_it] if does_it else alike
    return CommandError(
        " ".join(filter(None, [f"I don't know /racing {word[:TYPED_MAX]}.", _DONE_BY.get(word.lower())])),
        typed=word,
        meant={name: name for name in meant},
        asks=True,
        after=f"After /racing I know: {', '.join(RACING_COMMANDS)}.",
    )


def find_command(line: str) -> tuple[Command | None, str]:
    """The command of a line after /racing, with its words; None with the line for an unknown command.

    "pause help" is the help on pause. A pasted line may begin with /racing again, or with another slash command.
    """
    pasted = _PASTED.match(line)
    line = line[pasted.end() :] if pasted else line
    word, text = (*line.split(maxsplit=1), "", "")[:2]
    command = RACING_COMMANDS.get(word.lower().removeprefix("/") or HELP)
    if command and text.strip().lower() == HELP:
        return RACING_COMMANDS[HELP], command.name
    return (command, text.strip()) if command else (None, line)


def help_message() -> Message:
    return command_help(list(RACING_COMMANDS.values()), [name for name, one in SLASH_COMMANDS.items() if one])


HELP_COMMAND = Command(
    HELP,
    "[command]",
    "This overview, or the details of one command",
    _answer,
    _plan,
    examples=("help subscribe", "subscribe help"),
    mistakes="`help` asks about commands; what I know of a region is in `coverage`.",
    group=HelpGroup.BOT,
)

RACING_COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        SUBSCRIBE_COMMAND,
        UNSUBSCRIBE_COMMAND,
        LIST_COMMAND,
        PAUSE_COMMAND,
        RESUME_COMMAND,
        WATCH_COMMAND,
        WATCHING_COMMAND,
        STATUS_COMMAND,
        TRACE_COMMAND,
        AUDIT_COMMAND,
        DRILL_COMMAND,
        RACECARD_COMMAND,
        NEXT_COMMAND,
        RESULTS_COMMAND,
        USAGE_COMMAND,
        COVERAGE_COMMAND,
        COURSES_COMMAND,
        HELP_COMMAND,
    )
}
"""The words after `/racing`. Slash commands work there too: another app may own their names."""

SLASH_COMMANDS: dict[str, Command | None] = {
    "/racing": None,
    **{f"/{command.name}": command for command in (RACECARD_COMMAND, RESULTS_COMMAND, USAGE_COMMAND)},
}
"""Slack's slash commands; None has subcommands."""

BUTTON_COMMANDS: dict[str, Command] = {
    button.name: button
    for button in (
        FULL_RESULT_BUTTON,
        MUTE_BUTTON,
        UNMUTE_BUTTON,
        ACKNOWLEDGE_BUTTON,
        GIVE_BACK_BUTTON,
        UNWATCH_BUTTON,
        FORM_BUTTON,
        EDIT_BUTTON,
        REMOVE_BUTTON,
    )
}
"""Button actions, by the beginning of action_id. `text` is the button's value."""
