"""The work that every life would do anew, imported by the process from which all lives are forked.

A start takes a fifth of a second in place of half a second, for each of some hundred lives.
"""

import gc
from importlib import import_module

from sqlalchemy.orm import configure_mappers

# The lazy imports of a life.
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

# Every life shares what is loaded here. The service freezes its objects too, after the start.
gc.collect()
gc.freeze()
