"""Runs a command: commit, then the ack, then the answer. Puts errors into words, and offers other command lines.

Each offered command line has passed the same check as a typed line.
"""

import asyncio
import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.channels import subscriptions
from bot.channels.conditions.event_conditions import COURSE_PREFIX, region_named
from bot.errors import WITHOUT_LABEL, WITHOUT_THAT, CommandError, ServiceError, SlackError, StorageError
from bot.events.sentences import listed
from bot.logs import get_logger
from bot.outbox.message import Message
from bot.racedata.client.service_errors import UNEXPLAINED
from bot.slack.commands.invocation import COMMIT_S, Command, Desk, Invocation, reader_of
from bot.slack.commands.subscription_changes import check_is_there
from bot.slack.commands.table import HELP, find_command, unknown_command
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words
from bot.slack.messages.answers.filter_words import in_plain_words
from bot.slack.messages.answers.subscription_answers import edit_button, form_button
from bot.slack.messages.kit.blocks import BUTTON_VALUE_MAX, ENDING, actions, command_button
from bot.slack.messages.kit.layout import sentence
from bot.slack.web_client import Reply, Responder
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


def explain(error: Exception, reference: str, reader: AnswerReader = NOBODY_KNOWN) -> Message:
    """The fault and the remedy. For faults of the bot, a reference leads to the log."""

    def told(words: str) -> Message:
        return sentence(words, reader.admins)

    match error:
        case CommandError():
            return _with_offers(error)
        case ServiceError():
            log.info("command_refused_by_service", reference=reference, reason=str(error))
            words = failure_words(error, reader)
            if isinstance(error, UNEXPLAINED):
                return told(f"{words} If trying again does not help, {hand_on(reader, reference)}.")
            return told(f"{words} (reference {reference})")
        case StorageError():
            log.warning("command_not_stored", reference=reference, reason=str(error))
            return told(
                "I could not reach my database. A change may not have been saved: /racing list shows what was saved. "
                f"Try again in a moment. If that does not help, {hand_on(reader, reference)}."
            )
        case SlackError():
            log.warning("command_refused_by_slack", reference=reference, reason=str(error))
            return sentence(f"Slack did not answer as it should ({error}). Reference {reference}.")
        case TimeoutError():
            log.warning("command_too_slow", reference=reference)
            return sentence(f"The data service has not answered in time. Try again shortly. Reference {reference}.")
        case _:
            log.error("command_failed", reference=reference, exc_info=error)
            return told(f"Something went wrong on my side. Please {hand_on(reader, reference)}.")


def hand_on(reader: AnswerReader, reference: str) -> str:
    if reader.is_admin:
        return f"look into the log for the reference {reference}"
    return f"give {reader.whom_to_tell} the reference {reference}, which is in the log"


def _with_offers(error: CommandError) -> Message:
    told = sentence(str(error), error.named_ids)
    buttons = [command_button(label, right, in_place=True) for label, right in offered_lines(error).items()]
    if error.form is not None:
        buttons.append(form_button(error.form))
    if error.edits is not None:
        buttons.append(edit_button(error.edits, f"Edit {region_named(error.edits)}"))
    row = actions(buttons)
    return replace(told, blocks=(*told.blocks, row)) if row else told


def offered_lines(error: CommandError) -> dict[str, str]:
    """The lines that fit a button."""
    return {label: one for label, one in error.lines.items() if len(one) <= BUTTON_VALUE_MAX}


MENDED_MAX = 2
"""Rounds of replacing a refused offer by the offers of the offer's own refusal."""

OFFERED_MAX = 10


async def with_working_offers(
    error: CommandError, desk: Desk, invocation: Invocation, line: str, within_s: float | None = None
) -> CommandError:
    """The refusal of a line, with only the offers whose lines pass the check and change something.

    After `within_s` no further offers are tried. The refusal names offers that would leave the channel as it is.
    """
    trying = _Trying(desk, invocation, line, all(label == one for label, one in error.lines.items()))
    try:
        async with asyncio.timeout(within_s):
            await trying.work(error, OFFERED_MAX, MENDED_MAX)
    except TimeoutError:
        log.warning("offers_not_all_checked", reference=invocation.reference, within_s=within_s)
    told = error.offering(trying.found)
    if error.asks_meaning and not (trying.found or trying.idle):
        told.told = "I can't make sense of that, so nothing was changed. Name one thing at a time."
    if trying.idle:
        there = await desk.database.read(partial(subscriptions.filters_of, channel_id=invocation.channel_id))
        is_of_filters = any(one.startswith("subscribe ") for one in trying.idle)
        takes = f": {in_plain_words(there)}" if is_of_filters and there else ""
        has = listed([trying.named(one.partition(" ")[2]).replace(COURSE_PREFIX, "") for one in trying.idle])
        told.after = f"This channel has {has} already{takes}. {error.after}".strip()
        if error.asks_meaning and not trying.found:
            told.told = "Nothing to change."
    if not (told.lines or trying.idle) and find_command(line)[0] is None:
        told.lines, told.asks = {"Help": HELP}, False
    return told


@dataclass(frozen=True)
class _Trying:
    desk: Desk
    invocation: Invocation
    refused: str
    shows_lines: bool
    found: dict[str, str] = field(default_factory=dict)
    idle: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def named(self, line: str) -> str:
        """The line with a course's name for its id."""
        return re.sub("[^ ,]+", lambda word: self.names.get(word[0], word[0]), line)

    async def work(self, refused: CommandError, most: int, tries: int, before: str = "") -> None:
        """`most`: the number of buttons, which several refused offers share."""
        for label, offer in refused.offers.items():
            self.names.update({f"{prefix}{value}": label for value in offer.values() for prefix in ("", COURSE_PREFIX)})
        lines = offered_lines(refused)
        for label, line in list(lines.items())[:most]:
            # A command alone leaves out all typed words.
            if before and (" " not in line or (label == WITHOUT_THAT and not self.shows_lines)):
                continue
            wrong = next(iter(refused.offers.get(label, ())), "").removeprefix(COURSE_PREFIX)
            shown = self.named(line) if self.shows_lines else _label(before, label, wrong) if before else label
            error, changes = await self._try(line)
            if error is None and not changes:
                self.idle.append(line)
            elif error is None and line not in self.found.values():
                self.found.setdefault(shown, line)
            # A mended line might subscribe to another region, where an end was asked for.
            elif error is not None and tries and (line.startswith(ENDING) or not self.refused.startswith(ENDING)):
                await self.work(error, most // len(lines), tries - 1, shown)

    async def _try(self, line: str) -> tuple[CommandError | None, bool]:
        """The refusal of a line, and whether the line changes something."""
        command, text = find_command(line)
        if command is None:
            return CommandError("That is no command."), True
        try:
            return None, await command.would_change(self.desk, replace(self.invocation, text=text))
        except CommandError as error:
            return error, True
        except (ServiceError, TimeoutError):
            # A list that can't be read now says nothing against the words.
            return None, True


def _label(label: str, more: str, wrong: str) -> str:
    """For example "only Ascot (GB)", where `more` is the right word for the `wrong` word of "only Ascot"."""
    if wrong and wrong in label:
        return label.replace(wrong, more)
    is_dropped = label.startswith((WITHOUT_THAT, WITHOUT_LABEL, "until "))
    return more if is_dropped or more.startswith((label, "End ", "Leave out ", "Unwatch ")) else f"{label} {more}"
