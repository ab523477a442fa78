"""The one place that turns an exception into what the person who typed the command is told."""

from collections.abc import Mapping, Sequence

from bot.domain.message import Message
from bot.errors import CommandError, ServiceError, SlackError, StorageError
from bot.logs import get_logger
from bot.slack.commands.tokens import SINGLE_QUOTES, join, parted, split
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
    lines = {label: retyped(line, right) for label, right in error.offers.items()}
    buttons = [command_button(label, right, in_place=True) for label, right in lines.items() if right]
    row = actions(buttons)
    return told.model_copy(update={"blocks": (*told.blocks, row)}) if row else told


def retyped(line: str, right: Mapping[str, str]) -> str | None:
    """The line with each wrong word replaced; None where one is not found, or what came of it can't be typed."""
    words = split(line)
    for typed, value in right.items():
        phrase = " ".join(typed.split())
        words = _replaced(words, phrase, value) or _gathered(words, phrase.split(), value)
    shown = join(words)
    return shown if words and split(shown) == words and len(shown) <= VALUE_MAX else None


def _replaced(words: list[str], typed: str, value: str) -> list[str]:
    """The words with a value in the place of one of them, or of several beside each other; none where it is not found.

    The command itself, the first of them, is looked at last. What a word is called ("course:") stays.
    """
    length = len(typed.split())
    if not length:
        return []
    for start in sorted(range(len(words)), key=lambda start: start == 0):
        for end in {start + 1, start + length}:
            name, first = parted(words[start])
            if " ".join([first, *words[start + 1 : end]]).strip(SINGLE_QUOTES + " ") == typed:
                return [*words[:start], name + value, *words[end:]]
        among = words[start].split(",")
        if typed in among:
            right = [value if part == typed else part for part in among if part]
            return [*words[:start], *right, *words[start + 1 :]]
    return []


def _gathered(words: list[str], apart: Sequence[str], value: str) -> list[str]:
    """The words with a value in the place of the first of several that stand apart; none where one is not found."""
    left = list(words)
    for one in apart[1:]:
        if one not in left:
            return []
        left.remove(one)
    return _replaced(left, apart[0], value) if apart else []
