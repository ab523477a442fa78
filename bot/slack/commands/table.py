"""All commands, for registration, help and manifest.yml.

A new command: a line here, a file beside this file, a line in manifest.yml and in docs/commands.md.
"""

import re
from typing import Any

from bot.errors import CommandError
from bot.outbox.message import Message
from bot.racedata.near_misses import TYPED_MAX, likely
from bot.slack.commands import (
    audit,
    courses,
    coverage,
    drill,
    form_button,
    full_result_button,
    mute,
    next_off,
    pause,
    racecard,
    results,
    status,
    subscribe,
    subscription_pages,
    trace,
    unsubscribe,
    usage,
    watch,
)
from bot.slack.commands.acknowledge_button import ACKNOWLEDGE_BUTTON, GIVE_BACK_BUTTON
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.messages.alerts.acknowledge_words import ACKNOWLEDGE, GIVE_BACK
from bot.slack.messages.alerts.alert_notes import FULL_RESULT_WORD, MUTE
from bot.slack.messages.answers.help_answer import HelpGroup, command_help, usage_of
from bot.slack.messages.answers.pause_and_mute import UNMUTE
from bot.slack.messages.answers.subscription_list import EDIT, FORM, REMOVE
from bot.slack.messages.answers.watch_answer import UNWATCH
from bot.slack.messages.conditions.table import CHOICES
from bot.slack.messages.kit.blocks import ENDING

RACECARD = Command(
    "racecard",
    "[region] [today|tomorrow|YYYY-MM-DD] [course] [next]",
    "The racecards of a day; or the next races to go off",
    racecard.answer,
    check=racecard.check,
    examples=("racecard GB tomorrow", "racecard Ascot 22 Nov"),
    mistakes="One region, one course and one day at a time. The day comes before the month: 5/11 is 5 November.",
    group=HelpGroup.RACING,
)
RESULTS = Command(
    "results",
    "[region] [date] [course] [abandonments]",
    "The results of a day, and what was abandoned; or the abandonments alone",
    results.answer,
    check=results.check,
    examples=("results Ireland yesterday", "results GB abandonments"),
    mistakes="A weekday is the last one: `results Saturday` never looks ahead. Without a day it is today, in UTC.",
    group=HelpGroup.RACING,
)
USAGE = Command(
    "usage",
    "[day|endpoint]",
    "The data service's quota: used, left, and how long it will last",
    usage.answer,
    check=usage.check,
    examples=("usage", "usage endpoint"),
    mistakes="The figures are of this month (UTC). Asking costs nothing.",
    group=HelpGroup.BOT,
)


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


async def _help(_desk: Desk, invocation: Invocation, _committed: Any) -> Message:
    if not invocation.text:
        return help_message()
    return usage_of(_named(invocation.text))


async def _check_help(_desk: Desk, invocation: Invocation) -> None:
    if invocation.text:
        _named(invocation.text)


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


RACING_COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "subscribe",
            '[REGION…|all] [results] [abandonments] [racecards] [course:"Name"] [-course:"Name"] [class:1] '
            "[digest:18:00] [cards:19:00] [quiet:22:00-07:00] [zone:Europe/London] [show:meetings] "
            "[ack:10m] [escalate:U0123ABCD]",
            "Let this channel receive results and abandonments (unless told otherwise) of regions",
            subscribe.answer,
            subscribe.commit,
            subscribe.check,
            subscribe.changes,
            examples=("subscribe GB and Ireland results only", "subscribe GB except Ascot"),
            details=tuple(f"`{view.typed_as}{view.typed_example}`: {view.help}" for view in CHOICES),
            mistakes=(
                "`subscribe` adds to what the channel has, and `unsubscribe` takes away. A course alone, as in "
                "`subscribe York`, is that course alone. Abandonments come unless you name other topics: `subscribe GB "
                "results` has none."
            ),
            group=HelpGroup.CHANNEL,
        ),
        Command(
            "unsubscribe",
            '[REGION…|all] [results] [abandonments] [racecards] [course:"Name"] [-course:"Name"] [class:1] '
            "[digest] [cards:19:00] [quiet] [zone] [show] [ack] [escalate:U0123ABCD]",
            "End a subscription of this channel, or parts of it",
            unsubscribe.answer,
            unsubscribe.commit,
            unsubscribe.check,
            examples=("unsubscribe from GB", "unsubscribe GB racecards"),
            mistakes=(
                "`unsubscribe all` ends every subscription of the channel. A course of a whole region is left out, not "
                "ended: `subscribe GB except Ascot`."
            ),
            group=HelpGroup.CHANNEL,
        ),
        Command(
            "list",
            "",
            "What this channel receives, with buttons to change it",
            subscription_pages.answer,
            check=subscription_pages.check,
            examples=("list", "list help"),
            mistakes="No further words. The list shows this channel alone: type `list` in each channel.",
            group=HelpGroup.CHANNEL,
        ),
        Command(
            "pause",
            "[2h|until 18:00]",
            "Hold what this channel receives, for a time or until somebody resumes",
            pause.answer_pause,
            pause.commit_pause,
            pause.check_pause,
            examples=("pause 2 hours", "pause until tomorrow 09:00"),
            mistakes=(
                "A pause holds abandonments too. `until tomorrow` ends when tomorrow begins, in your time zone where "
                "Slack tells it to me, else in UTC: the answer says which."
            ),
            group=HelpGroup.CHANNEL,
        ),
        Command(
            "resume",
            "",
            "End a pause",
            pause.answer_resume,
            pause.commit_resume,
            pause.check_resume,
            pause.would_resume,
            examples=("resume", "resume help"),
            mistakes="No further words: `resume` ends the pause of the whole channel.",
            group=HelpGroup.CHANNEL,
        ),
        Command(
            "watch",
            'horse:"Name"|trainer:"Name"|jockey:"Name" [me]',
            "Tell this channel, or you alone, of the races of a horse, a trainer or a jockey",
            watch.answer,
            watch.commit,
            watch.check,
            watch.changes,
            examples=('watch horse:"Golden Melody"', 'watch jockey:"R Moore" me'),
            mistakes=(
                "Type the whole name, as published; letter case, accents and the country in brackets don't matter. "
                "With `me`, and in the direct messages with me, you alone are told. Buttons of `watching` end a watch."
            ),
            group=HelpGroup.CHANNEL,
        ),
        Command(
            "watching",
            "",
            "What is watched here and for you, with buttons to end",
            watch.answer_watching,
            check=watch.check_watching,
            examples=("watching", "watching help"),
            mistakes="No further words. Your own watches are shown to you alone.",
            group=HelpGroup.CHANNEL,
        ),
        Command(
            "status",
            "",
            "How the bot is doing: the last day's deliveries and posts, what waits and why, quota, and for admins jobs",
            status.answer,
            check=status.check,
            examples=("status", "status help"),
            mistakes="No further words. `status` tells of the bot, `trace` of a race, `usage` of the quota.",
            group=HelpGroup.BOT,
        ),
        Command(
            "trace",
            "RACE_ID|course time",
            "Who was told of a race and when, or why not; admins see every channel",
            trace.answer,
            check=trace.check,
            examples=("trace York 14:30", "trace rc_7094aa36a0ff"),
            mistakes=(
                "An id is typed exactly as the small print of a message shows the id. The course alone will do for an "
                "abandoned meeting."
            ),
            group=HelpGroup.BOT,
        ),
        Command(
            "audit",
            "[all|channel ID|user ID]",
            "Who changed what a channel receives, and when; for admins",
            audit.answer,
            check=audit.check,
            examples=("audit", "audit all"),
            mistakes="Type ids such as C0123456789, no names. A channel's details and a person's profile show ids.",
            group=HelpGroup.BOT,
        ),
        Command(
            "drill",
            "[here]",
            "A marked test alert, through the bot's public address, where abandonments go; for admins",
            drill.answer,
            drill.commit,
            drill.check,
            examples=("drill", "drill here"),
            mistakes="The message begins with DRILL, and phones ring. `drill here` rings in this channel alone.",
            answer_s=drill.DRILL_ANSWER_S,
            group=HelpGroup.BOT,
        ),
        RACECARD,
        Command(
            next_off.NAME,
            "[region|course]",
            "The next races to go off, and how soon",
            next_off.answer,
            check=next_off.check,
            examples=("next", "next Ireland"),
            mistakes="Type no time: `racecard York 14:30` shows one race. Abandonments of today stand above.",
            group=HelpGroup.RACING,
        ),
        RESULTS,
        USAGE,
        Command(
            "coverage",
            "[region]",
            "What the data service has and publishes of each country",
            coverage.answer,
            check=coverage.check,
            examples=("coverage", "coverage Hong Kong"),
            mistakes="A country in the list may have no region to subscribe to.",
            group=HelpGroup.RACING,
        ),
        Command(
            "courses",
            "[text]",
            "The courses, as commands take them",
            courses.answer,
            check=courses.check,
            examples=("courses kempton", "courses in Ireland"),
            mistakes="Part of a name finds a course here; all other commands want the whole name, as it is shown here.",
            group=HelpGroup.RACING,
        ),
        Command(
            HELP,
            "[command]",
            "This overview, or the details of one command",
            _help,
            check=_check_help,
            examples=("help subscribe", "subscribe help"),
            mistakes="`help` asks about commands; what I know of a region is in `coverage`.",
            group=HelpGroup.BOT,
        ),
    )
}
"""The words after `/racing`. Slash commands work there too: another app may own their names."""

SLASH_COMMANDS: dict[str, Command | None] = {
    "/racing": None,
    "/racecard": RACECARD,
    "/results": RESULTS,
    "/usage": USAGE,
}
"""Slack's slash commands; None has subcommands."""

BUTTON_COMMANDS: dict[str, Command] = {
    FULL_RESULT_WORD: Command(FULL_RESULT_WORD, "", "All that is known of a race", full_result_button.answer),
    MUTE: Command(MUTE, "", "Post no more results of a meeting here", mute.answer_mute, mute.commit_mute),
    UNMUTE: Command(UNMUTE, "", "Post them again", mute.answer_unmute, mute.commit_unmute),
    ACKNOWLEDGE: ACKNOWLEDGE_BUTTON,
    GIVE_BACK: GIVE_BACK_BUTTON,
    UNWATCH: Command(UNWATCH, "", "End a watch", watch.answer_unwatch, watch.commit_unwatch),
    FORM: Command(FORM, "", "The form, filled with the words of a line", form_button.answer, form_button.commit),
    EDIT: Command(
        EDIT, "", "The form of a subscription", subscription_pages.answer_edit, subscription_pages.commit_edit
    ),
    REMOVE: Command(
        REMOVE, "", "End a subscription", subscription_pages.answer_remove, subscription_pages.commit_remove
    ),
}
"""Button actions, by the beginning of action_id. `text` is the button's value."""
