"""The command of a line, as pasted and as people say it, and help on each command."""

import re
from typing import Any

import pytest

from bot.errors import CommandError
from bot.slack.commands.invocation import Invocation
from bot.slack.commands.table import RACING_COMMANDS, find_command
from bot.slack.listeners.ways_in import read_invocation
from tests.rows import over

NOBODY: Any = None


def read_slash(command, text):
    """The command that is run, and the invocation."""
    return read_invocation({"command": command, "text": text, "channel_id": "C1", "user_id": "U1"}, "cmd-1")


@over(
    ("line", "name", "words"),
    [
        ("/racing list", "list", ""),
        ("/racing /Racing subscribe GB", "subscribe", "GB"),
        ("/racecard GB tomorrow", "racecard", "GB tomorrow"),
        ("/racing", "help", ""),
        ("abandoned York", "results", "abandonments York"),
        ("Abandonments", "results", "abandonments"),
        ("what's next", "next", ""),
        ("What is next Ireland", "next", "Ireland"),
        ("next race at York", "next", "race at York"),
        ("is York abandoned?", "results", "abandonments York abandoned"),
        ("was York abandoned?", "results", "abandonments was York abandoned"),
        ("any abandonments today?", "results", "abandonments today"),
        ("who won at York", "results", "at York"),
        ("going at York", "racecard", "at York"),
        ("flat GB", "subscribe", "flat GB"),
        ("daily digest 6pm", "subscribe", "daily digest 6pm"),
        ("stop watching Misty Ghost", "unwatch", "Misty Ghost"),
        ("what do we get", "list", ""),
        ("list courses", "courses", ""),
        ("who was told York 14:30", "trace", "York 14:30"),
        ("my subscriptions", "list", ""),
        ("whats on today?", "racecard", "today"),
        ("today's meetings", "racecard", "today's"),
        ("when is the next race", "next", "race"),
        ("How much quota is left?", "usage", ""),
        ("send us GB results", "subscribe", "GB results"),
        ("silence York", "mute", "York"),
        ("hello", "help", ""),
        ("hi there", "help", ""),
        ("thank you!", "help", ""),
        ("cards GB", "racecard", "GB"),
        ("quiet 22-7", "subscribe", "quiet 22-7"),
        ("quiet:22-7", "subscribe", "quiet:22-7"),
        ("h'cap results", "results", "h'cap"),
        ("York only", "subscribe", "York only"),
        ("no class 4", "subscribe", "no class 4"),
        ("York tomorrow", "racecard", "York tomorrow"),
        ("2.30 York", "racecard", "2.30 York"),
        ("GB jumps only", "subscribe", "GB jumps only"),
        ("digest 18:00", "subscribe", "digest 18:00"),
        ("ack 10m", "subscribe", "ack 10m"),
        ("unwatch Misty Ghost", "unwatch", "Misty Ghost"),
        ("follow horse Misty Ghost", "watch", "horse Misty Ghost"),
        ("unfollow Misty Ghost", "unwatch", "Misty Ghost"),
        ("no messages after 10pm", "subscribe", "no messages after 10pm"),
        ("no results after 10pm", "subscribe", "no results after 10pm"),
        ("digest off", "unsubscribe", "digest"),
        ("no quiet hours", "unsubscribe", "quiet hours"),
        ("let us know if York is abandoned", "subscribe", "York is abandoned"),
        ("whats off today?", "results", "abandonments today"),
        ("when's the next race", "next", "race"),
        ("latest results", "results", "results"),
        ("end a pause", "resume", ""),
        ("my watches", "watching", ""),
        ("stop sending us GB", "unsubscribe", "GB"),
        ("please stop sending me results from Ireland", "unsubscribe", "results from Ireland"),
        ("how many requests do we have left?", "usage", ""),
        ("am I subscribed to anything?", "list", ""),
        ("stop until 18:00", "pause", "until 18:00"),
        ("snooze 2h", "pause", "2h"),
        ("start again", "resume", ""),
        ("add Ireland", "subscribe", "Ireland"),
        ("remove GB racecards", "unsubscribe", "GB racecards"),
        ("mute York", "mute", "York"),
        ("watches", "watching", ""),
        ("list", "list", ""),
        ("quiet help", "help", "subscribe"),
        ("unwatch help", "help", "unwatch"),
        ("please subscribe GB", "subscribe", "GB"),
        ("<@U0BOT> subscribe GB", "subscribe", "GB"),
        ("can you please watch horse Fog", "watch", "horse Fog"),
        ("turn off digest", "unsubscribe", "digest"),
        ("stop following Fog", "unwatch", "Fog"),
        ("has York been abandoned?", "results", "abandonments York been abandoned"),
        ("what was abandoned sat", "results", "abandonments was abandoned sat"),
        ("what's been abandoned", "results", "abandonments been abandoned"),
        ("how do I unsubscribe?", "help", "unsubscribe"),
        ("tell me the results", "results", ""),
        ("tell us about York", "subscribe", "York"),
        ("ping me the abandonments", "subscribe", "abandonments"),
        ("what's the going at York?", "racecard", "at York"),
        ("what are my subscriptions?", "list", ""),
        ("who is subscribed?", "list", ""),
        ("who are we watching", "watching", ""),
        ("what can you do?", "help", ""),
        ("are you working?", "status", ""),
        ("everything except Ireland", "subscribe", "all except Ireland"),
        ("no hurdles", "subscribe", "no hurdles"),
        ("racecards off", "unsubscribe", "racecards"),
        ("turn York on", "subscribe", "York"),
        ("\N{HORSE} results", "results", ""),
        (":horse_racing: results York", "results", "York"),
        ("<@U0BOT>: :wave: results", "results", ""),
        ("results, please!", "results", "please"),
        ("results: York", "results", "York"),
        ("fixtures tomorrow", "racecard", "tomorrow"),
        ("hiya, results", "results", ""),
        ("are you alive?", "status", ""),
        ("how much of our quota have we used?", "usage", ""),
        ("get rid of racecards", "unsubscribe", "racecards"),
    ],
)
def test_line_is_of_a_command_as_pasted_and_as_people_say_it(line, name, words):
    command, text = find_command(line)
    assert command is not None
    assert (command.name, text) == (name, words)


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
    named, _ = find_command(about)
    assert named
    assert named.summary in told
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


@pytest.mark.parametrize(
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
