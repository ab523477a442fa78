"""All commands, for registration, help and manifest.yml. CONTRIBUTING.md has the recipe of a command."""

import re
from collections.abc import Mapping, Sequence

from bot.channels.conditions.table import CHOICES, OF_RACES, VALUED
from bot.errors import CommandError
from bot.events.word_rows import word_rows
from bot.outbox.message import Message
from bot.racedata.near_misses import TYPED_MAX, likely
from bot.slack.commands import pause_commands
from bot.slack.commands.button_commands import ACKNOWLEDGE_BUTTON, FORM_BUTTON, FULL_RESULT_BUTTON, GIVE_BACK_BUTTON
from bot.slack.commands.day_commands import NEXT_COMMAND, RACECARD_COMMAND, RESULTS_COMMAND
from bot.slack.commands.drill import DRILL_COMMAND
from bot.slack.commands.invocation import SAYING_NOTHING, Command, Desk, Invocation, says
from bot.slack.commands.list_commands import (
    AUDIT_COMMAND,
    COURSES_COMMAND,
    COVERAGE_COMMAND,
    STATUS_COMMAND,
    USAGE_COMMAND,
)
from bot.slack.commands.present_subscriptions import EDIT_BUTTON, LIST_COMMAND, REMOVE_BUTTON, UNSUBSCRIBE_COMMAND
from bot.slack.commands.subscribe import SUBSCRIBE_COMMAND
from bot.slack.commands.trace import TRACE_COMMAND
from bot.slack.commands.watch import UNWATCH_COMMAND, WATCH_COMMAND, WATCHING_COMMAND
from bot.slack.language.grammar import Grammar
from bot.slack.language.sayings import in_words_of_commands, offers_for, without_greeting
from bot.slack.language.words import COURTESY, JOINTS, NON_RUNNERS, NOT_GIVEN, SUBSCRIBING, TOPIC_WORDS, Kind
from bot.slack.messages.answers.help_answer import Helped, command_help, usage_of
from bot.slack.messages.kit.blocks import BUTTON_VALUE_MAX, ENDING

HELP = "help"

_USAGES = {
    "values": " ".join(one.usage for one in VALUED),
    # The bare name of a choice ends all values. Only `cards` alone ends racecards instead.
    "ends": " ".join(
        f"[{one.name}]" if one in CHOICES and one.name not in SUBSCRIBING else one.usage for one in VALUED
    ),
}


def _helped(name: str, rows: Mapping[str, Sequence[str]]) -> Helped:
    said = {"usage": "", **{row: ", ".join(words) for row, words in rows.items()}}
    details = [f"`{one.typed_as}{one.example}`: {one.help}" for one in CHOICES if "{values}" in said["usage"]]
    return Helped(name, said["usage"].format(**_USAGES), said["summary"], rows["examples"], said["mistakes"], details)


HELPED = {name: _helped(name, rows) for name, rows in word_rows("bot.slack.commands", "help.ini").items()}
"""The help's words on each command, by the command's name."""

_SHOWN = {"card", "courses", "going", "ground", "meetings", "races", "runners"}
_SUBJECTS = {*TOPIC_WORDS, *NON_RUNNERS, *NOT_GIVEN, *_SHOWN}

_SHOWING = re.compile(r"\b(?:show|my|our)\b", re.IGNORECASE)

_OF_A_FILTER = frozenset({Kind.VALUE, Kind.NOT_CHOSEN, Kind.ONLY})

_LINE = Grammar(SUBSCRIBING, has_days=True, has_choices=True)

_ASKED = frozenset({"stop", "cancel", "end", "want", "reminder"})
"""First words of the lines under "offers" in words.ini. A day's or a filter's words may follow."""


async def _plan(_desk: Desk, invocation: Invocation) -> Command | None:
    words = " ".join(word for word in invocation.text.split() if word.casefold() not in SAYING_NOTHING)
    return _named(words) if words else None


def _named(text: str) -> Command:
    """Accepts "subscribe", "/racecard", "quiet: 22-7" and "/racing pause"."""
    word, _, rest = text.partition(" ")
    command, _ = find_command(rest if rest and word.startswith("/") else text.replace(":", " "))
    if command is None:
        lines = {name: f"{HELP} {name}" for name in _alike(word.removeprefix("/"))}
        raise _not_known(word, lines)
    return command


def _not_known(word: str, lines: Mapping[str, str]) -> CommandError:
    # Other words may have been typed for these: "shut up" for "stop".
    told = "There is no such command." if word in _ASKED else f"I don't know /racing {word[:TYPED_MAX]}."
    return CommandError(told, lines=lines, asks=True, after="/racing help lists the commands.")


def unknown_command(line: str) -> CommandError:
    """Offers commands alike and with the same beginning; else the line as words of a card or subscription."""
    word, *words = line.split()
    rest = " ".join(one for one in words if one.casefold() not in COURTESY)
    alike = [f"{name} {rest}".strip() for name in _alike(word)]
    lines = offers_for(f"{word} {rest}".strip())
    return _not_known(word, lines or {one: one for one in alike or (f"racecard {line}", f"subscribe {line}")})


def _alike(word: str) -> list[str]:
    """The commands with nearly this name, or with this beginning."""
    # "US" begins no "usage".
    begin_so = [name for name in RACING_COMMANDS if len(word) > 2 and name.startswith(word.lower())]
    alike = list(dict.fromkeys([*likely(word, list(RACING_COMMANDS)), *begin_so]))
    # Nobody means the opposite of the nearest command.
    return [name for name in alike if name == alike[0] or {name, alike[0]} != {"subscribe", ENDING}]


def find_command(line: str) -> tuple[Command | None, str]:
    """The command of a line after /racing, with its words; None with the meant line for an unknown command.

    "pause help" is the help on pause. A pasted line may begin with another slash command.
    """
    greeting, line = without_greeting(line)
    first, _, rest = line.partition(" ")
    if rest.strip().lower() == HELP and (command := find_command(first)[0]):
        return HELP_COMMAND, command.name
    meant = in_words_of_commands(line)
    word, text = (*meant.split(maxsplit=1), "", "")[:2]
    name = word.lower().replace("-", "").strip("/,.:;!?") or HELP
    command = RACING_COMMANDS.get(name)
    if command is None and (whole := _with_command(meant)):
        command, text = find_command(" ".join(whole.split()))
    if command and command.is_a_change and _SHOWING.search(greeting):
        # "show pause" and "our pause" pause nothing.
        return RACING_COMMANDS["list"], ""
    if command and not command.is_a_change and not text.startswith(command.name):
        # "/results who won the 2.30 at York"
        said, _, rest = in_words_of_commands(text).partition(" ")
        text = rest if said == command.name else text
    return (command, text.strip()) if command else (None, meant)


def _with_command(line: str) -> str | None:
    """The line of a command, for a line that names none: "York results", "York 14:30", "no class 4", "York only"."""
    # A longer line takes longer to read, and meanwhile everything else waits.
    read = _LINE.read(line) if len(line) <= BUTTON_VALUE_MAX else ()
    phrases = [one for one in read if one.kind is not Kind.FILLER or one.typed.casefold() in _SUBJECTS]
    kinds = {one.kind for one in phrases}
    if not phrases or (phrases[0].kind is Kind.UNKNOWN and (_alike(line.partition(" ")[0]) or offers_for(line))):
        return None
    subjects = [one.typed for one in phrases if one.typed.casefold() in _SUBJECTS]
    is_of_day = not kinds.isdisjoint({Kind.DAY, Kind.TIME})
    values = {one.of_field for one in phrases if one.kind is Kind.VALUE}
    # "York jumps today" asks for a day, and "York results digest 6pm" for a subscription.
    is_of_filter = not values.issubset({one.field for one in OF_RACES} if is_of_day else ())
    if not is_of_filter and kinds.isdisjoint({*JOINTS, Kind.NOT, Kind.ONLY}):
        if len(subjects) == 1 and not line.startswith(subjects[0]):
            before, _, after = line.partition(subjects[0])
            return f"{subjects[0]} {before} {after}"
        if not subjects and is_of_day:
            return f"racecard {line}"
    begins = phrases[1:2] if phrases[0].kind is Kind.NOT else phrases
    return None if _OF_A_FILTER.isdisjoint({one.kind for one in begins}) else f"subscribe {line}"


def help_message() -> Message:
    groups = {title: [HELPED[one.name] for one in group] for title, group in COMMAND_GROUPS.items()}
    return command_help(groups, [name for name, one in SLASH_COMMANDS.items() if one])


HELP_COMMAND = Command(HELP, says(lambda named: usage_of(HELPED[named.name]) if named else help_message()), _plan)

COMMAND_GROUPS: Mapping[str, Sequence[Command]] = {
    "Choose what this channel receives": (
        SUBSCRIBE_COMMAND,
        UNSUBSCRIBE_COMMAND,
        LIST_COMMAND,
        pause_commands.PAUSE_COMMAND,
        pause_commands.RESUME_COMMAND,
        pause_commands.MUTE_COMMAND,
        pause_commands.UNMUTE_COMMAND,
        WATCH_COMMAND,
        UNWATCH_COMMAND,
        WATCHING_COMMAND,
    ),
    "Look up a day's racing": (RACECARD_COMMAND, NEXT_COMMAND, RESULTS_COMMAND, COVERAGE_COMMAND, COURSES_COMMAND),
    "See what the bot did": (STATUS_COMMAND, TRACE_COMMAND, AUDIT_COMMAND, DRILL_COMMAND, USAGE_COMMAND, HELP_COMMAND),
}
"""The groups of the help, with their titles."""

RACING_COMMANDS: dict[str, Command] = {one.name: one for group in COMMAND_GROUPS.values() for one in group}
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
        pause_commands.MUTE_BUTTON,
        pause_commands.UNMUTE_BUTTON,
        ACKNOWLEDGE_BUTTON,
        GIVE_BACK_BUTTON,
        FORM_BUTTON,
        EDIT_BUTTON,
        REMOVE_BUTTON,
    )
}
"""Button actions, by the beginning of action_id. `text` is the button's value."""
