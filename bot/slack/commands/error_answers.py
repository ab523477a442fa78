"""Exceptions in words, for the person who typed the command, and offers after a refusal.

Each offered command line has passed the same check as a typed line.
"""

import asyncio
import re
from dataclasses import dataclass, field, replace
from functools import partial

from bot.channels import subscriptions
from bot.channels.conditions.event_conditions import COURSE_PREFIX, region_named
from bot.errors import WITHOUT_LABEL, WITHOUT_THAT, CommandError, ServiceError, SlackError, StorageError
from bot.events.sentences import listed
from bot.logs import get_logger
from bot.outbox.message import Message
from bot.racedata.client.service_errors import UNEXPLAINED
from bot.slack.commands.invocation import Desk, Invocation
from bot.slack.commands.table import HELP, find_command
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words
from bot.slack.messages.answers.filter_words import in_plain_words
from bot.slack.messages.answers.subscription_answers import edit_button, form_button
from bot.slack.messages.kit.blocks import BUTTON_VALUE_MAX, ENDING, actions, command_button
from bot.slack.messages.kit.layout import sentence

log = get_logger(__name__)


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
            shown = self.named(line) if self.shows_lines else _label(before, label) if before else label
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


def _label(label: str, more: str) -> str:
    is_dropped = label.startswith((WITHOUT_THAT, WITHOUT_LABEL, "until "))
    return more if is_dropped or more.startswith((label, "Leave out ", "Unwatch ")) else f"{label} {more}"
