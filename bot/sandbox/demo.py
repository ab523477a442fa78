"""`racing-bot demo`: the real service between two stand-ins on a quick day's racing."""

import asyncio
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bot.sandbox.demo_bot import BotProcess, DemoFailed
from bot.sandbox.demo_day import Day
from bot.sandbox.demo_prompt import stay_up
from bot.sandbox.demo_screen import Screen
from bot.sandbox.demo_stage import CHANNELS, PEOPLE, Stage, open_stage

STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run_demo(*, speed: float, stay: bool) -> int:
    """The exit code: 1 after a failure, else 0.

    `speed` divides the pauses. With `stay` everything stays up until Ctrl-C.
    """
    screen = Screen(CHANNELS, PEOPLE)
    folder = Path(tempfile.mkdtemp(prefix="racing-bot-demo-"))
    try:
        asyncio.run(_run(screen, folder, speed=speed, stay=stay))
    except DemoFailed:
        # The folder stays, because the log in the folder tells why.
        return 1
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return 0


async def _run(screen: Screen, folder: Path, *, speed: float, stay: bool) -> None:
    task = asyncio.current_task()
    assert task is not None, "asyncio.run makes one"
    with _cancelled_by_signals(task):
        try:
            async with open_stage(folder, screen, speed) as stage:
                await _play(stage, stay=stay)
        except asyncio.CancelledError:
            # Only our own signal handler cancels this task.
            screen.title("Stopped.")


async def _play(stage: Stage, *, stay: bool) -> None:
    try:
        _introduce(stage)
        await stage.start_bot()
        await stage.bot.while_alive(Day(stage).play())
        if stay:
            _say_how_to_go_on(stage)
            await stage.bot.while_alive(stay_up(stage, sys.stdin))
    except DemoFailed as failure:
        _explain(stage.screen, stage.bot, failure)
        raise


def _introduce(stage: Stage) -> None:
    stage.screen.plain("racing-bot between stand-ins of Slack and of the data service. All of it is on this machine.")


def _say_how_to_go_on(stage: Stage) -> None:
    screen = stage.screen
    screen.title("Still up. Press Ctrl-C to stop.")
    screen.plain(f"Webhook       {stage.webhook_url}")
    screen.plain(f"Health        {stage.bot.url}/readyz, /metrics")
    screen.plain(f"Data service  {stage.service_url} (X-API-Key: {stage.service.api_key})")
    screen.plain(f"Log           {stage.bot.log_path}")


def _explain(screen: Screen, bot: BotProcess, failure: DemoFailed) -> None:
    screen.title("The demo failed")
    screen.problem(str(failure))
    if log_end := bot.log_end():
        screen.plain(f"The end of the bot's log, which is kept in {bot.log_path}:")
        screen.plain(log_end)


@contextmanager
def _cancelled_by_signals(task: asyncio.Task[None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    heard: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        if not heard:
            loop.call_soon_threadsafe(task.cancel)
        heard.append(number)

    before = {number: signal.signal(number, stop) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
