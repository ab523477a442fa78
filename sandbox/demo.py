"""`racing-bot demo`: the real service between two stand-ins on a quick day's racing."""

import asyncio
import io
import json
import os
import shutil
import signal
import stat
import sys
import tempfile
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from sandbox.demo_bot import DemoFailed, end_of_log
from sandbox.demo_day import Day, begin_at_the_page
from sandbox.demo_screen import Screen, make_console
from sandbox.demo_stage import CHANNELS, PEOPLE, Stage, open_stage
from sandbox.loopback_server import PortTakenError, serve
from sandbox.page.counts import count
from sandbox.page.page_app import Page, build_page
from sandbox.racing_service.delivery_queue import SIGNATURE_HEADER

PRESS = "press"
CHANNEL, USER = "C0ALL", "U0ALICE"


async def stay_up(stage: Stage, stdin: TextIO) -> None:
    """Answers typed lines until cancelled, and retries deliveries."""
    delivering = asyncio.create_task(stage.service.run_deliveries())
    try:
        # Neither /dev/null nor a file can be waited for.
        if stdin.isatty() or stat.S_ISFIFO(os.fstat(stdin.fileno()).st_mode):
            stage.screen.is_typed_at = True
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
    """Lines are such as "/racecard IRE", "help", "#everything /racecard IRE" or "press Who was told"."""
    where, _, rest = line.strip().partition(" ")
    by_name = {f"#{name}": channel_id for channel_id, name in CHANNELS.items()}
    if where.startswith("#") and where not in by_name:
        stage.screen.note(f"{where} is no channel here; the channels are {', '.join(by_name)}.")
        return
    channel_id, command = (by_name[where], rest.strip()) if where in by_name else (CHANNEL, line.strip())
    verb, _, label = command.partition(" ")
    if verb == PRESS:
        problem = await stage.press(channel_id, USER, label.strip(" []"))
    else:
        said = command if command.startswith("/") else f"/racing {command}"
        problem = await stage.say(channel_id, USER, said) if command else None
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


@dataclass(frozen=True)
class Demo:
    """The options. `speed` divides the pauses. With `stay` everything stays up until Ctrl-C."""

    speed: float = 1.0
    stay: bool = True
    open_page: bool = False
    headless: bool = False
    port: int = 0
    database_url: str | None = None


def run_demo(demo: Demo) -> int:
    """The exit code: 0 after the day, or when stopped by Ctrl-C; 1 where something went wrong, which is said."""
    screen = Screen(CHANNELS, PEOPLE, make_console(io.StringIO()) if demo.headless else None)
    folder = Path(tempfile.mkdtemp(prefix="racing-bot-demo-"))
    failed: Exception | None = None
    try:
        asyncio.run(_run(screen, folder, demo))
    except (DemoFailed, PortTakenError) as error:
        failed = error
        _explain(screen, folder / "bot.log", error)
        if demo.headless:
            print(json.dumps({"ok": False, "failed": str(error), "log": str(folder / "bot.log")}))
    finally:
        # The log of a demo that failed tells why.
        if not isinstance(failed, DemoFailed):
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


async def _run(screen: Screen, folder: Path, demo: Demo) -> None:
    task = asyncio.current_task()
    assert task is not None, "asyncio.run makes one"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # People press Ctrl-C twice.
        asyncio.get_running_loop().add_signal_handler(number, lambda: task.cancelling() or task.cancel())
    try:
        async with (
            open_stage(folder, screen, demo.speed, demo.database_url) as stage,
            aclosing(Page(stage)) as page,
            serve(build_page(page), demo.port) as address,
        ):
            screen.plain(f"The same in a browser: {address}")
            await _play(page, demo, address)
            if demo.headless:
                print(headless_summary(stage))
    except asyncio.CancelledError:
        # Only our own signal handler cancels this task.
        screen.title("Stopped.")


async def _play(page: Page, demo: Demo, address: str) -> None:
    """The day in the terminal, unless the page opens: there the day begins with the page."""
    stage, stays = page.stage, demo.stay and not demo.headless
    stage.screen.plain("racing-bot between stand-ins of Slack and of the data service. All of it is on this machine.")
    stage.is_begun = False
    await stage.start_bot()
    if stays and sys.stdin.isatty():
        stage.screen.plain("Lines that you type meanwhile are answered at the end.")
    await stage.bot.while_alive(begin_at_the_page(stage) if demo.open_page else Day(stage).play())
    stage.is_begun = True
    if demo.open_page:
        page.day.play_once_seen()
        webbrowser.open(address)
    if stays:
        _say_how_to_go_on(stage)
        await stage.bot.while_alive(stay_up(stage, sys.stdin))


def headless_summary(stage: Stage) -> str:
    """The day as one JSON object. Raises DemoFailed where a message was lost or doubled."""
    counts = count(stage.service.deliveries, stage.slack, stage.choices)
    problems = counts.lost + counts.doubled + counts.out_of_order
    if problems:
        raise DemoFailed("; ".join(counts.problems) or "messages stand out of order")
    channels = {name: len(stage.slack.messages(channel_id)) for channel_id, name in CHANNELS.items()}
    deliveries = sum(len(delivery.attempts) for delivery in stage.service.deliveries)
    return json.dumps({"ok": True, "deliveries": deliveries, "messages": channels, "counts": asdict(counts)})


def _say_how_to_go_on(stage: Stage) -> None:
    screen = stage.screen
    screen.title("Still up. Press Ctrl-C to stop.")
    screen.plain(f"Webhook       {stage.webhook_url}")
    secret = stage.service.subscriptions[0].secret
    screen.plain(f"{SIGNATURE_HEADER}  HMAC-SHA256 of the body, in hex; the key is {secret}")
    screen.plain(f"Health        {stage.bot.url}/readyz, /metrics")
    screen.plain(f"Data service  {stage.service_url} (X-API-Key: {stage.service.api_key})")
    screen.plain(f"Log           {stage.bot.log_path}")


def _explain(screen: Screen, log_path: Path, failure: Exception) -> None:
    screen.title("The demo failed")
    screen.plain(str(failure), "bold red")
    if log_end := end_of_log(log_path):
        screen.plain(f"The end of the bot's log, which is kept in {log_path}:")
        screen.plain(log_end)
