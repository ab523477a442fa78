"""Work in a process of its own: a load generator, or what is timed by itself, shares no interpreter with the rest."""

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

T = TypeVar("T")


async def apart(work: Callable[..., T], *args: object) -> T:
    """What `work`, a function of a module, returns over there."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return await asyncio.get_running_loop().run_in_executor(process, work, *args)
