"""A word after /racing that is no command: what would have been right, as a button where it is nearly one."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.slack.commands.invocation import Invocation
from bot.slack.listeners.running import CommandRunner


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("subscirbe GB", "subscribe GB"),
        ("lsit", "list"),
        ("zzz GB", None),
    ],
)
async def test_mistyped_command_is_offered_with_its_words(line, offered):
    said = []

    async def respond(_reply, message, **_more):
        said.append(message)

    nobody: Any = None
    responder: Any = SimpleNamespace(respond=respond)
    runner = CommandRunner(nobody, responder, nobody)
    await (await runner.commit(None, Invocation(line, "C1", "U1", "cmd-1"), nobody))
    (message,) = said
    assert "After /racing I know: subscribe" in message.text
    values = [one["value"] for block in message.blocks for one in block.get("elements", ())]
    assert values[:1] == ([offered] if offered else [])
