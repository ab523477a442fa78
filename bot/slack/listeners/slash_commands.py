"""Slash commands."""

from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.logs import get_logger
from bot.slack.commands.invocation import Command, Invocation, team_of
from bot.slack.commands.table import SLASH_COMMANDS, find_command
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.response_url import Reply

log = get_logger(__name__)


@dataclass(frozen=True)
class CommandListener:
    runner: CommandRunner

    def register(self, bolt: AsyncApp) -> None:
        for name in SLASH_COMMANDS:
            bolt.command(name)(self.on_command)

    async def on_command(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        command, invocation = read_invocation(body, self.runner.new_reference())
        reference = invocation.reference
        log.info("command", reference=reference, command=body.get("command"), channel_id=invocation.channel_id)
        reply = Reply(str(body.get("response_url") or ""), reference)
        await self.runner.run(command, invocation, reply, ack)


def read_invocation(body: dict[str, Any], reference: str) -> tuple[Command | None, Invocation]:
    """The command is None for an unknown word after /racing."""
    text = unescaped(str(body.get("text") or ""))
    alone = SLASH_COMMANDS.get(str(body.get("command")))
    command, text = find_command(f"{alone.name} {text}" if alone else text)
    invocation = Invocation(
        text=text,
        channel_id=str(body.get("channel_id") or ""),
        user_id=str(body.get("user_id") or ""),
        reference=reference,
        trigger_id=body.get("trigger_id"),
        team_id=team_of(body),
    )
    return command, invocation


def unescaped(text: str) -> str:
    """Slack escapes three characters, and leaves its own mentions unescaped.

    Source: docs.slack.dev/messaging/formatting-message-text, "Escaping text".
    """
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
