"""A word after /racing that is no command: what would have been right, as a button where it is nearly one."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.errors import CommandError
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.table import RACING_COMMANDS, unknown_command
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.listeners.slash_commands import read_invocation

NOBODY: Any = None


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("subscirbe GB", "subscribe GB"),
        ("subscirbe gb", "subscribe gb"),
        ("subcribe", "subscribe"),
        # The channel has the results, and nobody wants them to end.
        ("subcribe GB results", None),
        ("unsubcribe GB results", "unsubscribe GB results"),
        ("lsit", "list"),
        ("sub GB", "subscribe GB"),
        ("uns GB", "unsubscribe GB"),
        ("zzz GB", None),
        ('unwatch horse:"Silver Cavalier"', "watching"),
        ("watches", "watching"),
        ("mute york", "list"),
    ],
)
async def test_mistyped_command_is_offered_with_its_words(channel, line, offered):
    said = []
    await channel.types("GB results")

    async def respond(_reply, message, **_more):
        said.append(message)

    nobody: Any = None
    responder: Any = SimpleNamespace(respond=respond)
    runner = CommandRunner(channel.desk, responder, nobody)
    await runner.answer(await runner.commit(None, Invocation(line, "C1", "U1", "cmd-1")), nobody)
    (message,) = said
    assert "After /racing I know: subscribe" in message.text
    values = [one["value"] for block in message.blocks for one in block.get("elements", ())]
    assert values[:1] == ([offered] if offered else [])


@pytest.mark.parametrize("line", ["mute york", "unmute", "Mute York"])
def test_way_to_mute_a_meeting_is_told(line):
    assert "the button Mute this meeting here, beneath a result" in str(unknown_command(line))


def typed(command, text):
    """The command that is run, and the invocation."""
    return read_invocation({"command": command, "text": text, "channel_id": "C1", "user_id": "U1"}, "cmd-1")


async def helped(text):
    message = await RACING_COMMANDS["help"].answer(NOBODY, Invocation(text, "C1", "U1", "cmd-1"), None)
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
        ("/racing", "help unwatch", "watching"),
    ],
)
async def test_help_is_given_where_it_is_typed(command, text, about):
    run, invocation = typed(command, text)
    assert run is RACING_COMMANDS["help"]
    told = await helped(invocation.text)
    assert f"`/racing {about}" in told
    assert RACING_COMMANDS[about].summary in told
    assert told.count("`/racing") == 4
    assert "`/racing help`" in told


async def test_help_alone_lists_every_command():
    run, invocation = typed("/racing", "help")
    assert (run, invocation.text) == (RACING_COMMANDS["help"], "")
    told = await helped("")
    assert all(f"`/racing {name}" in told for name in RACING_COMMANDS)


async def test_help_on_what_is_no_command_says_so():
    with pytest.raises(CommandError, match=r"I don't know /racing racecrd\. Did you mean racecard"):
        await helped("racecrd")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('GB course:"A &amp; B"', 'GB course:"A & B"'),
        ("&lt;rc_1&gt;", "<rc_1>"),
        ("&amp;lt; &amp;amp; &quot;", "&lt; &amp; &quot;"),
        ("<@U1|alice> <#C1|gb>", "<@U1|alice> <#C1|gb>"),
    ],
)
def test_text_is_read_as_it_was_typed_and_not_as_slack_escapes_it(text, read):
    assert typed("/racecard", text)[1].text == read
