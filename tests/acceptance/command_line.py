"""`racing-bot` commands as processes of their own, on the settings of a bot."""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """How a command ended, and all that it printed."""

    code: int
    said: str


async def run_command(bot, *words: str, **settings: str | None) -> Ran:
    """The command run to its end. A setting that is None is taken away."""
    inherited = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
    env = inherited | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"} | bot.env | settings
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", *words),
        cwd=bot.folder,
        env={name: value for name, value in env.items() if value is not None},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(30):
        said, _ = await process.communicate()
    assert b"Traceback" not in said, said.decode()
    return Ran(process.returncode or 0, said.decode())
