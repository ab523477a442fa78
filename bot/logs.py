"""The log of both programs and of their libraries, as text or JSON, with known secrets masked.

Free of libraries, as the receiver has to stay small.
"""

import asyncio
import json
import logging
import select
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from traceback import format_exception
from typing import Any
from urllib.parse import quote, quote_plus

from bot.clock import Monotonic, utc_now

MASK = "********"

Mask = Callable[[str], str]
"""Blanks out every known secret of a text."""

QUIET_LOGGERS = ("httpx", "httpcore", "slack_sdk", "slack_bolt", "aiohttp", "apscheduler", "alembic", "uvicorn.access")
"""Their INFO lines are useless, or show a key or a whole address (httpx, slack_bolt)."""

LINES_A_MINUTE = 60

_IN_JSON = json.JSONEncoder(ensure_ascii=False, default=str)

PIECE = 1_000
"""Characters, of four bytes at most. A pipe that is ready takes 4,096 bytes without a wait (pipe(7))."""

READER_S = 0.1
"""The wait for a slow reader. From then on lines are lost until the reader goes on."""


class _Stderr:
    """A full disk, a closed pipe or a reader that stands still stops no work."""

    def __init__(self) -> None:
        self._wait_s = READER_S

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            for begin in range(0, len(text), PIECE):
                if not self._is_read():
                    return
                sys.stderr.write(text[begin : begin + PIECE])
                sys.stderr.flush()

    def _is_read(self) -> bool:
        try:
            file = sys.stderr.fileno()
        except ValueError:
            # A stream in memory waits for no reader.
            return True
        is_read = bool(select.select((), (file,), (), self._wait_s)[1])
        self._wait_s = READER_S if is_read else 0.0
        return is_read


_stderr = _Stderr()


class MaskSecrets:
    """Replaces known secrets, also as an address spells them, and as JSON or an error's repr escapes them.

    In a log line the mask is the last line of defence. Refusals of Slack and of the data service are masked when read.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        # A short "secret" would blank out half the log.
        known = {secret for secret in secrets if len(secret) >= 6}
        escaped = {spelled(one)[1:-1] for one in known for spelled in (repr, _IN_JSON.encode)}
        self._secrets = sorted(known.union(map(quote_plus, known), map(quote, known), escaped), key=len, reverse=True)

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


class _Form(logging.Formatter):
    """The form of each line of the process. `configure_logging` sets level, form and mask."""

    def __init__(self) -> None:
        super().__init__()
        self.level, self.as_json = logging.INFO, False
        self.mask = MaskSecrets(()).masked

    def format(self, record: logging.LogRecord) -> str:
        """A library's line."""
        error = {"exc_info": record.exc_info[1]} if record.exc_info else {}
        return self.line(record.levelname.lower(), record.name, record.getMessage(), error)

    def line(self, level: str, logger: str, event: str, values: Mapping[str, object]) -> str:
        # Each value before quotes and backslashes are escaped: within a longer text a secret may be escaped otherwise.
        told = {name: self.mask(value) for name, value in values.items() if name != "exc_info"}
        event, moment = self.mask(event), utc_now().isoformat().replace("+00:00", "Z")
        if error := values.get("exc_info"):
            raised: Any = sys.exception() if error is True else error
            told["exception"] = self.mask("".join(format_exception(raised)).rstrip())
        if self.as_json:
            whole = {**told, "event": event, "level": level, "logger": logger, "timestamp": moment}
            return str(self.mask(_IN_JSON.encode(whole)))
        exception = [told.pop("exception")] if error else []
        fields = [f"{name}={_quoted(str(value))}" for name, value in told.items()]
        event = event if event.isprintable() else repr(event)
        line = " ".join([moment, f"[{level:9}]", f"{event:30}", f"[{logger}]", *fields])
        return str(self.mask("\n".join([line, *exception])))


_form = _Form()


def _quoted(text: str) -> str:
    """Strangers choose paths: no text may pass for a line, for another field or for a command to the terminal."""
    return text if text.isprintable() and " " not in text else repr(text)


class Log:
    """`exc_info` of a line: an error, or True for the error that is being handled."""

    def __init__(self, name: str, monotonic: Monotonic = time.monotonic) -> None:
        self.name = name
        self._monotonic = monotonic
        self._lines: dict[str, tuple[int, int]] = {}
        self._left_out = Counter[str]()

    def info(self, event: str, **values: object) -> None:
        self._tell(logging.INFO, event, values)

    def warning(self, event: str, **values: object) -> None:
        self._tell(logging.WARNING, event, values)

    def error(self, event: str, **values: object) -> None:
        self._tell(logging.ERROR, event, values)

    def exception(self, event: str, **values: object) -> None:
        self.error(event, exc_info=True, **values)

    def bounded(self, event: str, kind: str, **values: object) -> None:
        """A warning that strangers can repeat: at most LINES_A_MINUTE of a kind, so older lines stay in the log.

        Within a minute a line says how many lines were left out.
        """
        minute = int(self._monotonic() // 60)
        last, lines = self._lines.get(kind, (minute, 0))
        lines = lines + 1 if minute == last else 1
        self._lines[kind] = minute, lines
        if lines <= LINES_A_MINUTE:
            self.warning(event, **values)
            return
        if kind not in self._left_out:
            asyncio.get_running_loop().call_later(60, self._tell_left_out, kind)
        self._left_out[kind] += 1

    def _tell_left_out(self, kind: str) -> None:
        self.warning("lines_left_out", of=kind, lines=self._left_out.pop(kind))

    def _tell(self, level: int, event: str, values: Mapping[str, object]) -> None:
        if level >= _form.level:
            _stderr.write(f"{_form.line(logging.getLevelName(level).lower(), self.name, event, values)}\n")


def get_logger(name: str) -> Log:
    return Log(name)


def configure_logging(level: str, log_format: str, secrets: Iterable[str] = ()) -> None:
    _form.level, _form.as_json = logging.getLevelNamesMapping()[level.upper()], log_format == "json"
    _form.mask = MaskSecrets(secrets).masked
    handler = logging.StreamHandler(_stderr)
    handler.setFormatter(_form)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_form.level)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def quieten_http() -> None:
    """Drop httpx lines below WARNING: the lines show whole addresses and headers."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))
