"""The lines of the bot's log as values: by their event, level and fields."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bot.logs import Log


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """Instead of text on stderr."""
    lines: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patched:

        def keep(_log: Log, level: int, event: str, values: dict[str, Any]) -> None:
            lines.append({"event": event, "log_level": logging.getLevelName(level).lower(), **values})

        patched.setattr(Log, "_tell", keep)
        yield lines
