"""Imported by the process that all lives are forked from, and by nothing else: what every life would do anew.

It makes a start a fifth of a second, where it would be half of one, on each of some hundred lives.
"""

import gc
import inspect
from importlib import import_module

from sqlalchemy.orm import configure_mappers

# All that a life imports only when it needs it.
LOADED = [
    import_module(name)
    for name in (
        "tests.clock",
        "anyio._backends._asyncio",
        "apscheduler.executors.asyncio",
        "encodings.idna",
        "httpcore",
        "slack_bolt.listener_matcher.async_builtins",
        "tests.soak.life",
        "tzdata.zoneinfo",
        "uvicorn.lifespan.on",
        "uvloop",
    )
]

configure_mappers()

# Bolt asks for the stack when it is built, and the first time that costs a look at every module.
inspect.stack()
# The service collects garbage once it has started; what is frozen it need not look at.
gc.collect()
gc.freeze()
