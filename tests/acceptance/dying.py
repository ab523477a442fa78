"""Kills a process at the commit by which it queues its first message, before or after the commit."""

import os
import signal
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine.default import DefaultDialect


def before_the_commit(_folder: Path) -> None:
    """Nothing of the transaction is stored."""
    _die(is_committed=False)


def after_the_commit(_folder: Path) -> None:
    """Everything of the transaction is stored, and nothing after it is carried out."""
    _die(is_committed=True)


def _die(*, is_committed: bool) -> None:
    commit, queued = DefaultDialect.do_commit, list[str]()

    @event.listens_for(Engine, "after_cursor_execute")
    def _executed(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO message "):
            queued.append(statement)

    def do_commit(self: DefaultDialect, connection: Any) -> None:
        if queued and not is_committed:
            os.kill(os.getpid(), signal.SIGKILL)
        commit(self, connection)
        if queued:
            os.kill(os.getpid(), signal.SIGKILL)

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]  # in a process that is to die
