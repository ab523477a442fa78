"""Buttons: each click runs a command as the person who clicked."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.logs import get_logger
from bot.outbox.message import Message
from bot.slack.commands.invocation import Command, Desk, Invocation, team_of
from bot.slack.commands.table import BUTTON_COMMANDS, find_command
from bot.slack.listeners.command_runner import CommandRunner
from bot.slack.messages.kit.blocks import RUN_COMMAND, RUN_IN_PLACE, sentence
from bot.slack.response_url import Reply

log = get_logger(__name__)

ReadValue = Callable[[str], tuple[Command | None, str]]


def _with_value(command: Command) -> ReadValue:
    return lambda value: (command, value)


ACTIONS: Mapping[str, ReadValue] = {
    RUN_COMMAND: find_command,
    RUN_IN_PLACE: find_command,
    **{name: _with_value(command) for name, command in BUTTON_COMMANDS.items()},
}
"""By the part of an action_id before the colon."""


async def _say_outdated(_desk: Desk, _invocation: Invocation, _committed: Any) -> Message:
    return sentence(
        "This button is of another version of me, so nothing was done. /racing help shows what I understand."
    )


OUTDATED_BUTTON = Command("outdated", "", "What a button does that this version does not know", _say_outdated)


@dataclass(frozen=True)
class ActionListener:
    runner: CommandRunner

    def register(self, bolt: AsyncApp) -> None:
        """Also takes buttons of messages that another version has posted."""
        bolt.action(re.compile(""))(self.on_action)

    async def on_action(self, ack: AsyncAck, body: dict[str, Any], action: dict[str, Any]) -> None:
        name = str(action.get("action_id")).partition(":")[0]
        reference = self.runner.new_reference()
        command, text = ACTIONS.get(name, _with_value(OUTDATED_BUTTON))(str(action.get("value") or ""))
        invocation = read_click(body, text, reference)
        log.info("action", reference=reference, action=name, channel_id=invocation.channel_id)
        reply = Reply(str(body.get("response_url") or ""), reference, in_place=_is_in_place(name, body))
        await self.runner.run(command, invocation, reply, ack)


def read_click(body: dict[str, Any], text: str, reference: str) -> Invocation:
    channel, container = body.get("channel") or {}, body.get("container") or {}
    return Invocation(
        text=text,
        channel_id=str(channel.get("id") or container.get("channel_id") or ""),
        user_id=str((body.get("user") or {}).get("id") or ""),
        reference=reference,
        trigger_id=body.get("trigger_id"),
        team_id=team_of(body),
        from_message=not _is_ephemeral(body),
    )


def _is_in_place(name: str, body: dict[str, Any]) -> bool:
    """A channel's message is never replaced, because others read the message."""
    return name == RUN_IN_PLACE and _is_ephemeral(body)


def _is_ephemeral(body: dict[str, Any]) -> bool:
    return bool((body.get("container") or {}).get("is_ephemeral"))
