"""Imported by the process that the bots are forked from, and by nothing else: all that a start loads."""

import gc
import inspect
import time
import warnings

from tests.clock import now

# Uvicorn's `Date` goes by this clock. That of the bot was set by the import.
time.time = lambda: now().timestamp()  # noqa: TID251  it is set

# At an import too, as everywhere in a bot under test.
warnings.simplefilter("error")

import anyio._backends._asyncio  # noqa: E402  what httpx loads with its first request
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

# Bolt asks for the stack when it is built, and the first time that costs a look at every module.
inspect.stack()
gc.collect()
gc.freeze()
