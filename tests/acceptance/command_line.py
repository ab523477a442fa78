"""`racing-bot` commands as processes of their own, on the settings of a bot."""

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.forked import Forked


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed: to stdout, to stderr, and both."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


async def run_command(bot, *words: str, prepare: Callable[[Path], None] | None = None, **settings: str | None) -> Ran:
    """The command run to its end. A setting that is None is taken away. `prepare` is run in the process before."""
    env = {name: value for name, value in (bot.env | settings).items() if value is not None}
    output, errors = (bot.folder / f"command-{uuid.uuid4().hex}.{name}" for name in ("out", "err"))
    code = await asyncio.to_thread(Forked(words, bot.folder, env, output, errors, prepare=prepare).wait, 60)
    ran = Ran(code, output.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8"))
    assert "Traceback" not in ran.said, ran.said
    return ran
