"""How a command is carried out: commit, then the ack, then the answer."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.errors import CommandError
from bot.logs import get_logger
from bot.outbox.message import Message
from bot.slack.commands.error_answers import explain, hand_on, with_working_offers
from bot.slack.commands.invocation import COMMIT_S, Command, Desk, Invocation, reader_of
from bot.slack.commands.subscription_changes import check_is_there
from bot.slack.commands.table import unknown_command
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader
from bot.slack.messages.kit.blocks import BUTTON_VALUE_MAX
from bot.slack.messages.kit.layout import sentence
from bot.slack.response_url import Reply, Responder
from bot.tasks import Tasks

log = get_logger(__name__)

OFFERS_S = 5.0
"""For trying the lines that a refusal offers."""

PROGRESS_AT_S = (3.0, 10.0, 20.0)
"""Progress that does not replace a message is said once."""

STILL_AT_IT = "This takes a moment"


@dataclass(frozen=True)
class Committed:
    """How the part of a command before the ack ended: `result` of the commit, or the `error` that prevented it."""

    invocation: Invocation
    command: Command | None = None
    result: Any = None
    error: Exception | None = None


@dataclass(frozen=True)
class CommandRunner:
    """A crash may forget an answer under way, and nothing else."""

    desk: Desk
    responder: Responder
    tasks: Tasks
    progress_at_s: tuple[float, ...] = PROGRESS_AT_S
    commit_s: float = COMMIT_S

    def new_reference(self) -> str:
        return f"cmd-{self.desk.token(4)}"

    async def run(self, command: Command | None, invocation: Invocation, reply: Reply, ack: AsyncAck) -> None:
        """`command` is None for an unknown word."""
        committed = await self.commit(command, invocation)
        await ack()
        self.tasks.start(self.answer(committed, reply), f"answer {invocation.reference}")

    async def commit(self, command: Command | None, invocation: Invocation) -> Committed:
        """The change is stored when this returns, or `error` says why not."""
        invocation = replace(invocation, began_s=asyncio.get_running_loop().time())
        if len(invocation.text) > BUTTON_VALUE_MAX:
            told = f"A line has at most {BUTTON_VALUE_MAX} characters, so nothing was read. Type several lines."
            return Committed(invocation, error=CommandError(told))
        if command is None:
            return Committed(invocation, error=unknown_command(invocation.text))
        try:
            async with asyncio.timeout(self.commit_s):
                await check_is_there(self.desk, invocation)
                result = await command.commit(self.desk, invocation)
        except Exception as error:  # noqa: BLE001  `answer` explains and logs the error
            return Committed(invocation, command, error=error)
        if command.is_a_change:
            self.desk.wake.set()
        return Committed(invocation, command, result)

    async def said(self, committed: Committed) -> Message | None:
        """The answer. None after a form was opened."""
        command, invocation, error = committed.command, committed.invocation, committed.error
        line = f"{command.name} {invocation.text}" if command else invocation.text
        if isinstance(error, TimeoutError):
            reader = await reader_of(self.desk, invocation)
            return sentence(not_in_time(invocation.reference, reader), reader.admins)
        if command is None or error is not None:
            return await self._explained(error, invocation, line) if error else None
        try:
            async with asyncio.timeout(command.answer_s):
                return await command.say(self.desk, invocation, committed.result)
        except Exception as failure:  # noqa: BLE001  explained to the person, and logged there
            return await self._explained(failure, invocation, line)

    async def answer(self, committed: Committed, reply: Reply) -> None:
        """Answer, with words on the progress of a slow answer. A refusal has no such words."""
        answering = asyncio.create_task(self.said(committed))
        began_s = asyncio.get_running_loop().time()
        try:
            for at_s in self.progress_at_s if committed.error is None else ():
                left_s = began_s + at_s - asyncio.get_running_loop().time()
                await asyncio.wait({answering}, timeout=max(0.0, left_s))
                if answering.done():
                    break
                await self._say_progress(committed.invocation, reply)
            message = await answering
            if message is not None:
                await self.responder.respond(reply, message)
        finally:
            answering.cancel()

    async def _explained(self, error: Exception, invocation: Invocation, line: str) -> Message:
        """Typing errors read the same for everybody."""
        if not isinstance(error, CommandError):
            return explain(error, invocation.reference, await reader_of(self.desk, invocation))
        try:
            error = await with_working_offers(error, self.desk, invocation, line, OFFERS_S)
        except Exception as failure:  # noqa: BLE001  the refusal itself is known, and is told without offers
            log.warning("offers_not_checked", reference=invocation.reference, reason=repr(failure))
            error = error.offering({})
        return explain(error, invocation.reference)

    async def _say_progress(self, invocation: Invocation, reply: Reply) -> None:
        say = invocation.progress.say
        if not reply.has_room_for_progress:
            return
        try:
            words = await say() if say else STILL_AT_IT
        except Exception as error:  # noqa: BLE001  the answer itself is still to come
            log.warning("progress_not_said", reference=invocation.reference, reason=str(error))
            return
        told = f"{words}. The answer comes here." if reply.in_place else f"{words}; the answer follows."
        await self.responder.respond(reply, sentence(told), is_last=False)


def not_in_time(reference: str, reader: AnswerReader = NOBODY_KNOWN) -> str:
    """The log names the slow part."""
    log.warning("command_not_in_time", reference=reference, within_s=COMMIT_S)
    return (
        "That took too long. Nothing was changed, unless /racing list shows the change. Try again in a moment. If that "
        f"does not help, {hand_on(reader, reference)}."
    )
