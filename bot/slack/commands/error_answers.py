"""Exceptions in words, for the person who typed the command."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.errors import CommandError, ServiceError, SlackError, StorageError
from bot.logs import get_logger
from bot.outbox.message import Message
from bot.racedata.near_misses import COURSE_PREFIX
from bot.slack.language.tokens import NOT_COURSE, SINGLE_QUOTE, join, parted, split
from bot.slack.messages.answers.failure_words import NOBODY_KNOWN, AnswerReader, failure_words
from bot.slack.messages.answers.subscription_answers import edit_button, form_button
from bot.slack.messages.conditions.event_views import region_named
from bot.slack.messages.kit.blocks import BUTTON_VALUE_MAX, actions, command_button, sentence

log = get_logger(__name__)


def explain(error: Exception, reference: str, line: str = "", reader: AnswerReader = NOBODY_KNOWN) -> Message:
    """The fault and the remedy. For faults of the bot, a reference leads to the log.

    `line`: the words after /racing. Buttons run the line with the wrong word replaced.
    """

    def told(words: str) -> Message:
        return sentence(words, reader.admins)

    match error:
        case CommandError():
            return _with_offers(error, line)
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
    return f"give {reader.whom_to_tell} the reference {reference}: the log has it"


def _with_offers(error: CommandError, line: str) -> Message:
    told = sentence(str(error), error.named_ids)
    buttons = [command_button(label, right, in_place=True) for label, right in offered_lines(error, line).items()]
    if error.form is not None:
        buttons.append(form_button(error.form))
    if error.edits is not None:
        buttons.append(edit_button(error.edits, f"Edit {region_named(error.edits)}"))
    row = actions(buttons)
    return replace(told, blocks=(*told.blocks, row)) if row else told


def offered_lines(error: CommandError, line: str) -> dict[str, str]:
    mended = {label: retyped(line, right) for label, right in error.offers.items()}
    whole = {label: one for label, one in error.lines.items() if len(one) <= BUTTON_VALUE_MAX}
    return {label: right for label, right in mended.items() if right} | whole


def retyped(line: str, right: Mapping[str, str]) -> str | None:
    """The line with each wrong word replaced; None if a word is absent, or the result can't be typed.

    `course:Ascto` means the word as a course, tried first where the line calls the word a course.
    """
    # A longer line fits no button.
    words = split(line) if len(line) <= BUTTON_VALUE_MAX else []
    for typed, value in right.items():
        name, phrase = parted(" ".join(typed.split()))
        words = _replaced(words, name, phrase, value) or _gathered(words, name, phrase.split(), value)
    shown = join(words)
    return shown if words and split(shown) == words and len(shown) <= BUTTON_VALUE_MAX else None


def _replaced(words: Sequence[str], name: str, phrase: str, value: str) -> list[str]:
    """The words with `value` for each equally likely `phrase`; empty without the phrase.

    The phrase's `name` prefers courses or other words. The command, the first word, is tried last.
    """
    found = [(start, *place) for start in range(len(words)) if (place := _place(words, start, phrase, value))]
    ranks = [(start == 0, _is_course(words, start) != name.endswith(COURSE_PREFIX)) for start, _, _ in found]
    best = min(ranks, default=None)
    right: list[str] = []
    at = 0
    for (start, end, instead), rank in zip(found, ranks, strict=True):
        if rank == best and start >= at:
            right += [*words[at:start], *instead]
            at = end
    return [*right, *words[at:]] if found else []


def _place(words: Sequence[str], start: int, phrase: str, value: str) -> tuple[int, list[str]] | None:
    """The end of the phrase from `start`, and the new words; None without the phrase.

    A prefix ("course:") stays, and `-Yrok` is left out as `-course:York`.
    """
    name, first = parted(words[start])
    if not name and first.startswith("-"):
        name, first = NOT_COURSE, first.removeprefix("-")
    for end in (start + 1, start + len(phrase.split())):
        if phrase and " ".join([first, *words[start + 1 : end]]).strip(SINGLE_QUOTE + " ") == phrase:
            return end, [value if parted(value)[0] else name + value]
    among = [] if _is_course(words, start) else first.split(",")
    return (start + 1, [value if part == phrase else part for part in among if part]) if phrase in among else None


def _is_course(words: Sequence[str], start: int) -> bool:
    """True for `course:Ascot` and for `course: Ascot`."""
    name, value = parted(words[start - 1]) if start else ("", "")
    return (parted(words[start])[0] or (name if not value else "")).lower().endswith(COURSE_PREFIX)


def _gathered(words: Sequence[str], name: str, apart: Sequence[str], value: str) -> list[str]:
    """The words with `value` for several separate words; empty if a word is absent."""
    left = list(words)
    for one in apart[1:]:
        if one not in left:
            return []
        left.remove(one)
    return _replaced(left, name, apart[0], value) if apart else []
