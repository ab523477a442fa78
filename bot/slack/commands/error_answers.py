"""Exceptions in words, for the person who typed the command."""

from dataclasses import replace

from bot.channels.conditions.event_conditions import region_named
from bot.errors import CommandError, ServiceError, SlackError, StorageError
from bot.logs import get_logger
from bot.outbox.message import Message
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words
from bot.slack.messages.answers.subscription_answers import edit_button, form_button
from bot.slack.messages.kit.blocks import BUTTON_VALUE_MAX, actions, command_button
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
            return told(f"{failure_words(error, reader)} (reference {reference})")
        case StorageError():
            log.warning("command_not_stored", reference=reference, reason=str(error))
            return told(
                "I could not reach my database, so your change may not have been saved. /racing list shows what was "
                f"saved. Try again in a moment. If that does not help, {hand_on(reader, reference)}."
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
