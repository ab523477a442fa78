"""Imported by the process that the bots are forked from, and by nothing else: all that a start loads."""

import gc
import inspect
import warnings

warnings.simplefilter("error")

import httpcore  # noqa: E402  a warning at an import is an error here, as everywhere in a bot under test

import bot.serving  # noqa: E402
import bot.subscribing  # noqa: E402
import bot.unlatching  # noqa: E402

LOADED = (httpcore, bot)

# Bolt asks for the stack when it is built, and the first time that costs a look at every module.
inspect.stack()
gc.collect()
gc.freeze()
