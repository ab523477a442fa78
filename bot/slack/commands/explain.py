"""The one place that turns an exception into what the person who typed the command is told."""

import re

from bot.domain.message import Message
from bot.errors import CommandError, ServiceError, SlackError, StorageError
from bot.logs import get_logger
from bot.slack.messages.buttons import VALUE_MAX, actions, command_button
from bot.slack.messages.plain import sentence

log = get_logger(__name__)


def explain(error: Exception, reference: str, line: str = "") -> Message:
    """What went wrong and what to do; with a reference that the log has too, where it was not the person's doing.

    `line` is what was typed after /racing: with the wrong word replaced, it is what a button runs.
    """
    match error:
        case CommandError():
            return _with_offers(error, line)
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


def _with_offers(error: CommandError, line: str) -> Message:
    """What was wrong, and a button for each thing that it may have meant."""
    told = sentence(str(error))
    lines = {label: retyped(line, error.typed, value) for label, value in error.meant.items()}
    buttons = [command_button(label, right, in_place=True) for label, right in lines.items() if right]
    row = actions(buttons)
    return told.model_copy(update={"blocks": (*told.blocks, row)}) if row else told


def retyped(line: str, typed: str, value: str) -> str | None:
    """The line with a value in the place of what was typed; None where that is not found, or the line is too long."""
    line, typed = " ".join(line.split()), " ".join(typed.split())
    # Within quotes a value needs none of its own.
    found = re.search(rf'(?<!\w)(?:"{re.escape(typed)}"|{re.escape(typed)})(?!\w)', line) if typed else None
    if found is None:
        return None
    bare = not found[0].startswith('"') and line[: found.start()].count('"') % 2 == 1
    right = f"{line[: found.start()]}{value if bare else _quoted(value)}{line[found.end() :]}"
    return right if len(right) <= VALUE_MAX else None


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value
