"""How a command is carried out, typed or clicked: commit, then Slack gets its ack, then the person an answer."""

import asyncio
import secrets
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from bot.errors import CommandError
from bot.logs import get_logger
from bot.outbox.message import Message
from bot.slack.background_tasks import Tasks
from bot.slack.commands.error_answers import explain, hand_on
from bot.slack.commands.invocation import COMMIT_S, Command, Desk, Invocation, reader_of
from bot.slack.commands.offers import with_working_offers
from bot.slack.commands.table import unknown_command
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, Reader
from bot.slack.messages.kit.plain import sentence
from bot.slack.response_url import Reply, Responder

log = get_logger(__name__)

OFFERS_S = 5.0
"""For trying the lines that a refusal offers; the refusal has the offers that passed by then."""

PROGRESS_AT_S = (3.0, 10.0, 20.0)
"""When whoever waits is told how far it is, where that is replaced; what stays beside the answer is said once."""

STILL_AT_IT = "This takes a moment"
"""What is said where the command does not say how far it is."""


def new_reference() -> str:
    """What finds a command in the log."""
    return f"cmd-{secrets.token_hex(4)}"


@dataclass(frozen=True)
class CommandRunner:
    """Carries commands out. A crash may forget an answer that is under way, and nothing but it."""

    desk: Desk
    responder: Responder
    tasks: Tasks
    progress_at_s: tuple[float, ...] = PROGRESS_AT_S

    async def commit(self, command: Command | None, invocation: Invocation, reply: Reply) -> Coroutine[Any, Any, None]:
        """The coroutine that answers; what changes something has been committed when this returns."""
        if command is None:
            return self._explain(unknown_command(invocation.text), invocation, invocation.text, reply)
        committed: Any = None
        if command.commit is not None:
            try:
                async with asyncio.timeout(COMMIT_S):
                    committed = await command.commit(self.desk, invocation)
                # What was changed may be told in the channel.
                self.desk.wake.set()
            except TimeoutError:
                return self._not_in_time(invocation, reply)
            except Exception as error:  # noqa: BLE001  explained to the person, and logged there
                return self._explain(error, invocation, _line(command, invocation), reply)
        return self._answer(command, invocation, committed, reply)

    def answer_later(self, answer: Coroutine[Any, Any, None], reference: str) -> None:
        """Have the answer go out after the ack."""
        self.tasks.start(answer, f"answer {reference}")

    async def _answer(self, command: Command, invocation: Invocation, committed: Any, reply: Reply) -> None:
        """Answer, with a word on how far it is where that takes long."""
        answering = asyncio.create_task(self._message(command, invocation, committed))
        began_s = asyncio.get_running_loop().time()
        try:
            for at_s in self.progress_at_s:
                left_s = began_s + at_s - asyncio.get_running_loop().time()
                await asyncio.wait({answering}, timeout=max(0.0, left_s))
                if answering.done():
                    break
                await self._say_progress(invocation, reply)
            await self._respond(reply, await answering)
        finally:
            answering.cancel()

    async def _message(self, command: Command, invocation: Invocation, committed: Any) -> Message | None:
        try:
            async with asyncio.timeout(command.answer_s):
                return await command.answer(self.desk, invocation, committed)
        except Exception as error:  # noqa: BLE001  explained to the person, and logged there
            return await self._explained(error, invocation, _line(command, invocation))

    async def _explain(self, error: Exception, invocation: Invocation, line: str, reply: Reply) -> None:
        """Answer with what went wrong."""
        await self._respond(reply, await self._explained(error, invocation, line))

    async def _explained(self, error: Exception, invocation: Invocation, line: str) -> Message:
        """What went wrong, in words for this person. Of what was typed wrong everybody reads the same."""
        if not isinstance(error, CommandError):
            return explain(error, invocation.reference, line, await reader_of(self.desk, invocation))
        try:
            error = await with_working_offers(error, self.desk, invocation, line, OFFERS_S)
        except Exception as failure:  # noqa: BLE001  the refusal itself is known, and is told without offers
            log.warning("offers_not_checked", reference=invocation.reference, reason=repr(failure))
            error = error.offering({})
        return explain(error, invocation.reference, line, NOBODY_KNOWN)

    async def _not_in_time(self, invocation: Invocation, reply: Reply) -> None:
        """Answer that the change took too long."""
        reader = await reader_of(self.desk, invocation)
        await self._respond(reply, sentence(not_in_time(invocation.reference, reader), reader.admins))

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

    async def _respond(self, reply: Reply, message: Message | None) -> None:
        if message is not None:
            await self.responder.respond(reply, message)


def not_in_time(reference: str, reader: Reader = NOBODY_KNOWN) -> str:
    """What is said where a change was not done before the ack: what was slow is for the log to tell."""
    log.warning("command_not_in_time", reference=reference, within_s=COMMIT_S)
    return (
        "I could not do this in time. Nothing was changed, unless /racing list shows it: try again in a moment. If it "
        f"stays so, {hand_on(reader, reference)}."
    )


def _line(command: Command, invocation: Invocation) -> str:
    """What would be typed after /racing for the same."""
    return f"{command.name} {invocation.text}"
