"""Logging: structlog for our own lines and the libraries', as text or JSON, with every known secret masked."""

import logging
import logging.config
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

MASK = "********"

QUIET_LOGGERS = ("httpx", "httpcore", "slack_sdk", "slack_bolt", "aiohttp", "apscheduler", "alembic", "uvicorn.access")
"""Libraries whose INFO lines say nothing to an operator, or show a key or a whole address (httpx, slack_bolt)."""


class MaskSecrets:
    """Replaces known secrets wherever they stand in a log line: the last line of defence, not the first."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # A very short "secret" (a test's, a default) would blank out half the log and protect nothing.
        self._secrets = sorted((secret for secret in secrets if len(secret) >= 6), key=len, reverse=True)

    def __call__(self, _logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
        for name, value in event_dict.items():
            event_dict[name] = self.masked(value)
        return event_dict

    def masked(self, value: Any) -> Any:
        """The value with every secret in its texts blanked out."""
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
    """Drop uvicorn's second, coloured copy of its message."""
    event_dict.pop("color_message", None)
    return event_dict


class LineWriter:
    """Writes finished lines. A log that can't be written (full disk, closed pipe) stops nothing that it tells of."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self.name = name
        self.lost = 0

    def msg(self, line: str) -> None:
        """Write a line; `lost` counts those that could not be."""
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except (OSError, ValueError):
            self.lost += 1

    # The names under which structlog hands over lines of each level.
    debug = info = warning = error = critical = exception = msg


def configure_logging(level: str, log_format: str, secrets: Iterable[str] = ()) -> None:
    """Send every line, ours and the libraries', to stderr in one format."""
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
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    stream = sys.stderr
    # Our own lines don't pass through the standard library's records: that takes four times as long.
    structlog.configure(
        processors=[*before, *after, renderer],
        logger_factory=lambda name: LineWriter(stream, name),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        cache_logger_on_first_use=True,
    )


def quieten_http() -> None:
    """Keep lines of httpx below WARNING out of the log: the lines show whole addresses and headers."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger whose lines carry named values: `log.info("stored", reference=…)`."""
    logger: FilteringBoundLogger = structlog.get_logger(name)
    return logger
