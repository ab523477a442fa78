"""Failures of the data service in words. Only admins read shell commands."""

from dataclasses import dataclass
from datetime import date, tzinfo

from bot.errors import ServiceError
from bot.events.sentences import listed
from bot.racedata.client.circuit_breakers import QUOTA, UNAUTHORIZED
from bot.racedata.client.service_errors import CircuitOpen, ServiceFailure
from bot.racedata.month_quota import month_after
from bot.slack.messages.kit.text import safe, with_names
from bot.slack.messages.kit.times import day_in_words

ADMINS_NAMED = 3

FAILURE_WORDS_MAX = 600


@dataclass(frozen=True)
class AnswerReader:
    """The person who reads an answer. `admins`: ids of ADMIN_USERS. `zone`: None if unknown."""

    is_admin: bool = False
    admins: tuple[str, ...] = ()
    today: date | None = None
    zone: tzinfo | None = None

    @property
    def whom_to_tell(self) -> str:
        return listed(self.admins[:ADMINS_NAMED], "or") or "whoever runs this bot"


NOBODY_KNOWN = AnswerReader()


def failure_words(error: Exception, reader: AnswerReader) -> str:
    """Plain words. Admins' ids stand as ids; see `shown_to`."""
    if not isinstance(error, ServiceFailure):
        return str(error) if isinstance(error, ServiceError) else "The data service has not answered in time."
    unlatch = error.unlatch if isinstance(error, CircuitOpen) else None
    if error.cause == QUOTA:
        words = _month_spent(reader, unlatch)
    elif error.cause == UNAUTHORIZED:
        words = _key_refused(reader, unlatch)
    else:
        return error.told
    return f"{words} (request {error.request_id})" if error.request_id else words


def shown_to(words: str, reader: AnswerReader) -> str:
    return with_names(safe(words, FAILURE_WORDS_MAX) or "", reader.admins)


def _month_spent(reader: AnswerReader, unlatch: str | None) -> str:
    turns = f"on {day_in_words(month_after(f'{reader.today:%Y-%m}'))}" if reader.today else "next month"
    words = f"This month's requests to the data service are used up. The service answers again {turns}. Alerts go on."
    sooner = "If there are requests again and I have not noticed, type in a shell:"
    return f"{words} {sooner} {unlatch}." if reader.is_admin and unlatch else words


def _key_refused(reader: AnswerReader, unlatch: str | None) -> str:
    words = "The data service does not accept the bot's key."
    if not reader.is_admin:
        return f"{words} Tell {reader.whom_to_tell}: the right key has to be set. Alerts go on."
    right = "Set the right key in RACING_API_KEY and start the bot again."
    mistaken = f" If the key is right and was refused by mistake, type in a shell: {unlatch}." if unlatch else ""
    return f"{words} {right}{mistaken}"
