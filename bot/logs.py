"""Logging: structlog for our own lines and the libraries', as text or JSON, with every known secret masked."""

import logging
import logging.config
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

MASK = "********"

QUIET_LOGGERS = ("httpx", "httpcore", "slack_sdk", "slack_bolt", "aiohttp", "apscheduler", "alembic", "uvicorn.access")
"""Libraries whose INFO lines say nothing to an operator, or show a key or a whole address (httpx, slack_bolt)."""


class MaskSecrets:
    """Replaces known secrets wherever they stand in a log line: the last line of defence, not the first."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # A very short "secret" (a test's, a default) would blank out half the log and protect nothing.
        self._secrets = sorted((secret for secret in secrets if len(secret) >= 6), key=len, reverse=True)

    def __call__(self, _logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
        return {name: self._masked(value) for name, value in event_dict.items()}

    def _masked(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self._masked(name): self._masked(item) for name, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._masked(item) for item in value]
        if not isinstance(value, str):
            return value
        for secret in self._secrets:
            value = value.replace(secret, MASK)
        return value


def _without_colours(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """Drop uvicorn's second, coloured copy of its message."""
    event_dict.pop("color_message", None)
    return event_dict


def configure_logging(level: str, log_format: str, secrets: Iterable[str] = ()) -> None:
    """Send every line, ours and the libraries', to stderr in one format."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(),
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
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _without_colours, renderer],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger whose lines carry named values: `log.info("stored", reference=…)`."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger
