"""Logging by structlog, for the bot and for libraries, as text or JSON, with known secrets masked."""

import logging
import logging.config
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from bot.stderr import stderr

MASK = "********"

Mask = Callable[[str], str]
"""Blanks out every known secret of a text."""

QUIET_LOGGERS = ("httpx", "httpcore", "slack_sdk", "slack_bolt", "aiohttp", "apscheduler", "alembic", "uvicorn.access")
"""Their INFO lines are useless, or show a key or a whole address (httpx, slack_bolt)."""


class MaskSecrets:
    """Replaces known secrets, also in the spelling of an address.

    In a log line the mask is the last line of defence. Refusals of Slack and of the data service are masked when read.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        # A short "secret" would blank out half the log.
        known = {secret for secret in secrets if len(secret) >= 6}
        self._secrets = sorted(known.union(map(quote_plus, known), map(quote, known)), key=len, reverse=True)

    def __call__(self, _logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
        for name, value in event_dict.items():
            event_dict[name] = self.masked(value)
        return event_dict

    def masked(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, MASK)
            return value
        if isinstance(value, Mapping):
            return {self.masked(name): self.masked(item) for name, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.masked(item) for item in value]
        return value


def _without_colours(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """Drop uvicorn's coloured copy of the message."""
    event_dict.pop("color_message", None)
    return event_dict


class LineWriter:
    def __init__(self, name: str) -> None:
        self.name = name

    def msg(self, line: str) -> None:
        stderr.write(f"{line}\n")

    # structlog calls the method of the line's level.
    debug = info = warning = error = critical = exception = msg


def configure_logging(level: str, log_format: str, secrets: Iterable[str] = ()) -> None:
    before: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
    ]
    after: list[Processor] = [
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        MaskSecrets(secrets),
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*before, structlog.stdlib.ExtraAdder(), *after],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _without_colours, renderer],
    )
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    # The standard library's records take four times as long.
    structlog.configure(
        processors=[*before, *after, renderer],
        logger_factory=LineWriter,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        cache_logger_on_first_use=True,
    )


def quieten_http() -> None:
    """Drop httpx lines below WARNING: the lines show whole addresses and headers."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


def get_logger(name: str) -> FilteringBoundLogger:
    logger: FilteringBoundLogger = structlog.get_logger(name)
    return logger
