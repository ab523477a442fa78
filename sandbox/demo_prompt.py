"""Lets the person at the terminal type commands after the day."""

import asyncio
import os
from collections.abc import AsyncGenerator
from typing import TextIO

from sandbox.demo_stage import CHANNELS, Stage

PRESS = "press"
CHANNEL, USER = "C0ALL", "U0ALICE"


async def stay_up(stage: Stage, stdin: TextIO) -> None:
    """Answers typed lines until cancelled, and retries deliveries."""
    delivering = asyncio.create_task(stage.service.run_deliveries())
    try:
        if stdin.isatty():
            stage.screen.show_to_a_person()
            stage.screen.plain(
                "Type a command as if in #everything, as an admin: /racecard IRE, /racing drill, /racing trace inbox-1 "
                "or /racing help. Press a button by its words: press Who was told."
            )
            async for line in typed_lines(stdin.fileno()):
                await answer(stage, line)
        await delivering
    finally:
        delivering.cancel()


async def answer(stage: Stage, line: str) -> None:
    """Lines are such as "/racecard IRE", "#everything /racecard IRE" or "press Who was told"."""
    where, _, rest = line.strip().partition(" ")
    by_name = {f"#{name}": channel_id for channel_id, name in CHANNELS.items()}
    if where.startswith("#") and where not in by_name:
        stage.screen.note(f"{where} is no channel here; the channels are {', '.join(by_name)}.")
        return
    problem: str | None = None
    channel_id, command = (by_name[where], rest.strip()) if where in by_name else (CHANNEL, line.strip())
    verb, _, label = command.partition(" ")
    if verb == PRESS:
        problem = await stage.press(channel_id, USER, label.strip(" []"))
    elif command:
        problem = await stage.say(channel_id, USER, command)
    if problem is not None:
        stage.screen.note(problem)


async def typed_lines(descriptor: int) -> AsyncGenerator[str]:
    """By the loop: a thread waiting in `read` would outlive Ctrl-C."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes] = asyncio.Queue()
    loop.add_reader(descriptor, lambda: arrived.put_nowait(os.read(descriptor, 4096)))
    kept = b""
    try:
        while part := await arrived.get():
            *lines, kept = (kept + part).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
    finally:
        loop.remove_reader(descriptor)
