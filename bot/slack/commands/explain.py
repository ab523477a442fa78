"""The one place that turns an exception into what the person who typed the command is told."""

from bot.domain.message import Message
from bot.errors import CommandError, ServiceError, SlackError, StorageError
from bot.logs import get_logger
from bot.slack.messages.plain import sentence

log = get_logger(__name__)


def explain(error: Exception, reference: str) -> Message:
    """What went wrong and what to do; with a reference that the log has too, where it was not the person's doing."""
    match error:
        case CommandError():
            return sentence(str(error))
        case ServiceError():
            log.info("command_refused_by_service", reference=reference, reason=str(error))
            return sentence(f"{getattr(error, 'told', str(error))} (reference {reference})")
        case StorageError():
            log.warning("command_not_stored", reference=reference, reason=str(error))
            return sentence(
                "I could not reach my own storage, so this may not have been saved: /racing list shows what is. "
                f"Try again in a moment; if it stays so, give an admin the reference {reference}."
            )
        case SlackError():
            log.warning("command_refused_by_slack", reference=reference, reason=str(error))
            return sentence(f"Slack did not answer as it should ({error}). Reference {reference}.")
        case TimeoutError():
            log.warning("command_too_slow", reference=reference)
            return sentence(f"The data service has not answered in time. Try again shortly. Reference {reference}.")
        case _:
            log.error("command_failed", reference=reference, exc_info=error)
            return sentence(
                f"Something went wrong on my side. Give an admin the reference {reference}: the log has it."
            )
