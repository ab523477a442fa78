"""Log lines in the form of the bot's log (bot/logs.py), without structlog."""

import json
import logging
import time
from collections.abc import Iterable
from secrets import token_hex

from bot.clock import Monotonic, utc_now
from bot.stderr import stderr
from bot.web.plain_answers import LineBound

_IN_JSON = json.JSONEncoder(ensure_ascii=False, default=str)

LOG_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class Log:
    """`secrets` are masked."""

    def __init__(self, monotonic: Monotonic = time.monotonic) -> None:
        self.level, self.as_json = "info", True
        self.secrets: Iterable[str] = ()
        self._bound = LineBound(monotonic, self.warning)

    def info(self, event: str, **values: object) -> None:
        self._write("info", event, values)

    def warning(self, event: str, **values: object) -> None:
        self._write("warning", event, values)

    def error(self, event: str, **values: object) -> None:
        self._write("error", event, values)

    def bounded(self, event: str, kind: str, **values: object) -> None:
        """A warning that a stranger can repeat: at most `LINES_A_MINUTE` of a kind, in words of ours."""
        if self._bound.takes(kind):
            self.warning(event, **values)

    def _write(self, level: str, event: str, values: dict[str, object]) -> None:
        if LOG_LEVELS[level] < LOG_LEVELS[self.level]:
            return
        moment = utc_now().isoformat().replace("+00:00", "Z")
        # Before quotes and backslashes are escaped, which would hide a secret that has any.
        masked = {name: self._masked(value) if isinstance(value, str) else value for name, value in values.items()}
        told = {**masked, "event": event, "level": level, "logger": "bot.receiver", "timestamp": moment}
        if self.as_json:
            line = _IN_JSON.encode(told)
        else:
            fields = [f"{name}={_quoted(str(value))}" for name, value in masked.items()]
            line = " ".join([moment, f"[{level:9}]", f"{event:30}", *fields])
        stderr.write(f"{self._masked(line)}\n")

    def _masked(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "********")
        return text


def _quoted(text: str) -> str:
    """Strangers choose paths: no text may pass for a line, for another field or for a command to the terminal."""
    return text if text.isprintable() and " " not in text else repr(text)


log = Log()


def new_reference() -> str:
    """A reference of a request, for the answer and the log."""
    return f"req-{token_hex(4)}"


class OfLibraries(logging.Handler):
    """Warnings and errors of libraries, as lines of the log."""

    def emit(self, record: logging.LogRecord) -> None:
        self.format(record)
        log.error(record.getMessage(), library=record.name, exception=record.exc_text)
