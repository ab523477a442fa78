"""Slash commands: what changes something is committed, then Slack gets its ack, then the person an answer."""

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.domain.message import Message
from bot.errors import StorageUnavailable
from bot.logs import get_logger
from bot.slack.commands.explain import explain
from bot.slack.commands.invocation import Command, Desk, Invocation
from bot.slack.commands.table import RACING_COMMANDS, SLASH_COMMANDS
from bot.slack.messages.plain import sentence
from bot.slack.respond import Responder
from bot.slack.tasks import Tasks

log = get_logger(__name__)

ANSWER_S = 25.0
"""An answer that takes longer is given up, with a word to whoever waits for it."""

COMMIT_S = 2.2
"""Of the three seconds that Slack waits for the ack."""


@dataclass(frozen=True)
class CommandListener:
    """Answers every slash command."""

    desk: Desk
    responder: Responder
    tasks: Tasks

    def register(self, bolt: AsyncApp) -> None:
        """Make Bolt call us for every command of the table."""
        for name in SLASH_COMMANDS:
            bolt.command(name)(self.on_command)

    async def on_command(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        """Commit, ack, and leave the answer to a task: a crash may forget that, and nothing but it."""
        reference = f"cmd-{secrets.token_hex(4)}"
        command, invocation = read_invocation(body, reference)
        log.info("command", reference=reference, command=body.get("command"), channel_id=invocation.channel_id)
        if command is None:
            response = self._answer_later(body, unknown_command(body), reference)
        else:
            response = await self._run(body, command, invocation)
        await ack()
        self.tasks.start(response, f"answer {reference}")

    async def _run(self, body: dict[str, Any], command: Command, invocation: Invocation) -> Any:
        """The coroutine that answers; what changes something has been committed when this returns."""
        committed: Any = None
        if command.commit is not None:
            try:
                async with asyncio.timeout(COMMIT_S):
                    committed = await command.commit(self.desk, invocation)
            except TimeoutError:
                slow = StorageUnavailable(f"not saved within {COMMIT_S} s")
                return self._answer_later(body, explain(slow, invocation.reference), invocation.reference)
            except Exception as error:  # noqa: BLE001  explained to the person, and logged there
                return self._answer_later(body, explain(error, invocation.reference), invocation.reference)
        return self._answer(body, command, invocation, committed)

    async def _answer(self, body: dict[str, Any], command: Command, invocation: Invocation, committed: Any) -> None:
        try:
            async with asyncio.timeout(ANSWER_S):
                message = await command.answer(self.desk, invocation, committed)
        except Exception as error:  # noqa: BLE001  explained to the person, and logged there
            message = explain(error, invocation.reference)
        await self._answer_later(body, message, invocation.reference)

    async def _answer_later(self, body: dict[str, Any], message: Message, reference: str) -> None:
        await self.responder.respond(str(body.get("response_url") or ""), message, reference)


def read_invocation(body: dict[str, Any], reference: str) -> tuple[Command | None, Invocation]:
    """The command that was typed, and its words; None for a word after /racing that is no command."""
    text = str(body.get("text") or "").strip()
    command = SLASH_COMMANDS.get(str(body.get("command")))
    if command is None:
        word, text = (*text.split(maxsplit=1), "", "")[:2]
        command = RACING_COMMANDS.get(word.lower() or "help")
    invocation = Invocation(
        text=text.strip(),
        channel_id=str(body.get("channel_id") or ""),
        user_id=str(body.get("user_id") or ""),
        reference=reference,
        trigger_id=body.get("trigger_id"),
    )
    return command, invocation


def unknown_command(body: dict[str, Any]) -> Message:
    """What would have been right."""
    word = str(body.get("text") or "").split()[0]
    known = ", ".join(RACING_COMMANDS)
    return sentence(f"I don't know /racing {word}. After /racing I know: {known}.")
