"""Every module that a start loads. Imported by the bots' parent process, and by nothing else."""

import gc
import time
import warnings

from tests.clock import now

# Uvicorn's `Date` goes by `time.time`. The import has set the bot's own clock.
time.time = lambda: now().timestamp()  # noqa: TID251  an assignment, no call

# At an import too, as everywhere in a bot under test.
warnings.simplefilter("error")

import anyio._backends._asyncio  # noqa: E402  httpx loads the module with the first request
import httpcore  # noqa: E402
import sqlalchemy.dialects.sqlite  # noqa: E402
import uvloop  # noqa: E402
from sqlalchemy.orm import configure_mappers  # noqa: E402

import bot.cli.recovery_commands  # noqa: E402
import bot.cli.server  # noqa: E402
import bot.cli.subscribe_command  # noqa: E402
import bot.receiver.program  # noqa: E402

LOADED = (anyio, httpcore, sqlalchemy, uvloop, bot)

configure_mappers()

gc.collect()
gc.freeze()
