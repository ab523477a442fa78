"""The command of a line, as pasted and as people say it, and help on each command."""

import re
from pathlib import Path
from typing import Any

import pytest

from bot.errors import CommandError
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.table import HELPED, RACING_COMMANDS, find_command
from bot.slack.listeners.ways_in import read_invocation
from tests.rows import Answers, over

ROWS = Path(__file__).with_name("commands.yaml")
NOBODY: Any = None


def read_slash(command, text):
    """The command that is run, and the invocation."""
    return read_invocation({"command": command, "text": text, "channel_id": "C1", "user_id": "U1"}, "cmd-1")


@over(("line", "told"), Answers(ROWS, "lines"))
def test_line_is_of_a_command_as_pasted_and_as_people_say_it(line, told):
    command, text = find_command(line)
    assert command is not None
    assert f"{command.name} {text}".rstrip() == told


async def helped(text):
    message = await RACING_COMMANDS["help"].say(NOBODY, Invocation(text, "C1", "U1", "cmd-1"))
    assert message is not None
    return message.text


@pytest.mark.parametrize(
    ("command", "text", "about"),
    [
        ("/racecard", "help", "racecard"),
        ("/results", " HELP ", "results"),
        ("/usage", "help", "usage"),
        ("/racing", "subscribe help", "subscribe"),
        ("/racing", "list help", "list"),
        ("/racing", "help racecard", "racecard"),
        ("/racing", "help /racecard", "racecard"),
        ("/racing", "help ack", "subscribe"),
        ("/racing", "help quiet: 22-7", "subscribe"),
        ("/racing", "help unwatch", "unwatch"),
        ("/racing", "help mute", "mute"),
    ],
)
async def test_help_is_given_where_it_is_typed(command, text, about):
    run, invocation = read_slash(command, text)
    assert run is RACING_COMMANDS["help"]
    told = await helped(invocation.text)
    assert f"`/racing {about}" in told
    assert HELPED[about].summary in told
    assert told.count("`/racing") == 4
    assert "`/racing help`" in told


async def test_help_alone_lists_every_command():
    run, invocation = read_slash("/racing", "help")
    assert (run, invocation.text) == (RACING_COMMANDS["help"], "")
    told = await helped("")
    assert all(f"`/racing {name}" in told for name in RACING_COMMANDS)


async def test_help_on_what_is_no_command_says_so():
    with pytest.raises(CommandError, match=re.escape('know /racing racecrd. Did you mean "racecard"')):
        await helped("racecrd")


@over(
    ("text", "read"),
    [
        ('GB course:"A &amp; B"', 'GB course:"A & B"'),
        ("&lt;rc_1&gt;", "<rc_1>"),
        ("&amp;lt; &amp;amp; &quot;", "&lt; &amp; &quot;"),
        ("<@U1|alice> <#C1|gb>", "<@U1|alice> <#C1|gb>"),
        ("horse:<http://Fog.com|Fog.com> <https://york.example>", "horse:Fog.com <https://york.example>"),
    ],
)
def test_text_is_read_as_it_was_typed_and_not_as_slack_escapes_it(text, read):
    assert read_slash("/racecard", text)[1].text == read
