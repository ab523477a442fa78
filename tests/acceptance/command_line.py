"""`racing-bot` commands as processes of their own, on the settings of a bot."""

import asyncio
import uuid
from dataclasses import dataclass

from tests.acceptance.forked import Forked


@dataclass(frozen=True)
class Ran:
    """How a command ended, and all that it printed."""

    code: int
    said: str


async def run_command(bot, *words: str, **settings: str | None) -> Ran:
    """The command run to its end. A setting that is None is taken away."""
    env = {name: value for name, value in (bot.env | settings).items() if value is not None}
    output = bot.folder / f"command-{uuid.uuid4().hex}.out"
    code = await asyncio.to_thread(Forked(words, bot.folder, env, output).wait, 30)
    said = output.read_text(encoding="utf-8")
    assert "Traceback" not in said, said
    return Ran(code, said)
